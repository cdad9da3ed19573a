/*
 * sink.h - where a worker's events go.
 *
 * The trainer and the collectives hand their events to a `struct event_sink` and do not know what is behind
 * it: rank 0's channel to the run's supervisor (sink_fd), nothing at all on the other ranks (sink_null), or
 * whatever a test puts there. A sink takes over the event's reference, whatever comes of it. Events carry the
 * time since the run began, which RINGSIDE_STARTED tells (seconds since the epoch, set by the supervisor for
 * every rank).
 */
#ifndef RINGSIDE_BASE_SINK_H
#define RINGSIDE_BASE_SINK_H

#include "engine/base/error.h"

#include <jansson.h>
#include <pthread.h>

struct event_sink {
    /* Takes the event's reference. False where it could not be delivered: nobody listens any more. */
    bool (*emit)(struct event_sink *s, json_t *event, struct error *e);
    double started; /* when the run began, seconds since the epoch */
    /* The words that every event of a run bears whose link is slowed on purpose, or "". */
    char slowed[256];
};

/* Seconds since the epoch (CLOCK_REALTIME, the clock that the ranks of a host share). */
double sink_clock(void);

/* RINGSIDE_STARTED, or the present time where it is unset or no number. */
double sink_started(void);

/* Seconds since the run began; never negative, so that it can stamp an event. */
double sink_now(const struct event_sink *s);

/* An event of that name stamped with the present time: a new reference to fill in and hand to sink_emit. */
json_t *sink_event(const struct event_sink *s, const char *name);

/* s->emit(s, event, e), and true (the event dropped) where s is NULL. */
bool sink_emit(struct event_sink *s, json_t *event, struct error *e);

/* A `note` event; level is "info", "warn" or "error". */
bool sink_note(struct event_sink *s, const char *level, const char *text, struct error *e);

/* Writes whole lines to a descriptor, which stays the caller's. Threads may share it. */
struct fd_sink {
    struct event_sink sink; /* what is handed on */
    int fd;
    pthread_mutex_t lock;
};
void sink_fd_init(struct fd_sink *s, int fd);
void sink_fd_clear(struct fd_sink *s);

/* Drops every event. */
void sink_null_init(struct event_sink *s);

#endif
