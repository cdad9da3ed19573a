/*
 * link.c - what a message, an addition and a pass over shared memory cost on this machine, measured.
 *
 * Everything is done by all ranks at the same time, as it is in a collective, where they share cores, memory
 * and wires. A message: each rank sends to the next one and receives from the one before, by the executor, at lengths
 * from one number to more than a cache holds. The same where what comes is added tells what adding costs. A
 * flag and a copy: what shm consists of. Times are those of a machine that little else disturbs.
 */
#include "engine/comm/comm_internal.h"
#include "engine/comm/executor.h"
#include "engine/comm/shm.h"

#include "engine/base/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMES = 9,         /* of each measurement, */
    TIMES_LONG = 5,    /* and of a long one */
    SHORT = 16 * 1024, /* up to here a measurement is several messages */
    MIDDLE = 1 << 20,  /* from here it is long */
    LEAST = 64 * 1024, /* bytes of memory to measure in, at least */
    MOST = 16 << 20,   /* and at most: with all ranks' more than a cache holds, */
    ALL = 64 << 20,    /* but of all ranks of a host no more than this */
};

/* Lengths of messages and passes. Just above 16 KiB messages begin to travel in another way (mailbox.c). */
static const double lengths[] = {4,         256,     4096,    16384,   16640,   65536, 256 << 10,
                                 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, MOST};
/* Once a message takes so long, longer ones are not measured. */
#define SLOW_S 15e-3
enum { LENGTHS = sizeof lengths / sizeof *lengths };
_Static_assert(LENGTHS + 1 <= COST_POINTS, "a curve begins with 0 where nothing costs nothing");

/* One thing to time: `count` of them take how long? */
struct timed {
    bool (*once)(struct comm *c, struct timed *w, struct error *e);
    char *from, *to;
    size_t bytes;
    int count;
    struct transport *transport;
    struct plan *plan;
};

/* The least of several, of long ones the lower quartile, each the slowest rank's; once before, to warm up. */
static bool typical_time(struct comm *c, struct timed *w, double *seconds, struct error *e)
{
    double times[TIMES];
    int count = w->bytes < MIDDLE ? TIMES : TIMES_LONG;
    for (int i = -1; i < count; i++) {
        if (!comm_barrier(c, e))
            return false;
        double begin = timing_now();
        for (int k = 0; k < w->count; k++)
            if (!w->once(c, w, e))
                return false;
        double most = (timing_now() - begin) / w->count;
        if (!comm_max_double(c, &most, 1, e))
            return false;
        if (i >= 0)
            times[i] = most;
    }
    timing_median(times, count); /* sorts them */
    *seconds = times[w->bytes < MIDDLE ? 0 : count / 4];
    return *seconds > 0 || error_set(e, ERROR_FAILED, "the clock is too coarse to time messages");
}

static bool exchange(struct comm *c, struct timed *w, struct error *e)
{
    (void)c;
    return plan_run(w->plan, w->transport, w->from, NULL, e);
}

static bool flag(struct comm *c, struct timed *w, struct error *e)
{
    (void)w;
    return shm_barrier(c->shm, e);
}

static bool copy(struct comm *c, struct timed *w, struct error *e)
{
    (void)c;
    (void)e;
    memcpy(w->to, w->from, w->bytes);
    return true;
}

static bool addition(struct comm *c, struct timed *w, struct error *e)
{
    (void)c;
    (void)e;
    element_f32.add(w->to, w->from, w->bytes / sizeof(float));
    return true;
}

static bool pass(struct comm *c, struct timed *w, struct error *e)
{
    return shm_allreduce(c->shm, &element_f32, w->from, w->from, w->bytes / sizeof(float), 0, e);
}

/*
 * Each rank sends x[0..n) to the next, which has it at x[n..2n) or adds it there; then the other way round, so that
 * what is sent has just been written, as in a collective: another core has to fetch it from this one's cache.
 */
static struct plan *exchange_plan(const struct comm *c, size_t n, bool adds, struct error *e)
{
    struct schedule s;
    if (!schedule_begin(&s, "a message", c->size, 2 * n, 1, 2 * (size_t)c->size, e))
        return NULL;
    for (int i = 0; i < 2 * c->size; i++) {
        bool back = i >= c->size;
        schedule_add(&s, (struct transfer){.round = back,
                                           .from = i % c->size,
                                           .to = (i + 1) % c->size,
                                           .offset = back ? n : 0,
                                           .length = n,
                                           .shift = back ? -(ptrdiff_t)n : (ptrdiff_t)n,
                                           .reduce = adds});
    }
    return plan_new(&s, c->rank, &element_f32, 0, e);
}

static bool time_exchange(struct comm *c, struct timed *w, bool adds, double *seconds, struct error *e)
{
    if (!(w->plan = exchange_plan(c, w->bytes / sizeof(float), adds, e)))
        return false;
    double there_and_back = 0;
    bool ok = typical_time(c, w, &there_and_back, e);
    *seconds = there_and_back / 2;
    plan_free(w->plan);
    return ok;
}

static void point(struct cost_curve *curve, double bytes, double seconds)
{
    curve->bytes[curve->count] = bytes;
    curve->seconds[curve->count++] = seconds;
}

/* No length takes longer than a greater one: what does was disturbed. */
static void smooth(struct cost_curve *curve)
{
    for (int i = curve->count - 1; i > 0; i--)
        curve->seconds[i - 1] = fmin(curve->seconds[i - 1], curve->seconds[i]);
}

/* x: 2 * most bytes. */
static bool measure_messages(struct comm *c, struct transport *t, char *x, size_t most, struct cost_link *l,
                             struct error *e)
{
    point(&l->adding, 0, 0);
    for (int i = 0; i < LENGTHS && lengths[i] <= (double)most; i++) {
        struct timed w = {.once = exchange, .from = x, .bytes = (size_t)lengths[i], .transport = t};
        double moved, added;
        w.count = w.bytes <= SHORT ? 20 : 1;
        if (!time_exchange(c, &w, false, &moved, e) || !time_exchange(c, &w, true, &added, e))
            return false;
        point(&l->message, lengths[i], moved);
        point(&l->adding, lengths[i], fmax(0, added - moved));
        if (moved > SLOW_S) /* a network: longer ones would tell nothing new, and take seconds */
            break;
    }
    smooth(&l->message);
    smooth(&l->adding);
    int near = l->message.count; /* the line stands for what stays in a cache */
    while (near > 2 && l->message.bytes[near - 1] > MIDDLE)
        near--;
    return cost_fit(l->message.bytes, l->message.seconds, near, &l->alpha, &l->beta) ||
           error_set(e, ERROR_FAILED, "the clock is too coarse to time messages");
}

static bool measure_passes(struct comm *c, char *x, size_t most, struct cost_curve *curve, struct error *e)
{
    for (int i = 0; i < LENGTHS && lengths[i] <= (double)most; i++) {
        struct timed w = {.once = pass, .from = x, .bytes = (size_t)lengths[i]};
        double seconds;
        w.count = w.bytes <= SHORT ? 20 : 1;
        if (!typical_time(c, &w, &seconds, e))
            return false;
        point(curve, lengths[i], seconds);
    }
    smooth(curve);
    return true;
}

/* from, to: so many bytes each, one behind the other; shared: as many that the ranks of the host share. */
static bool measure_memory(struct comm *c, char *from, char *shared, size_t bytes, struct comm_links *l,
                           struct error *e)
{
    struct timed adding = {.once = addition, .from = from, .to = from + bytes, .bytes = bytes, .count = 1};
    struct timed copying = adding, flagging = {.once = flag, .count = 100};
    double added, copied;
    copying.once = copy;
    if (!typical_time(c, &adding, &added, e))
        return false;
    l->messages.gamma = l->library.gamma = l->memory.gamma = added / (double)bytes;
    if (!l->shared)
        return true;
    if (!typical_time(c, &copying, &copied, e) || !typical_time(c, &flagging, &l->memory.alpha, e))
        return false;
    l->memory.beta = copied / (double)bytes;
    return measure_passes(c, shared, bytes, &l->memory.pass, e) &&
           measure_passes(c, from, bytes, &l->private_memory, e);
}

bool comm_measure_links(struct comm *c, size_t longest, struct comm_links *l, struct error *e)
{
    *l = (struct comm_links){.shared = comm_shares_memory(c)};
    if (c->size == 1)
        return true;
    size_t most = (size_t)ALL / 2 / (size_t)c->host_ranks;
    most = most < MOST ? most / 64 * 64 : MOST;
    size_t bytes = longest < LEAST ? LEAST : longest < most ? (longest + 63) / 64 * 64 : most;
    char *x = malloc(2 * bytes), *shared = (char *)comm_buffer(c, bytes / sizeof(float), e);
    bool ok = false;
    if (shared && x) {
        memset(x, 0, 2 * bytes);
        ok = measure_messages(c, comm_transport_real(c), x, bytes, &l->messages,
                              e) && /* also where it is slowed */
             (c->paced || measure_messages(c, comm_transport_mpi(c), x, bytes, &l->library, e)) &&
             measure_memory(c, x, shared, bytes, l, e);
    } else if (shared) {
        error_set(e, ERROR_FAILED, "out of memory for the timing of messages");
    }
    if (ok && c->paced)
        l->messages = slow_link_cost(&c->slow, c->size, &l->messages);
    comm_buffer_free(c, (float *)shared);
    free(x);
    return ok;
}

double comm_far_beta(const struct cost_link *l)
{
    const struct cost_curve *m = &l->message;
    int last = m->count - 1;
    if (last < 1 || m->bytes[last] < MOST)
        return NAN;
    return (m->seconds[last] - m->seconds[last - 1]) / (m->bytes[last] - m->bytes[last - 1]);
}

double comm_predict(const struct comm *c, const struct comm_links *l, const char *algo, double bytes,
                    bool shared)
{
    char name[32];
    if (strcmp(algo, "shm") == 0 && shared)
        return cost_seconds(&l->memory, "shm", c->size, bytes);
    if (strcmp(algo, "shm") == 0) {
        struct cost_link memory = l->memory;
        memory.pass = l->private_memory;
        return cost_seconds(&memory, memory.pass.count ? "shm" : "shm_private", c->size, bytes);
    }
    if (strcmp(algo, "mpi") == 0)
        return cost_seconds(&l->library, "mpi", c->size, bytes);
    snprintf(name, sizeof name, "%s", algo);
    if (strcmp(algo, "hierarchical") == 0 && c->ranks_per_host > 0)
        snprintf(name, sizeof name, "%s:%d", algo, c->ranks_per_host);
    return cost_seconds(&l->messages, name, c->size, bytes);
}
