/*
 * rank_referee.c - rank 0's picture of all ranks of a case.
 *
 * Ranks report while they wait, five times a second. A deadlock is sure when each rank of the cycle has reported the
 * very same wait twice after all of them had reported it once: then there was a moment at which all waited, none
 * for a message on its way, and nobody who waits in a cycle can have gone on since.
 */
#include "engine/rank/rank_script.h"

#include "engine/base/timing.h"

#include <stdlib.h>
#include <string.h>

#define STABLE_S 0.5     /* a wait shorter than this is none */
#define OTHERS_SAY_S 0.5 /* after the first error */
enum { CONFIRMATIONS = 2 };

struct seat {
    struct rank_news news, incoming;
    struct pending receive;
    bool listening;
    double heard; /* when it last said something, or the case began */
    long count;   /* how many news of this case */
    long count_at_suspicion;
    unsigned progress_at_suspicion;
};

struct referee {
    struct transport *t;
    struct lua_case c;
    struct seat *seats;         /* of all ranks */
    struct lua_report *reports; /* of the case's ranks */
    struct lua_deadlock suspicion;
    bool suspicious;
    double first_failure; /* 0: none */
};

struct referee *referee_new(struct transport *t, struct error *e)
{
    struct referee *r = calloc(1, sizeof *r);
    if (r) {
        r->t = t;
        r->seats = calloc((size_t)t->size, sizeof *r->seats);
        r->reports = calloc((size_t)t->size, sizeof *r->reports);
    }
    if (!r || !r->seats || !r->reports) {
        referee_free(r);
        error_set(e, ERROR_FAILED, "out of memory for %d ranks", t->size);
        return NULL;
    }
    return r;
}

void referee_free(struct referee *r)
{
    if (!r)
        return;
    free(r->seats);
    free(r->reports);
    free(r);
}

void referee_begin(struct referee *r, const struct lua_case *c)
{
    r->c = *c;
    r->suspicious = false;
    r->first_failure = 0;
    for (int i = 0; i < c->ranks; i++) {
        struct seat *s = &r->seats[i];
        memset(&s->news, 0, sizeof s->news);
        memset(&r->reports[i], 0, sizeof r->reports[i]);
        r->reports[i].rank = i;
        s->heard = timing_now();
        s->count = 0;
    }
}

static void take(struct referee *r, int rank, const struct rank_news *news)
{
    struct seat *s = &r->seats[rank];
    if (news->case_number != r->c.number || s->news.ended)
        return; /* of a case that is over */
    s->news = *news;
    s->heard = timing_now();
    s->count++;
    r->reports[rank] = news->report;
    r->reports[rank].rank = rank;
    if (news->ended && *news->report.failure && r->first_failure <= 0)
        r->first_failure = s->heard;
}

void referee_own(struct referee *r, const struct rank_news *news)
{
    take(r, 0, news);
}

bool referee_listen(struct referee *r, struct error *e)
{
    struct transport *t = r->t;
    for (int i = 1; i < r->c.ranks; i++) {
        struct seat *s = &r->seats[i];
        for (;;) {
            if (!s->listening &&
                !t->ops->recv_start(t, i, TAG_NEWS, &s->incoming, sizeof s->incoming, &s->receive, e))
                return false;
            s->listening = true;
            enum progress progress = t->ops->test(t, &s->receive, e);
            if (progress == PROGRESS_FAILED)
                return false;
            if (progress == PROGRESS_BUSY)
                break;
            s->listening = false;
            take(r, i, &s->incoming);
            if (s->news.ended)
                break; /* it says nothing more before the next case */
        }
    }
    return true;
}

bool referee_all_ended(const struct referee *r)
{
    for (int i = 0; i < r->c.ranks; i++)
        if (!r->seats[i].news.ended)
            return false;
    return true;
}

bool referee_failed(const struct referee *r)
{
    return r->first_failure > 0 && timing_now() - r->first_failure > OTHERS_SAY_S;
}

static bool find_deadlock(const struct referee *r, struct lua_deadlock *d)
{
    struct lua_wait waits[LUA_WAIT_MAX];
    if (r->c.ranks > LUA_WAIT_MAX)
        return false;
    for (int i = 0; i < r->c.ranks; i++) {
        const struct rank_news *news = &r->seats[i].news;
        waits[i] = (struct lua_wait){.finished = news->ended};
        if (!news->ended && news->waited_s >= STABLE_S)
            waits[i] = news->wait;
    }
    return lua_wait_deadlock(waits, r->c.ranks, d);
}

static bool same_ranks(const struct lua_deadlock *a, const struct lua_deadlock *b)
{
    return a->count == b->count && a->waiting_for == b->waiting_for &&
           memcmp(a->ranks, b->ranks, (size_t)a->count * sizeof *a->ranks) == 0;
}

bool referee_deadlock(struct referee *r, struct lua_deadlock *d)
{
    /* Who waits for a rank that has ended with an error waits in vain, but the error is what is to be told. */
    if (r->first_failure > 0 || !find_deadlock(r, d)) {
        r->suspicious = false;
        return false;
    }
    if (!r->suspicious || !same_ranks(d, &r->suspicion)) {
        r->suspicious = true;
        r->suspicion = *d;
        for (int i = 0; i < d->count; i++) {
            struct seat *s = &r->seats[d->ranks[i]];
            s->count_at_suspicion = s->count;
            s->progress_at_suspicion = s->news.progress;
        }
        return false;
    }
    for (int i = 0; i < d->count; i++) {
        const struct seat *s = &r->seats[d->ranks[i]];
        if (s->news.progress != s->progress_at_suspicion) {
            r->suspicious = false;
            return false;
        }
        if (s->count < s->count_at_suspicion + CONFIRMATIONS)
            return false;
    }
    return true;
}

int referee_silent(const struct referee *r, double *seconds)
{
    double now = timing_now();
    for (int i = 0; i < r->c.ranks; i++) {
        const struct seat *s = &r->seats[i];
        *seconds = now - s->heard;
        if (!s->news.ended && *seconds > RANK_SCRIPT_SHARE * lua_sandbox_seconds() + RANK_SCRIPT_GRACE_S)
            return i;
    }
    return -1;
}

void referee_waiting_for(const struct referee *r, int rank, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "nothing yet");
    for (int i = 0; i < r->c.ranks && used < size; i++) {
        const struct rank_news *news = &r->seats[i].news;
        const struct lua_wait *w = &news->wait;
        if (i == rank || news->ended || !(w->sending || w->receiving))
            continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%srank %d waits to %s rank %d", used ? ", " : "", i,
                             w->receiving ? "receive from" : "send to", w->receiving ? w->from : w->to);
    }
}

const struct lua_report *referee_reports(const struct referee *r)
{
    return r->reports;
}
