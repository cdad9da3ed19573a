#include "cluster-sim/checkpointing.h"

#include "cluster-sim/explanation.h"
#include "engine/base/random.h"
#include "engine/base/units.h"

#include <math.h>
#include <stdio.h>

double checkpoint_young(double checkpoint_s, double mtbf_s)
{
    return sqrt(2 * checkpoint_s * mtbf_s);
}

double checkpoint_daly(double checkpoint_s, double mtbf_s)
{
    if (checkpoint_s >= 2 * mtbf_s)
        return mtbf_s;
    double x = checkpoint_s / (2 * mtbf_s);
    return checkpoint_young(checkpoint_s, mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - checkpoint_s;
}

/* (1 - t) e^(t + d) falls from e^d, which is at least 1, to 0 for t = tau/M from 0 to 1: bisection. */
double checkpoint_best(double checkpoint_s, double mtbf_s)
{
    double d = checkpoint_s / mtbf_s, low = 0, high = 1;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        /* as a logarithm, which does not overflow */
        if (log1p(-middle) + middle + d > 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2 * mtbf_s;
}

/* The mean time until an interval of that length has passed without a failure, restarts included. */
static double interval_time(double length, double mtbf, double restart)
{
    return mtbf * exp(restart / mtbf) * expm1(length / mtbf);
}

/* Whole intervals in the work, and what is left for a shorter one at the end. */
static double whole_intervals(double work, double tau, double *rest)
{
    double n = floor(work / tau * (1 + 1e-12));
    *rest = fmax(0, work - n * tau);
    if (*rest < work * 1e-12)
        *rest = 0;
    return n;
}

static double wall_time(const struct checkpointing *c, double mtbf, double tau)
{
    double rest, n = whole_intervals(c->work_s, tau, &rest);
    double wall = n > 0 ? n * interval_time(tau + c->checkpoint_s, mtbf, c->restart_s) : 0;
    return rest > 0 ? wall + interval_time(rest + c->checkpoint_s, mtbf, c->restart_s) : wall;
}

/* --- random runs --- */

static double until_failure(struct random *r, double mtbf)
{
    return -log(((double)(random_next(r) >> 11) + 0.5) * 0x1p-53) * mtbf;
}

/* One run from its start to its last checkpoint. Gives up, with infinity, after more failures than anybody waits for. */
static double one_run(const struct checkpointing *c, double mtbf, double tau, struct random *r,
                      double *failures)
{
    double rest, wall = 0, left = until_failure(r, mtbf);
    long long whole = (long long)whole_intervals(c->work_s, tau, &rest), all = whole + (rest > 0);
    bool restarting = false;
    *failures = 0;
    for (long long done = 0; done < all;) {
        double need = (restarting ? c->restart_s : 0) + (done < whole ? tau : rest) + c->checkpoint_s;
        if (left >= need) {
            wall += need;
            left -= need;
            restarting = false;
            done++;
            continue;
        }
        wall += left;
        left = until_failure(r, mtbf);
        restarting = true;
        if (++*failures > 1e6)
            return INFINITY;
    }
    return wall;
}

static void run_many(const struct checkpointing *c, struct checkpoint_result *r)
{
    double sum = 0, squares = 0, failures = 0;
    for (int i = 0; i < c->runs; i++) {
        struct random random = random_stream(c->seed, 0x636865636b, (uint64_t)i);
        double failed, wall = one_run(c, r->mtbf_s, r->interval_s, &random, &failed);
        /* about the expected time, so that the squares keep their digits */
        sum += wall - r->wall_s;
        squares += (wall - r->wall_s) * (wall - r->wall_s);
        failures += failed;
    }
    double mean = sum / c->runs;
    r->simulated_s = r->wall_s + mean;
    r->simulated_failures = failures / c->runs;
    if (c->runs > 1)
        r->simulated_error_s = sqrt(fmax(0, squares / c->runs - mean * mean) / (c->runs - 1));
}

bool checkpoint_simulate(const struct checkpointing *c, struct checkpoint_result *r, struct error *e)
{
    *r = (struct checkpoint_result){0};
    const struct {
        const char *name;
        double value;
        bool zero;
    } figures[] = {
        {"the work", c->work_s, false},
        {"the time to write a checkpoint", c->checkpoint_s, false},
        {"the restart", c->restart_s, true},
        {"a node's mean time between failures", c->node_mtbf_s, false},
        {"the number of nodes", c->nodes, false},
        {"the interval", c->interval_s, true},
        {"the number of runs", c->runs, true},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isfinite(figures[i].value) || figures[i].value < 0 ||
            (figures[i].value == 0 && !figures[i].zero))
            return error_set(e, ERROR_INPUT, "%s is %g: expected %s", figures[i].name, figures[i].value,
                             figures[i].zero ? "0 or more" : "more than 0");
    double m = r->mtbf_s = c->node_mtbf_s / c->nodes;
    r->young_s = checkpoint_young(c->checkpoint_s, m);
    r->daly_s = checkpoint_daly(c->checkpoint_s, m);
    r->best_s = checkpoint_best(c->checkpoint_s, m);
    r->interval_s = fmin(c->interval_s > 0 ? c->interval_s : r->daly_s, c->work_s);
    r->wall_s = wall_time(c, m, r->interval_s);
    if (!isfinite(r->young_s) || !(r->interval_s > 0))
        return error_set(e, ERROR_INPUT,
                         "these times are too far apart to be reckoned with: there is no interval");
    if (!isfinite(r->wall_s) || r->wall_s > 1e9 * c->work_s)
        return error_set(
            e, ERROR_INPUT,
            "the job would never end: failures come every %.4g s and an interval with its checkpoint "
            "takes %.4g s; take fewer nodes, a faster checkpoint or a shorter interval",
            m, r->interval_s + c->checkpoint_s);
    double rest, n = whole_intervals(c->work_s, r->interval_s, &rest);
    if (c->runs > 0 && c->runs * (n + 1 + r->wall_s / m) > 2e9)
        return error_set(e, ERROR_INPUT,
                         "%d runs of %.4g intervals and %.4g failures are too many: ask for fewer runs",
                         c->runs, n, r->wall_s / m);
    r->goodput = c->work_s / r->wall_s;
    r->checkpoints_s = (n + (rest > 0)) * c->checkpoint_s;
    r->failures = r->wall_s / m;
    double outside = n * expm1((r->interval_s + c->checkpoint_s) / m) +
                     (rest > 0 ? expm1((rest + c->checkpoint_s) / m) : 0);
    r->restarts_s = outside * m * expm1(c->restart_s / m);
    r->again_s = fmax(0, r->wall_s - c->work_s - r->checkpoints_s - r->restarts_s);
    r->unprotected_s = interval_time(c->work_s, m, c->restart_s);
    if (c->runs > 0)
        run_many(c, r);
    return true;
}

void checkpoint_note(const struct checkpointing *c, const struct checkpoint_result *r, char *text,
                     size_t size)
{
    char wanted[32], work[32];
    double interval = c->interval_s > 0 ? c->interval_s : r->daly_s;
    *text = '\0';
    if (interval <= c->work_s)
        return;
    units_show_seconds(interval, wanted, sizeof wanted);
    units_show_seconds(c->work_s, work, sizeof work);
    snprintf(text, size,
             "%s interval of %s is longer than the work of %s: there is one checkpoint, at its end",
             c->interval_s > 0 ? "the" : "Daly's", wanted, work);
}

const char *checkpoint_bottleneck(const struct checkpoint_result *r)
{
    if (r->checkpoints_s >= fmax(r->again_s, r->restarts_s))
        return "writing checkpoints";
    return r->again_s >= r->restarts_s ? "work done again" : "restarts";
}

char *checkpoint_explain(const struct checkpointing *c, const struct checkpoint_result *r, struct error *e)
{
    struct explanation why;
    FILE *f = explanation_open(&why, e);
    if (!f)
        return NULL;
    double m = r->mtbf_s, d = c->checkpoint_s;
    const double values[] = {
        c->node_mtbf_s, m,         d,         r->young_s, r->daly_s, r->best_s, c->restart_s,
        r->interval_s,  c->work_s, r->wall_s, r->failures};
    enum { NODE, M, DELTA, YOUNG, DALY, BEST, RESTART, TAU, WORK, WALL, FAILURES, VALUES };
    char is[VALUES][32];
    for (int i = 0; i < VALUES; i++)
        units_show_number(values[i], is[i], sizeof is[i]);
    fprintf(f, "M = node's mean time between failures / nodes = %s s / %d = %s s\n", is[NODE], c->nodes,
            is[M]);
    fprintf(f, "Young 1974: tau = sqrt(2 delta M) = sqrt(2 x %s x %s) = %s s\n", is[DELTA], is[M], is[YOUNG]);
    fprintf(f, "Daly 2006:  tau = sqrt(2 delta M) (1 + 1/3 sqrt(delta/2M) + 1/9 delta/2M) - delta = %s s%s\n",
            is[DALY], d >= 2 * m ? " (M, as delta >= 2M)" : "");
    fprintf(f, "best:       (1 - tau/M) e^((tau+delta)/M) = 1 at tau = %s s\n", is[BEST]);
    fprintf(f,
            "wall time T = M e^(R/M) (e^((tau+delta)/M) - 1) W/tau, R = %s s, tau = %s s, W = %s s: %s s\n"
            "  (the last interval is as short as what is left of W)\n",
            is[RESTART], is[TAU], is[WORK], is[WALL]);
    fprintf(
        f,
        "goodput = W / T = %.2f %%; of T: checkpoints %.2f %%, work done again %.2f %%, restarts %.2f %%\n",
        100 * r->goodput, 100 * r->checkpoints_s / r->wall_s, 100 * r->again_s / r->wall_s,
        100 * r->restarts_s / r->wall_s);
    fprintf(f, "failures expected: T / M = %s\n", is[FAILURES]);
    fprintf(f, "bottleneck: %s\n", checkpoint_bottleneck(r));
    fputs("not modelled: failures that come together, nodes that are not replaced\n", f);
    return explanation_close(&why, e);
}
