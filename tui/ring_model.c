#include "tui/ring_model.h"

#include "engine/spec/cost.h"

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
 * Whether the rounds that are said can be taken: every message has one. A learner's script counts each rank's own messages:
 * that makes rounds where in each a rank sends to one rank and receives from one.
 */
static bool rounds_said(const struct ring_model *m, const struct run_op *op)
{
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *x = &op->hops[i];
        if (x->hop < 0 || x->hop > 4 * op->count + 64 || x->phase == HOP_OTHER)
            return false;
        for (int k = 0; m->yours && k < i; k++) {
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
    int shift = first == 0 && last >= 0 ? last + 1 : 0;
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

/* Segments of one transfer become one message; rounds that were not said are numbered without gaps. */
static void merge(struct ring_model *m, bool said)
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
        if (!said)
            m->messages[i].round = number;
    }
    m->rounds = said ? previous + 1 : number + 1;
}

static bool index_rounds(struct ring_model *m)
{
    m->first = calloc((size_t)m->rounds + 1, sizeof *m->first);
    if (!m->first)
        return false;
    for (int i = 0; i < m->count; i++)
        m->first[m->messages[i].round + 1] = i + 1;
    for (int k = 0; k < m->rounds; k++) /* a round that has none */
        m->first[k + 1] = m->first[k + 1] > m->first[k] ? m->first[k + 1] : m->first[k];
    return true;
}

/* Whether its messages carry several chunks: those of halving doubling and of hosts. */
static bool spans(const struct ring_model *m)
{
    return !strncmp(m->algo, "halving_doubling", 16) || !strncmp(m->algo, "hierarchical", 12);
}

/* Its chunks are as long as the shortest message. */
static void find_spans(struct ring_model *m)
{
    double least = INFINITY;
    for (int i = 0; i < m->count; i++) {
        m->messages[i].span = 1;
        if (m->messages[i].bytes > 0)
            least = fmin(least, m->messages[i].bytes);
    }
    for (int i = 0; spans(m) && i < m->count; i++) {
        struct ring_message *x = &m->messages[i];
        double span = round(x->bytes / least);
        x->span = span > 1 && span <= RING_MAX_RANKS ? (int)span : 1;
        if (x->chunk >= 0 && x->chunk + x->span > m->chunks && x->chunk < RING_MAX_RANKS)
            m->chunks = x->chunk + x->span;
    }
}

/* The buffer's bytes: the sum over chunks of the largest message that carried each, or its part of one. */
static double buffer_of(const struct ring_model *m)
{
    double sum = 0;
    for (int chunk = 0; chunk < m->chunks; chunk++) {
        double most = 0;
        for (int i = 0; i < m->count; i++) {
            const struct ring_message *x = &m->messages[i];
            if (x->chunk >= 0 && chunk >= x->chunk && chunk < x->chunk + x->span)
                most = fmax(most, x->bytes / x->span);
        }
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

/* Whether its ranks are to send to neighbours only: of the learner's that is the exercise. */
static bool claims_ring(const struct ring_model *m)
{
    const char *algo = collective_algo(m->collective);
    return m->yours || (algo && strcmp(algo, "ring") == 0) || strcmp(m->algo, "ring") == 0 ||
           strncmp(m->algo, "ring_segmented", 14) == 0;
}

static void describe(struct ring_model *m, const struct run_op *op)
{
    m->op = op->op;
    m->ranks = op->ranks;
    memcpy(m->algo, op->algo, sizeof m->algo);
    m->yours = strcmp(m->algo, "yours") == 0;
    m->collective = collective_named(m->algo);
    if (m->collective == COLLECTIVES)
        m->collective = ALLREDUCE;
    m->claims_ring = claims_ring(m);
    m->tree = on_tree(op->hops[0].phase);
}

static void take_messages(struct ring_model *m, const struct run_op *op)
{
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *h = &op->hops[i];
        bool far = !neighbours(h->from, h->to, op->ranks);
        m->messages[i] = (struct ring_message){
            .phase = h->phase,
            .from = h->from,
            .to = h->to,
            .chunk = h->chunk,
            .bytes = h->bytes,
            .t0 = h->t0,
            .t1 = h->t1,
            .far = far,
            .stranger = far && m->claims_ring,
        };
        if (h->chunk >= m->chunks && h->chunk < 4 * RING_MAX_RANKS)
            m->chunks = h->chunk + 1;
    }
    /* A ring has as many chunks as ranks, though an empty one is never sent. */
    if ((m->claims_ring || m->collective == ALLTOALL) && m->chunks > 0 && m->chunks < m->ranks)
        m->chunks = m->ranks;
}

bool ring_model_build(struct ring_model *m, const struct run_op *op, bool whole, struct error *e)
{
    *m = (struct ring_model){.count = op->count, .ring = true};
    if (op->count < 1)
        return error_set(e, ERROR_INPUT,
                         "this operation has no messages: a single rank has nobody to send to");
    if (op->ranks > RING_MAX_RANKS)
        return error_set(e, ERROR_INPUT, "a ring of %d ranks cannot be drawn; at most %d", op->ranks,
                         RING_MAX_RANKS);
    m->messages = calloc((size_t)op->count, sizeof *m->messages);
    if (!m->messages)
        return error_set(e, ERROR_FAILED, "out of memory");
    describe(m, op);
    take_messages(m, op);
    bool said = rounds_said(m, op);
    if (said)
        take_rounds(m, op);
    else
        infer_rounds(m);
    merge(m, said);
    if (!index_rounds(m)) {
        ring_model_free(m);
        return error_set(e, ERROR_FAILED, "out of memory");
    }
    for (int i = 0; i < m->count; i++) {
        m->strangers += m->messages[i].stranger;
        m->ring = m->ring && !m->messages[i].far;
        m->total_bytes += m->messages[i].bytes;
    }
    m->ring = !m->tree && m->ring;
    find_spans(m);
    m->buffer_bytes = buffer_of(m);
    ring_faults_find(m, whole);
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

static uint64_t bit(int rank)
{
    return UINT64_C(1) << rank;
}

static void begin_state(const struct ring_model *m, uint64_t *sets)
{
    for (int r = 0; r < m->ranks; r++)
        for (int c = 0; c < m->chunks; c++)
            sets[r * m->chunks + c] = m->collective == ALLGATHER && c != r ? 0 : bit(r);
}

/* What a message does to one chunk of its receiver, of which the sender had `carried`. */
static void receive(const struct ring_model *m, const struct ring_message *x, int chunk, uint64_t carried,
                    uint64_t *sets)
{
    if (x->phase == HOP_ALLTOALL) {
        if (x->from < m->chunks)
            sets[x->to * m->chunks + x->from] = bit(x->from);
        return;
    }
    uint64_t *set = &sets[x->to * m->chunks + chunk];
    *set = x->phase == HOP_ALLGATHER || x->phase == HOP_BROADCAST ? carried : *set | carried;
}

void ring_model_state(const struct ring_model *m, int round, uint64_t *sets)
{
    begin_state(m, sets);
    size_t cells = (size_t)m->ranks * (size_t)m->chunks;
    /* All messages of a round carry what was there before it. */
    uint64_t *before = cells && round > 0 ? malloc(cells * sizeof *before) : NULL;
    for (int k = 0; before && k < round && k < m->rounds; k++) {
        memcpy(before, sets, cells * sizeof *before);
        for (int i = m->first[k]; i < m->first[k + 1]; i++) {
            const struct ring_message *x = &m->messages[i];
            for (int c = x->chunk; x->chunk >= 0 && c < x->chunk + x->span && c < m->chunks; c++)
                receive(m, x, c, before[x->from * m->chunks + c], sets);
        }
    }
    free(before);
}

int ring_model_have(const struct ring_model *m, const uint64_t *sets, int rank, int chunk)
{
    uint64_t set = sets[rank * m->chunks + chunk], wanted = 0;
    switch (m->collective) {
    case BROADCAST: wanted = bit(0); break;
    case ALLGATHER:
    case ALLTOALL: wanted = chunk < m->ranks ? bit(chunk) : 0; break;
    case ALLREDUCE:
    case REDUCE:
    case REDUCE_SCATTER:
    case BARRIER:
    case COLLECTIVES: return __builtin_popcountll(set);
    }
    return set == wanted ? m->ranks : 0;
}

bool ring_model_complete(const struct ring_model *m, const uint64_t *sets, int rank)
{
    if (m->collective == REDUCE && rank != 0)
        return false; /* it has nothing at the end */
    for (int k = 0; k < m->chunks; k++)
        if ((m->collective != REDUCE_SCATTER || k == rank) && ring_model_have(m, sets, rank, k) < m->ranks)
            return false;
    return m->chunks > 0;
}

double ring_model_bytes(const struct ring_model *m, int round)
{
    double sum = 0;
    for (int i = 0; i < m->count && m->messages[i].round < round; i++)
        sum += m->messages[i].bytes;
    return sum;
}

double ring_model_busiest_bytes(const struct ring_model *m, int round)
{
    double through[RING_MAX_RANKS] = {0}, most = 0;
    for (int k = 0; k < round && k < m->rounds; k++) {
        double sent[RING_MAX_RANKS] = {0}, got[RING_MAX_RANKS] = {0};
        for (int i = m->first[k]; i < m->first[k + 1]; i++) {
            sent[m->messages[i].from] += m->messages[i].bytes;
            got[m->messages[i].to] += m->messages[i].bytes;
        }
        for (int r = 0; r < m->ranks; r++) {
            through[r] += fmax(sent[r], got[r]);
            most = fmax(most, through[r]);
        }
    }
    return most;
}

double ring_model_formula_bytes(const struct ring_model *m, const char **text)
{
    static const struct cost_link bytes_alone = {.beta = 1};
    const char *name = m->yours ? "ring" : m->algo;
    size_t length = strcspn(name, ":");
    *text = NULL;
    for (int i = 0; cost_formula(i); i++)
        if (strlen(cost_formula(i)->algo) == length && !strncmp(cost_formula(i)->algo, name, length))
            *text = cost_formula(i)->text;
    return *text && m->buffer_bytes > 0 ? cost_seconds(&bytes_alone, name, m->ranks, m->buffer_bytes) : NAN;
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
