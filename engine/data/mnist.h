/*
 * mnist.h - MNIST: 28 × 28 grey images of ten digits, from four IDX files in a folder, each with or without .gz:
 * train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte.
 *
 * Normalised with the mean and the standard deviation of MNIST's training pixels (a test computes both). Other sets
 * of ten classes in the same form are read alike.
 */
#ifndef RINGSIDE_DATA_MNIST_H
#define RINGSIDE_DATA_MNIST_H

#include "engine/data/dataset.h"

#define MNIST_MEAN 0.1307
#define MNIST_DEVIATION 0.3081

bool mnist_read(const char *folder, enum dataset_part part, struct dataset *d, struct error *e);

#endif
