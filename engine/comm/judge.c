#include "engine/comm/judge.h"

#include "engine/comm/order.h"

#include <stdio.h>
#include <string.h>

void judge_take(struct judged *r, const struct beat *b, double now)
{
    if (!r->known || !activity_same(&r->view, &b->view))
        r->moved = now;
    r->known = true;
    r->heard = now;
    r->finished |= b->kind == BEAT_FINISHED;
    r->excused |= b->kind != BEAT_ALIVE;
    r->pid = (long)b->pid;
    r->view = b->view;
    snprintf(r->host, sizeof r->host, "%s", b->host);
}

void judge_forgive(struct judged *r, int n, double now)
{
    for (int i = 0; i < n; i++) {
        r[i].heard = r[i].moved = now;
        r[i].stopped = 0;
    }
}

/* --- what they wait for --- */

bool judge_waits(const struct activity_view *v)
{
    return activity_in_collective(v) || v->send_to >= 0 || v->receive_from >= 0;
}

/* A collective that is timed: what in. */
static bool is_timed(const struct activity_view *v)
{
    return v->phase == ACTIVITY_MEASURE && v->measured;
}

static void add_iteration(const struct activity_view *v, char *text, size_t size)
{
    size_t used = strlen(text);
    if (v->step > 0)
        snprintf(text + used, size - used, ", iteration %lld", (long long)v->step);
    else
        snprintf(text + used, size - used, ", before iteration 1");
}

/* What is called is that collective itself, or something around it. */
static void timed_text(const struct activity_view *v, uint64_t word, char *text, size_t size)
{
    char timed[120];
    order_text(v->measured, timed, sizeof timed);
    order_text(word, text, size);
    size_t used = strlen(text);
    if (strcmp(text, timed) != 0)
        snprintf(text + used, size - used, " beside %s", timed);
    add_iteration(v, text, size);
}

static size_t add_place(const struct activity_view *v, char *text, size_t size, size_t used)
{
    if (v->bucket >= 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", bucket %d", (int)v->bucket);
    if (v->step > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", in step %lld", (long long)v->step);
    return used;
}

void judge_doing(const struct activity_view *v, char *text, size_t size)
{
    uint64_t word;
    size_t used = 0;
    if (activity_in_collective(v) && activity_collective(v, v->begun, &word)) {
        if (is_timed(v)) {
            timed_text(v, word, text, size);
            return;
        }
        order_text(word, text, size);
        add_place(v, text, size, strlen(text));
        return;
    }
    if (v->send_to >= 0)
        used = (size_t)snprintf(text, size, "rank %d to receive", (int)v->send_to);
    if (v->receive_from >= 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, "%srank %d to send", used ? " and " : "",
                                 (int)v->receive_from);
    if (used == 0)
        used = (size_t)snprintf(text, size, "%s", activity_phase_text(v->phase));
    if (v->line > 0 && used < size)
        snprintf(text + used, size - used, " (line %d)", (int)v->line);
    else
        add_place(v, text, size, used);
}

void judge_next(const struct activity_view *v, int rank, char *text, size_t size)
{
    char doing[200];
    if (is_timed(v)) {
        order_text(v->measured, text, size);
        add_iteration(v, text, size);
        size_t used = strlen(text);
        snprintf(text + used, size - used, " (rank %d prepares it)", rank);
        return;
    }
    if (v->phase == ACTIVITY_MEASURE) { /* by messages that are no collectives */
        snprintf(text, size, "the measurement of the links between ranks, in which rank %d is", rank);
        return;
    }
    judge_doing(v, doing, sizeof doing);
    snprintf(text, size, "nothing yet (rank %d %s)", rank, doing);
}

static bool same_wait(const struct activity_view *a, const struct activity_view *b)
{
    return judge_waits(a) && judge_waits(b) && a->begun == b->begun && a->send_to == b->send_to &&
           a->receive_from == b->receive_from;
}

void judge_waiting_for(const struct judged *r, int n, int rank, char *text, size_t size)
{
    int best = -1, most = 0;
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int j = 0; j < n && i != rank && r[i].known && !r[i].gone; j++)
            count += j != rank && r[j].known && same_wait(&r[i].view, &r[j].view);
        if (count > most)
            best = i, most = count;
    }
    if (best >= 0) {
        judge_doing(&r[best].view, text, size);
        return;
    }
    snprintf(text, size, "nothing yet");
    for (int i = 0; i < n; i++)
        if (i != rank && r[i].known && !r[i].gone) {
            judge_next(&r[i].view, i, text, size);
            return;
        }
}

/* --- verdicts --- */

static bool say(struct verdict *v, const struct judged *r, int n, const char *kind, int rank,
                const char *what)
{
    v->kind = kind;
    v->rank = rank;
    judge_waiting_for(r, n, rank, v->waiting_for, sizeof v->waiting_for);
    snprintf(v->text, sizeof v->text, "rank %d on %s %s; the others wait for: %s", rank, r[rank].host, what,
             v->waiting_for);
    return true;
}

/* Of two ranks that differ, the one that fewer agree with; of as many, the higher. */
static int odd_one(const struct judged *r, int n, int a, int b)
{
    int with_a = 0, with_b = 0;
    for (int i = 0; i < n; i++) {
        with_a += r[i].known && order_difference(&r[i].view, &r[a].view) == 0;
        with_b += r[i].known && order_difference(&r[i].view, &r[b].view) == 0;
    }
    return with_a < with_b ? a : b;
}

static bool differs(const struct judged *r, int n, struct verdict *v)
{
    /* Each with rank 0 and with the one before: enough to find one where there is any. */
    for (int b = 1; b < n; b++)
        for (int a = 0; a<b; a += b - 1> 0 ? b - 1 : 1) {
            uint64_t s = r[a].known && r[b].known ? order_difference(&r[a].view, &r[b].view) : 0;
            if (s == 0)
                continue;
            v->kind = "mismatch";
            v->rank = odd_one(r, n, a, b);
            judge_waiting_for(r, n, v->rank, v->waiting_for, sizeof v->waiting_for);
            order_sentence(a, &r[a].view, b, &r[b].view, s, v->text, sizeof v->text);
            return true;
        }
    return false;
}

/*
 * Collectives that can never be completed: one rank has finished its work, and another waits for it in a later
 * one; or all wait, in collectives so far apart that what they have in common is forgotten.
 */
static bool never_meets(const struct judged *r, int n, double now, struct verdict *v)
{
    char x[160], y[160];
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const struct activity_view *p = &r[a].view, *q = &r[b].view;
            bool still = r[a].known && r[b].known && now - r[a].moved > JUDGE_STUCK_S &&
                         now - r[b].moved > JUDGE_STUCK_S;
            if (a == b || !still || !activity_in_collective(q))
                continue;
            judge_doing(q, y, sizeof y);
            if (r[a].finished && p->begun < q->begun) {
                v->kind = "deadlock";
                v->rank = a;
                snprintf(
                    v->text, sizeof v->text,
                    "rank %d on %s has finished, but rank %d waits for it in %s: all ranks must call the "
                    "same collectives",
                    a, r[a].host, b, y);
            } else if (activity_in_collective(p) && p->begun < q->oldest) {
                judge_doing(p, x, sizeof x);
                v->kind = "mismatch";
                v->rank = a;
                snprintf(
                    v->text, sizeof v->text,
                    "rank %d waits in its collective number %llu, %s, but rank %d in its number %llu, %s: "
                    "all ranks must call the same collectives in the same order",
                    a, (unsigned long long)p->begun, x, b, (unsigned long long)q->begun, y);
            } else {
                continue;
            }
            snprintf(v->waiting_for, sizeof v->waiting_for, "%s", y);
            return true;
        }
    return false;
}

/* Others that are stopped, too, and are to be continued as well: "; so has rank 2 (kill -CONT 4711)". */
static void add_stopped(const struct judged *r, int n, int first, char *text, size_t size)
{
    for (int i = 1; i < n; i++)
        if (i != first && r[i].known && !r[i].gone && !r[i].excused && r[i].stopped > 0) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "; so has rank %d (kill -CONT %ld)", i, r[i].pid);
        }
}

bool judge(const struct judged *r, int n, double now, struct verdict *v)
{
    char what[300];
    if (differs(r, n, v))
        return true;
    for (int i = 1; i < n; i++)
        if (r[i].known && r[i].gone && !r[i].excused)
            return say(
                v, r, n, "dead", i,
                "has died: its connection broke without a word (somebody killed it, it crashed, or its "
                "host ran out of memory; the log may say more)");
    for (int i = 1; i < n; i++) {
        if (!r[i].known || r[i].gone || r[i].excused)
            continue;
        if (r[i].stopped > 0 && now - r[i].stopped > JUDGE_STOPPED_S) {
            snprintf(what, sizeof what, "has been stopped (SIGSTOP; kill -CONT %ld in time lets it go on)",
                     r[i].pid);
            add_stopped(r, n, i, what, sizeof what);
            return say(v, r, n, "stopped", i, what);
        }
        if (now - r[i].heard > JUDGE_SILENT_S) {
            snprintf(what, sizeof what,
                     "has given no sign of life for %.0f s: it was stopped, or its host or the network to it "
                     "hangs",
                     now - r[i].heard);
            return say(v, r, n, "silent", i, what);
        }
    }
    return never_meets(r, n, now, v);
}
