/*
 * evaluate.h - loss and accuracy on the test set, every rank doing its share.
 *
 * Rank r of R takes every R-th batch. The figures are sums over samples divided by the number of samples, so they
 * do not depend on the number of ranks (but for rounding) nor on a short last batch.
 */
#ifndef RINGSIDE_TRAIN_EVALUATE_H
#define RINGSIDE_TRAIN_EVALUATE_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"
#include "engine/data/dataset.h"
#include "engine/nn/network.h"

struct evaluator {
    struct network *network; /* of its own batch; parameters are copied in */
    const struct dataset *test;
};

bool evaluator_init(struct evaluator *v, const struct model_spec *model, struct backend *backend,
                    const struct dataset *test, struct error *e);
void evaluator_free(struct evaluator *v);

/* Collective. Rank 0 emits a few `sample` events: the first images, and some that are taken for another digit. */
bool evaluate(struct evaluator *v, const struct network *trained, struct comm *comm, struct event_sink *sink,
              double *loss, double *accuracy, struct error *e);

#endif
