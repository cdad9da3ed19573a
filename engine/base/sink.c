#include "engine/base/sink.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double sink_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double sink_started(void)
{
    const char *text = getenv("RINGSIDE_STARTED");
    char *end = NULL;
    double started = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !isfinite(started) || started <= 0)
        return sink_clock();
    return started;
}

double sink_now(const struct event_sink *s)
{
    double t = sink_clock() - s->started;
    return t > 0 ? t : 0;
}

json_t *sink_event(const struct event_sink *s, const char *name)
{
    json_t *event = event_new(name, s ? sink_now(s) : 0);
    if (s && *s->slowed)
        event_set_text(event, "slowed", s->slowed);
    return event;
}

bool sink_emit(struct event_sink *s, json_t *event, struct error *e)
{
    if (s)
        return s->emit(s, event, e);
    json_decref(event);
    return true;
}

bool sink_note(struct event_sink *s, const char *level, const char *text, struct error *e)
{
    json_t *event = sink_event(s, "note");
    event_set_text(event, "level", level);
    event_set_text(event, "text", text);
    return sink_emit(s, event, e);
}

static bool fd_emit(struct event_sink *s, json_t *event, struct error *e)
{
    struct fd_sink *f = (struct fd_sink *)s; /* its first member */
    pthread_mutex_lock(&f->lock);
    bool ok = event_write(f->fd, event, e);
    pthread_mutex_unlock(&f->lock);
    return ok;
}

void sink_fd_init(struct fd_sink *s, int fd)
{
    s->sink = (struct event_sink){.emit = fd_emit, .started = sink_started()};
    s->fd = fd;
    pthread_mutex_init(&s->lock, NULL);
}

void sink_fd_clear(struct fd_sink *s)
{
    pthread_mutex_destroy(&s->lock);
}

static bool null_emit(struct event_sink *s, json_t *event, struct error *e)
{
    (void)s;
    (void)e;
    json_decref(event);
    return true;
}

void sink_null_init(struct event_sink *s)
{
    *s = (struct event_sink){.emit = null_emit, .started = sink_started()};
}
