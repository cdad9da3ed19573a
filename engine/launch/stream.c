#include "engine/launch/stream.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Room for the last words on a full disk: the final events, status.json and a line in the log. */
enum { RESERVE_BYTES = 32 * 1024 };
static const char reserve_name[] = ".reserve";

double clock_wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The reserve is worth having, not needed: failing to make it is no error. */
static void make_reserve(const struct stream *s)
{
    char path[PATH_MAX];
    if (!path_join(path, s->dir, reserve_name, NULL))
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
        unlink(path);
    close(fd);
}

void stream_release_reserve(struct stream *s)
{
    char path[PATH_MAX];
    if (path_join(path, s->dir, reserve_name, NULL))
        unlink(path);
}

bool stream_open(struct stream *s, const char *dir, struct error *e)
{
    char path[PATH_MAX];
    *s = (struct stream){.fd = -1, .started = clock_wall()};
    if (!path_join(s->dir, dir, "", e) || !path_join(path, dir, "events.jsonl", e))
        return false;
    s->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (s->fd < 0 && errno == EEXIST)
        return error_set(e, ERROR_INPUT, "%s exists: a run has one supervisor, and this run has had it",
                         path);
    if (s->fd < 0)
        return error_errno(e, ERROR_FAILED, "%s cannot be written", path);
    make_reserve(s);
    return true;
}

double stream_now(const struct stream *s)
{
    double t = clock_wall() - s->started;
    if (s->recorded)
        return s->last_t;
    return t > 0 ? t : 0; /* a clock that is set back does not make a time before the start */
}

bool stream_append(struct stream *s, json_t *event, struct error *e)
{
    double t = event_number(event, "t", -1);
    if (t < 0) {
        t = round(1e6 * stream_now(s)) / 1e6;
        json_t *stamped = json_object(); /* t comes first in a line, for those who read it by eye */
        event_set_number(stamped, "t", t);
        json_object_update_missing(stamped, event);
        json_decref(event);
        event = stamped;
    }
    char *line = event_line(event);
    json_decref(event);
    if (!line)
        return error_set(e, ERROR_FAILED, "an event could not be written: out of memory");
    size_t length = strlen(line);
    ssize_t n;
    do
        n = write(s->fd, line, length);
    while (n < 0 && errno == EINTR);
    free(line);
    if (n == (ssize_t)length) {
        s->size += n;
        if (t > s->last_t)
            s->last_t = t;
        return true;
    }
    if (n >= 0)
        errno = ENOSPC; /* a short write to a regular file means that it is full */
    bool full = errno == ENOSPC || errno == EDQUOT;
    error_errno(e, ERROR_FAILED, "the run's events cannot be written to %s", s->dir);
    if (n > 0 && ftruncate(s->fd, s->size) != 0)
        return false; /* readers leave a torn last line alone */
    if (full)
        stream_release_reserve(s);
    return false;
}

void stream_close(struct stream *s)
{
    stream_release_reserve(s);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}
