#include "tui/ring_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
    const struct ring_message *x = a, *y = b;
    if (x->t0 != y->t0)
        return x->t0 < y->t0 ? -1 : 1;
    return x->from - y->from;
}

static int by_round(const void *a, const void *b)
{
    const struct ring_message *x = a, *y = b;
    if (x->round != y->round)
        return x->round - y->round;
    if (x->from != y->from)
        return x->from - y->from;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/*
 * Whether the rounds that are said can be taken: every message has one, and in a round a rank sends to one rank and
 * receives from one. (In a rank script the number only counts a rank's own messages.)
 */
static bool rounds_said(const struct run_op *op)
{
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *x = &op->hops[i];
        if (x->hop < 0 || x->phase == HOP_OTHER)
            return false;
        for (int k = 0; k < i; k++) {
            const struct run_hop *y = &op->hops[k];
            if (y->hop == x->hop && y->phase == x->phase && (y->from == x->from) != (y->to == x->to))
                return false;
        }
    }
    return true;
}

/* Takes the rounds that were said; an allgather that counts from 0 again follows the reduce-scatter. */
static void take_rounds(struct ring_model *m, const struct run_op *op)
{
    int last = -1, first = -1;
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *h = &op->hops[i];
        if (h->phase == HOP_REDUCE_SCATTER && h->hop > last)
            last = h->hop;
        if (h->phase == HOP_ALLGATHER && (first < 0 || h->hop < first))
            first = h->hop;
    }
    int shift = last >= 0 && first >= 0 && first <= last ? last + 1 - first : 0;
    for (int i = 0; i < op->count; i++)
        m->messages[i].round = op->hops[i].hop + (op->hops[i].phase == HOP_ALLGATHER ? shift : 0);
}

/* Rounds from causality. */
static void infer_rounds(struct ring_model *m)
{
    qsort(m->messages, (size_t)m->count, sizeof *m->messages, by_start);
    int sent[RING_MAX_RANKS], got[RING_MAX_RANKS];
    for (int i = 0; i < RING_MAX_RANKS; i++)
        sent[i] = got[i] = -1;
    for (int i = 0; i < m->count; i++) {
        struct ring_message *x = &m->messages[i];
        int after = sent[x->from] > got[x->to] ? sent[x->from] : got[x->to];
        for (int k = 0; k < i; k++) {
            const struct ring_message *before = &m->messages[k];
            if (before->to == x->from && before->t1 <= x->t0 && before->round > after)
                after = before->round;
        }
        x->round = sent[x->from] = got[x->to] = after + 1;
    }
}

/* Segments of one transfer become one message; rounds are numbered without gaps. */
static void merge(struct ring_model *m)
{
    qsort(m->messages, (size_t)m->count, sizeof *m->messages, by_round);
    int kept = 0;
    for (int i = 0; i < m->count; i++) {
        struct ring_message *x = &m->messages[i], *same = NULL;
        for (int k = kept - 1; k >= 0 && m->messages[k].round == x->round && m->messages[k].from == x->from;
             k--)
            if (m->messages[k].to == x->to && m->messages[k].chunk == x->chunk)
                same = &m->messages[k];
        if (same) {
            same->bytes += x->bytes;
            same->t0 = fmin(same->t0, x->t0);
            same->t1 = fmax(same->t1, x->t1);
        } else {
            m->messages[kept++] = *x;
        }
    }
    m->count = kept;
    int number = -1, previous = -1;
    for (int i = 0; i < m->count; i++) {
        if (i == 0 || m->messages[i].round != previous)
            number++;
        previous = m->messages[i].round;
        m->messages[i].round = number;
    }
    m->rounds = number + 1;
}

static bool index_rounds(struct ring_model *m)
{
    m->first = calloc((size_t)m->rounds + 1, sizeof *m->first);
    if (!m->first)
        return false;
    for (int i = 0; i < m->count; i++)
        m->first[m->messages[i].round + 1] = i + 1;
    return true;
}

/* The buffer's bytes: the sum over chunks of the largest message that carried each. */
static double buffer_of(const struct ring_model *m)
{
    double sum = 0;
    for (int chunk = 0; chunk < m->chunks; chunk++) {
        double most = 0;
        for (int i = 0; i < m->count; i++)
            if (m->messages[i].chunk == chunk)
                most = fmax(most, m->messages[i].bytes);
        sum += most;
    }
    return sum;
}

static bool neighbours(int a, int b, int ranks)
{
    return a != b && ((a + 1) % ranks == b || (b + 1) % ranks == a);
}

/* The messages of a tree go where the tree wants. */
static bool on_tree(enum hop_phase phase)
{
    return phase == HOP_REDUCE || phase == HOP_BROADCAST;
}

bool ring_model_build(struct ring_model *m, const struct run_op *op, struct error *e)
{
    *m = (struct ring_model){.op = op->op, .ranks = op->ranks, .count = op->count, .ring = true};
    memcpy(m->algo, op->algo, sizeof m->algo);
    if (op->count < 1)
        return error_set(e, ERROR_INPUT,
                         "this operation has no messages: a single rank has nobody to send to");
    if (op->ranks > RING_MAX_RANKS)
        return error_set(e, ERROR_INPUT, "a ring of %d ranks cannot be drawn; at most %d", op->ranks,
                         RING_MAX_RANKS);
    m->messages = calloc((size_t)op->count, sizeof *m->messages);
    if (!m->messages)
        return error_set(e, ERROR_FAILED, "out of memory");
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *h = &op->hops[i];
        m->messages[i] = (struct ring_message){
            .phase = h->phase,
            .from = h->from,
            .to = h->to,
            .chunk = h->chunk,
            .bytes = h->bytes,
            .t0 = h->t0,
            .t1 = h->t1,
            .stranger = !on_tree(h->phase) && !neighbours(h->from, h->to, op->ranks),
        };
        if (h->chunk >= m->chunks && h->chunk < 4 * RING_MAX_RANKS)
            m->chunks = h->chunk + 1;
    }
    /* A ring has as many chunks as ranks, though an empty one is never sent; a tree sends the buffer whole. */
    m->tree = on_tree(op->hops[0].phase);
    if (!m->tree && m->chunks > 0 && m->chunks < m->ranks)
        m->chunks = m->ranks;
    if (rounds_said(op))
        take_rounds(m, op);
    else
        infer_rounds(m);
    merge(m);
    if (!index_rounds(m)) {
        ring_model_free(m);
        return error_set(e, ERROR_FAILED, "out of memory");
    }
    for (int i = 0; i < m->count; i++) {
        m->strangers += m->messages[i].stranger;
        m->total_bytes += m->messages[i].bytes;
    }
    m->ring = !m->tree && m->strangers == 0;
    m->buffer_bytes = buffer_of(m);
    return true;
}

void ring_model_free(struct ring_model *m)
{
    if (!m)
        return;
    free(m->messages);
    free(m->first);
    *m = (struct ring_model){0};
}

void ring_model_state(const struct ring_model *m, int round, uint64_t *sets)
{
    for (int r = 0; r < m->ranks; r++)
        for (int c = 0; c < m->chunks; c++)
            sets[r * m->chunks + c] = UINT64_C(1) << r;
    if (!m->chunks || round <= 0)
        return;
    /* All messages of a round carry what was there before it. */
    uint64_t *carried = malloc((size_t)m->count * sizeof *carried);
    if (!carried)
        return;
    for (int k = 0; k < round && k < m->rounds; k++) {
        for (int i = m->first[k]; i < m->first[k + 1]; i++) {
            const struct ring_message *x = &m->messages[i];
            carried[i] = x->chunk >= 0 && x->chunk < m->chunks ? sets[x->from * m->chunks + x->chunk] : 0;
        }
        for (int i = m->first[k]; i < m->first[k + 1]; i++) {
            const struct ring_message *x = &m->messages[i];
            if (x->chunk < 0 || x->chunk >= m->chunks)
                continue;
            uint64_t *set = &sets[x->to * m->chunks + x->chunk];
            *set = x->phase == HOP_ALLGATHER || x->phase == HOP_BROADCAST ? carried[i] : *set | carried[i];
        }
    }
    free(carried);
}

double ring_model_bytes(const struct ring_model *m, int round)
{
    double sum = 0;
    for (int i = 0; i < m->count && m->messages[i].round < round; i++)
        sum += m->messages[i].bytes;
    return sum;
}

double ring_model_duration(const struct ring_model *m, int round)
{
    double t0 = INFINITY, t1 = -INFINITY;
    if (round < 0 || round >= m->rounds)
        return NAN;
    for (int i = m->first[round]; i < m->first[round + 1]; i++) {
        t0 = fmin(t0, m->messages[i].t0);
        t1 = fmax(t1, m->messages[i].t1);
    }
    return t1 >= t0 ? t1 - t0 : NAN;
}

enum hop_phase ring_model_phase(const struct ring_model *m, int round)
{
    int votes[HOP_PHASES] = {0}, most = HOP_OTHER;
    if (round < 0 || round >= m->rounds)
        return HOP_OTHER;
    for (int i = m->first[round]; i < m->first[round + 1]; i++)
        votes[m->messages[i].phase]++;
    for (int phase = HOP_OTHER; phase >= 0; phase--)
        if (votes[phase] >= votes[most])
            most = phase;
    return (enum hop_phase)most;
}

double ring_expected_bytes(int ranks, double buffer_bytes)
{
    return ranks > 0 ? 2.0 * (ranks - 1) / ranks * buffer_bytes : 0;
}
