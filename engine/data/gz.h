/*
 * gz.h - a whole file in memory, gzipped or not, through zlib.
 *
 * Memory grows as data really comes. Errors are ERROR_INPUT and name the file.
 */
#ifndef RINGSIDE_DATA_GZ_H
#define RINGSIDE_DATA_GZ_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* *data is owned by the caller; more than max_bytes is an error. */
bool gz_read(const char *path, size_t max_bytes, uint8_t **data, size_t *bytes, struct error *e);

#endif
