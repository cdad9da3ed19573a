#include "engine/nn/cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

bool cpu_check(dnnl_status_t status, const char *doing, struct error *e)
{
    if (status == dnnl_success)
        return true;
    const char *why = status == dnnl_out_of_memory       ? "out of memory"
                      : status == dnnl_invalid_arguments ? "invalid arguments"
                      : status == dnnl_unimplemented     ? "not implemented for these shapes"
                                                         : "a run-time error";
    return error_set(e, ERROR_FAILED, "oneDNN could not %s: %s", doing, why);
}

float *cpu_floats(size_t bytes, struct error *e)
{
    size_t rounded = (bytes / 64 + 1) * 64;
    float *floats = aligned_alloc(64, rounded);
    if (floats)
        memset(floats, 0, rounded);
    else
        error_set(e, ERROR_FAILED,
                  "there is not enough memory for %zu bytes of activations; use a smaller batch", bytes);
    return floats;
}

bool cpu_layout_from(const dnnl_memory_desc_t *md, struct cpu_layout *layout)
{
    if (md->format_kind != dnnl_blocked || md->ndims != 4 || md->offset0 != 0)
        return false;
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int channels = (int)md->padded_dims[1], height = (int)md->dims[2], width = (int)md->dims[3], block = 1;
    if (b->inner_nblks == 1 && b->inner_idxs[0] == 1)
        block = (int)b->inner_blks[0];
    else if (b->inner_nblks == 0 && b->strides[1] == 1 && channels > 1)
        block = channels;
    else if (b->inner_nblks != 0)
        return false;
    int blocks = channels / block;
    bool dense = b->strides[3] == block && b->strides[2] == (dnnl_dim_t)block * width &&
                 b->strides[0] == (dnnl_dim_t)channels * height * width &&
                 (blocks == 1 || b->strides[1] == (dnnl_dim_t)block * width * height);
    *layout = (struct cpu_layout){
        .md = *md, .block = block, .blocks = blocks, .bytes = dnnl_memory_desc_get_size(md)};
    return dense;
}

bool cpu_layout_plain(const struct stage_spec *spec, bool input, struct cpu_layout *layout, struct error *e)
{
    struct model_shape shape = input ? spec->in : spec->out;
    dnnl_dims_t dims = {spec->batch, shape.channels, shape.height, shape.width};
    *layout = (struct cpu_layout){.block = 1, .blocks = shape.channels};
    if (!cpu_check(dnnl_memory_desc_init_by_tag(&layout->md, 4, dims, dnnl_f32, dnnl_nchw),
                   "describe a tensor", e))
        return false;
    layout->bytes = dnnl_memory_desc_get_size(&layout->md);
    return true;
}

bool cpu_layout_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
{
    return dnnl_memory_desc_equal(a, b);
}

bool cpu_reorder_new(struct cpu *cpu, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                     dnnl_primitive_t *reorder, struct error *e)
{
    dnnl_primitive_desc_t pd = NULL;
    *reorder = NULL;
    bool ok = cpu_check(dnnl_reorder_primitive_desc_create(&pd, from, cpu->engine, to, cpu->engine, NULL),
                        "describe a reorder", e) &&
              cpu_check(dnnl_primitive_create(reorder, pd), "make a reorder", e);
    dnnl_primitive_desc_destroy(pd);
    return ok;
}

bool cpu_reorder_run(struct cpu *cpu, dnnl_primitive_t reorder, const dnnl_memory_desc_t *from,
                     const float *source, const dnnl_memory_desc_t *to, float *target, struct error *e)
{
    dnnl_memory_t a = NULL, b = NULL;
    bool ok = cpu_check(dnnl_memory_create(&a, from, cpu->engine, (void *)source), "bind a tensor", e) &&
              cpu_check(dnnl_memory_create(&b, to, cpu->engine, target), "bind a tensor", e);
    if (ok) {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}};
        ok = cpu_check(dnnl_primitive_execute(reorder, cpu->stream, 2, args), "reorder a tensor", e);
    }
    dnnl_memory_destroy(a);
    dnnl_memory_destroy(b);
    return ok;
}

static void cpu_stage_free(struct stage *s)
{
    if (!s)
        return;
    cpu_conv_free(s);
    cpu_image_free(s);
    dnnl_primitive_destroy(s->to_plain);
    dnnl_primitive_destroy(s->from_plain);
    if (!s->grad_shared)
        free(s->grad);
    free(s->value);
    free(s);
}

/* maxpool and relu keep the layout of what they get; only the extents differ. */
static bool layout_like_previous(struct stage *s, struct error *e)
{
    const struct cpu_layout *before = &s->previous->layout;
    const struct model_shape *out = &s->spec.out;
    dnnl_dims_t dims = {s->spec.batch, out->channels, out->height, out->width};
    dnnl_format_tag_t tag = before->block == 8    ? dnnl_nChw8c
                            : before->block == 16 ? dnnl_nChw16c
                            : before->block == 1  ? dnnl_nchw
                                                  : dnnl_nhwc;
    if (before->block == out->channels && before->md.format_desc.blocking.inner_nblks == 0)
        tag = dnnl_nhwc;
    dnnl_memory_desc_t md;
    if (!cpu_check(dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, tag), "describe a tensor", e))
        return false;
    cpu_layout_from(&md, &s->layout);
    s->layout.block = before->block; /* a single channel: nchw and nhwc are the same memory */
    s->layout.blocks = before->blocks;
    return true;
}

static bool flatten_new(struct stage *s, struct error *e)
{
    struct cpu_layout plain; /* the input's elements in the order they are flattened in */
    if (!cpu_layout_plain(&s->spec, false, &s->layout, e) || !cpu_layout_plain(&s->spec, true, &plain, e))
        return false;
    if (s->previous->layout.block == 1)
        return true;
    const dnnl_memory_desc_t *blocked = &s->previous->layout.md;
    return cpu_reorder_new(s->cpu, blocked, &plain.md, &s->to_plain, e) &&
           cpu_reorder_new(s->cpu, &plain.md, blocked, &s->from_plain, e);
}

static bool stage_layout(struct stage *s, struct error *e)
{
    switch (s->spec.kind) {
    case STAGE_CONV2D: return s->spec.pool ? cpu_image_new(s, e) : cpu_conv_new(s, e);
    case STAGE_MAXPOOL:
    case STAGE_RELU: return layout_like_previous(s, e);
    case STAGE_FLATTEN: return flatten_new(s, e);
    case STAGE_INPUT:
    case STAGE_DENSE: break;
    }
    return cpu_layout_plain(&s->spec, false, &s->layout, e);
}

/* Who asks for the gradient of previous's output makes room for it. */
static bool gradient_room(struct stage *s, struct error *e)
{
    struct stage *previous = s->previous;
    if (!previous || !s->spec.input_gradient || previous->grad)
        return true;
    /* Each window's gradients can be written over its values, which no one needs after that. */
    if (s->spec.kind == STAGE_MAXPOOL && !previous->backward_reads_value) {
        previous->grad = previous->value;
        previous->grad_shared = true;
        return true;
    }
    return (previous->grad = cpu_floats(previous->layout.bytes, e)) != NULL;
}

static bool cpu_stage_new(struct backend *b, const struct stage_spec *spec, struct stage *previous,
                          struct stage **stage, struct error *e)
{
    struct stage *s = calloc(1, sizeof *s);
    *stage = NULL;
    if (!s)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    s->backend = b;
    s->cpu = b->self;
    s->spec = *spec;
    s->previous = previous;
    s->backward_reads_value = (spec->relu && !spec->pool) || spec->kind == STAGE_MAXPOOL;
    if (!stage_layout(s, e) || !gradient_room(s, e) || !(s->value = cpu_floats(s->layout.bytes, e))) {
        cpu_stage_free(s);
        return false;
    }
    *stage = s;
    return true;
}

static float *cpu_input_data(struct stage *input)
{
    return input->value;
}

static bool flatten_move(struct stage *s, bool backward, struct error *e)
{
    struct stage *p = s->previous;
    struct cpu_layout plain;
    const float *from = backward ? s->grad : p->value;
    float *to = backward ? p->grad : s->value;
    if (!s->to_plain) {
        memcpy(to, from, s->layout.bytes);
        return true;
    }
    if (!cpu_layout_plain(&s->spec, true, &plain, e))
        return false;
    return backward ? cpu_reorder_run(s->cpu, s->from_plain, &plain.md, from, &p->layout.md, to, e)
                    : cpu_reorder_run(s->cpu, s->to_plain, &p->layout.md, from, &plain.md, to, e);
}

static bool cpu_forward(struct stage *s, const float *parameters, struct error *e)
{
    switch (s->spec.kind) {
    case STAGE_CONV2D:
        if (!s->image)
            return cpu_conv_forward(s, parameters, e);
        cpu_image_forward(s, parameters);
        return true;
    case STAGE_DENSE: return cpu_dense_forward(s, parameters, e);
    case STAGE_FLATTEN: return flatten_move(s, false, e);
    case STAGE_MAXPOOL: cpu_pool_forward(s); return true;
    case STAGE_RELU:
        cpu_relu_forward(s->previous->value, s->value, s->layout.bytes / sizeof(float), s->backend->threads);
        return true;
    case STAGE_INPUT: break;
    }
    return true;
}

static bool cpu_backward(struct stage *s, const float *parameters, float *gradients, struct error *e)
{
    bool wanted = s->spec.input_gradient;
    switch (s->spec.kind) {
    case STAGE_CONV2D:
        if (!s->image)
            return cpu_conv_backward(s, parameters, gradients, e);
        cpu_image_backward(s, gradients);
        return true;
    case STAGE_DENSE: return cpu_dense_backward(s, parameters, gradients, e);
    case STAGE_FLATTEN: return !wanted || flatten_move(s, true, e);
    case STAGE_MAXPOOL:
        if (wanted)
            cpu_pool_backward(s);
        return true;
    case STAGE_RELU:
        if (wanted)
            cpu_relu_backward(s->previous->value, s->grad, s->previous->grad, s->layout.bytes / sizeof(float),
                              s->backend->threads);
        return true;
    case STAGE_INPUT: break;
    }
    return true;
}

static bool cpu_read(struct stage *s, float *out, struct error *e)
{
    (void)e;
    memcpy(out, s->value, s->layout.bytes);
    return true;
}

static const char *cpu_implementation(const struct stage *s, enum pass pass)
{
    if (s->image)
        return cpu_image_implementation(pass);
    return s->conv ? cpu_conv_implementation(s, pass) : "";
}

static void cpu_close(struct backend *b)
{
    struct cpu *cpu = b->self;
    if (cpu) {
        dnnl_stream_destroy(cpu->stream);
        dnnl_engine_destroy(cpu->engine);
    }
    free(cpu);
    free(b);
}

static const struct backend_ops cpu_ops = {
    .name = "cpu",
    .fuses_pool = cpu_image_possible,
    .stage_new = cpu_stage_new,
    .stage_free = cpu_stage_free,
    .input_data = cpu_input_data,
    .forward = cpu_forward,
    .backward = cpu_backward,
    .loss = cpu_loss,
    .read = cpu_read,
    .adam = cpu_adam,
    .sgd = cpu_sgd,
    .implementation = cpu_implementation,
    .close = cpu_close,
};

struct backend *backend_cpu_open(int threads, struct error *e)
{
    struct backend *b = calloc(1, sizeof *b);
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!b || !cpu) {
        free(b);
        free(cpu);
        error_set(e, ERROR_FAILED, "there is not enough memory to open the CPU backend");
        return NULL;
    }
    *b = (struct backend){.ops = &cpu_ops, .self = cpu, .threads = threads > 1 ? threads : 1};
    omp_set_dynamic(0);
    omp_set_num_threads(b->threads);
    if (!cpu_check(dnnl_engine_create(&cpu->engine, dnnl_cpu, 0), "open the CPU", e) ||
        !cpu_check(dnnl_stream_create(&cpu->stream, cpu->engine, dnnl_stream_default_flags), "open the CPU",
                   e)) {
        cpu_close(b);
        return NULL;
    }
    return b;
}

void backend_close(struct backend *b)
{
    if (b)
        b->ops->close(b);
}
