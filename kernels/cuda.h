/*
 * cuda.h - what the files of the CUDA backend share. Private to kernels/cuda_*.c.
 *
 * Layout: images lie channels last, [batch][height][width][channels]. Then a convolution is one matrix product over all
 * places of all images (and a 1×1 one needs no copy at all), what neighbouring threads read lies side by side whatever
 * the image's size, and biases and batchnorm are sums over columns. Flat tensors, sequences and images of one channel are the
 * same either way. flatten, and what is read from outside, turn to the plain order of engine/spec/model.h.
 *
 * A kind of layer is a struct cuda_op in a file of its own, and a line in cuda_backend.c. Its functions put kernels on
 * cuda->stream and never wait for them, and allocate only in create, so that a step can be recorded as a graph.
 * Sums are taken in fixed pieces in a fixed order, never by atomics on floats: the same input gives the same bits.
 */
#ifndef RINGSIDE_KERNELS_CUDA_H
#define RINGSIDE_KERNELS_CUDA_H

#include "kernels/cuda_backend.h"
#include "kernels/device.h"
#include "kernels/kernels.h"

#include <cublas_v2.h>

/*
 * Device memory that stages use in turns. A gradient lives from the backward pass of the first stage that takes the output to
 * that of the stage itself, so a few such buffers are enough for a network of any depth.
 */
struct cuda_buffer {
    float *data;
    size_t bytes;
    int users; /* 0: free to take */
    struct cuda_buffer *next;
};

/* The host's end of a copy: memory that the GPU reads and writes by itself. */
struct cuda_pinned {
    void *data;
    size_t bytes;
};

struct cuda_optimizer; /* cuda_optimizer.c */

struct cuda {
    int device, multiprocessors;
    int compute; /* capability: 75, 80, 90 ... */
    unsigned options;
    cudaStream_t stream, uploads;
    struct cuda_blas *blas; /* cuda_blas.h; owned */
    cublasHandle_t blas_handle;
    float *workspace; /* cuBLAS's */
    struct cuda_buffer *buffers;
    struct kernel_step *step;    /* on the device: what changes from step to step */
    struct kernel_step step_now; /* what is there, once all that was asked for is done */
    bool step_known;
    bool capturing;    /* a graph is being recorded */
    bool synchronised; /* a stage looks across ranks: steps cannot be recorded */
    struct cuda_optimizer *optimizer;
    struct stage *recording; /* between record_begin and record_end: the last stage */
};

struct stage;

/* What the backend does for one kind of layer. */
struct cuda_op {
    /* Sets what s->own holds; inputs are there, room for values and gradients is not. NULL: nothing to do. */
    bool (*create)(struct stage *s, struct error *e);
    void (*destroy)(
        struct stage *s); /* frees s->own, also of a stage that was made by half; NULL: nothing to free */
    bool (*forward)(struct stage *s, const struct pass_context *c, struct error *e);
    /*
     * s->grad holds the gradient of the output, and may be written over. For each i with spec.input_gradient[i], that
     * of input i goes to s->inputs[i]->grad: added where spec.accumulate[i] is set, else written.
     */
    bool (*backward)(struct stage *s, const struct pass_context *c, struct error *e);
    const char *(*implementation)(const struct stage *s, enum pass pass); /* NULL: "" */
    bool (*read_internal)(const struct stage *s, const char *name, float *out,
                          struct error *e); /* may be NULL */
    bool fuses_relu;
};

struct stage {
    struct backend *backend;
    struct cuda *cuda;
    const struct cuda_op *op;
    struct stage_spec spec;
    const struct layer_spec *layer; /* spec.layer */
    struct stage *inputs[LAYER_MAX_INPUTS];
    int input_count;
    size_t elements;    /* of value and grad: batch × those of a sample */
    bool channels_last; /* an image of several channels and places */
    float *value;       /* the output; create may set it to an input's value instead of having its own made */
    bool value_shared;  /* value is an input's memory: set with it */
    float *grad;        /* the gradient of the output, while backward needs it */
    struct cuda_buffer *grad_buffer;
    struct cuda_input *input;   /* cuda_input.c: of the input stage */
    struct cuda_losses *losses; /* cuda_loss.c: of the last stage */
    struct cuda_record *record; /* cuda_record.c: of the last stage */
    void *own;                  /* of the kind */
};

extern const struct cuda_op cuda_op_input, cuda_op_conv2d, cuda_op_maxpool, cuda_op_avgpool,
    cuda_op_global_avgpool, cuda_op_batchnorm, cuda_op_add, cuda_op_concat, cuda_op_relu, cuda_op_activation,
    cuda_op_flatten, cuda_op_dense, cuda_op_dropout, cuda_op_embedding, cuda_op_layernorm, cuda_op_simple_rnn,
    cuda_op_lstm;

/* --- cuda_memory.c --- */

/* Device memory, zeroed; what: "the parameters". NULL where it does not fit. */
void *cuda_memory_new(struct cuda *cuda, size_t bytes, const char *what, struct error *e);
void cuda_memory_free(void *memory); /* NULL is fine */
/* At least that many bytes: keeps what is there where it suffices, never shrinks. */
bool cuda_pinned_room(struct cuda_pinned *p, size_t bytes, struct error *e);
void cuda_pinned_free(struct cuda_pinned *p);
/* At least that many bytes, contents left over. NULL with e filled where memory is short. cuda_buffer_drop ends its use. */
struct cuda_buffer *cuda_buffer_take(struct cuda *cuda, size_t bytes, struct error *e);
void cuda_buffer_drop(struct cuda_buffer *buffer); /* NULL is fine */
/* Waits until all that was asked for is done, and says what became of it. */
bool cuda_wait(struct cuda *cuda, const char *doing, struct error *e);

/* --- cuda_product.c --- */

/* One of cuBLAS's statuses as an error. */
bool cuda_ok_blas(cublasStatus_t status, const char *doing, struct error *e);
/*
 * c = a b (+ c where add is set), a of rows × depth, b of depth × columns, row after row; transposed ones lie in memory the
 * other way round. With halves a and b are bf16 (2 bytes an element), c is fp32.
 */
struct cuda_product {
    const void *a, *b;
    float *c;
    int rows, columns, depth;
    int lda, ldb, ldc; /* elements from row to row in memory */
    bool transpose_a, transpose_b, add, halves;
    int count; /* so many products, their operands so far apart; 0 and 1: one */
    size_t step_a, step_b, step_c;
};
bool cuda_multiply(struct cuda *cuda, const struct cuda_product *p, struct error *e);
/*
 * n numbers as products take them: where they are, or with GPU_BF16 rounded in *room, which is taken where it is NULL
 * and must be large enough else. NULL: memory is short.
 */
const void *cuda_operand(struct cuda *cuda, const float *from, size_t n, struct cuda_buffer **room,
                         struct error *e);
/* As the options say: operands are fp32, and rounded to bf16 first where GPU_BF16 is on. For one product without gaps. */
bool cuda_multiply_rounded(struct cuda *cuda, const struct cuda_product *p, struct error *e);

/* --- cuda_input.c --- */

bool cuda_input_new(struct stage *s, struct error *e);
void cuda_input_free(struct stage *s);
void *cuda_input_data(struct stage *s);
bool cuda_input_complete(struct stage *s, struct error *e);
/* Sends a batch that input_data was asked for since the last one on its way; nothing where there is none. */
bool cuda_input_send(struct stage *s, struct error *e);
/* Sets cuda->step: seed, step and place of the batch (dropout), and how many samples count (losses; < 0: as it is). */
bool cuda_step_set(struct cuda *cuda, const struct pass_context *c, int samples, struct error *e);

/* --- cuda_loss.c --- */

bool cuda_loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets, double scale,
               struct loss_sum *sum, int32_t *predicted, struct error *e);
/* The parts of it that are outside a graph: targets before, for the loss of the last call; then a mark; then what it came to. */
bool cuda_loss_send(struct stage *last, const struct targets *targets, struct error *e);
bool cuda_loss_mark(struct stage *last, struct error *e);
bool cuda_loss_result(struct stage *last, struct loss_sum *sum, struct error *e);
void cuda_losses_free(struct stage *s);

/* --- cuda_record.c --- */

bool cuda_record_begin(struct backend *b, struct stage *last, const struct pass_context *c,
                       const struct targets *targets, bool *replayed, struct error *e);
bool cuda_record_end(struct backend *b, struct loss_sum *sum, struct error *e);
void cuda_record_free(struct stage *s);

/* --- cuda_optimizer.c --- */

bool cuda_optimize(struct backend *b, const struct optimizer_step *step, double *gradient_squares,
                   struct error *e);
void cuda_optimizer_free(struct cuda *cuda);

/* --- cuda_elementwise.c --- */

/* What the relu (value: what it put out, NULL: none) lets through of s->grad, there, and its column sums (NULL: not wanted). */
bool cuda_through_relu(struct stage *s, const float *value, float *sums, int rows, int columns,
                       struct error *e);

/* --- cuda_conv.c --- */

bool cuda_fuses_pool(const struct stage_spec *conv, const struct layer_spec *pool);

/* --- cuda_backend.c --- */

/* Room for the gradient of the stage's output, where there is none yet: for whoever backward begins with. */
bool cuda_grad_room(struct stage *s, struct error *e);

#endif
