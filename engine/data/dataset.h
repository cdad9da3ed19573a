/*
 * dataset.h - labelled images in memory, and batches of them as normalised floats.
 *
 * Known today: "mnist", which lies in the course's exercises/data/mnist, or any folder with the same four IDX files
 * (train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-..., t10k-labels-..., each with or without .gz).
 * Pixels stay bytes; a batch is made by table, (p/255 - mean) / deviation, with MNIST's mean 0.1307 and standard
 * deviation 0.3081 over the training pixels (a test computes both).
 */
#ifndef RINGSIDE_DATA_DATASET_H
#define RINGSIDE_DATA_DATASET_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum dataset_part { DATASET_TRAIN, DATASET_TEST };

#define MNIST_MEAN 0.1307
#define MNIST_DEVIATION 0.3081

struct dataset {
    uint32_t rows;
    uint32_t height, width; /* one channel */
    uint8_t *pixels;        /* rows × height × width, owned */
    uint8_t *labels;        /* rows, 0 ... classes - 1, owned */
    int classes;
    float value[256]; /* of a pixel, normalised */
};

/* name: "mnist" or a folder. A missing file's message says which files, whose, and where to put them. */
bool dataset_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e);
void dataset_free(struct dataset *d);

size_t dataset_image_elements(const struct dataset *d);
/* Puts the n images numbered by `which` into out (n × height × width) and their labels into labels. */
void dataset_batch(const struct dataset *d, const uint32_t *which, int n, float *out, uint8_t *labels);

#endif
