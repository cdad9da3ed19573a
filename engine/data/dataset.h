/*
 * dataset.h - labelled samples, and batches of them.
 *
 * A sample is an image of C × H × W, given as normalised floats, or T tokens, given as int32 numbers below
 * `vocabulary`. It has one class, or one for each of its T steps (the next character at every step). What
 * lies behind, bytes in memory, a mapped file, a formula, is the source's affair. By name:
 *     mnist                        embedded; or a FOLDER with its four IDX files
 *     cifar10, cifar100            the binary version, where cifar.h says; or a FOLDER with its files
 *     text-classes, text-words, text-chars    the embedded corpus (text.h)
 *     synthetic:SHAPE:CLASSES:ROWS            made up, but learnable (synthetic.h)
 *     FILE.shards                  images packed by `ringside data pack` (shards.h)
 * A dataset that is open does not change: several threads may ask for batches at once.
 */
#ifndef RINGSIDE_DATA_DATASET_H
#define RINGSIDE_DATA_DATASET_H

#include "engine/base/error.h"
#include "engine/spec/model.h"

#include <stddef.h>
#include <stdint.h>

enum dataset_part { DATASET_TRAIN, DATASET_TEST };

struct dataset_source;

struct dataset {
    uint32_t rows;
    struct model_shape shape; /* of a sample: SHAPE_IMAGE or SHAPE_TOKENS */
    int vocabulary;           /* tokens are below this; 0 for images */
    int classes;
    int targets;                    /* classes a sample: 1, or one a step */
    const char *const *class_names; /* NULL: none but their numbers */
    const struct dataset_source *source;
    void *self; /* the source's */
};

/* A missing file's message says which files, whose, and where to put them. Nothing to free where it fails. */
bool dataset_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e);
void dataset_free(struct dataset *d);

size_t dataset_sample_elements(const struct dataset *d);
size_t dataset_sample_bytes(const struct dataset *d);

/*
 * Puts the n samples numbered by `which` into inputs (float or int32_t, each dataset_sample_elements) and their classes
 * into classes (each d->targets). Fails only where a mapped file is damaged.
 */
bool dataset_batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                   struct error *e);

/* A sample's classes alone. */
void dataset_classes(const struct dataset *d, uint32_t row, int32_t *classes);
/* An image as bytes, C × H × W, for the screen. */
bool dataset_pixels(const struct dataset *d, uint32_t row, uint8_t *pixels, struct error *e);
/* What a token says: a word, a character, "" for padding. NULL where the samples are no text. */
const char *dataset_token(const struct dataset *d, int32_t token);
/* The class's name, or its number. Returns text, or the name. */
const char *dataset_class(const struct dataset *d, int class, char text[16]);

#endif
