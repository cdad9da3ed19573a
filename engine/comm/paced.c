#include "engine/comm/paced.h"

#include "engine/base/timing.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Lateness up to here is made up for: that of waking up. What the scheduler takes is lost, as in a real network,
 * or else many short messages after it would go for nothing.
 */
#define LATE_MOST 200e-6
/* For what is sent at once after something was noticed late: a chain of messages, each answering the one before. */
#define AT_ONCE 20e-6
/* A sleep ends later than asked, by the kernel's timer slack of 50 us: what is nearer is waited for awake. */
#define SLEEP_SLACK 70e-6
#define SLEEP_LEAST 10e-6
#define SLEEP_MOST 200e-6 /* while it is not known what will come: other ranks' stamps, errors */

/* What goes ahead of a message, by the sender's clock. */
struct stamp {
    double sent;        /* now */
    double first, last; /* its first byte would arrive, and its last, if nobody else sent to that rank */
};

/* A message under way. */
struct flight {
    struct flight *next;
    struct stamp stamp;
    struct pending ahead, data; /* of the stamp and of the message itself */
    bool send, same_clock;
    bool stamped;  /* a receive: the stamp is there */
    bool admitted; /* a receive: it had its turn, and due is known */
    double busy;   /* a receive: how long it keeps the cable */
    double due;
};

struct paced {
    struct transport transport;
    struct transport *inner;
    const struct slow_link *link;
    double seconds_per_byte;
    double out_free, in_free; /* when the cable is free again, each way */
    struct flight *flights;
    double late;       /* how far this rank lags behind where it would be if it had never woken up late */
    double heard;      /* when something was done last */
    double idle_since; /* where it rests: since then, less what it was late by; else NAN */
    double rests;      /* where it rests: when it began to */
    bool same_clock[];
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* --- starting ------------------------------------------------------------------------------------------ */

static struct flight *take_off(struct paced *m, struct pending *p, struct error *e)
{
    struct flight *f = calloc(1, sizeof *f);
    memset(p, 0, sizeof *p);
    if (!f) {
        error_set(e, ERROR_FAILED, "out of memory for a message");
        return NULL;
    }
    f->next = m->flights;
    m->flights = f;
    p->handle[0] = (uintptr_t)f;
    return f;
}

static void land(struct paced *m, struct flight *f)
{
    struct flight **at = &m->flights;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    free(f);
}

/* Whether there is such a rank is for the transport beneath to say. */
static double latency_to(const struct paced *m, int peer)
{
    return larger(slow_link_latency(m->link, m->inner->rank), slow_link_latency(m->link, peer));
}

static bool same_clock(const struct paced *m, int peer)
{
    return peer >= 0 && peer < m->inner->size && m->same_clock[peer];
}

static bool send_start(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e)
{
    struct paced *m = t->self;
    double now = timing_now();
    struct flight *f = take_off(m, p, e);
    if (!f)
        return false;
    if (now - m->heard > AT_ONCE)
        m->late = 0;
    double begin = larger(now - m->late, m->out_free), latency = latency_to(m, to);
    double end = begin + (double)bytes * m->seconds_per_byte;
    f->send = true;
    f->stamp = (struct stamp){.sent = now, .first = begin + latency, .last = end + latency};
    f->due = synchronous ? f->stamp.last : end;
    /* Where either fails, the transport beneath may still hold the other: the flight stays until the end. */
    if (!m->inner->ops->send_start(m->inner, to, tag, &f->stamp, sizeof f->stamp, false, &f->ahead, e) ||
        !m->inner->ops->send_start(m->inner, to, tag, data, bytes, synchronous, &f->data, e)) {
        memset(p, 0, sizeof *p);
        return false;
    }
    m->out_free = end;
    return true;
}

static bool recv_start(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e)
{
    struct paced *m = t->self;
    struct flight *f = take_off(m, p, e);
    if (!f)
        return false;
    f->same_clock = same_clock(m, from);
    f->busy = (double)bytes * m->seconds_per_byte;
    if (!m->inner->ops->recv_start(m->inner, from, tag, &f->stamp, sizeof f->stamp, &f->ahead, e) ||
        !m->inner->ops->recv_start(m->inner, from, tag, data, bytes, &f->data, e)) {
        memset(p, 0, sizeof *p);
        return false;
    }
    return true;
}

/* --- testing ------------------------------------------------------------------------------------------- */

/* The messages whose first byte is here have their turn on the cable, in the order in which they came. */
static void admit(struct paced *m, double now)
{
    for (;;) {
        struct flight *first = NULL;
        for (struct flight *f = m->flights; f; f = f->next)
            if (f->stamped && !f->admitted && (!first || f->stamp.first < first->stamp.first))
                first = f;
        if (!first || first->stamp.first > now)
            return;
        first->admitted = true;
        first->due = larger(first->stamp.last, larger(first->stamp.first, m->in_free) + first->busy);
        m->in_free = first->due;
    }
}

/* The stamp has come. Of a clock that is not ours only the differences count. */
static void take_stamp(struct flight *f, double now)
{
    f->stamped = true;
    if (!f->same_clock) {
        f->stamp.first += now - f->stamp.sent;
        f->stamp.last += now - f->stamp.sent;
    }
}

/* What was due then is noticed now: how late is this rank, through no fault of the link? */
static void notice(struct paced *m, double due, double now)
{
    bool rested = isfinite(m->idle_since);
    double late = now - (rested ? larger(due, m->idle_since) : due);
    m->late = smaller(larger(0, rested ? late : smaller(late, m->late)), LATE_MOST);
    m->heard = now;
    m->idle_since = NAN;
}

static enum progress test(struct transport *t, struct pending *p, struct error *e)
{
    struct paced *m = t->self;
    struct flight *f = (struct flight *)p->handle[0];
    if (!f)
        return PROGRESS_DONE;
    const struct transport_ops *inner = m->inner->ops;
    enum progress ahead = inner->test(m->inner, &f->ahead, e); /* where it has been done before, it is none */
    enum progress data = ahead == PROGRESS_FAILED ? ahead : inner->test(m->inner, &f->data, e);
    if (data == PROGRESS_FAILED) {
        memset(p, 0, sizeof *p); /* the flight stays: the other half may still be written to */
        return PROGRESS_FAILED;
    }
    double now = timing_now();
    if (!f->send && ahead == PROGRESS_DONE && !f->stamped)
        take_stamp(f, now);
    if (!f->send && f->stamped && !f->admitted)
        admit(m, now);
    if (ahead == PROGRESS_BUSY || data == PROGRESS_BUSY || (!f->send && !f->admitted) || now < f->due)
        return PROGRESS_BUSY;
    notice(m, f->due, now);
    land(m, f);
    memset(p, 0, sizeof *p);
    return PROGRESS_DONE;
}

/* --- resting ------------------------------------------------------------------------------------------- */

/*
 * Until the next moment at which something is due. Where that also hangs on what another rank does, looks again
 * after a quarter of the time it has waited so far: it is never late by more than that.
 */
static void rest(struct transport *t)
{
    struct paced *m = t->self;
    double now = timing_now(), until = INFINITY;
    bool unknown = false;
    if (!isfinite(m->idle_since)) {
        m->idle_since = now - m->late;
        m->rests = now;
    }
    for (const struct flight *f = m->flights; f; f = f->next) {
        double next = f->send || f->admitted ? f->due : f->stamped ? f->stamp.first : 0;
        if (next > now)
            until = smaller(until, next);
        else
            unknown = true;
    }
    double nap = until - now - SLEEP_SLACK;
    if (unknown || !isfinite(until))
        nap = smaller(nap, smaller((now - m->rests) / 4, SLEEP_MOST));
    if (nap < SLEEP_LEAST && !(t->aside && atomic_load_explicit(t->aside, memory_order_relaxed))) {
        sched_yield();
        return;
    }
    nap = larger(nap, SLEEP_LEAST);
    nap = smaller(nap, 1e-3); /* the transport beneath wants to be looked at, and it hears of errors */
    struct timespec pause = {0, (long)(nap * 1e9)};
    nanosleep(&pause, NULL);
}

static bool wait_all(struct transport *t, struct pending *p, int n, struct error *e)
{
    for (int first = 0; first < n;) {
        bool moved = false;
        for (int i = first; i < n; i++) {
            bool none = !p[i].handle[0];
            enum progress progress = test(t, &p[i], e);
            if (progress == PROGRESS_FAILED)
                return false;
            moved |= !none && progress == PROGRESS_DONE;
        }
        while (first < n && !p[first].handle[0])
            first++;
        if (!moved && first < n)
            rest(t);
    }
    return true;
}

static const struct transport_ops paced_ops = {
    .name = "mpi",
    .send_start = send_start,
    .recv_start = recv_start,
    .test = test,
    .wait = wait_all,
    .rest = rest,
};

struct transport *paced_new(struct transport *inner, const struct slow_link *l, const bool *same_clock_of,
                            struct error *e)
{
    struct paced *m = calloc(1, sizeof *m + (size_t)inner->size * sizeof *m->same_clock);
    if (!m) {
        error_set(e, ERROR_FAILED, "out of memory for the slowed link");
        return NULL;
    }
    memcpy(m->same_clock, same_clock_of, (size_t)inner->size * sizeof *m->same_clock);
    m->inner = inner;
    m->link = l;
    m->seconds_per_byte = 8 / slow_link_rate(l, inner->rank);
    m->heard = m->idle_since = NAN;
    m->transport = *inner;
    m->transport.ops = &paced_ops;
    m->transport.self = m;
    return &m->transport;
}

void paced_free(struct transport *t)
{
    if (!t)
        return;
    struct paced *m = t->self;
    while (m->flights)
        land(m, m->flights);
    free(m);
}
