#include "engine/train/autotune.h"

#include "engine/base/event.h"
#include "engine/base/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS =
        3, /* in each of which every way has its turn, so that what slows the machine for a while slows all */
    WARM = 1,  /* steps of a turn that do not count: plans are made, caches filled */
    TIMED = 2, /* and that do */
    TURN = WARM + TIMED,
    WAYS = 16, /* at most */
    MOST_BUCKETS = 64,
};
#define FASTER 0.99 /* of the time of the first way, which else is kept */

/* A way to sum the gradients. */
struct way {
    const char *algo;
    size_t bucket;
    int buckets;
    double step_s[ROUNDS * TIMED],
        exposed_s[ROUNDS * TIMED]; /* then their medians, in front: means over the ranks */
    int timed;
};

struct autotune {
    struct autotune_spec spec;
    struct way ways[WAYS];
    int count;
    bool buckets; /* the algorithm is found, now the size of buckets is */
    int now, round, taken;
    int steps;
};

/* --- what there is to try --- */

static void add(struct autotune *a, const char *algo, size_t bucket, int buckets)
{
    if (a->count < WAYS)
        a->ways[a->count++] = (struct way){.algo = algo, .bucket = bucket, .buckets = buckets};
}

static bool is_there(const struct autotune *a, const char *algo)
{
    for (int i = 0; i < a->count; i++)
        if (!strcmp(a->ways[i].algo, algo))
            return true;
    return false;
}

/* The one that was asked for first, so that it wins a tie. */
static void add_algos(struct autotune *a)
{
    static const char *const names[] = {"ring", "recursive_doubling", "halving_doubling", "mpi", "shm"};
    const struct comm *c = a->spec.comm;
    int count = comm_is_slowed(c)       ? 3
                : comm_shares_memory(c) ? 5
                                        : 4; /* the last two go past a slowed link */
    add(a, reducer_algo(a->spec.reducer), 0, 1);
    for (int i = 0; i < count; i++)
        if (!is_there(a, names[i]))
            add(a, names[i], 0, 1);
}

/* Sizes that cut this model's gradients each in another way, beside the one without. */
static bool add_buckets(struct autotune *a, const char *algo, struct error *e)
{
    static const size_t sizes[] = {100 << 20, 25 << 20, 4 << 20, 1 << 20, 256 << 10, 64 << 10};
    add(a, algo, 0, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buckets plan;
        if (!buckets_plan(&plan, a->spec.model, a->spec.model->parameters, sizes[i], e))
            return false;
        if (plan.count > a->ways[a->count - 1].buckets && plan.count <= MOST_BUCKETS)
            add(a, algo, sizes[i], plan.count);
        buckets_free(&plan);
    }
    return true;
}

static bool take_turn(struct autotune *a, struct error *e)
{
    const struct way *w = &a->ways[a->now];
    a->taken = 0;
    return reducer_set(a->spec.reducer, w->algo, w->bucket, e);
}

struct autotune *autotune_new(const struct autotune_spec *spec, struct error *e)
{
    struct autotune *a = calloc(1, sizeof *a);
    if (!a) {
        error_set(e, ERROR_FAILED, "not enough memory to tune the allreduce");
        return NULL;
    }
    a->spec = *spec;
    bool ok = add_buckets(a, "", e);
    a->steps = a->count * ROUNDS * TURN;
    a->count = 0;
    add_algos(a);
    a->steps += a->count * ROUNDS * TURN;
    if (ok && take_turn(a, e))
        return a;
    free(a);
    return NULL;
}

void autotune_free(struct autotune *a)
{
    free(a);
}

int autotune_steps(const struct autotune *a)
{
    return a->steps;
}

/* --- what came of it --- */

static bool tell(const struct autotune *a, const struct way *w, long step, bool chosen, struct error *e)
{
    if (comm_rank(a->spec.comm) != 0)
        return true;
    json_t *event = sink_event(a->spec.sink, "trial");
    event_set_integer(event, "step", step);
    event_set_text(event, "algo", w->algo);
    event_set_integer(event, "bucket", (long long)w->bucket);
    event_set_integer(event, "buckets", w->buckets);
    event_set_number(event, "step_s", w->step_s[0]);
    event_set_number(event, "exposed_comm_s", w->exposed_s[0]);
    if (chosen)
        json_object_set_new(event, "chosen", json_true());
    return sink_emit(a->spec.sink, event, e);
}

/* The times of all ways become the same on all ranks. */
static bool compare(struct autotune *a, long step, struct error *e)
{
    for (int i = 0; i < a->count; i++) {
        struct way *w = &a->ways[i];
        double medians[2] = {timing_median(w->step_s, w->timed), timing_median(w->exposed_s, w->timed)};
        if (!comm_sum_double(a->spec.comm, medians, 2, e))
            return false;
        w->step_s[0] = medians[0] / comm_size(a->spec.comm);
        w->exposed_s[0] = medians[1] / comm_size(a->spec.comm);
        if (!tell(a, w, step, false, e))
            return false;
    }
    return true;
}

static const struct way *fastest(const struct autotune *a)
{
    const struct way *best = &a->ways[0];
    for (int i = 1; i < a->count; i++)
        if (a->ways[i].step_s[0] < best->step_s[0] * (best == &a->ways[0] ? FASTER : 1))
            best = &a->ways[i];
    return best;
}

static bool decide(const struct autotune *a, const struct way *best, long step, struct error *e)
{
    char text[256], how[64] = "one allreduce a step, after backward";
    if (!reducer_set(a->spec.reducer, best->algo, best->bucket, e) || !tell(a, best, step, true, e))
        return false;
    if (best->buckets > 1)
        snprintf(how, sizeof how, "%d buckets a step, beside backward", best->buckets);
    snprintf(text, sizeof text, "tuned in %ld steps: %s, %s: %.3g ms a step", (long)a->steps, best->algo, how,
             1e3 * best->step_s[0]);
    return comm_rank(a->spec.comm) != 0 || sink_note(a->spec.sink, "info", text, e);
}

bool autotune_step(struct autotune *a, long step, double seconds, double exposed_s, bool *done,
                   struct error *e)
{
    struct way *w = &a->ways[a->now];
    *done = false;
    if (a->taken++ < WARM)
        return true;
    w->step_s[w->timed] = seconds;
    w->exposed_s[w->timed++] = exposed_s;
    if (a->taken < TURN)
        return true;
    if (++a->now == a->count) {
        a->now = 0;
        a->round++;
    }
    if (a->round < ROUNDS)
        return take_turn(a, e);
    if (!compare(a, step, e))
        return false;
    const struct way *best = fastest(a);
    *done = a->buckets;
    if (*done)
        return decide(a, best, step, e);
    const char *algo = best->algo;
    a->buckets = true;
    a->round = a->count = 0;
    return add_buckets(a, algo, e) && take_turn(a, e);
}
