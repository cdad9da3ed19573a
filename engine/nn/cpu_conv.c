/*
 * Convolutions by oneDNN. Each pass chooses its own layouts; where its choice differs from what the neighbours
 * or the parameter buffer hold, a reorder stands between (forcing one pass's layout on another would silently
 * give a reference implementation). Weights are small, so their reorders cost little.
 */
#include "engine/nn/cpu.h"

#include <stdlib.h>
#include <string.h>

/* One operand of a primitive: where the primitive wants it, and how it gets there from our own buffers. */
struct operand {
    dnnl_memory_desc_t ours, wanted;
    dnnl_memory_t memory;
    dnnl_primitive_t reorder; /* NULL: the same layout, our buffer is handed over as it is */
    float *copy;              /* where the reorder leads to or comes from */
};

enum operand_name { OPERAND_SOURCE, OPERAND_WEIGHTS, OPERAND_BIAS, OPERAND_TARGET, OPERANDS };

struct conv_pass {
    dnnl_primitive_t primitive;
    struct operand operands[OPERANDS];
    char implementation[64];
};

struct cpu_conv {
    struct conv_pass passes[PASSES];
};

static bool operand_new(struct cpu *cpu, struct operand *o, const dnnl_memory_desc_t *ours,
                        const dnnl_memory_desc_t *wanted, bool result, struct error *e)
{
    o->ours = *ours;
    o->wanted = *wanted;
    if (!cpu_layout_same(ours, wanted)) {
        if (!(o->copy = cpu_floats(dnnl_memory_desc_get_size(wanted), e)))
            return false;
        if (!cpu_reorder_new(cpu, result ? wanted : ours, result ? ours : wanted, &o->reorder, e))
            return false;
    }
    return cpu_check(dnnl_memory_create(&o->memory, wanted, cpu->engine, DNNL_MEMORY_NONE), "bind a tensor",
                     e);
}

static void operand_free(struct operand *o)
{
    dnnl_memory_destroy(o->memory);
    dnnl_primitive_destroy(o->reorder);
    free(o->copy);
}

/* Binds our buffer to an operand that the primitive reads, reordered where it must be. */
static bool operand_load(struct cpu *cpu, struct operand *o, const float *buffer, struct error *e)
{
    if (o->reorder && !cpu_reorder_run(cpu, o->reorder, &o->ours, buffer, &o->wanted, o->copy, e))
        return false;
    return cpu_check(dnnl_memory_set_data_handle(o->memory, o->reorder ? o->copy : (float *)buffer),
                     "bind a tensor", e);
}

static bool operand_bind(struct operand *o, float *buffer, struct error *e)
{
    return cpu_check(dnnl_memory_set_data_handle(o->memory, o->reorder ? o->copy : buffer), "bind a tensor",
                     e);
}

static bool operand_store(struct cpu *cpu, struct operand *o, float *buffer, struct error *e)
{
    return !o->reorder || cpu_reorder_run(cpu, o->reorder, &o->wanted, o->copy, &o->ours, buffer, e);
}

struct conv_shapes {
    dnnl_memory_desc_t source, weights, bias, target; /* layout: any */
    dnnl_memory_desc_t plain_weights;
    dnnl_dims_t strides, padding, padding_end;
};

/* What the last row and column leave over is not covered by padding: oneDNN wants the two to add up exactly. */
static int padding_after(int in, int out, int kernel, int stride, int padding)
{
    return (out - 1) * stride + kernel - in - padding;
}

static bool conv_shapes_make(const struct stage_spec *spec, struct conv_shapes *c, struct error *e)
{
    dnnl_dims_t source = {spec->batch, spec->in.channels, spec->in.height, spec->in.width};
    dnnl_dims_t target = {spec->batch, spec->out.channels, spec->out.height, spec->out.width};
    dnnl_dims_t weights = {spec->out.channels, spec->in.channels, spec->kernel, spec->kernel};
    dnnl_dims_t bias = {spec->out.channels};
    c->strides[0] = c->strides[1] = spec->stride;
    c->padding[0] = c->padding[1] = spec->padding;
    c->padding_end[0] =
        padding_after(spec->in.height, spec->out.height, spec->kernel, spec->stride, spec->padding);
    c->padding_end[1] =
        padding_after(spec->in.width, spec->out.width, spec->kernel, spec->stride, spec->padding);
    return cpu_check(dnnl_memory_desc_init_by_tag(&c->source, 4, source, dnnl_f32, dnnl_format_tag_any),
                     "describe an image", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->target, 4, target, dnnl_f32, dnnl_format_tag_any),
                     "describe an image", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->weights, 4, weights, dnnl_f32, dnnl_format_tag_any),
                     "describe weights", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->plain_weights, 4, weights, dnnl_f32, dnnl_oihw),
                     "describe weights", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->bias, 1, bias, dnnl_f32, dnnl_x), "describe biases", e);
}

/* A relu as oneDNN's post-operation, done while the result is still in registers. */
static bool relu_attr(dnnl_primitive_attr_t *attr, struct error *e)
{
    dnnl_post_ops_t ops = NULL;
    bool ok =
        cpu_check(dnnl_primitive_attr_create(attr), "describe a relu", e) &&
        cpu_check(dnnl_post_ops_create(&ops), "describe a relu", e) &&
        cpu_check(dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0), "describe a relu", e) &&
        cpu_check(dnnl_primitive_attr_set_post_ops(*attr, ops), "describe a relu", e);
    dnnl_post_ops_destroy(ops);
    return ok;
}

static bool pass_describe(struct stage *s, enum pass pass, const struct conv_shapes *c,
                          const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd, struct error *e)
{
    dnnl_convolution_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status;
    if (pass == PASS_FORWARD)
        status = dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct,
                                                    &c->source, &c->weights, &c->bias, &c->target, c->strides,
                                                    c->padding, c->padding_end);
    else if (pass == PASS_BACKWARD_DATA)
        status =
            dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &c->source, &c->weights,
                                                     &c->target, c->strides, c->padding, c->padding_end);
    else
        status = dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &c->source,
                                                             &c->weights, &c->bias, &c->target, c->strides,
                                                             c->padding, c->padding_end);
    bool ok =
        cpu_check(status, "describe a convolution", e) &&
        (pass != PASS_FORWARD || !s->spec.relu || relu_attr(&attr, e)) &&
        cpu_check(dnnl_primitive_desc_create(pd, &desc, attr, s->cpu->engine, hint), "plan a convolution", e);
    dnnl_primitive_attr_destroy(attr);
    return ok;
}

/* Where primitive `pd` of the pass wants each operand. */
static const dnnl_memory_desc_t *wanted(const_dnnl_primitive_desc_t pd, enum pass pass,
                                        enum operand_name name)
{
    static const dnnl_query_t queries[PASSES][OPERANDS] = {
        {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_dst_md},
        {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
    };
    return dnnl_primitive_desc_query_md(pd, queries[pass][name], name == OPERAND_BIAS ? 1 : 0);
}

static bool pass_new(struct stage *s, enum pass pass, const struct conv_shapes *c,
                     const_dnnl_primitive_desc_t pd, struct error *e)
{
    struct conv_pass *p = &s->conv->passes[pass];
    const char *name = NULL;
    if (dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success && name) {
        size_t length = strnlen(name, sizeof p->implementation - 1);
        memcpy(p->implementation, name, length);
    }
    bool backward_data = pass == PASS_BACKWARD_DATA, backward_weights = pass == PASS_BACKWARD_WEIGHTS;
    bool ok = cpu_check(dnnl_primitive_create(&p->primitive, pd), "make a convolution", e);
    ok = ok && operand_new(s->cpu, &p->operands[OPERAND_SOURCE], &s->previous->layout.md,
                           wanted(pd, pass, OPERAND_SOURCE), backward_data, e);
    ok = ok && operand_new(s->cpu, &p->operands[OPERAND_WEIGHTS], &c->plain_weights,
                           wanted(pd, pass, OPERAND_WEIGHTS), backward_weights, e);
    ok = ok && operand_new(s->cpu, &p->operands[OPERAND_TARGET], &s->layout.md,
                           wanted(pd, pass, OPERAND_TARGET), pass == PASS_FORWARD, e);
    if (pass != PASS_BACKWARD_DATA)
        ok = ok && operand_new(s->cpu, &p->operands[OPERAND_BIAS], &c->bias, wanted(pd, pass, OPERAND_BIAS),
                               backward_weights, e);
    return ok;
}

bool cpu_conv_new(struct stage *s, struct error *e)
{
    struct conv_shapes c;
    dnnl_primitive_desc_t pds[PASSES] = {NULL};
    if (!(s->conv = calloc(1, sizeof *s->conv)))
        return error_set(e, ERROR_FAILED, "there is not enough memory for a convolution");
    bool ok =
        conv_shapes_make(&s->spec, &c, e) && pass_describe(s, PASS_FORWARD, &c, NULL, &pds[PASS_FORWARD], e);
    /* The forward pass decides what the stage's output looks like. */
    if (ok && !cpu_layout_from(wanted(pds[PASS_FORWARD], PASS_FORWARD, OPERAND_TARGET), &s->layout))
        ok = cpu_layout_plain(&s->spec, false, &s->layout, e);
    for (int pass = 0; ok && pass < PASSES; pass++) {
        if ((pass == PASS_BACKWARD_DATA && !s->spec.input_gradient) ||
            (pass == PASS_BACKWARD_WEIGHTS && !s->spec.backward))
            continue;
        if (pass != PASS_FORWARD)
            ok = pass_describe(s, (enum pass)pass, &c, pds[PASS_FORWARD], &pds[pass], e);
        ok = ok && pass_new(s, (enum pass)pass, &c, pds[pass], e);
    }
    for (int pass = 0; pass < PASSES; pass++)
        dnnl_primitive_desc_destroy(pds[pass]);
    return ok;
}

void cpu_conv_free(struct stage *s)
{
    if (!s->conv)
        return;
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < OPERANDS; i++)
            operand_free(&s->conv->passes[pass].operands[i]);
        dnnl_primitive_destroy(s->conv->passes[pass].primitive);
    }
    free(s->conv);
}

bool cpu_conv_forward(struct stage *s, const float *parameters, struct error *e)
{
    struct conv_pass *p = &s->conv->passes[PASS_FORWARD];
    struct operand *o = p->operands;
    if (!operand_load(s->cpu, &o[OPERAND_SOURCE], s->previous->value, e) ||
        !operand_load(s->cpu, &o[OPERAND_WEIGHTS], parameters + s->spec.weight_offset, e) ||
        !operand_load(s->cpu, &o[OPERAND_BIAS], parameters + s->spec.bias_offset, e) ||
        !operand_bind(&o[OPERAND_TARGET], s->value, e))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, o[OPERAND_SOURCE].memory},
                              {DNNL_ARG_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_BIAS, o[OPERAND_BIAS].memory},
                              {DNNL_ARG_DST, o[OPERAND_TARGET].memory}};
    return cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, 4, args), "convolve", e) &&
           operand_store(s->cpu, &o[OPERAND_TARGET], s->value, e);
}

static bool backward_weights(struct stage *s, float *gradients, struct error *e)
{
    struct conv_pass *p = &s->conv->passes[PASS_BACKWARD_WEIGHTS];
    struct operand *o = p->operands;
    float *weights = gradients + s->spec.weight_offset, *bias = gradients + s->spec.bias_offset;
    if (!operand_load(s->cpu, &o[OPERAND_SOURCE], s->previous->value, e) ||
        !operand_load(s->cpu, &o[OPERAND_TARGET], s->grad, e) ||
        !operand_bind(&o[OPERAND_WEIGHTS], weights, e) || !operand_bind(&o[OPERAND_BIAS], bias, e))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, o[OPERAND_SOURCE].memory},
                              {DNNL_ARG_DIFF_DST, o[OPERAND_TARGET].memory},
                              {DNNL_ARG_DIFF_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_DIFF_BIAS, o[OPERAND_BIAS].memory}};
    return cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, 4, args),
                     "compute the gradient of a convolution's weights", e) &&
           operand_store(s->cpu, &o[OPERAND_WEIGHTS], weights, e) &&
           operand_store(s->cpu, &o[OPERAND_BIAS], bias, e);
}

static bool backward_data(struct stage *s, const float *parameters, struct error *e)
{
    struct conv_pass *p = &s->conv->passes[PASS_BACKWARD_DATA];
    struct operand *o = p->operands;
    if (!operand_load(s->cpu, &o[OPERAND_TARGET], s->grad, e) ||
        !operand_load(s->cpu, &o[OPERAND_WEIGHTS], parameters + s->spec.weight_offset, e) ||
        !operand_bind(&o[OPERAND_SOURCE], s->previous->grad, e))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, o[OPERAND_TARGET].memory},
                              {DNNL_ARG_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_DIFF_SRC, o[OPERAND_SOURCE].memory}};
    return cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, 3, args),
                     "compute the gradient of a convolution's input", e) &&
           operand_store(s->cpu, &o[OPERAND_SOURCE], s->previous->grad, e);
}

bool cpu_conv_backward(struct stage *s, const float *parameters, float *gradients, struct error *e)
{
    if (s->spec.relu)
        cpu_relu_backward(s->value, s->grad, s->grad, s->layout.bytes / sizeof(float), s->backend->threads);
    return backward_weights(s, gradients, e) && (!s->spec.input_gradient || backward_data(s, parameters, e));
}

const char *cpu_conv_implementation(const struct stage *s, enum pass pass)
{
    return s->conv->passes[pass].implementation;
}
