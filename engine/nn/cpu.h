/*
 * cpu.h - what the files of the CPU backend share. Private to engine/nn/cpu*.c.
 *
 * Convolutions and matrix products are oneDNN's; its convolutions choose their own layout ("any"), which on x86
 * is channels in blocks of 8 or 16 (nChw8c). The loops written here (pooling, relu, loss, optimisers) work on such
 * blocks directly, so that consecutive stages share a layout and nothing is reordered between them.
 */
#ifndef RINGSIDE_NN_CPU_H
#define RINGSIDE_NN_CPU_H

#include "engine/nn/backend.h"

#include <oneapi/dnnl/dnnl.h>

/*
 * A loop compiled for several instruction sets, the best picked when the program starts. Sanitizers instrument
 * the picking itself, which runs before they are ready: there the plain version has to do.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12
#define CPU_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CPU_KERNEL
#endif

/*
 * Memory that stages use in turns. A gradient lives from the backward pass of the first stage that takes the output to that
 * of the stage itself, so a few such buffers are enough for a network of any depth.
 */
struct cpu_buffer {
    float *data;
    size_t bytes;
    int users; /* 0: free to take */
    struct cpu_buffer *next;
};

enum { CPU_COPIES = 4 };

struct cpu {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct cpu_buffer *buffers;
    float *scratch; /* where gradients wait that are added to others: cpu_grad_begin */
    /* Operands of the primitive that runs, in the layout it wants: cpu_conv.c. */
    struct cpu_buffer copies[CPU_COPIES];
    int stages;                /* made so far */
    dnnl_data_type_t operands; /* what convolutions and dense layers multiply: dnnl_f32 or dnnl_bf16 */
};

/*
 * Images in channel blocks: [batch][channels / block][height][width][block], channels filled up with zeros to a
 * multiple of block. block 1 is plain NCHW, block = channels is NHWC.
 */
struct cpu_layout {
    dnnl_memory_desc_t md;
    int block;
    int blocks; /* ceil(channels / block) */
    size_t bytes;
};

struct stage;

/* What the backend does for one kind of layer. Each kind has a file, and a line in cpu_backend.c. */
struct cpu_op {
    /* Sets s->layout and what s->own holds; inputs are there, room for values and gradients is not. */
    bool (*create)(struct stage *s, struct error *e);
    void (*destroy)(
        struct stage *s); /* frees s->own, also of a stage that was made by half; NULL: nothing to free */
    bool (*forward)(struct stage *s, const struct pass_context *c, struct error *e);
    bool (*backward)(struct stage *s, const struct pass_context *c, struct error *e);
    const char *(*implementation)(const struct stage *s, enum pass pass); /* NULL: "" */
    /* Whether the gradient of input i may be the very memory of the output's; NULL: never. */
    bool (*shares_gradient)(const struct stage *s, int i);
    bool (*read_internal)(const struct stage *s, const char *name, float *out,
                          struct error *e); /* may be NULL */
    bool fuses_relu;
    /*
     * What may share memory; create can make each narrower for its stage. Backward reads this stage's output, or its
     * inputs; it may write an input's gradient over its value; it never writes in the gradient of its own output, nor
     * hands that memory on. Forward may write the output over an input, element for element.
     */
    bool reads_output, reads_input, overwrites_input, keeps_gradient, in_place;
};

struct stage {
    struct backend *backend;
    struct cpu *cpu;
    const struct cpu_op *op;
    struct stage_spec spec;
    const struct layer_spec *layer; /* spec.layer */
    struct stage *inputs[LAYER_MAX_INPUTS];
    int input_count;
    int number;               /* in the order of creation, which is the order of forward */
    int last_taker;           /* number of the last stage so far that takes the output */
    struct cpu_layout layout; /* of value and grad */
    float *value;             /* the output */
    bool value_shared;        /* value is an input's memory */
    float *grad;              /* the gradient of the output, while backward needs it; may be value's memory */
    struct cpu_buffer *grad_buffer; /* where grad is, unless it is elsewhere */
    bool reads_output, reads_input, overwrites_input, keeps_gradient; /* of this stage: see struct cpu_op */
    void *own;                                                        /* of the kind */
};

extern const struct cpu_op cpu_op_conv2d, cpu_op_image, cpu_op_maxpool, cpu_op_avgpool, cpu_op_global_avgpool,
    cpu_op_batchnorm, cpu_op_add, cpu_op_concat, cpu_op_relu, cpu_op_flatten, cpu_op_dense;
extern const struct cpu_op cpu_op_activation, cpu_op_gelu, cpu_op_layernorm, cpu_op_dropout, cpu_op_embedding,
    cpu_op_simple_rnn, cpu_op_lstm;

/* One of oneDNN's statuses as an error. */
bool cpu_check(dnnl_status_t status, const char *doing, struct error *e);
/* Zeroed and 64-byte aligned; NULL with e filled where memory is short. */
float *cpu_floats(size_t bytes, struct error *e);

/*
 * Where backward writes the gradient of input i, in the layout of that input's stage; cpu_grad_end puts it where it
 * belongs, which is a sum where other stages take the same input. For each i with spec.input_gradient[i] only.
 */
float *cpu_grad_begin(struct stage *s, int i);
void cpu_grad_end(struct stage *s, int i);
/* Room for the gradient of the stage's output, where there is none yet: for whoever backward begins with. */
bool cpu_grad_room(struct stage *s, struct error *e);

/* At least that many bytes; zeroed when new. NULL with e filled where memory is short. cpu_buffer_drop ends its use. */
struct cpu_buffer *cpu_buffer_take(struct cpu *cpu, size_t bytes, struct error *e);
void cpu_buffer_drop(struct cpu_buffer *buffer);

/* The layout a memory descriptor means; false where it is no channel-blocked one. */
bool cpu_layout_from(const dnnl_memory_desc_t *md, struct cpu_layout *layout);
/* Plain NCHW (flat: N × elements × 1 × 1; a sequence: N × steps × 1 × features). */
bool cpu_layout_plain(int batch, struct model_shape shape, struct cpu_layout *layout, struct error *e);
/* Another shape in blocks like those of `like`. */
bool cpu_layout_like(const struct cpu_layout *like, int batch, struct model_shape shape,
                     struct cpu_layout *layout, struct error *e);
bool cpu_layout_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);

/* A reorder between two layouts, made and run; NULL primitive is fine to free. */
bool cpu_reorder_new(struct cpu *cpu, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                     dnnl_primitive_t *reorder, struct error *e);
bool cpu_reorder_run(struct cpu *cpu, dnnl_primitive_t reorder, const dnnl_memory_desc_t *from,
                     const float *source, const dnnl_memory_desc_t *to, float *target, struct error *e);
/* Once, at its own cost: for what is not in a step's path. */
bool cpu_reorder_once(struct cpu *cpu, const dnnl_memory_desc_t *from, const float *source,
                      const dnnl_memory_desc_t *to, float *target, struct error *e);

/* cpu_image.c: the first convolution, on images of one channel, with the relu and the maxpool behind it. */
bool cpu_image_possible(const struct stage_spec *conv, const struct layer_spec *pool);

/* cpu_mixed.c: c = a b, a of rows × depth, b of depth × columns; transposed ones lie in memory the other way round. */
struct cpu_product {
    const float *a, *b;
    float *c;
    dnnl_dim_t rows, columns, depth;
    dnnl_dim_t lda, ldb, ldc; /* elements from row to row in memory */
    bool transpose_a, transpose_b;
};
bool cpu_multiply(struct cpu *cpu, const struct cpu_product *p, struct error *e);
/* With operands rounded to that type, whatever cpu->operands is. */
bool cpu_multiply_as(struct cpu *cpu, dnnl_data_type_t type, const struct cpu_product *p, struct error *e);

/* cpu_elementwise.c */
void cpu_relu_forward(const float *in, float *out, size_t n, int threads);
/* grad_in = value > 0 ? grad_out : 0; grad_in may be grad_out. */
void cpu_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n, int threads);
void cpu_add(float *to, const float *from, size_t n, int threads);

/* cpu_loss.c: with scale > 0 there is room for last->grad. */
bool cpu_loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets, double scale,
              struct loss_sum *sum, int32_t *predicted, struct error *e);

/* cpu_optimizer.c */
bool cpu_optimize(struct backend *b, const struct optimizer_step *step, double *gradient_squares,
                  struct error *e);

#endif
