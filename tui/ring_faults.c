/*
 * ring_faults.c - what does not belong into an operation, named: by its schedule where its algorithm is known, else by what
 * a ring-allreduce is.
 *
 * A sum is wrong where a contribution is added twice: the receiver's set and the set that arrives then overlap, which in a
 * right reduce-scatter or reduce never happens.
 */
#include "tui/ring_model.h"
#include "tui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(struct ring_model *m, struct ring_fault fault)
{
    if (m->fault_count < RING_MAX_FAULTS)
        m->faults[m->fault_count++] = fault;
}

static void add_message(struct ring_model *m, struct ring_message *x, enum ring_fault_kind kind, int expected)
{
    x->faulty = true;
    add(m, (struct ring_fault){kind, x->round, x->from, x->to, x->chunk, expected, 0});
}

/* --- against the schedule --- */

/*
 * The schedule of the operation, where it does not depend on what the messages do not tell (the type of number, hosts): else
 * false. Short buffers have empty pieces, and which depends on the type too.
 */
static bool schedule_of(const struct ring_model *m, struct schedule *s)
{
    struct error e = {0};
    size_t length = (size_t)(m->buffer_bytes / 4);
    bool guess = !strncmp(m->algo, "ring_segmented", 14) || !strcmp(m->algo, "hierarchical") ||
                 length < 4 * (size_t)m->ranks;
    memset(s, 0, sizeof *s);
    if (m->yours || (guess && m->collective != BARRIER))
        return false;
    if (m->collective == ALLREDUCE)
        return schedule_make(s, m->algo, m->ranks, length, &e);
    return schedule_collective(s, m->collective, m->ranks, length / (size_t)m->ranks * (size_t)m->ranks, &e);
}

static struct ring_message *message_of(struct ring_model *m, const struct transfer *t, bool anywhere)
{
    if (t->round >= m->rounds)
        return NULL;
    for (int i = m->first[t->round]; i < m->first[t->round + 1]; i++) {
        struct ring_message *x = &m->messages[i];
        if (x->from == t->from && x->chunk == t->chunk && (anywhere || x->to == t->to))
            return x;
    }
    return NULL;
}

static bool in_schedule(const struct schedule *s, const struct ring_message *x)
{
    for (int i = 0; i < s->count; i++) {
        const struct transfer *t = &s->transfers[i];
        if (t->round == x->round && t->from == x->from && t->to == x->to && t->chunk == x->chunk)
            return true;
    }
    return false;
}

/* Bytes of an element: of the message that has the fewest for its length. */
static double element_of(struct ring_model *m, const struct schedule *s)
{
    double least = INFINITY;
    for (int i = 0; i < s->count; i++) {
        const struct ring_message *x = message_of(m, &s->transfers[i], false);
        if (x && x->bytes > 0)
            least = fmin(least, x->bytes / (double)s->transfers[i].length);
    }
    return least;
}

static void compare(struct ring_model *m, const struct schedule *s, bool whole)
{
    double element = element_of(m, s);
    for (int i = 0; i < s->count; i++) {
        const struct transfer *t = &s->transfers[i];
        struct ring_message *x = message_of(m, t, false);
        if (x) {
            if (x->bytes > 1.9 * element * (double)t->length && !x->faulty)
                add_message(m, x, RING_TWICE, -1);
            continue;
        }
        x = message_of(m, t, true);
        if (x && !x->faulty && !in_schedule(s, x))
            add_message(m, x, RING_WRONG_NEIGHBOUR, t->to);
        else if (whole)
            add(m, (struct ring_fault){RING_MISSING, t->round, t->from, t->to, t->chunk, -1, 0});
    }
    for (int i = 0; i < m->count; i++)
        if (!m->messages[i].faulty && !in_schedule(s, &m->messages[i]))
            add_message(m, &m->messages[i], RING_UNEXPECTED, -1);
}

/* --- against what a ring is --- */

static void mark_strangers(struct ring_model *m)
{
    for (int i = 0; i < m->count; i++)
        if (m->messages[i].stranger)
            add_message(m, &m->messages[i], RING_WRONG_NEIGHBOUR, -1);
}

/* A learner's ring: what is added twice, the first of each chunk (all that follow are wrong with it). */
static void find_double_counts(struct ring_model *m)
{
    size_t cells = (size_t)m->ranks * (size_t)m->chunks;
    uint64_t *before = calloc(cells + 1, sizeof *before);
    bool *told = calloc((size_t)m->chunks + 1, sizeof *told);
    for (int k = 0; before && told && k < m->rounds && m->chunks; k++) {
        ring_model_state(m, k, before);
        for (int i = m->first[k]; i < m->first[k + 1]; i++) {
            struct ring_message *x = &m->messages[i];
            bool adds = x->phase == HOP_REDUCE_SCATTER || x->phase == HOP_REDUCE;
            if (!adds || x->chunk < 0 || x->chunk >= m->chunks || told[x->chunk] || x->faulty)
                continue;
            if (!(before[x->from * m->chunks + x->chunk] & before[x->to * m->chunks + x->chunk]))
                continue;
            told[x->chunk] = true;
            add_message(m, x, RING_TWICE, -1);
        }
    }
    free(before);
    free(told);
}

/* A ring-allreduce has 2(N-1) messages a rank. */
static void count_messages(struct ring_model *m)
{
    int sent[RING_MAX_RANKS] = {0}, expected = 2 * (m->ranks - 1);
    for (int i = 0; i < m->count; i++)
        sent[m->messages[i].from]++;
    for (int r = 0; r < m->ranks; r++)
        if (sent[r] < expected)
            add(m, (struct ring_fault){RING_MISSING, m->rounds, r, -1, -1, expected, sent[r]});
}

static int by_round(const void *a, const void *b)
{
    const struct ring_fault *x = a, *y = b;
    if (x->round != y->round)
        return x->round - y->round;
    return x->from != y->from ? x->from - y->from : x->chunk - y->chunk;
}

void ring_faults_find(struct ring_model *m, bool whole)
{
    struct schedule s;
    m->fault_count = 0;
    if (schedule_of(m, &s)) {
        compare(m, &s, whole);
        schedule_free(&s);
    } else {
        mark_strangers(m);
        if (m->yours) {
            find_double_counts(m);
            if (whole && m->strangers == 0)
                count_messages(m);
        }
    }
    qsort(m->faults, (size_t)m->fault_count, sizeof *m->faults, by_round);
}

const struct ring_fault *ring_fault_in(const struct ring_model *m, int round)
{
    for (int i = 0; i < m->fault_count; i++)
        if (m->faults[i].round == round || (m->faults[i].round > m->rounds && round == m->rounds))
            return &m->faults[i];
    return NULL;
}

void ring_fault_text(const struct ring_model *m, const struct ring_fault *f, char *text, size_t size)
{
    switch (f->kind) {
    case RING_WRONG_NEIGHBOUR:
        if (f->expected < 0)
            snprintf(text, size, _("Rank %d sends to rank %d, which is not its neighbour on the ring."),
                     f->from, f->to);
        else
            snprintf(text, size, _("Rank %d sends chunk %d to rank %d; it belongs to rank %d."), f->from,
                     f->chunk, f->to, f->expected);
        break;
    case RING_MISSING:
        if (f->to < 0)
            snprintf(text, size, _("Rank %d sends %d messages; a ring of %d ranks has %d."), f->from, f->seen,
                     m->ranks, f->expected);
        else
            snprintf(text, size, _("Missing: chunk %d from rank %d to rank %d never came."), f->chunk,
                     f->from, f->to);
        break;
    case RING_UNEXPECTED:
        snprintf(text, size, _("Rank %d sends chunk %d to rank %d, which the schedule does not have."),
                 f->from, f->chunk, f->to);
        break;
    case RING_TWICE:
        snprintf(text, size, _("Chunk %d from rank %d to rank %d is counted twice: the sum is wrong."),
                 f->chunk, f->from, f->to);
        break;
    }
}
