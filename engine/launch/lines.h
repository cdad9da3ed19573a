/*
 * lines.h - cuts the bytes of a pipe into lines.
 *
 * A line longer than LINES_LIMIT is handed on in pieces, so memory stays bounded whatever a worker prints.
 */
#ifndef RINGSIDE_LAUNCH_LINES_H
#define RINGSIDE_LAUNCH_LINES_H

#include "engine/base/error.h"

#include <stddef.h>

enum { LINES_LIMIT = 4 * 1024 * 1024 };

struct lines {
    char *buffer;
    size_t room, filled;
};

/* One line without its newline, ended by a 0; it may be changed. */
typedef void line_taker(void *self, char *line, size_t length);

/* Reads once what is there and hands out each whole line; false at the end of file (or a broken pipe). */
bool lines_read(struct lines *l, int fd, line_taker *take, void *self);
/* What is left without a newline. */
void lines_finish(struct lines *l, line_taker *take, void *self);
void lines_free(struct lines *l);

#endif
