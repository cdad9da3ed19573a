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

bool cpu_layout_plain(int batch, struct model_shape shape, struct cpu_layout *layout, struct error *e)
{
    dnnl_dims_t dims = {batch, shape.channels, shape.height, shape.width};
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

bool cpu_reorder_once(struct cpu *cpu, const dnnl_memory_desc_t *from, const float *source,
                      const dnnl_memory_desc_t *to, float *target, struct error *e)
{
    dnnl_primitive_t reorder;
    bool ok = cpu_reorder_new(cpu, from, to, &reorder, e) &&
              cpu_reorder_run(cpu, reorder, from, source, to, target, e);
    dnnl_primitive_destroy(reorder);
    return ok;
}

bool cpu_layout_like(const struct cpu_layout *like, int batch, struct model_shape shape,
                     struct cpu_layout *layout, struct error *e)
{
    dnnl_dims_t dims = {batch, shape.channels, shape.height, shape.width};
    dnnl_format_tag_t tag = like->block == 8    ? dnnl_nChw8c
                            : like->block == 16 ? dnnl_nChw16c
                            : like->block == 1  ? dnnl_nchw
                                                : dnnl_nhwc;
    if (like->block == shape.channels && like->md.format_desc.blocking.inner_nblks == 0)
        tag = dnnl_nhwc;
    dnnl_memory_desc_t md;
    if (!cpu_check(dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, tag), "describe a tensor", e))
        return false;
    cpu_layout_from(&md, layout);
    layout->block = like->block; /* a single channel: nchw and nhwc are the same memory */
    layout->blocks = (shape.channels + like->block - 1) / like->block;
    return true;
}

/* --- stages --- */

static bool input_create(struct stage *s, struct error *e)
{
    return cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
}

static bool input_pass(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)s, (void)c, (void)e;
    return true;
}

static const struct cpu_op cpu_op_input = {
    .create = input_create, .forward = input_pass, .backward = input_pass};

static const struct cpu_op *const ops_of_kinds[LAYER_KINDS] = {
    [LAYER_CONV2D] = &cpu_op_conv2d,
    [LAYER_MAXPOOL] = &cpu_op_maxpool,
    [LAYER_AVGPOOL] = &cpu_op_avgpool,
    [LAYER_GLOBAL_AVGPOOL] = &cpu_op_global_avgpool,
    [LAYER_BATCHNORM] = &cpu_op_batchnorm,
    [LAYER_RELU] = &cpu_op_relu,
    [LAYER_DENSE] = &cpu_op_dense,
    [LAYER_FLATTEN] = &cpu_op_flatten,
    [LAYER_RESHAPE] = &cpu_op_flatten,
    [LAYER_ADD] = &cpu_op_add,
    [LAYER_CONCAT] = &cpu_op_concat,
    [LAYER_LEAKY_RELU] = &cpu_op_activation,
    [LAYER_GELU] = &cpu_op_gelu,
    [LAYER_TANH] = &cpu_op_activation,
    [LAYER_SIGMOID] = &cpu_op_activation,
    [LAYER_LAYERNORM] = &cpu_op_layernorm,
    [LAYER_DROPOUT] = &cpu_op_dropout,
    [LAYER_EMBEDDING] = &cpu_op_embedding,
    [LAYER_SIMPLE_RNN] = &cpu_op_simple_rnn,
    [LAYER_LSTM] = &cpu_op_lstm,
};

static bool cpu_fuses_relu(const struct layer_spec *layer)
{
    return ops_of_kinds[layer->kind] && ops_of_kinds[layer->kind]->fuses_relu;
}

static void cpu_stage_free(struct stage *s)
{
    if (!s)
        return;
    if (s->op->destroy)
        s->op->destroy(s);
    cpu_buffer_drop(s->grad_buffer);
    if (!s->value_shared)
        free(s->value);
    free(s);
}

/* Room for the output: over an input that nobody needs any more, if the kind can do that, else of its own. */
static bool value_room(struct stage *s, struct error *e)
{
    for (int i = 0; s->op->in_place && i < s->input_count && !s->value; i++) {
        const struct stage *input = s->inputs[i];
        if (input->layer && s->spec.sole[i] && !input->reads_output && !s->reads_input &&
            cpu_layout_same(&input->layout.md, &s->layout.md)) {
            s->value = input->value;
            s->value_shared = true;
        }
    }
    return s->value || (s->value = cpu_floats(s->layout.bytes, e));
}

static bool cpu_stage_new(struct backend *b, const struct stage_spec *spec, struct stage *const *inputs,
                          struct stage **stage, struct error *e)
{
    struct stage *s = calloc(1, sizeof *s);
    *stage = NULL;
    if (!s)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    s->backend = b;
    s->cpu = b->self;
    s->spec = *spec;
    s->layer = spec->layer;
    s->op = !spec->layer ? &cpu_op_input : spec->pool ? &cpu_op_image : ops_of_kinds[spec->layer->kind];
    if (!s->op) {
        error_set(e, ERROR_FAILED, "the CPU backend cannot compute %s", layer_kind_name(spec->layer->kind));
        free(s);
        return false;
    }
    s->number = s->cpu->stages++;
    s->input_count = spec->layer ? spec->layer->input_count : 0;
    for (int i = 0; i < s->input_count; i++)
        s->inputs[i] = inputs[i];
    s->reads_output = s->op->reads_output;
    s->reads_input = s->op->reads_input;
    s->overwrites_input = s->op->overwrites_input;
    s->keeps_gradient = s->op->keeps_gradient;
    if (!s->op->create(s, e) || !value_room(s, e)) {
        cpu_stage_free(s);
        return false;
    }
    for (int i = 0; i < s->input_count; i++)
        s->inputs[i]->last_taker = s->number;
    *stage = s;
    return true;
}

static void *cpu_input_data(struct stage *input)
{
    return input->value;
}

static bool cpu_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    return s->op->forward(s, c, e);
}

/* --- gradients --- */

struct cpu_buffer *cpu_buffer_take(struct cpu *cpu, size_t bytes, struct error *e)
{
    struct cpu_buffer *best = NULL;
    for (struct cpu_buffer *b = cpu->buffers; b; b = b->next)
        if (b->users == 0 && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    if (!best) {
        float *data = cpu_floats(bytes, e);
        best = data ? calloc(1, sizeof *best) : NULL;
        if (!best) {
            free(data);
            error_set(e, ERROR_FAILED, "there is not enough memory for gradients; use a smaller batch");
            return NULL;
        }
        *best = (struct cpu_buffer){.data = data, .bytes = bytes, .next = cpu->buffers};
        cpu->buffers = best;
    }
    best->users++;
    return best;
}

void cpu_buffer_drop(struct cpu_buffer *buffer)
{
    if (buffer)
        buffer->users--;
}

bool cpu_grad_room(struct stage *s, struct error *e)
{
    if (s->grad)
        return true;
    if (!(s->grad_buffer = cpu_buffer_take(s->cpu, s->layout.bytes, e)))
        return false;
    s->grad = s->grad_buffer->data;
    return true;
}

/* Where the gradient of input i goes that this stage is the first to know. */
static bool input_room(struct stage *s, int i, struct error *e)
{
    struct stage *input = s->inputs[i];
    if (!s->spec.input_gradient[i] || s->spec.accumulate[i] || input->grad)
        return true;
    if (s->op->shares_gradient && s->op->shares_gradient(s, i)) {
        input->grad = s->grad;
        input->grad_buffer = s->grad_buffer;
        if (s->grad_buffer)
            s->grad_buffer->users++;
        return true;
    }
    /* Values that no one needs any more. The batch itself stays: its owner may want it again. */
    if (s->overwrites_input && s->spec.sole[i] && !input->reads_output && input->layer) {
        input->grad = input->value;
        return true;
    }
    return cpu_grad_room(input, e);
}

float *cpu_grad_begin(struct stage *s, int i)
{
    return s->spec.accumulate[i] ? s->cpu->scratch : s->inputs[i]->grad;
}

void cpu_grad_end(struct stage *s, int i)
{
    struct stage *input = s->inputs[i];
    if (s->spec.accumulate[i])
        cpu_add(input->grad, s->cpu->scratch, input->layout.bytes / sizeof(float), s->backend->threads);
}

static bool cpu_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    size_t largest = 0;
    for (int i = 0; i < s->input_count; i++) {
        if (!input_room(s, i, e))
            return false;
        if (s->spec.input_gradient[i] && s->spec.accumulate[i] && s->inputs[i]->layout.bytes > largest)
            largest = s->inputs[i]->layout.bytes;
    }
    struct cpu_buffer *scratch = largest ? cpu_buffer_take(s->cpu, largest, e) : NULL;
    if (largest && !scratch)
        return false;
    s->cpu->scratch = scratch ? scratch->data : NULL;
    bool ok = s->op->backward(s, c, e);
    cpu_buffer_drop(scratch);
    cpu_buffer_drop(s->grad_buffer);
    s->grad_buffer = NULL;
    s->grad = NULL;
    return ok;
}

/* --- memory: the host's own --- */

static float *cpu_memory_new(struct backend *b, size_t elements, struct error *e)
{
    (void)b;
    float *memory = cpu_floats(elements * sizeof(float), NULL);
    if (!memory)
        error_set(e, ERROR_FAILED,
                  "there is not enough memory for %zu bytes of parameters, gradients or the optimiser's "
                  "state; take a "
                  "smaller model",
                  elements * sizeof(float));
    return memory;
}

static void cpu_memory_free(struct backend *b, float *memory)
{
    (void)b;
    free(memory);
}

static bool cpu_copy(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)b, (void)e;
    if (to != from)
        memcpy(to, from, n * sizeof *to);
    return true;
}

static bool cpu_add_memory(struct backend *b, float *to, const float *from, size_t n, struct error *e)
{
    (void)e;
    cpu_add(to, from, n, b->threads);
    return true;
}

/* --- reading and writing from outside --- */

/* To or from the plain layout. */
static bool move_plain(struct stage *s, const float *from, float *to, bool write, struct error *e)
{
    struct cpu_layout plain;
    if (s->layout.block == 1) {
        memcpy(to, from, s->layout.bytes);
        return true;
    }
    if (!cpu_layout_plain(s->spec.batch, s->spec.out, &plain, e))
        return false;
    return write ? cpu_reorder_once(s->cpu, &plain.md, from, &s->layout.md, to, e)
                 : cpu_reorder_once(s->cpu, &s->layout.md, from, &plain.md, to, e);
}

static bool cpu_read(struct stage *s, float *out, struct error *e)
{
    return move_plain(s, s->value, out, false, e);
}

static bool cpu_read_gradient(struct stage *s, float *out, struct error *e)
{
    if (!s->grad)
        return error_set(e, ERROR_FAILED, "the gradient of this layer's output is not kept");
    return move_plain(s, s->grad, out, false, e);
}

static bool cpu_write_gradient(struct stage *s, const float *gradient, struct error *e)
{
    return cpu_grad_room(s, e) && move_plain(s, gradient, s->grad, true, e);
}

static bool cpu_loss_of(struct stage *last, const struct loss_spec *loss, const struct targets *targets,
                        double scale, struct loss_sum *sum, int32_t *predicted, struct error *e)
{
    return (!(scale > 0) || cpu_grad_room(last, e)) &&
           cpu_loss(last, loss, targets, scale, sum, predicted, e);
}

static bool cpu_read_internal(struct stage *s, const char *name, float *out, struct error *e)
{
    if (!s->op->read_internal)
        return error_set(e, ERROR_INPUT, "this layer has no values named \"%s\"", name);
    return s->op->read_internal(s, name, out, e);
}

static const char *cpu_implementation(const struct stage *s, enum pass pass)
{
    return s->op->implementation ? s->op->implementation(s, pass) : "";
}

static void cpu_close(struct backend *b)
{
    struct cpu *cpu = b->self;
    if (cpu) {
        dnnl_stream_destroy(cpu->stream);
        dnnl_engine_destroy(cpu->engine);
        for (int i = 0; i < CPU_COPIES; i++)
            free(cpu->copies[i].data);
        while (cpu->buffers) {
            struct cpu_buffer *next = cpu->buffers->next;
            free(cpu->buffers->data);
            free(cpu->buffers);
            cpu->buffers = next;
        }
    }
    free(cpu);
    free(b);
}

static const struct backend_ops cpu_ops = {
    .name = "cpu",
    .host_memory = true,
    .memory_new = cpu_memory_new,
    .memory_free = cpu_memory_free,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .copy = cpu_copy,
    .add = cpu_add_memory,
    .fuses_relu = cpu_fuses_relu,
    .fuses_pool = cpu_image_possible,
    .stage_new = cpu_stage_new,
    .stage_free = cpu_stage_free,
    .input_data = cpu_input_data,
    .forward = cpu_forward,
    .backward = cpu_backward,
    .loss = cpu_loss_of,
    .read = cpu_read,
    .read_gradient = cpu_read_gradient,
    .write_gradient = cpu_write_gradient,
    .read_internal = cpu_read_internal,
    .optimize = cpu_optimize,
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
    cpu->operands = dnnl_f32;
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
