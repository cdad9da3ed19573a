/*
 * simulation_events.c - a simulated run as its events: run, collective, hop, rank, step, explain, done, as a real run has
 * them, at simulated times.
 */
#include "cluster-sim/simulation.h"

#include "cluster-sim/ask.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every step up to STEPS_ALL, then at most ten a simulated second, and never more than STEPS_MOST lines. */
enum { STEPS_ALL = 100, STEPS_MOST = 1000, RANKS_SHOWN = 8, HOP_RANKS = 32, HOPS_MOST = 2000 };

struct teller {
    const struct simulation *s;
    struct event_sink *sink;
    struct error *e;
    bool ok;
    double t; /* simulated seconds since the run began */
    double hops_from;
    int hops;
};

/* To the microsecond, as a run's writer stamps its own events: times never go back. */
static double stamp(double t)
{
    return round(1e6 * t) / 1e6;
}

static void tell(struct teller *to, json_t *event)
{
    to->ok = to->ok ? sink_emit(to->sink, event, to->e) : (json_decref(event), false);
}

static void note(struct teller *to, const char *level, const char *text)
{
    json_t *event = event_new("note", stamp(to->t));
    event_set_text(event, "level", level);
    event_set_text(event, "text", text);
    tell(to, event);
}

static void tell_run(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct job_sim *job = s->job;
    json_t *event = event_new("run", stamp(to->t)), *hosts = json_array();
    json_array_append_new(hosts, json_string(s->platform.name));
    event_set_text(event, "origin", "sim");
    event_set_text(event, "tier", sim_tier_name(s->tier));
    event_set_text(event, "job", job_kind_name(JOB_SIM));
    event_set_text(event, "model", job->model);
    event_set_integer(event, "ranks", s->ranks);
    json_object_set_new(event, "hosts", hosts);
    event_set_text(event, "device", s->device);
    event_set_integer(event, "batch", job->batch);
    event_set_integer(event, "global_batch", (long long)job->batch * s->plan.t.data);
    event_set_integer(event, "parameters", (long long)s->model.parameters);
    event_set_text(event, "optimizer", job->optimizer);
    event_set_text(event, "algo", job->algo);
    event_set_integer(event, "data", s->plan.t.data);
    event_set_integer(event, "tensor", s->plan.t.tensor);
    event_set_integer(event, "pipeline", s->plan.t.pipeline);
    event_set_text(event, "topology", s->platform.topology_text);
    tell(to, event);
}

static void tell_notes(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct sim_result *largest = platform_network_largest(&s->network);
    char text[800];
    snprintf(text, sizeof text, "Simulated, network by tier %s%s; nothing was trained; %s",
             sim_tier_name(s->tier), s->exact ? "" : " (an approximation here)", sim_not_modelled);
    note(to, "info", text);
    if (largest && *largest->note)
        note(to, "info", largest->note);
    if (s->plan.t.overlap && !(s->plan.t.bucket_bytes > 0) && s->plan.t.data > 1)
        note(to, "info",
             "With buckets of 0 bytes all gradients are summed at once, so nothing of it overlaps with "
             "backward.");
}

/* --- the sums --- */

static void tell_collectives(struct teller *to)
{
    const struct platform_network *n = &to->s->network;
    for (int i = 0; i < n->count; i++) {
        const struct network_answer *a = &n->answers[i];
        const struct sim_result *r = &a->result;
        bool data = a->axis == MESH_DATA;
        int ranks = data ? n->data : n->tensor;
        json_t *event = event_new("collective", stamp(to->t));
        event_set_text(event, "op", "allreduce");
        event_set_text(event, "origin", "sim");
        event_set_text(event, "tier", sim_tier_name(r->tier));
        event_set_text(event, "algo", data ? n->algo : "ring");
        event_set_text(event, "axis", data ? "data" : "tensor");
        event_set_integer(event, "bytes", (long long)a->bytes);
        event_set_text(event, "dtype", "f32");
        event_set_integer(event, "ranks", ranks);
        event_set_number(event, "time_s", r->time_s);
        event_set_number(event, "algbw_bytes_per_s", a->bytes / r->time_s);
        event_set_number(event, "busbw_bytes_per_s", a->bytes / r->time_s * 2 * (ranks - 1) / ranks);
        event_set_text(event, "formula", r->formula);
        event_set_text(event, "bottleneck", r->bottleneck);
        tell(to, event);
    }
}

static void tell_hop(void *self, const struct transfer *t, double t0, double t1)
{
    struct teller *to = self;
    if (to->hops++ >= HOPS_MOST)
        return;
    json_t *event = event_new("hop", stamp(to->hops_from + t1));
    event_set_integer(event, "op", 1);
    event_set_text(event, "algo", to->s->network.algo);
    event_set_integer(event, "ranks", to->s->plan.t.data);
    event_set_text(event, "phase", phase_name(t->phase));
    event_set_integer(event, "hop", t->round);
    event_set_integer(event, "from", t->from);
    event_set_integer(event, "to", t->to);
    event_set_integer(event, "chunk", t->chunk);
    event_set_integer(event, "bytes", 4 * (long long)t->length);
    event_set_number(event, "t0", to->hops_from + t0);
    event_set_number(event, "t1", to->hops_from + t1);
    tell(to, event);
}

/* The messages of the first step's largest bucket, where they are few enough to look at. */
static void tell_hops(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct training_bucket *most = NULL;
    for (int i = 0; i < s->plan.bucket_count; i++)
        if (s->plan.buckets[i].stage == s->plan.critical_stage &&
            (!most || s->plan.buckets[i].bytes > most->bytes))
            most = &s->plan.buckets[i];
    if (!most || s->plan.t.data > HOP_RANKS)
        return;
    struct platform group = platform_group(&s->platform, MESH_DATA, s->plan.t.tensor);
    struct sim_result result;
    to->hops_from = to->t + most->start_s;
    /* The tier that answered, or, of a closed formula, the one that knows rounds. */
    struct sim_request request = {.algo = s->network.algo,
                                  .ranks = s->plan.t.data,
                                  .bytes = most->bytes,
                                  .tier = s->tier == SIM_EVENTS ? SIM_EVENTS : SIM_AUTO,
                                  .hop = tell_hop,
                                  .self = to};
    struct error ignored; /* what cannot be drawn is left out */
    sim_collective(&group, &request, &result, &ignored);
}

/* When gradients are ready and when they are summed, by how many there are so far: for plots. */
static void tell_overlap(struct teller *to)
{
    const struct simulation *s = to->s;
    static const char *const series[] = {"ready", "summed"};
    for (int which = 0; which < 2; which++) {
        double bytes = 0;
        for (int i = 0; i < s->plan.bucket_count; i++) {
            const struct training_bucket *b = &s->plan.buckets[i];
            if (b->stage != s->plan.critical_stage)
                continue;
            bytes += b->bytes;
            json_t *event = event_new("point", stamp(to->t));
            event_set_text(event, "series", series[which]);
            event_set_text(event, "title", "Gradients over a step, simulated");
            event_set_text(event, "xlabel", "MB of gradients");
            event_set_text(event, "ylabel", "seconds into the step");
            event_set_number(event, "x", 1e-6 * bytes);
            event_set_number(event, "y", which ? b->end_s : b->ready_s);
            tell(to, event);
        }
    }
}

/* --- steps and ranks --- */

static void tell_step(struct teller *to, long step, const struct training_step *one)
{
    json_t *event = event_new("step", stamp(to->t));
    event_set_integer(event, "step", step);
    event_set_number(event, "samples_per_s", one->samples_per_s);
    event_set_number(event, "compute_s", one->compute_s);
    event_set_number(event, "comm_s", one->comm_s);
    event_set_number(event, "exposed_comm_s", one->exposed_comm_s + one->bubble_s + one->straggler_s);
    event_set_number(event, "bubble_s", one->bubble_s);
    event_set_number(event, "straggler_s", one->straggler_s);
    event_set_number(event, "data_s", one->input_s);
    tell(to, event);
}

static void tell_rank(struct teller *to, int rank, double slow)
{
    const struct simulation *s = to->s;
    const struct training_step *x = &s->plan.expected;
    char host[80];
    snprintf(host, sizeof host, "%.48s-%d", s->platform.name, rank / s->platform.per_node);
    json_t *event = event_new("rank", stamp(to->t));
    event_set_integer(event, "rank", rank);
    event_set_text(event, "host", host);
    event_set_text(event, "device", s->device);
    event_set_number(event, "samples_per_s", x->samples_per_s / s->plan.t.data);
    event_set_number(event, "compute_s", slow * x->compute_s);
    event_set_number(event, "comm_s", fmax(0, x->step_s - x->input_s - slow * x->compute_s));
    event_set_number(event, "data_s", x->input_s);
    event_set_number(event, "rss_bytes", s->plan.memory.total);
    tell(to, event);
}

/* The first ranks, and the first of those that are always slow: the others are like one of them. */
static void tell_ranks(struct teller *to)
{
    const struct simulation *s = to->s;
    int first_slow = s->job->slow_ranks < s->ranks ? s->ranks - s->job->slow_ranks : 0;
    for (int r = 0; r < s->ranks && r < RANKS_SHOWN; r++)
        tell_rank(to, r, r >= first_slow ? s->job->slow_factor : 1);
    if (first_slow >= RANKS_SHOWN && first_slow < s->ranks)
        tell_rank(to, first_slow, s->job->slow_factor);
}

static void tell_steps(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct training_step *usual = &s->plan.expected;
    long steps = s->job->steps, told = 0, last = 0;
    bool random = s->plan.t.straggler.kind != STRAGGLER_NONE;
    for (long step = 1; step <= steps && to->ok; step++) {
        double apart = fmax(0.1, (double)(steps - STEPS_ALL) * usual->step_s / (STEPS_MOST - STEPS_ALL));
        if (step > STEPS_ALL) { /* steps between two lines take what is expected */
            long skip = (long)ceil(apart / usual->step_s);
            step += skip > 1 ? skip - 1 : 0;
            step = step < steps ? step : steps;
        }
        struct training_step one = *usual;
        if (random &&
            !training_step_at(&s->plan, straggler_draw(&s->plan.t.straggler, s->ranks, s->job->seed, step),
                              &one, to->e)) {
            to->ok = false;
            return;
        }
        to->t += one.step_s + (double)(step - last - 1) * usual->step_s;
        last = step;
        tell_step(to, step, &one);
        if (told++ == 0)
            tell_ranks(to);
    }
}

/* --- why, and the end --- */

static void tell_why(void *self, const char *what, double seconds, const char *text)
{
    struct teller *to = self;
    json_t *event = event_new("explain", stamp(to->t));
    event_set_text(event, "what", what);
    event_set_text(event, "text", text);
    if (seconds > 0)
        event_set_number(event, "time_s", seconds);
    tell(to, event);
}

static void explain(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct sim_result *largest = platform_network_largest(&s->network);
    char network[256];
    training_explain(&s->plan, platform_network_text(&s->network, network, sizeof network), tell_why, to);
    if (largest)
        tell_why(to, "largest sum", largest->time_s, largest->formula);
    if (*s->storage)
        tell_why(to, "storage", 0, s->storage);
}

static void tell_done(struct teller *to)
{
    const struct simulation *s = to->s;
    const struct training_step *x = &s->plan.expected;
    char network[256], text[512];
    json_t *done = event_new("done", stamp(to->t));
    json_object_set_new(done, "ok", json_boolean(s->fits));
    event_set_text(done, "origin", "sim");
    event_set_text(done, "tier", sim_tier_name(s->tier));
    json_object_set_new(done, "exact", json_boolean(s->exact));
    json_object_set_new(done, "fits", json_boolean(s->fits));
    event_set_integer(done, "ranks", s->ranks);
    event_set_number(done, "samples_per_s", x->samples_per_s);
    event_set_number(done, "step_s", x->step_s);
    event_set_number(done, "compute_s", x->compute_s);
    event_set_number(done, "comm_s", x->comm_s);
    event_set_number(done, "exposed_comm_s", x->exposed_comm_s);
    event_set_number(done, "bubble_s", x->bubble_s);
    event_set_number(done, "straggler_s", x->straggler_s);
    event_set_number(done, "data_s", x->input_s);
    event_set_number(done, "efficiency", x->efficiency);
    event_set_number(done, "idle", s->plan.idle);
    event_set_number(done, "memory_bytes", s->plan.memory.total);
    event_set_text(done, "bound_by", training_bottleneck_name(x->bottleneck));
    event_set_text(done, "bottleneck",
                   training_bottleneck_text(&s->plan,
                                            platform_network_text(&s->network, network, sizeof network), text,
                                            sizeof text));
    if (!s->fits)
        event_set_integer(done, "exit_code", 1);
    tell(to, done);
}

bool simulation_tell(const struct simulation *s, struct event_sink *sink, struct error *e)
{
    struct teller to = {.s = s, .sink = sink, .e = e, .ok = true};
    tell_run(&to);
    tell_notes(&to);
    tell_collectives(&to);
    tell_overlap(&to);
    if (s->fits) {
        tell_hops(&to);
        tell_steps(&to);
    } else {
        char text[256];
        snprintf(text, sizeof text,
                 "a rank needs %.3g GB of memory, but %s has %.3g GB: take a smaller batch, more tensor or "
                 "pipeline "
                 "ranks, or more micro-batches",
                 1e-9 * s->plan.memory.total, s->device, 1e-9 * s->plan.t.memory_bytes);
        note(&to, "error", text);
    }
    explain(&to);
    tell_done(&to);
    return to.ok;
}

/* A question that is no training: the lines that say why, and the figures. */
static bool tell_answer(const struct job_sim *job, struct event_sink *sink, struct error *e)
{
    char *why = NULL, *line, *rest;
    json_t *done = event_new("done", 0), *run = event_new("run", 0);
    event_set_text(done, "origin", "sim");
    json_object_set_new(done, "ok", json_true());
    bool ok = ask_answer(job->ask, job->cluster, done, &why, e);
    event_set_text(run, "origin", "sim");
    event_set_text(run, "job", job_kind_name(JOB_SIM));
    if (ok)
        ok = sink_emit(sink, run, e) && sink_note(sink, "info", "Simulated; nothing was run.", e);
    else
        json_decref(run);
    for (rest = why; ok && (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        static const char bottleneck[] = "bottleneck: ";
        bool most = !strncmp(line, bottleneck, strlen(bottleneck));
        json_t *event = event_new("explain", 0);
        event_set_text(event, "what", most ? "bottleneck" : json_object_iter_key(json_object_iter(job->ask)));
        event_set_text(event, "text", most ? line + strlen(bottleneck) : line);
        ok = sink_emit(sink, event, e);
    }
    if (ok)
        ok = sink_emit(sink, done, e);
    else
        json_decref(done);
    free(why);
    return ok;
}

int sim_main(int argc, char **argv)
{
    (void)argc;
    struct error e = {0};
    struct job job = {0};
    struct simulation s = {0};
    struct fd_sink out;
    sink_fd_init(&out, STDOUT_FILENO);
    bool ok = job_load(&job, argv[0], &e);
    if (ok && job.sim.ask)
        ok = s.fits = tell_answer(&job.sim, &out.sink, &e);
    else
        ok = ok && simulation_make(&s, &job.sim, &e) && simulation_tell(&s, &out.sink, &e);
    int code = ok ? !s.fits : e.kind ? (int)e.kind : 1;
    if (!ok) {
        json_t *done = event_new("done", 0);
        sink_note(&out.sink, "error", e.text, NULL);
        event_set_integer(done, "exit_code", code);
        json_object_set_new(done, "ok", json_false());
        sink_emit(&out.sink, done, NULL);
    }
    simulation_free(&s);
    job_clear(&job);
    sink_fd_clear(&out);
    return code;
}
