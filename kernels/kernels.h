/*
 * kernels.h - what the .cu files offer to C: functions that put kernels on a stream and return at once. Whether they could
 * be started is told by cudaGetLastError.
 *
 * All pointers are to device memory. Counts of elements are below 2^31, which the backend sees to. `rows` × `columns`
 * arrays lie row after row without gaps: an image batch that lies channels last is batch·height·width rows of its
 * channels. `add` adds to what is there, else it is written over.
 */
#ifndef RINGSIDE_KERNELS_KERNELS_H
#define RINGSIDE_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What changes from step to step while a recorded graph stays as it is: kernels read it from device memory. */
struct kernel_step {
    uint64_t seed; /* of pass_context: dropout's mask hangs on these three */
    int64_t step;
    int64_t first_row;
    int32_t samples; /* of the batch that count: the others have no loss and no gradient */
};

/* --- layout.cu --- */

/* Does nothing: whether the GPU takes the kernels as they were compiled. */
void kernel_nothing(cudaStream_t stream);
void kernel_set_step(struct kernel_step *to, struct kernel_step value, cudaStream_t stream);
/* Images between plain order (batch × channels × points) and channels last. add: to a gradient. */
void kernel_to_channels_last(const float *in, float *out, int batch, int channels, int points, bool add,
                             cudaStream_t stream);
void kernel_to_plain(const float *in, float *out, int batch, int channels, int points, bool add,
                     cudaStream_t stream);
/* To bf16, rounded to the nearest (of two the even one). */
void kernel_round(const float *in, uint16_t *out, size_t n, cudaStream_t stream);
/* Columns first ... first + columns of out's `stride` columns, from or to an array of its own: concat. */
void kernel_into_columns(const float *in, float *out, int rows, int columns, int first, int stride,
                         cudaStream_t stream);
void kernel_from_columns(const float *in, float *out, int rows, int columns, int first, int stride, bool add,
                         cudaStream_t stream);

/* --- elementwise.cu --- */

/* y = relu(y + bias): bias may be NULL. */
void kernel_bias_relu(float *y, const float *bias, int rows, int columns, bool relu, cudaStream_t stream);
void kernel_relu(const float *in, float *out, size_t n, cudaStream_t stream);
/* grad_in = value > 0 ? grad_out : 0. grad_in may be grad_out. */
void kernel_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n, bool add,
                          cudaStream_t stream);
enum kernel_function { KERNEL_LEAKY_RELU, KERNEL_GELU, KERNEL_TANH, KERNEL_SIGMOID };
void kernel_activation(enum kernel_function f, const float *in, float *out, size_t n, float slope,
                       cudaStream_t stream);
/* value: what the function put out; of gelu, what went in. */
void kernel_activation_backward(enum kernel_function f, const float *value, const float *grad_out,
                                float *grad_in, size_t n, float slope, bool add, cudaStream_t stream);
/* out = a + b, and relu of it. out may be a. */
void kernel_add(const float *a, const float *b, float *out, size_t n, bool relu, cudaStream_t stream);
/* to = from, or to += from. */
void kernel_copy(const float *from, float *to, size_t n, bool add, cudaStream_t stream);

/* --- columns.cu --- */

/* How many floats of scratch memory the sums over rows of that many columns take. */
size_t kernel_column_scratch(int rows, int columns);
/*
 * sums[column] = Σ over rows of g, in one order always. value not NULL: of what a relu lets through, g = value > 0 ? g : 0, which
 * is left in g. sums may be NULL: the relu alone.
 */
void kernel_column_sums(float *g, const float *value, float *sums, float *scratch, int rows, int columns,
                        cudaStream_t stream);

/* --- windows.cu --- */

/* Windows over images that lie channels last; of a pool groups and dilation are 1. */
struct kernel_windows {
    int channels, height, width, out_height, out_width;
    int kernel[2], stride[2], padding[2], dilation[2];
    int groups,
        depth; /* depth: of a group's patch in memory, kernel × channels of a group and zeros behind them */
};
/*
 * Patches: for each place of the output a row of groups × depth, in the order kernel row, kernel column, channel. Of `images` images
 * from where `in` points on; `halves` makes them bf16.
 */
void kernel_patches(const float *in, void *patches, const struct kernel_windows *w, int images, bool halves,
                    cudaStream_t stream);
/* The way back: each place's sum over the patches that it is in. */
void kernel_from_patches(const float *patches, float *in, const struct kernel_windows *w, int images,
                         bool add, cudaStream_t stream);
/* Weights [out channels][channels of a group][kernel] as rows like those of the patches, and gradients back. */
void kernel_pack_weights(const float *weights, void *packed, const struct kernel_windows *w, int out_channels,
                         bool halves, cudaStream_t stream);
void kernel_unpack_weights(const float *packed, float *weights, const struct kernel_windows *w,
                           int out_channels, cudaStream_t stream);

/* --- pool.cu --- */

/* which: of each output the place (y × width + x) of its maximum, the first of equals; -1 where a relu closed it. */
void kernel_maxpool(const float *in, float *out, int32_t *which, const struct kernel_windows *w, int images,
                    bool relu, cudaStream_t stream);
void kernel_maxpool_backward(const float *grad_out, const int32_t *which, float *grad_in,
                             const struct kernel_windows *w, int images, bool add, cudaStream_t stream);
/* out = relu(maximum + bias), of a convolution: the bias is the same all over the window. bias may be NULL. */
void kernel_bias_maxpool(const float *in, const float *bias, float *out, int32_t *which,
                         const struct kernel_windows *w, int images, cudaStream_t stream);
/* Padding counts as zeros. */
void kernel_avgpool(const float *in, float *out, const struct kernel_windows *w, int images,
                    cudaStream_t stream);
void kernel_avgpool_backward(const float *grad_out, float *grad_in, const struct kernel_windows *w,
                             int images, bool add, cudaStream_t stream);
void kernel_global_avgpool(const float *in, float *out, int images, int points, int channels,
                           cudaStream_t stream);
void kernel_global_avgpool_backward(const float *grad_out, float *grad_in, int images, int points,
                                    int channels, bool add, cudaStream_t stream);

/* --- batchnorm.cu --- */

/* By channel: y = (x - mean) scale + shift, inverse = 1 / sqrt(variance + ε). */
struct kernel_norms {
    float *mean, *inverse, *scale, *shift;
};
struct kernel_batchnorm {
    int rows, channels;
    float *partial; /* room: kernel_batchnorm_scratch floats */
    float *sums;    /* [2][channels]: what ranks add up */
    struct kernel_norms norms;
    const float *weight, *bias; /* γ, β */
    float *running_mean, *running_var;
    double epsilon, momentum;
};
size_t kernel_batchnorm_scratch(int rows, int channels);
/* This rank's statistics: from them norms and running statistics, or, where ranks look together, Σ(x - k) and Σ(x - k)² in sums. */
void kernel_batchnorm_moments(const struct kernel_batchnorm *b, const float *x, bool ranks,
                              cudaStream_t stream);
/* Norms and running statistics from the sums over all ranks, of `terms` values a channel. */
void kernel_batchnorm_from_sums(const struct kernel_batchnorm *b, double terms, cudaStream_t stream);
/* Norms from the running statistics: evaluation. */
void kernel_batchnorm_from_running(const struct kernel_batchnorm *b, cudaStream_t stream);
void kernel_batchnorm_normalise(const struct kernel_batchnorm *b, const float *x, float *y, bool relu,
                                cudaStream_t stream);
/* Leaves this rank's gradients of β and γ in sums: Σ dy and Σ dy x̂, of what the relu lets through. */
void kernel_batchnorm_slopes(const struct kernel_batchnorm *b, const float *x, const float *dy, bool relu,
                             cudaStream_t stream);
/* dx, from sums over `terms` values a channel. */
void kernel_batchnorm_spread(const struct kernel_batchnorm *b, const float *x, const float *dy, float *dx,
                             bool relu, double terms, bool add, cudaStream_t stream);

/* --- dropout.cu --- */

/* As of engine/nn/dropout.h. channels × points: a sample; points > 1: it lies channels last. */
struct kernel_dropout {
    uint64_t stream, purpose;
    int32_t threshold;
    int bits;
    float scale;
    int batch, channels, points;
};
void kernel_dropout(const struct kernel_dropout *d, const struct kernel_step *step, const float *in,
                    float *out, bool add, cudaStream_t stream);

/* --- embedding.cu --- */

void kernel_embedding(const int32_t *tokens, const float *table, float *out, int rows, int units,
                      int vocabulary, cudaStream_t stream);
/* sums: of the table's shape and cleared; rows whose tokens are not there stay as they are. */
void kernel_embedding_backward(const int32_t *tokens, const float *grad, float *sums, int rows, int units,
                               int vocabulary, cudaStream_t stream);

/* --- layernorm.cu --- */

/* A row has channels × points features; points > 1: it lies channels last, its weights in plain order. */
struct kernel_layernorm {
    int rows, channels, points;
    float epsilon;
};
/* means, factors: one a row, for backward. */
void kernel_layernorm(const struct kernel_layernorm *l, const float *x, const float *weight,
                      const float *bias, float *y, float *means, float *factors, cudaStream_t stream);
/* products: dy times the normalised x, whose column sums are the weights' gradient. dx may be NULL. */
void kernel_layernorm_backward(const struct kernel_layernorm *l, const float *x, const float *weight,
                               const float *dy, const float *means, const float *factors, float *products,
                               float *dx, bool add, cudaStream_t stream);

/* --- recurrent.cu --- */

/* One step of simple_rnn (1 gate) or lstm (4: i, f, g, o). Arrays of samples × steps × units, but for those with (n): samples × units. */
struct kernel_cell {
    int gates, samples, steps, units, step;
    bool last_only;    /* layers behind see the last step alone */
    float *gate;       /* × gates: products with the weights, then the gates; backward: their gradients */
    const float *bias; /* gates × units */
    float *before;     /* the state before each step; that of step 0 stays as it is, 0 */
    float *memory;     /* lstm: the cell state after each step */
    float *out;        /* the state, for the layers behind; (n) with last_only */
    const float *grad_out;    /* the gradient of it */
    const float *grad_hidden; /* (n): of the state, from the step after */
    float *grad_memory;       /* (n): of the cell state, from the step after, then for the step before */
};
void kernel_cell_forward(const struct kernel_cell *c, cudaStream_t stream);
void kernel_cell_backward(const struct kernel_cell *c, cudaStream_t stream);

/* --- loss.cu --- */

enum kernel_loss { KERNEL_CROSS_ENTROPY, KERNEL_BCE, KERNEL_MSE };
struct kernel_loss_spec {
    enum kernel_loss kind;
    int rows, rows_each, columns; /* rows_each: of a sample */
    double smoothing, scale;
    const float *out;
    const int32_t *classes; /* or NULL */
    const float *values;    /* or NULL */
    float *grad;            /* NULL: not wanted */
};
/* What comes of a row, and of all rows. */
struct kernel_row {
    double loss;
    int32_t predicted, correct;
};
struct kernel_loss_sum {
    double loss;
    int64_t correct;
};
void kernel_losses(const struct kernel_loss_spec *spec, const struct kernel_step *step,
                   struct kernel_row *rows, struct kernel_loss_sum *sum, cudaStream_t stream);

/* --- optimizer.cu --- */

/* A model's tensors are cut into pieces, those of a tensor side by side: engine/nn/optimizer.h. */
struct kernel_piece {
    size_t offset;
    int elements, tensor;
};
struct kernel_tensor {
    int first_piece, pieces;
    bool adapts; /* has a rate of its own under lars and lamb */
};
enum kernel_optimizer { KERNEL_SGD, KERNEL_ADAM, KERNEL_LARS, KERNEL_LAMB };
enum kernel_squares { KERNEL_OF_GRADIENT, KERNEL_OF_PARAMETER, KERNEL_OF_DIRECTION, KERNEL_SQUARES };
/* So many sums a block adds up; parts of n sums, parts of those and so on are fewer than KERNEL_PARTS(n). */
enum { KERNEL_PART = 1024 };
#define KERNEL_PARTS(n) ((size_t)(n) / (KERNEL_PART / 2) + 2)
/* One step; sums of squares are kept apart by what they are of: [KERNEL_SQUARES][pieces] and [KERNEL_SQUARES][tensors]. */
struct kernel_optimizer_step {
    enum kernel_optimizer kind;
    float *parameters;
    const float *gradients;
    float *first, *second; /* the moments; NULL where the kind has none */
    const struct kernel_piece *pieces;
    const struct kernel_tensor *tensors;
    int piece_count, tensor_count;
    double *sums, *totals;
    double *gradient_squares; /* of all, once it is done; room for KERNEL_PARTS(piece_count) more behind it */
    double clip;              /* 0: none */
    double lr, trust, weight_decay;
    float momentum, ahead, behind; /* sgd and lars: v = momentum v + g; w -= rate (ahead g + behind v) */
    /* adam and lamb, as cpu_optimizer.c has them: size and second_scale correct the moments. */
    float decay, keep, beta1, rest1, beta2, rest2, size, second_scale, epsilon;
};
void kernel_optimize(const struct kernel_optimizer_step *step, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
