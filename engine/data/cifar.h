/*
 * cifar.h - CIFAR-10 and CIFAR-100, binary version: 32 × 32 colour images of 10 or 100 classes.
 *
 * A record is the class (CIFAR-100: the coarse class, then the fine one, which is taken), then 1 024 bytes
 * each of red, green and blue. CIFAR-10 trains on data_batch_1.bin ... data_batch_5.bin and tests on
 * test_batch.bin, CIFAR-100 on train.bin and test.bin. "cifar10" and "cifar100" look for the folder
 * cifar-10-batches-bin or cifar-100-binary (the archives' own names) in $RINGSIDE_HOME/data, then in the
 * course's exercises/data.
 *
 * Pixels are normalised, channel by channel, with the mean and standard deviation of the training set, as
 * they are commonly quoted; `ringside data info` computes them from the files. Source: A. Krizhevsky,
 * Learning multiple layers of features from tiny images, University of Toronto, 2009.
 */
#ifndef RINGSIDE_DATA_CIFAR_H
#define RINGSIDE_DATA_CIFAR_H

#include "engine/data/dataset.h"

bool cifar_known(const char *name);    /* "cifar10" or "cifar100" */
bool cifar_folder(const char *folder); /* it has a file of either set */
/* name: either set's, or a folder. */
bool cifar_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e);

#endif
