/*
 * reproducible.h - the gradient of a global batch with the same bits for 1, 2, 4 and 8 ranks and any number
 * of threads.
 *
 * Rounding depends on the order of additions, and that on how a batch is split. So it is always split alike:
 * into 8 shards of consecutive samples, each a network of its own that one thread computes from beginning to
 * end, batchnorm's statistics those of the shard. A rank has 8/ranks of the shards, its threads share them
 * out. The gradients, and what lies behind them (the loss, the running statistics), are added up along one
 * binary tree, ((0+1)+(2+3))+((4+5)+(6+7)): first within the rank here, then over the ranks by the allreduce
 * `tree`, which continues the pairing.
 *
 * Two machines whose processors differ still round differently: the library picks its loops for each.
 */
#ifndef RINGSIDE_TRAIN_REPRODUCIBLE_H
#define RINGSIDE_TRAIN_REPRODUCIBLE_H

#include "engine/nn/network.h"

enum { REPRODUCIBLE_SHARDS = 8 };

struct reproducible_spec {
    const struct model_spec *model;
    int rank, ranks;
    int batch;        /* of this rank */
    int targets;      /* classes a sample */
    int threads;      /* at most; more than shards are not used */
    bool bf16;        /* multiply in bf16 */
    float *gradients; /* the allreduce's buffer: parameters, extras and states, one behind the other */
    int extras;       /* the first of them is the loss, the others are the caller's and 0 in all shards */
};

struct reproducible;

/* ERROR_INPUT where the ranks do not divide 8 or 8 does not divide the global batch, or a layer looks
 * across ranks. */
struct reproducible *reproducible_new(const struct reproducible_spec *spec, struct error *e);
void reproducible_free(struct reproducible *r);

/* The threads' passes are spans of lanes of their own from now on. Nothing where trace is NULL. */
bool reproducible_trace(struct reproducible *r, struct trace *trace, struct error *e);

/* This rank's shards: where the samples and classes of the i-th go, and how many samples that is. */
int reproducible_shards(const struct reproducible *r);
int reproducible_shard_batch(const struct reproducible *r);
void *reproducible_input(const struct reproducible *r, int i);
int32_t *reproducible_classes(const struct reproducible *r, int i);

/*
 * The sum over this rank's shards into spec.gradients, from the parameters, state, seed and step of
 * `trained`: to be summed over the ranks with "tree" over reproducible_length elements. scale: as in
 * network_gradients.
 */
bool reproducible_gradients(struct reproducible *r, const struct network *trained, double scale,
                            struct error *e);
size_t reproducible_length(const struct reproducible *r);
/* The first layer whose output was not finite in any of this rank's shards, from 0; -1: none. */
int reproducible_bad_layer(const struct reproducible *r);
/* After that allreduce: the mean of the shards' running statistics becomes the network's. */
void reproducible_take_state(const struct reproducible *r, struct network *trained);

#endif
