/*
 * idx.h - the IDX format of MNIST (Y. LeCun's description): two zero bytes, a type, the number of dimensions,
 * each extent as a big-endian 32-bit number, then the elements. Read through zlib, so compressed or not.
 *
 * The header is checked against the file's real length, cut short or too long, before anything is believed.
 * Only unsigned bytes (type 0x08) are read. Errors are ERROR_INPUT and name the file.
 */
#ifndef RINGSIDE_DATA_IDX_H
#define RINGSIDE_DATA_IDX_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { IDX_MAX_DIMENSIONS = 3 };

struct idx {
    int dimensions;
    uint32_t extent[IDX_MAX_DIMENSIONS];
    size_t elements;
    uint8_t *data; /* owned; idx_free */
};

/* Reads a file that must have that many dimensions. */
bool idx_read(const char *path, int dimensions, struct idx *idx, struct error *e);
void idx_free(struct idx *idx);

#endif
