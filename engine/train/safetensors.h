/*
 * safetensors.h - named tensors in a file that PyTorch, JAX and others read too.
 *
 * The format (Hugging Face, safetensors, 2022): a 64-bit little-endian number, the length of the header; the
 * header, a JSON object {"NAME": {"dtype": "F32", "shape": [64, 10], "data_offsets": [begin, end]}, ...,
 * "__metadata__": {"KEY": "text"}}, filled up with spaces to a multiple of 8; then the data, little-endian
 * and plain, the offsets counted from their beginning. The tensors must cover the data without gap or
 * overlap.
 *
 * A file is checked whole, but for the numbers in it, before anything is believed: errors are ERROR_INPUT and
 * name the file, what is wrong and what was expected. Data are read where they are asked for. A file is
 * written whole or not at all: to a temporary file beside it, flushed to the disk, renamed.
 */
#ifndef RINGSIDE_TRAIN_SAFETENSORS_H
#define RINGSIDE_TRAIN_SAFETENSORS_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { SAFETENSORS_MAX_RANK = 8 };

enum safetensors_type {
    SAFETENSORS_F32,
    SAFETENSORS_F64,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I32,
    SAFETENSORS_I64,
    SAFETENSORS_OTHER /* known to the format (BOOL, U8, F8_E4M3 ...), not read here */
};

struct safetensors_entry {
    const char *name;
    const char *type_name; /* "F32" */
    enum safetensors_type type;
    int rank;
    size_t extent[SAFETENSORS_MAX_RANK];
    size_t elements, element_bytes, bytes;
    uint64_t begin; /* offset in the data */
};

struct safetensors; /* an open file */

struct safetensors *safetensors_open(const char *path, struct error *e);
void safetensors_close(struct safetensors *f);

/* The text of the metadata's key, "" where there is none; f's own. */
const char *safetensors_metadata(const struct safetensors *f, const char *key);
int safetensors_count(const struct safetensors *f);
/* In the order of their data. */
const struct safetensors_entry *safetensors_entry(const struct safetensors *f, int i);
/* NULL where there is none of that name. */
const struct safetensors_entry *safetensors_find(const struct safetensors *f, const char *name);

/* Reads a tensor's elements as float, whatever they are stored as (a wider type is rounded to the
 * nearest). */
bool safetensors_read(const struct safetensors *f, const struct safetensors_entry *entry, float *to,
                      struct error *e);

/* FNV-1a over the data as 32-bit words: what safetensors_hash_parts of the parts that were written gave. */
bool safetensors_hash(const struct safetensors *f, uint64_t *hash, struct error *e);

/* A tensor to be written as F32. */
struct safetensors_part {
    char name[160];
    int rank;
    size_t extent[SAFETENSORS_MAX_RANK];
    const float *data;
};

uint64_t safetensors_hash_parts(const struct safetensors_part *parts, int count);
/* metadata: an object of texts, borrowed; NULL: none. */
bool safetensors_write(const char *path, const struct safetensors_part *parts, int count, json_t *metadata,
                       struct error *e);

#endif
