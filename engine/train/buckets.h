/*
 * buckets.h - how the gradients are cut for the allreduce while backward goes on.
 *
 * Parameters lie in the order of the layers and their gradients get ready from the end, so buckets are filled from the
 * end too: one closes with the layer that brings it to its size, and the next begins before it (Li et al., PyTorch
 * Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020). The first is small, at most 1 MiB, so
 * that communication begins early. A layer is never split, but that a bucket begins on a cache line: the last thread to
 * write a line of gradients and the first to sum it are never two. What lies behind the gradients travels with the
 * first bucket.
 */
#ifndef RINGSIDE_TRAIN_BUCKETS_H
#define RINGSIDE_TRAIN_BUCKETS_H

#include "engine/spec/model.h"

enum { BUCKET_FIRST = 1 << 20, BUCKET_DEFAULT = 25 << 20, BUCKET_LINE = 16 /* floats of a cache line */ };

/* Elements [begin, end) of the gradient buffer. */
struct bucket {
    size_t begin, end;
};

struct buckets {
    struct bucket *list; /* in the order in which they get ready: the first ends with the buffer */
    int count;
};

/* bytes: what a bucket is to hold at least, where so much is left; 0: all in one. length: of the buffer, extras
 * included. Gradients of no parameters make one bucket. */
bool buckets_plan(struct buckets *b, const struct model_spec *model, size_t length, size_t bytes,
                  struct error *e);
void buckets_free(struct buckets *b);

#endif
