#include "engine/launch/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024 };

bool lines_read(struct lines *l, int fd, line_taker *take, void *self)
{
    if (l->room - l->filled < READ_SIZE + 1) {
        size_t room = l->room ? 2 * l->room : 2 * READ_SIZE;
        char *grown = realloc(l->buffer, room);
        if (!grown)
            return false;
        l->buffer = grown, l->room = room;
    }
    ssize_t n;
    do
        n = read(fd, l->buffer + l->filled, READ_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    if (n <= 0)
        return false;
    size_t from = l->filled, begin = 0;
    l->filled += (size_t)n;
    for (char *end; (end = memchr(l->buffer + from, '\n', l->filled - from));) {
        size_t length = (size_t)(end - (l->buffer + begin));
        *end = 0;
        take(self, l->buffer + begin, length);
        from = begin = (size_t)(end - l->buffer) + 1;
    }
    l->filled -= begin;
    memmove(l->buffer, l->buffer + begin, l->filled);
    if (l->filled >= LINES_LIMIT)
        lines_finish(l, take, self);
    return true;
}

void lines_finish(struct lines *l, line_taker *take, void *self)
{
    if (l->filled == 0)
        return;
    size_t length = l->filled;
    l->filled = 0;
    l->buffer[length] = 0;
    take(self, l->buffer, length);
}

void lines_free(struct lines *l)
{
    free(l->buffer);
    *l = (struct lines){0};
}
