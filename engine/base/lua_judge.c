#include "engine/base/lua_judge.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUT_RANGE = 1000 }; /* |input|: sums of 64 ranks stay far below 2^24, where float32 is exact */

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int input(const struct lua_case *c, int rank, long i)
{
    uint64_t z = mix(mix(mix((uint64_t)c->number + 1) + (uint64_t)rank) + (uint64_t)i);
    return (int)(z % (2 * INPUT_RANGE + 1)) - INPUT_RANGE;
}

int lua_cases(const int *counts, int count_total, const long *lengths, int length_total,
              struct lua_case *cases, int max)
{
    int n = 0;
    for (int i = 0; i < count_total; i++) {
        bool drawn = counts[i] > 8;
        for (int j = 0; j < length_total && n < max; j++) {
            bool draw = !drawn && lengths[j] >= counts[i];
            drawn |= draw;
            cases[n] = (struct lua_case){n, counts[i], lengths[j], draw};
            n++;
        }
    }
    return n;
}

void lua_judge_fill(float *x, const struct lua_case *c, int rank)
{
    for (long i = 0; i < c->length; i++)
        x[i] = (float)input(c, rank, i);
}

void lua_judge_rank(struct lua_rank *r, const struct lua_case *c, int rank, struct lua_report *report)
{
    const float *x = lua_rank_data(r);
    const struct lua_tally *tally = lua_rank_tally(r);
    memset(report, 0, sizeof *report);
    report->rank = rank;
    report->messages = tally->messages, report->bytes = tally->bytes, report->strangers = tally->strangers;
    report->hop_count = tally->hop_count;
    report->stuck = *lua_rank_failure(r) && lua_rank_expired(r);
    report->finished = lua_rank_wait(r).finished && !*lua_rank_failure(r);
    snprintf(report->failure, sizeof report->failure, "%.690s", lua_rank_failure(r));
    for (long i = 0; i < c->length; i++) {
        int sum = 0;
        for (int k = 0; k < c->ranks; k++)
            sum += input(c, k, i);
        double error = fabs((double)x[i] - sum);
        report->max_error = isnan(error) ? INFINITY : fmax(report->max_error, error);
    }
    report->right = report->finished && report->max_error == 0;
}

json_t *lua_judge_event(const struct event_sink *sink, const struct lua_case *c,
                        const struct lua_report *reports, const struct lua_deadlock *deadlock)
{
    json_t *event = sink_event(sink, "case"), *messages = json_array(), *bytes = json_array();
    int right = 0, wrong = -1;
    long strangers = 0;
    double max_error = 0;
    const char *failure = NULL;
    for (int r = 0; r < c->ranks; r++) {
        const struct lua_report *p = &reports[r];
        right += p->right;
        if (!p->right && wrong < 0)
            wrong = r;
        strangers += p->strangers;
        max_error = fmax(max_error, p->max_error);
        if (!failure && *p->failure)
            failure = p->failure;
        json_array_append_new(messages, json_integer(p->messages));
        json_array_append_new(bytes, json_integer(p->bytes));
    }
    event_set_integer(event, "case", c->number);
    event_set_integer(event, "ranks", c->ranks);
    event_set_integer(event, "length", c->length);
    json_object_set_new(event, "ok", json_boolean(right == c->ranks && !deadlock));
    event_set_integer(event, "right_ranks", right);
    if (wrong >= 0)
        event_set_integer(event, "wrong_rank", wrong);
    event_set_number(event, "max_error", max_error);
    json_object_set_new(event, "messages", messages);
    json_object_set_new(event, "bytes", bytes);
    event_set_integer(event, "strangers", strangers);
    if (failure)
        event_set_text(event, "error", failure);
    if (deadlock)
        event_set_text(event, "deadlock", deadlock->sentence);
    return event;
}

void lua_verdict_add(struct lua_verdict *v, const struct lua_case *c, const struct lua_report *reports,
                     const struct lua_deadlock *deadlock)
{
    int right = 0, wrong = -1;
    const char *failure = NULL;
    for (int r = 0; r < c->ranks; r++) {
        right += reports[r].right;
        if (!reports[r].right && wrong < 0)
            wrong = r;
        if (!failure && *reports[r].failure)
            failure = reports[r].failure;
    }
    if (deadlock || failure)
        v->stop = true;
    if (!v->ok || (right == c->ranks && !deadlock && !failure))
        return;
    v->ok = false;
    v->exit_code = failure ? ERROR_INPUT : ERROR_FAILED;
    int used = snprintf(v->sentence, sizeof v->sentence, "%d rank%s, %ld element%s: ", c->ranks,
                        c->ranks == 1 ? "" : "s", c->length, c->length == 1 ? "" : "s");
    if (deadlock || failure)
        snprintf(v->sentence + used, sizeof v->sentence - (size_t)used, "%s",
                 deadlock ? deadlock->sentence : failure);
    else
        snprintf(v->sentence + used, sizeof v->sentence - (size_t)used,
                 "the sum is right on %d of %d ranks; the first that is wrong is rank %d", right, c->ranks,
                 wrong);
}

bool lua_verdict_emit(const struct lua_verdict *v, struct event_sink *sink, struct error *e)
{
    if (!v->ok && *v->sentence && !v->told && !sink_note(sink, "error", v->sentence, e))
        return false;
    json_t *done = sink_event(sink, "done");
    json_object_set_new(done, "ok", json_boolean(v->ok));
    event_set_integer(done, "exit_code", v->exit_code);
    return sink_emit(sink, done, e);
}

bool lua_judge_hops(struct event_sink *sink, const struct lua_case *c, const struct lua_hop *hops, int count,
                    struct error *e)
{
    for (int i = 0; i < count; i++) {
        const struct lua_hop *h = &hops[i];
        json_t *event = event_new("hop", h->t1);
        event_set_integer(event, "op", c->number);
        event_set_text(event, "algo", "yours");
        /* Nobody but the learner knows what a message was for; a ring's first N-1 add, the others copy. */
        event_set_text(event, "phase", h->hop < c->ranks - 1 ? "reduce_scatter" : "allgather");
        event_set_integer(event, "hop", h->hop);
        event_set_integer(event, "from", h->from);
        event_set_integer(event, "to", h->to);
        event_set_integer(event, "chunk", h->chunk);
        event_set_integer(event, "bytes", h->bytes);
        event_set_integer(event, "ranks", c->ranks);
        event_set_number(event, "t0", h->t0);
        event_set_number(event, "t1", h->t1);
        if (!sink_emit(sink, event, e))
            return false;
    }
    return true;
}

json_t *lua_judge_fault(const struct event_sink *sink, const struct lua_case *c, const struct lua_deadlock *d,
                        struct lua_verdict *v)
{
    json_t *event = sink_event(sink, "fault"), *cycle = json_array();
    for (int i = 0; i < d->count; i++)
        json_array_append_new(cycle, json_integer(d->ranks[i]));
    event_set_integer(event, "rank", d->ranks[0]);
    event_set_text(event, "kind", "deadlock");
    event_set_integer(event, "waiting_for", d->waiting_for);
    event_set_text(event, "text", *v->sentence ? v->sentence : d->sentence);
    v->told = true;
    json_object_set_new(event, "cycle", cycle);
    event_set_integer(event, "case", c->number);
    event_set_integer(event, "ranks", c->ranks);
    event_set_integer(event, "length", c->length);
    return event;
}
