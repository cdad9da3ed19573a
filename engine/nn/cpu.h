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

struct cpu {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
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

struct cpu_conv;
struct cpu_image;

struct stage {
    struct backend *backend;
    struct cpu *cpu;
    struct stage_spec spec;
    struct stage *previous;
    struct cpu_layout layout; /* of value and grad */
    float *value;             /* the output */
    float *grad;              /* the gradient of the output; NULL where nobody asks for it */
    bool grad_shared;         /* grad is value's memory: backward writes one over the other */
    bool backward_reads_value;
    struct cpu_conv *conv;
    struct cpu_image *image;
    dnnl_primitive_t to_plain, from_plain; /* flatten: the two reorders; NULL where it is plain already */
};

/* One of oneDNN's statuses as an error. */
bool cpu_check(dnnl_status_t status, const char *doing, struct error *e);
/* Zeroed and 64-byte aligned; NULL with e filled where memory is short. */
float *cpu_floats(size_t bytes, struct error *e);

/* The layout a memory descriptor means; false where it is no channel-blocked one. */
bool cpu_layout_from(const dnnl_memory_desc_t *md, struct cpu_layout *layout);
/* Plain NCHW (flat: N × elements as N × elements × 1 × 1). */
bool cpu_layout_plain(const struct stage_spec *spec, bool input, struct cpu_layout *layout, struct error *e);
bool cpu_layout_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);

/* A reorder between two layouts, made and run; NULL primitive is fine to free. */
bool cpu_reorder_new(struct cpu *cpu, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                     dnnl_primitive_t *reorder, struct error *e);
bool cpu_reorder_run(struct cpu *cpu, dnnl_primitive_t reorder, const dnnl_memory_desc_t *from,
                     const float *source, const dnnl_memory_desc_t *to, float *target, struct error *e);

/* cpu_conv.c: convolution, and its bias and relu. */
bool cpu_conv_new(struct stage *s, struct error *e); /* sets layout */
void cpu_conv_free(struct stage *s);
bool cpu_conv_forward(struct stage *s, const float *parameters, struct error *e);
bool cpu_conv_backward(struct stage *s, const float *parameters, float *gradients, struct error *e);
const char *cpu_conv_implementation(const struct stage *s, enum pass pass);

/* cpu_image.c: the first convolution, on images of one channel, with the relu and the maxpool behind it. */
bool cpu_image_possible(const struct stage_spec *conv, int pool);
bool cpu_image_new(struct stage *s, struct error *e); /* sets layout */
void cpu_image_free(struct stage *s);
void cpu_image_forward(struct stage *s, const float *parameters);
void cpu_image_backward(struct stage *s, float *gradients);
const char *cpu_image_implementation(enum pass pass);

/* cpu_dense.c: matrix products. */
bool cpu_dense_forward(struct stage *s, const float *parameters, struct error *e);
bool cpu_dense_backward(struct stage *s, const float *parameters, float *gradients, struct error *e);

/* cpu_pool.c: maximum over windows, with or without relu; backward recomputes where the maximum was. */
void cpu_pool_forward(struct stage *s);
void cpu_pool_backward(struct stage *s);

/* cpu_elementwise.c */
void cpu_relu_forward(const float *in, float *out, size_t n, int threads);
/* grad_in = value > 0 ? grad_out : 0; grad_in may be grad_out. */
void cpu_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n, int threads);
bool cpu_loss(struct stage *last, const uint8_t *labels, int rows, double scale, struct loss_sum *sum,
              uint8_t *predicted, struct error *e);
bool cpu_adam(struct backend *b, const struct adam_step *step, float *parameters, const float *gradients,
              float *first, float *second, size_t n, double *gradient_squares, struct error *e);
bool cpu_sgd(struct backend *b, double lr, double momentum, float *parameters, const float *gradients,
             float *velocity, size_t n, double *gradient_squares, struct error *e);

#endif
