/*
 * cli_sim_calibrate.c - `ringside sim --calibrate RUN...`: what real runs say of this machine, and what follows for others.
 */
#include "cluster-sim/calibrate.h"
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/base/units.h"
#include "tui/axis.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char more[] =
    "RUN is an allreduce or a training run as 'ringside runs' names it. Collectives give curves: alpha + "
    "beta m in\n"
    "pieces that join at measured sizes; their error is that of predicting each size by its neighbours "
    "alone.\n"
    "--half fits every second size and predicts the others. A training run on several ranks is predicted "
    "from\n"
    "those on one rank with the same model, batch and threads, and from the curve of its allreduce; it is "
    "not used\n"
    "in the fit. Measure the one rank with the other cores loaded the same way (a second run of one rank at "
    "the\n"
    "same time): cores share memory and turbo, and a rank alone on the machine is faster than it will be.\n"
    "Exit codes: 0 done; 1 an error is above --within; 2 usage, or a run that calibrates nothing.\n";

struct choices {
    bool json, half, cluster;
    double within; /* 0: any error is fine */
};

/* What is printed for one curve or prediction. */
struct verdict {
    int count;
    double worst;
};

static void count_error(struct verdict *v, double error)
{
    if (isfinite(error) && fabs(error) > v->worst)
        v->worst = fabs(error);
    v->count++;
}

static void print_pieces(const struct curve *c)
{
    for (int k = 0; k + 1 < c->knots; k++) {
        double alpha, beta;
        char from[24], to[24], rate[24];
        bool free = curve_piece(c, k, &alpha, &beta);
        units_show_bytes(c->point[c->knot[k]].bytes, from, sizeof from);
        units_show_bytes(c->point[c->knot[k + 1]].bytes, to, sizeof to);
        printf("  %10s to %-10s alpha %9.2f us, ", from, to, 1e6 * alpha);
        if (beta > 0) {
            units_show_rate(1 / beta, rate, sizeof rate);
            printf("beta 1 / (%s)%s\n", rate, free ? "" : "; alpha held at 0: time grows faster than size");
        } else {
            puts(free ? "beta 0" : "beta held at 0: time falls with size");
        }
    }
}

static void tell_points(const struct calibration_curve *k, const struct curve *c,
                        const struct curve_point *points, int count, bool json)
{
    for (int i = 0; i < count; i++) {
        double predicted = curve_seconds(c, points[i].bytes);
        if (json) {
            json_t *event = event_new("point", -1);
            event_set_text(event, "series", k->name);
            event_set_text(event, "title", "predicted from the other sizes");
            event_set_number(event, "x", points[i].bytes);
            event_set_number(event, "y", predicted);
            event_set_number(event, "measured_s", points[i].seconds);
            event_set_number(event, "relative_error", predicted / points[i].seconds - 1);
            event_write(STDOUT_FILENO, event, NULL);
        } else {
            char bytes[24];
            units_show_bytes(points[i].bytes, bytes, sizeof bytes);
            printf("  %10s measured %10.2f us, predicted %10.2f us: %+5.1f %%\n", bytes,
                   1e6 * points[i].seconds, 1e6 * predicted, 100 * (predicted / points[i].seconds - 1));
        }
    }
}

static void tell_error(const struct calibration_curve *k, const char *how, int points, double error,
                       bool json)
{
    if (json) {
        json_t *event = event_new("point", -1);
        event_set_text(event, "series", "calibration");
        event_set_text(event, "label", k->name);
        event_set_text(event, "how", how);
        event_set_integer(event, "points", points);
        event_set_number(event, "median_relative_error", error);
        event_write(STDOUT_FILENO, event, NULL);
    } else {
        printf("  median error %.1f %% (%s)\n", 100 * error, how);
    }
}

/* Every second size; the largest is among those that are fitted. */
static bool fit_half(const struct calibration_curve *k, struct verdict *v, bool json, struct error *e)
{
    struct curve all, half;
    struct curve_point fitted[CURVE_POINTS], rest[CURVE_POINTS];
    int fits = 0, rests = 0;
    if (!curve_fit(&all, k->points, k->count, e))
        return false;
    for (int i = 0; i < all.points; i++) {
        if ((all.points - 1 - i) % 2 == 0)
            fitted[fits++] = all.point[i];
        else
            rest[rests++] = all.point[i];
    }
    if (!curve_fit(&half, fitted, fits, e))
        return error_wrap(e, "%s", k->name);
    if (!json) {
        printf("%s: %d of %d sizes fitted\n", k->name, fits, all.points);
        print_pieces(&half);
    }
    tell_points(k, &half, rest, rests, json);
    double error = curve_error(&half, rest, rests);
    tell_error(k, "every second size, predicted from the others", rests, error, json);
    count_error(v, error);
    return true;
}

static bool fit_all(const struct calibration_curve *k, struct verdict *v, bool json, struct error *e)
{
    struct curve c;
    if (!curve_fit(&c, k->points, k->count, e))
        return error_wrap(e, "%s", k->name);
    if (!json) {
        printf("%s: %d sizes\n", k->name, c.points);
        print_pieces(&c);
    }
    tell_error(k, "each size by its neighbours alone", c.points, c.error, json);
    count_error(v, c.error);
    return true;
}

static void tell_prediction(const struct calibration_run *r, const struct calibration_prediction *p,
                            bool json)
{
    if (json) {
        json_t *event = event_new("point", -1);
        event_set_text(event, "series", "predicted throughput");
        event_set_text(event, "label", r->id);
        event_set_number(event, "x", r->ranks);
        event_set_number(event, "y", p->samples_per_s);
        event_set_number(event, "measured_samples_per_s", p->measured_samples_per_s);
        event_set_number(event, "relative_error", p->error);
        event_write(STDOUT_FILENO, event, NULL);
        return;
    }
    printf("%s: %s, %d ranks, batch %d, %s\n", r->id, r->model, r->ranks, r->batch, r->algo);
    printf("  a step of one rank %.3f ms (%d run%s) + allreduce %.3f ms%s = %.3f ms\n", 1e3 * p->alone_s,
           p->alone_runs, p->alone_runs == 1 ? "" : "s", 1e3 * p->comm_s,
           p->overlap ? ", partly beside backward" : "", 1e3 * p->step_s);
    printf("  predicted %.0f samples/s, measured %.0f: %+.1f %%\n", p->samples_per_s,
           p->measured_samples_per_s, 100 * p->error);
}

/* A ring's curve as a file for exercises/clusters. */
static bool print_cluster(const struct calibration *c, struct error *e)
{
    const struct calibration_curve *ring = NULL;
    struct curve curve;
    for (int i = 0; i < c->curves && !ring; i++)
        if (!strcmp(c->curve[i].op, "allreduce") && !strcmp(c->curve[i].algo, "ring") &&
            c->curve[i].inplace && c->curve[i].ranks > 1)
            ring = &c->curve[i];
    if (!ring)
        return error_set(
            e, ERROR_INPUT,
            "--cluster: none of these runs times the ring; 'ringside allreduce --algo ring' does");
    if (!curve_fit(&curve, ring->points, ring->count, e))
        return error_wrap(e, "%s", ring->name);
    json_t *cluster = curve_to_cluster(&curve, ring->ranks), *piece;
    size_t i;
    printf("-- Fitted to %s (%d sizes) by ringside sim --calibrate --cluster.\n"
           "return cluster {\n    name = \"calibrated\",\n    nodes = %d,\n    topology = \"switch\",\n"
           "    bandwidth = %.6g,\n    latency = 0,\n    protocol = {\n",
           ring->name, curve.points, ring->ranks, event_number(cluster, "bandwidth", 0));
    json_array_foreach(json_object_get(cluster, "protocol"), i, piece) printf(
        "        { from_bytes = %.0f, latency_s = %.6g, latency_factor = 1, bandwidth_factor = %.6g },\n",
        event_number(piece, "from_bytes", 0), event_number(piece, "latency_s", 0),
        event_number(piece, "bandwidth_factor", 1));
    puts("    },\n}");
    json_decref(cluster);
    return true;
}

/* Whether all of them can be told: half an answer before a refusal would mislead. */
static bool all_told(const struct calibration *c, const struct choices *o, int cores, struct error *e)
{
    for (int i = 0; i < c->curves; i++) {
        const struct calibration_curve *k = &c->curve[i];
        struct curve curve;
        if (k->count < 2)
            continue;
        if (!curve_fit(&curve, k->points, k->count, e))
            return error_wrap(e, "%s", k->name);
        if (o->half && curve.points < 3)
            return error_set(e, ERROR_INPUT, "%s: --half needs three sizes or more, but there are %d",
                             k->name, curve.points);
    }
    for (int i = 0; i < c->runs; i++) {
        struct calibration_prediction p;
        if (c->run[i].ranks > 1 && !calibration_predict(c, &c->run[i], cores, &p, e))
            return false;
    }
    return true;
}

static bool tell(const struct calibration *c, const struct choices *o, struct verdict *v, struct error *e)
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (!all_told(c, o, cores, e))
        return false;
    for (int i = 0; i < c->curves; i++) {
        const struct calibration_curve *k = &c->curve[i];
        if (k->count < 2)
            continue;
        if (!(o->half ? fit_half(k, v, o->json, e) : fit_all(k, v, o->json, e)))
            return false;
    }
    for (int i = 0; i < c->runs; i++) {
        const struct calibration_run *r = &c->run[i];
        struct calibration_prediction p;
        if (r->ranks == 1) {
            if (!o->json)
                printf("%s: %s, batch %d, 1 rank: a step takes %.3f ms (compute %.3f, data %.3f)\n", r->id,
                       r->model, r->batch, 1e3 * r->step_s, 1e3 * r->compute_s, 1e3 * r->data_s);
            continue;
        }
        if (!calibration_predict(c, r, cores, &p, e))
            return false;
        tell_prediction(r, &p, o->json);
        count_error(v, p.error);
    }
    if (v->count == 0 && c->runs == 0)
        return error_set(e, ERROR_INPUT,
                         "none of these runs has a collective at two sizes or a step of training");
    return true;
}

int cli_sim_calibrate(int argc, char **argv)
{
    struct choices o = {0};
    struct error e = {0};
    bool calibrate = false;
    const struct option options[] = {
        {"calibrate", NULL, OPTION_FLAG, &calibrate, 0, 0, 0, "this mode", NULL, NULL},
        {"half", NULL, OPTION_FLAG, &o.half, 0, 0, 0, "fit every second size, predict the others", NULL,
         NULL},
        {"cluster", NULL, OPTION_FLAG, &o.cluster, 0, 0, 0,
         "print the ring's curve as a cluster for simulate{}", NULL, NULL},
        {"within", "X", OPTION_REAL, &o.within, 0, 0, 100,
         "exit with 1 where an error is above it (0.1: 10 %)", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &o.json, 0, 0, 0, "print events, one JSON object a line", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {.usage = "ringside sim --calibrate RUN... [options]",
                                           .summary =
                                               "Fits curves to real runs and predicts what they do not tell.",
                                           .more = more,
                                           .options = options};
    char *runs[OPTION_MAX_WORDS];
    int count, code;
    if (!cli_options(&command, argc, argv, runs, &count, &code))
        return code;
    struct calibration *c = calloc(1, sizeof *c);
    struct verdict v = {0};
    if (!c) {
        error_set(&e, ERROR_FAILED, "out of memory");
        return cli_fail(&e);
    }
    bool ok = count > 0;
    if (!ok)
        error_set(&e, ERROR_INPUT, "--calibrate needs runs: 'ringside runs' lists them");
    for (int i = 0; i < count && ok; i++) {
        char dir[PATH_MAX];
        ok = rundir_find(runs[i], dir, &e) && calibration_add(c, dir, &e);
    }
    ok = ok && (o.cluster ? print_cluster(c, &e) : tell(c, &o, &v, &e));
    calibration_free(c);
    free(c);
    if (!ok)
        return cli_fail(&e);
    return o.within > 0 && v.worst > o.within ? 1 : 0;
}
