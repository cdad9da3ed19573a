#include "engine/base/lua_guard.h"

#include "engine/base/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY_NS 100000000

struct lua_guard {
    struct event_sink *sink;
    double seconds;
    pthread_t thread;
    atomic_llong entered; /* microseconds on the monotonic clock; 0: nobody is inside */
    atomic_int rank;
    atomic_bool over;
};

static long long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void lua_guard_sentence(int rank, double seconds, char *text, size_t size)
{
    snprintf(text, size,
             "rank %d has computed for %.0f s without sending, receiving or coming to an end; look for a "
             "loop that "
             "never ends, or a text pattern that never finishes",
             rank, seconds);
}

json_t *lua_guard_fault(const struct event_sink *sink, int rank, double seconds)
{
    char text[300];
    json_t *event = sink_event(sink, "fault");
    lua_guard_sentence(rank, seconds, text, sizeof text);
    event_set_integer(event, "rank", rank);
    event_set_text(event, "kind", "stuck");
    event_set_text(event, "text", text);
    return event;
}

static void *watch(void *self)
{
    struct lua_guard *g = self;
    while (!atomic_load(&g->over)) {
        long long entered = atomic_load(&g->entered);
        double seconds = entered > 0 ? (double)(microseconds() - entered) * 1e-6 : 0;
        if (seconds > g->seconds && !atomic_load(&g->over)) {
            json_t *done = sink_event(g->sink, "done");
            json_object_set_new(done, "ok", json_false());
            event_set_integer(done, "exit_code", ERROR_INPUT);
            sink_emit(g->sink, lua_guard_fault(g->sink, atomic_load(&g->rank), seconds), NULL);
            sink_emit(g->sink, done, NULL);
            _exit(1);
        }
        nanosleep(&(struct timespec){0, LOOK_EVERY_NS}, NULL);
    }
    return NULL;
}

struct lua_guard *lua_guard_start(struct event_sink *sink, double seconds, struct error *e)
{
    struct lua_guard *g = calloc(1, sizeof *g);
    if (!g) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    g->sink = sink;
    g->seconds = seconds;
    if (pthread_create(&g->thread, NULL, watch, g) != 0) {
        free(g);
        error_set(e, ERROR_FAILED, "there is no thread left to watch the script's time");
        return NULL;
    }
    return g;
}

void lua_guard_stop(struct lua_guard *g)
{
    if (!g)
        return;
    atomic_store(&g->over, true);
    pthread_join(g->thread, NULL);
    free(g);
}

void lua_guard_enter(struct lua_guard *g, int rank)
{
    if (!g)
        return;
    atomic_store(&g->rank, rank);
    atomic_store(&g->entered, microseconds());
}

void lua_guard_leave(struct lua_guard *g)
{
    if (g)
        atomic_store(&g->entered, 0);
}
