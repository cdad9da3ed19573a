/*
 * tensor.h - a view of floats that somebody else owns: where they are and how they are arranged.
 *
 * Always dense and row-major: the last extent runs fastest. Parameters and gradients are views into the two
 * contiguous buffers of a network; a batch of images is a view into its input.
 */
#ifndef RINGSIDE_NN_TENSOR_H
#define RINGSIDE_NN_TENSOR_H

#include <stddef.h>

enum { TENSOR_MAX_RANK = 4 };

struct tensor {
    float *data;
    int rank;
    size_t extent[TENSOR_MAX_RANK];
};

static inline size_t tensor_elements(const struct tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->extent[i];
    return n;
}

#endif
