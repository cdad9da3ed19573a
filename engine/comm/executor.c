#include "engine/comm/executor.h"

#include "engine/base/sink.h"
#include "engine/comm/hop_log.h"
#include "engine/comm/idle.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 2,    /* segments of a transfer under way at once */
    LOOKAHEAD = 1, /* rounds that may begin before the oldest has ended; each step waits for what it needs */
    TAGS = 32768,  /* MPI promises tags up to 32767 */
};

/* One transfer, seen from this rank. Counts are of elements of the transfer. */
struct step {
    const struct transfer *transfer;
    size_t offset; /* where it lies in this rank's buffer */
    int index;     /* in the schedule: the tag both ranks agree on */
    bool send;
    bool staged;           /* a receive by way of scratch memory */
    int needs, need_count; /* steps that must have come this far first: plan->needs[needs ...] */
    int prefix;     /* the receive whose segments are added to this one's before they go on; -1: none */
    bool held;      /* this is such a receive: a later one takes its segments */
    size_t segment; /* length of all its segments but the last */
    /* While it runs: */
    size_t posted, done;
    struct pending pending[WINDOW]; /* oldest first */
    void *scratch[WINDOW];
    int flying;
    bool arrived; /* held: its oldest segment waits to be taken */
    double t0, t1;
};

struct plan {
    struct schedule schedule;
    const struct element *type;
    int rank;
    int stamp; /* added to all tags */
    double sent_bytes;
    struct step *steps; /* ordered by round */
    int count;
    int *needs;
    int need_total, need_capacity;
    int first;             /* the oldest step that is not done */
    bool timed;            /* this run is to be recorded */
    size_t scratch_length; /* elements of each scratch segment */
    void **free_scratch;
    int free_count, scratch_total;
};

static bool overlap(const struct step *a, const struct step *b)
{
    return a->offset < b->offset + b->transfer->length && b->offset < a->offset + a->transfer->length;
}

static bool need(struct plan *p, int before, struct error *e)
{
    if (p->need_total == p->need_capacity) {
        int capacity = p->need_capacity ? 2 * p->need_capacity : 64;
        int *grown = realloc(p->needs, (size_t)capacity * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for the plan of an allreduce");
        p->needs = grown;
        p->need_capacity = capacity;
    }
    p->needs[p->need_total++] = before;
    return true;
}

/*
 * What step i waits for. A send needs what earlier rounds brought. A receive must not touch elements that an
 * earlier step still sends or brings; where this very round sends them too, it is staged and added
 * afterwards.
 */
static bool find_needs(struct plan *p, int i, struct error *e)
{
    struct step *s = &p->steps[i];
    s->needs = p->need_total;
    for (int j = 0; j < p->count && p->steps[j].transfer->round <= s->transfer->round; j++) {
        const struct step *other = &p->steps[j];
        bool earlier = other->transfer->round < s->transfer->round;
        if (j == i || j == s->prefix || !overlap(other, s))
            continue;
        if (s->send ? !earlier || other->send : !earlier && !other->send && j > i)
            continue;
        if (!earlier && !s->send && other->send)
            s->staged = true;
        if (!need(p, j, e))
            return false;
    }
    s->need_count = p->need_total - s->needs;
    return true;
}

/*
 * Where several ranks send to this one in one round for the same elements, the sum is to be the same, bit for bit, on every
 * rank that sums so ("everyone"): in the order of ranks, this one's own among them. So what lower ranks send is added up
 * by itself, each receive handing its segments to the next lower rank's, before it meets what is here.
 */
static void link_lower_ranks(struct plan *p)
{
    for (int j = 0; j < p->count; j++) {
        struct step *s = &p->steps[j];
        const struct transfer *b = s->transfer;
        s->prefix = -1;
        for (int i = j - 1; i >= 0 && p->steps[i].transfer->round == b->round; i--) {
            const struct transfer *a = p->steps[i].transfer;
            if (s->send || p->steps[i].send || !a->reduce || !b->reduce || a->from > b->from ||
                b->from > p->rank || p->steps[i].offset != s->offset || a->length != b->length)
                continue;
            s->prefix = i;
            p->steps[i].held = true;
            break;
        }
    }
}

struct plan *plan_new(struct schedule *s, int rank, const struct element *type, size_t segment,
                      struct error *e)
{
    struct plan *p = calloc(1, sizeof *p);
    if (!p) {
        schedule_free(s);
        error_set(e, ERROR_FAILED, "out of memory for the plan of an allreduce");
        return NULL;
    }
    p->schedule = *s;
    memset(s, 0, sizeof *s);
    p->type = type;
    p->rank = rank;
    if (segment == 0)
        segment = PLAN_SEGMENT;
    for (int i = 0; i < p->schedule.count; i++)
        p->sent_bytes += (double)p->schedule.transfers[i].length * (double)type->bytes / p->schedule.ranks;
    for (int i = 0; i < p->schedule.count; i++)
        p->count += p->schedule.transfers[i].from == rank || p->schedule.transfers[i].to == rank;
    p->steps = calloc((size_t)p->count + 1, sizeof *p->steps);
    if (!p->steps) {
        error_set(e, ERROR_FAILED, "out of memory for the plan of an allreduce");
        goto fail;
    }
    int n = 0;
    for (int i = 0; i < p->schedule.count; i++) {
        const struct transfer *t = &p->schedule.transfers[i];
        if ((t->from != rank && t->to != rank) || t->length == 0)
            continue;
        /* Segments of equal length, so that none is a mere rest. */
        size_t segments = (t->length + segment - 1) / segment;
        p->steps[n++] = (struct step){.transfer = t,
                                      .offset = t->from == rank ? t->offset : t->offset + t->shift,
                                      .index = i,
                                      .send = t->from == rank,
                                      .staged = t->from != rank && t->reduce,
                                      .segment = (t->length + segments - 1) / segments};
    }
    p->count = n;
    link_lower_ranks(p);
    for (int i = 0; i < n; i++) {
        if (!find_needs(p, i, e))
            goto fail;
        if (p->steps[i].staged && p->steps[i].segment > p->scratch_length)
            p->scratch_length = p->steps[i].segment;
    }
    return p;
fail:
    plan_free(p);
    return NULL;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->free_count; i++)
        free(p->free_scratch[i]);
    free(p->free_scratch);
    free(p->needs);
    free(p->steps);
    schedule_free(&p->schedule);
    free(p);
}

void plan_stamp(struct plan *p, unsigned stamp)
{
    p->stamp = (int)stamp * TAGS;
}

const struct schedule *plan_schedule(const struct plan *p)
{
    return &p->schedule;
}

const struct element *plan_element(const struct plan *p)
{
    return p->type;
}

double plan_sent_bytes(const struct plan *p)
{
    return p->sent_bytes;
}

/* A segment of scratch memory: the one given back last, which is still in the cache, or a new one. */
static void *scratch_take(struct plan *p, struct error *e)
{
    if (p->free_count)
        return p->free_scratch[--p->free_count];
    void **grown = realloc(p->free_scratch, ((size_t)p->scratch_total + 1) * sizeof *grown);
    if (grown)
        p->free_scratch = grown;
    size_t bytes = (p->scratch_length * p->type->bytes + 63) / 64 * 64;
    void *scratch = grown ? aligned_alloc(64, bytes) : NULL;
    if (!scratch) {
        error_set(e, ERROR_FAILED, "out of memory for %zu bytes to receive into", bytes);
        return NULL;
    }
    p->scratch_total++;
    return scratch;
}

static void scratch_give(struct plan *p, void *scratch)
{
    p->free_scratch[p->free_count++] = scratch;
}

static size_t segment_length(const struct step *s, size_t begin)
{
    size_t rest = s->transfer->length - begin;
    return rest < s->segment ? rest : s->segment;
}

/* Whether elements [begin, begin + length) of the step are free to be sent, received or added now. */
static bool ready(const struct plan *p, const struct step *s, size_t begin, size_t length)
{
    size_t lo = s->offset + begin, hi = lo + length;
    for (int i = 0; i < s->need_count; i++) {
        const struct step *before = &p->steps[p->needs[s->needs + i]];
        size_t from = before->offset, end = from + before->transfer->length;
        if (lo >= end || hi <= from)
            continue;
        if (from + before->done < (hi < end ? hi : end))
            return false;
    }
    return true;
}

/* Starts the segments there is room and leave for. */
static bool step_post(struct plan *p, struct step *s, struct transport *t, char *x, bool *moved,
                      struct error *e)
{
    const struct transfer *transfer = s->transfer;
    size_t width = p->type->bytes;
    while (s->flying < WINDOW && s->posted < transfer->length) {
        size_t length = segment_length(s, s->posted);
        if (!s->staged && !ready(p, s, s->posted, length))
            break;
        char *data = x + (s->offset + s->posted) * width;
        struct pending *pending = &s->pending[s->flying];
        int tag = s->index % TAGS + p->stamp;
        if (s->posted == 0)
            s->t0 = p->timed ? sink_clock() : 0;
        s->scratch[s->flying] = s->staged ? scratch_take(p, e) : NULL;
        if (s->staged && !s->scratch[s->flying])
            return false;
        bool ok = s->send
                      ? t->ops->send_start(t, transfer->to, tag, data, length * width, false, pending, e)
                      : t->ops->recv_start(t, transfer->from, tag, s->staged ? s->scratch[s->flying] : data,
                                           length * width, pending, e);
        s->flying++; /* its scratch memory is given back in any case */
        if (!ok)
            return false;
        s->posted += length;
        *moved = true;
    }
    return true;
}

/* The oldest segment has been dealt with. */
static void step_advance(struct plan *p, struct step *s)
{
    size_t length = segment_length(s, s->done);
    if (s->staged)
        scratch_give(p, s->scratch[0]);
    s->flying--;
    memmove(s->pending, s->pending + 1, (size_t)s->flying * sizeof *s->pending);
    memmove(s->scratch, s->scratch + 1, (size_t)s->flying * sizeof *s->scratch);
    s->done += length;
    s->arrived = false;
    if (s->done == s->transfer->length)
        s->t1 = p->timed ? sink_clock() : 0;
}

/* Whether the oldest segment can go on: with what lower ranks sent in it, and where it belongs free. */
static bool step_collect(struct plan *p, struct step *s, size_t length)
{
    if (s->arrived || !s->staged)
        return !s->held;
    struct step *before = s->prefix >= 0 ? &p->steps[s->prefix] : NULL;
    if ((before && !before->arrived) || (!s->held && !ready(p, s, s->done, length)))
        return false;
    if (before) {
        p->type->add(s->scratch[0], before->scratch[0], length);
        step_advance(p, before);
    }
    s->arrived = s->held;
    return !s->held;
}

/* Takes in the segments that are done, oldest first. */
static bool step_finish(struct plan *p, struct step *s, struct transport *t, char *x, bool *moved,
                        struct error *e)
{
    while (s->flying > 0) {
        size_t length = segment_length(s, s->done);
        enum progress progress = t->ops->test(t, &s->pending[0], e); /* none is done: it came before */
        if (progress == PROGRESS_FAILED)
            return false;
        if (progress == PROGRESS_BUSY || !step_collect(p, s, length))
            return true;
        char *data = x + (s->offset + s->done) * p->type->bytes;
        if (s->staged && s->transfer->reduce)
            p->type->add(data, s->scratch[0], length);
        else if (s->staged)
            memcpy(data, s->scratch[0], length * p->type->bytes);
        step_advance(p, s);
        *moved = true;
    }
    return true;
}

bool plan_start(struct plan *p, struct error *e)
{
    for (int i = 0; i < p->count; i++) {
        struct step *s = &p->steps[i];
        if (s->flying > 0)
            return error_set(e, ERROR_FAILED, "a plan whose messages are still under way was started again");
        s->posted = s->done = 0;
        s->arrived = false;
    }
    p->first = 0;
    p->timed = false;
    return true;
}

enum progress plan_step(struct plan *p, struct transport *t, void *x, bool *moved, struct error *e)
{
    *moved = false;
    if (p->first == p->count)
        return PROGRESS_DONE;
    int last_round = p->steps[p->first].transfer->round + LOOKAHEAD;
    for (int i = p->first; i < p->count && p->steps[i].transfer->round <= last_round; i++) {
        struct step *s = &p->steps[i];
        if (s->done == s->transfer->length)
            continue;
        if (!step_post(p, s, t, x, moved, e) || !step_finish(p, s, t, x, moved, e)) {
            error_wrap(e, "%s, round %d, rank %d to rank %d", p->schedule.algo, s->transfer->round,
                       s->transfer->from, s->transfer->to);
            return PROGRESS_FAILED;
        }
    }
    while (p->first < p->count && p->steps[p->first].done == p->steps[p->first].transfer->length)
        p->first++;
    return p->first == p->count ? PROGRESS_DONE : PROGRESS_BUSY;
}

/* To the end, waiting in between. */
static bool run(struct plan *p, struct transport *t, void *x, struct error *e)
{
    struct idle idle = idle_start(t->crowded, t->aside);
    for (;;) {
        bool moved;
        t->gave_way = false;
        enum progress progress = plan_step(p, t, x, &moved, e);
        if (progress != PROGRESS_BUSY)
            return progress == PROGRESS_DONE;
        if (moved)
            idle_reset(&idle);
        else if (t->ops->rest)
            t->ops->rest(t);
        else if (t->gave_way)
            idle_gave_way(&idle);
        else
            idle_step(&idle);
    }
}

static bool keep_log(const struct plan *p, struct hop_log *log, struct error *e)
{
    if (!hop_log_reserve(log, p->count, e))
        return false;
    for (int i = 0; i < p->count; i++) {
        const struct step *s = &p->steps[i];
        const struct transfer *t = s->transfer;
        log->records[log->count++] = (struct hop_record){.round = t->round,
                                                         .from = t->from,
                                                         .to = t->to,
                                                         .chunk = t->chunk,
                                                         .phase = (int32_t)t->phase,
                                                         .sent = s->send,
                                                         .index = s->index,
                                                         .bytes = t->length * p->type->bytes,
                                                         .t0 = s->t0,
                                                         .t1 = s->t1};
    }
    return true;
}

bool plan_run(struct plan *p, struct transport *t, void *x, struct hop_log *log, struct error *e)
{
    if (t->size != p->schedule.ranks || t->rank != p->rank)
        return error_set(e, ERROR_INPUT, "a plan for rank %d of %d was run as rank %d of %d", p->rank,
                         p->schedule.ranks, t->rank, t->size);
    if (!plan_start(p, e))
        return false;
    p->timed = log != NULL; /* reading the clock costs as much as a short message */
    bool ok = run(p, t, x, e);
    if (!ok) /* what is still under way may write into its scratch memory: leave that to the end of the
                process */
        return false;
    return !log || keep_log(p, log, e);
}
