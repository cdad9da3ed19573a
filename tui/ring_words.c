/*
 * ring_words.c - the operation in words and figures: what a round does, how far it is, bytes against the formula.
 */
#include "tui/axis.h"
#include "tui/ring_draw.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool ring_over(const struct ring_scene *s)
{
    return s->round >= s->model->rounds;
}

static const char *phase_words(enum hop_phase phase)
{
    static const char *const words[HOP_PHASES] = {N_("reduce-scatter"), N_("allgather"), N_("reduce"),
                                                  N_("broadcast"),      N_("alltoall"),  N_("barrier"),
                                                  N_("messages")};
    return _(words[phase]);
}

/* --- sentences --- */

static bool is(const struct ring_model *m, const char *algo)
{
    size_t length = strlen(algo);
    return strncmp(m->algo, algo, length) == 0 && (m->algo[length] == '\0' || m->algo[length] == ':');
}

static bool all_complete(const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    bool all = m->chunks > 0;
    for (int r = 0; r < (m->collective == REDUCE ? 1 : m->ranks); r++)
        all = all && ring_model_complete(m, s->sets, r);
    return all;
}

static void say_end(const struct ring_scene *s, char *text, size_t size)
{
    const struct ring_model *m = s->model;
    static const char *const done[COLLECTIVES] = {
        [BROADCAST] = N_("Every rank holds rank 0's buffer."),
        [REDUCE] = N_("Rank 0 holds the whole sum; what the others hold is of no use."),
        [ALLGATHER] = N_("Every rank holds every rank's piece."),
        [REDUCE_SCATTER] = N_("Each rank holds the whole sum of the piece with its own number."),
        [ALLTOALL] = N_("Piece i of rank r has become piece r of rank i."),
        [BARRIER] = N_("Every rank knows that all have come."),
    };
    if (!m->chunks)
        snprintf(text, size, _("No more messages: %d in all."), m->count);
    else if (!all_complete(s))
        snprintf(text, size, _("No more messages, but something is lacking: no %s yet."),
                 collective_name(m->collective));
    else if (m->yours)
        snprintf(text, size,
                 _("All contributions have reached every rank; whether they were added, the check says."));
    else if (m->collective == ALLREDUCE)
        snprintf(text, size, _("Every rank holds the whole sum: each chunk has all %d contributions."),
                 m->ranks);
    else
        snprintf(text, size, "%s", _(done[m->collective]));
}

static const char *reduce_words(const struct ring_model *m)
{
    if (is(m, "tree") || m->collective == REDUCE)
        return _("Of each pair one rank sends its whole sum to the other, which adds it.");
    if (is(m, "recursive_doubling"))
        return _("Pairs swap all that they have, and both add.");
    if (is(m, "everyone"))
        return _("Every rank sends all its numbers to every other rank, all at once.");
    if (is(m, "nccl_tree"))
        return _("Two trees, each for half of the buffer: sums go up to the roots.");
    if (is(m, "central"))
        return _("All ranks send everything to rank 0, which adds it up.");
    if (is(m, "param_server"))
        return _("Each server gets its part of the buffer from all ranks and adds it up.");
    return _("Ranks send their numbers to others, which add them to their own.");
}

static const char *broadcast_words(const struct ring_model *m)
{
    if (is(m, "nccl_tree"))
        return _("Both trees send the sums down again; who is inside in one is a leaf in the other.");
    if (is(m, "central"))
        return _("Rank 0 sends the sum back to all.");
    if (is(m, "param_server"))
        return _("Each server sends the sum of its part back to all.");
    if (m->collective == BROADCAST)
        return _("The ranks that hold the buffer pass it on, twice as many in each round.");
    return _("The ranks that hold the whole sum pass it on, twice as many in each round.");
}

static const char *round_words(const struct ring_model *m, enum hop_phase phase)
{
    switch (phase) {
    case HOP_REDUCE_SCATTER:
        if (m->claims_ring)
            return _("Each rank sends one chunk to its right and adds the one from its left.");
        if (is(m, "halving_doubling"))
            return _("Pairs swap halves of what they still add up, and each adds the half it keeps.");
        return _("Ranks send parts to each other and add what comes to their own.");
    case HOP_ALLGATHER:
        if (m->collective == ALLGATHER)
            return _("Each rank passes on the piece that came last, to its right.");
        if (m->claims_ring)
            return _("Each rank passes a complete chunk on to its right.");
        return _("Ranks pass on the parts that are complete.");
    case HOP_REDUCE: return reduce_words(m);
    case HOP_BROADCAST: return broadcast_words(m);
    case HOP_ALLTOALL: return _("Pairs swap: each gives the other the piece that is meant for it.");
    case HOP_BARRIER: return _("Each rank tells another that it, and all that it has heard of, have come.");
    case HOP_OTHER:
    case HOP_PHASES: break;
    }
    return NULL;
}

bool ring_sentence(const struct ring_scene *s, char *text, size_t size)
{
    const struct ring_model *m = s->model;
    const struct ring_fault *fault = ring_fault_in(m, s->round);
    if (ring_over(s) && !fault && m->fault_count)
        fault = &m->faults[0];
    if (fault) {
        char words[200];
        ring_fault_text(m, fault, words, sizeof words);
        if (ring_over(s) && m->fault_count > 1)
            snprintf(text, size, _("%d faults; the first in round %d: %s"), m->fault_count,
                     m->faults[0].round + 1, words);
        else
            snprintf(text, size, "%s", words);
        return true;
    }
    if (ring_over(s)) {
        say_end(s, text, size);
        return false;
    }
    int count = m->first[s->round + 1] - m->first[s->round];
    const char *words = round_words(m, ring_model_phase(m, s->round));
    if (words && count)
        snprintf(text, size, "%s", words);
    else
        snprintf(text, size, text_plural("%d message under way.", "%d messages under way.", (long)count),
                 count);
    return false;
}

/* --- figures --- */

/* Bytes so far against what the formula says. */
static void say_bytes(const struct ring_scene *s, struct ring_figures *f)
{
    const struct ring_model *m = s->model;
    const char *formula;
    char a[24], b[24], c[24];
    int done = s->round + (s->travel >= 1);
    bool around = m->claims_ring && m->collective == ALLREDUCE;
    f->formula[0] = '\0';
    format_bytes(around ? ring_model_bytes(m, done) / m->ranks : ring_model_busiest_bytes(m, done), a,
                 sizeof a);
    if (!(m->buffer_bytes > 0)) {
        snprintf(f->bytes, sizeof f->bytes, _("%s sent a rank"), a);
        return;
    }
    format_bytes(m->buffer_bytes, c, sizeof c);
    if (around) {
        format_bytes(ring_expected_bytes(m->ranks, m->buffer_bytes), b, sizeof b);
        snprintf(f->bytes, sizeof f->bytes, _("%s of %s sent a rank"), a, b);
        snprintf(f->formula, sizeof f->formula, _("2(N-1)/N of %s, N = %d"), c, m->ranks);
        return;
    }
    double by_formula = ring_model_formula_bytes(m, &formula);
    format_bytes(ring_model_busiest_bytes(m, m->rounds), b, sizeof b);
    snprintf(f->bytes, sizeof f->bytes, _("%s of %s on the busiest rank"), a, b);
    format_bytes(by_formula, b, sizeof b);
    if (isfinite(by_formula))
        snprintf(f->formula, sizeof f->formula, _("by the formula %s (S = %s, n = %d)"), b, c, m->ranks);
}

/* Seconds of the round, or of all of it at the end. */
static double seconds_of(const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    double t0 = INFINITY, t1 = -INFINITY;
    if (!ring_over(s))
        return ring_model_duration(m, s->round);
    for (int i = 0; i < m->count; i++) {
        t0 = fmin(t0, m->messages[i].t0);
        t1 = fmax(t1, m->messages[i].t1);
    }
    return t1 - t0;
}

static void say_times(const struct ring_scene *s, struct ring_figures *f)
{
    static const char *const words[] = {N_("really: %s"), N_("simulated: %s"), N_("by the cost model: %s")};
    char a[24], b[24];
    double real = seconds_of(s);
    format_seconds(real, a, sizeof a);
    snprintf(f->really, sizeof f->really, _(words[s->times]), a);
    format_seconds(s->shown_s, b, sizeof b);
    if (ring_over(s))
        f->shown[0] = '\0';
    else if (s->paused)
        snprintf(f->shown, sizeof f->shown, "%s", _("here: paused"));
    else if (real > 0)
        snprintf(f->shown, sizeof f->shown, _("here: %s, %.0f× slower"), b, s->shown_s / real);
    else
        snprintf(f->shown, sizeof f->shown, _("here: %s"), b);
}

void ring_figures_of(const struct ring_scene *s, struct ring_figures *f)
{
    const struct ring_model *m = s->model;
    snprintf(f->phase, sizeof f->phase, "%s",
             ring_over(s) ? _("done") : phase_words(ring_model_phase(m, s->round)));
    if (!ring_over(s))
        snprintf(f->round, sizeof f->round, _("round %d of %d"), s->round + 1, m->rounds);
    else if (m->rounds == 1)
        snprintf(f->round, sizeof f->round, _("1 round, %d messages"), m->count);
    else
        snprintf(f->round, sizeof f->round, _("%d rounds, %d messages"), m->rounds, m->count);
    say_bytes(s, f);
    say_times(s, f);
}
