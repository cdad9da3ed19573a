/*
 * files.h - opens what somebody else may have put there.
 *
 * Whatever lies in a run's folder or in the learner's home is read through these: a named pipe would keep
 * open(2) waiting for ever, a device has no end, and a huge file would fill the memory.
 */
#ifndef RINGSIDE_BASE_FILES_H
#define RINGSIDE_BASE_FILES_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

enum { FILE_JSON_BYTES = 16 << 20 }; /* no job, status, setting or progress is as long as this */

/* Opens a plain file to read; -1 where it is none, or has more than `most` bytes (0: any number); errno
 * says so, too. */
int file_open(const char *path, off_t most, struct error *e);
FILE *file_stream(const char *path, off_t most, struct error *e);

/* The one JSON value in it, a new reference; NULL: the error says in which line it is wrong. */
json_t *file_json(const char *path, struct error *e);

#endif
