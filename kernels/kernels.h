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
enum kernel_function { KERNEL_LEAKY_RELU, KERNEL_TANH, KERNEL_SIGMOID };
void kernel_activation(enum kernel_function f, const float *in, float *out, size_t n, float slope,
                       cudaStream_t stream);
/* From what the function put out. */
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

/* A model's tensors are cut into pieces, those of a tensor side by side; see engine/nn/optimizer.h. */
struct kernel_piece {
    size_t offset;
    int elements, tensor;
};
/* Sums of squares: of the gradient, the parameters, lamb's direction. */
struct kernel_squares {
    double gradient, parameter, direction;
};
struct kernel_tensor {
    int first_piece, pieces;
    bool adapts; /* has a rate of its own under lars and lamb */
};
enum kernel_optimizer { KERNEL_SGD, KERNEL_ADAM, KERNEL_LARS, KERNEL_LAMB };
/* A step; what the formulas of the kinds have in common is worked out on the host, in double. */
struct kernel_optimizer_step {
    enum kernel_optimizer kind;
    float *parameters;
    const float *gradients;
    float *first, *second; /* NULL where the kind has none */
    const struct kernel_piece *pieces;
    const struct kernel_tensor *tensors;
    int piece_count, tensor_count;
    struct kernel_squares *sums, *totals; /* one a piece, one a tensor */
    double *gradient_squares;             /* of all, once it is done */
    double clip;                          /* 0: none */
    double lr, trust, weight_decay;
    float ahead, behind, momentum;                          /* sgd, lars */
    float decay, keep, beta1, rest1, beta2, rest2, epsilon; /* adam, lamb */
    float size, second_scale;
};
void kernel_optimize(const struct kernel_optimizer_step *step, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
