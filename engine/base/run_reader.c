/*
 * run_reader.c - follows events.jsonl while it grows.
 *
 * The reader remembers where the last whole line ended and reads on from there, so a torn line is completed
 * later, and a writer that takes a torn line back (the disk was full) does no harm.
 */
#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, LINE_LIMIT = 16 * 1024 * 1024 };

struct run_reader {
    char path[PATH_MAX];
    int fd;                    /* -1: the file was not there yet */
    char *buffer;              /* from file offset `base` on */
    size_t room, filled, next; /* next: where in the buffer the next line begins */
    size_t searched;           /* no newline in [next, searched) */
    off_t base;
    off_t seen;    /* the file's size when its end was met, -1: it was not */
    bool dropping; /* inside a line longer than LINE_LIMIT */
    long skipped;
};

struct run_reader *run_reader_open(const char *dir, struct error *e)
{
    struct run_reader *r = calloc(1, sizeof *r);
    if (!r) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    r->fd = -1;
    r->seen = -1;
    struct stat st;
    if (!path_join(r->path, dir, "events.jsonl", e)) {
        free(r);
        return NULL;
    }
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        if (errno == 0)
            errno = ENOTDIR;
        error_errno(e, ERROR_INPUT, "the run %s cannot be read", dir);
        free(r);
        return NULL;
    }
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        error_set(e, ERROR_INPUT, "the run %s cannot be read: its events.jsonl is not a plain file", dir);
        free(r);
        return NULL;
    }
    return r;
}

void run_reader_free(struct run_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->buffer);
    free(r);
}

/* Drops what has been handed out, so that the buffer begins with the next line. */
static void compact(struct run_reader *r)
{
    if (r->next == 0)
        return;
    memmove(r->buffer, r->buffer + r->next, r->filled - r->next);
    r->base += (off_t)r->next;
    r->filled -= r->next;
    r->searched -= r->next;
    r->next = 0;
}

/* Reads more; false: there is nothing more now. */
static bool fill(struct run_reader *r)
{
    if (r->fd < 0) {
        r->fd = file_open(r->path, 0, NULL);
        if (r->fd < 0)
            return false;
    }
    compact(r);
    struct stat st;
    if (fstat(r->fd, &st) != 0)
        return false;
    if (st.st_size == r->seen)
        return false;
    if (r->seen >= 0 || st.st_size < r->base + (off_t)r->filled) {
        r->filled = r->searched =
            0; /* the torn line may be another one by now: read it again from its start */
        if (st.st_size < r->base)
            r->base = st.st_size, r->dropping = false;
        r->seen = -1;
    }
    if (r->room - r->filled < READ_SIZE) {
        size_t room = r->room ? 2 * r->room : 2 * READ_SIZE;
        char *grown = realloc(r->buffer, room);
        if (!grown)
            return false;
        r->buffer = grown, r->room = room;
    }
    ssize_t n = pread(r->fd, r->buffer + r->filled, READ_SIZE, r->base + (off_t)r->filled);
    if (n <= 0) {
        r->seen = n == 0 ? r->base + (off_t)r->filled : -1;
        return false;
    }
    r->filled += (size_t)n;
    return true;
}

bool run_reader_next_line(struct run_reader *r, const char **line, size_t *length)
{
    for (;;) {
        char *end =
            r->filled > r->searched ? memchr(r->buffer + r->searched, '\n', r->filled - r->searched) : NULL;
        if (!end) {
            r->searched = r->filled;
            if (r->filled - r->next > LINE_LIMIT) { /* no event is that long: forget it up to its end */
                if (!r->dropping)
                    r->skipped++;
                r->dropping = true;
                r->next = r->filled;
            }
            if (!fill(r))
                return false;
            continue;
        }
        char *from = r->buffer + r->next;
        r->next = r->searched = (size_t)(end - r->buffer) + 1;
        if (r->dropping) {
            r->dropping = false;
            continue;
        }
        if (end == from)
            continue;
        *end = 0;
        *line = from;
        *length = (size_t)(end - from);
        return true;
    }
}

json_t *run_reader_event(struct run_reader *r, const char *line, size_t length)
{
    json_t *event = event_parse(line, length);
    if (event && *event_name(event))
        return event;
    json_decref(event);
    r->skipped++;
    return NULL;
}

json_t *run_reader_next(struct run_reader *r)
{
    const char *line;
    size_t length;
    while (run_reader_next_line(r, &line, &length)) {
        json_t *event = run_reader_event(r, line, length);
        if (event)
            return event;
    }
    return NULL;
}

void run_reader_seek(struct run_reader *r, off_t offset)
{
    r->filled = r->searched = r->next = 0;
    r->seen = -1;
    /* From the byte before: where that ends a line, the next one is whole. */
    r->dropping = offset > 0;
    r->base = offset > 0 ? offset - 1 : 0;
}

off_t run_reader_offset(const struct run_reader *r)
{
    return r->base + (off_t)r->next;
}

const char *run_reader_path(const struct run_reader *r)
{
    return r->path;
}

off_t run_reader_size(const struct run_reader *r)
{
    struct stat st;
    return stat(r->path, &st) == 0 ? st.st_size : 0;
}

long run_reader_skipped(const struct run_reader *r)
{
    return r->skipped;
}
