/*
 * evaluate.h - loss and accuracy on the test set, every rank doing its share.
 *
 * The network that trains is the one that is tested, with its batch and its memory. Rank r of R takes every
 * R-th batch. The figures are sums over rows (samples, or the steps of a sequence) divided by their number,
 * and added up in one order, so they depend neither on the number of ranks nor on a short last batch.
 */
#ifndef RINGSIDE_TRAIN_EVALUATE_H
#define RINGSIDE_TRAIN_EVALUATE_H

#include "engine/comm/comm.h"
#include "engine/data/dataset.h"
#include "engine/nn/network.h"
#include "engine/train/samples.h"

/*
 * Collective; *loss and *accuracy are the same on every rank. samples: what
 * of rank 0's batches is shown; NULL on the other ranks, or for nothing.
 */
bool evaluate(struct network *network, const struct dataset *test, struct comm *comm, struct samples *samples,
              double *loss, double *accuracy, struct error *e);

#endif
