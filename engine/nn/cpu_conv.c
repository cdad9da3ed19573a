/*
 * Convolutions by oneDNN. Each pass chooses its own layouts; where its choice differs from what the neighbours
 * or the parameter buffer hold, a reorder stands between (forcing one pass's layout on another would silently
 * give a reference implementation). Weights are small, so their reorders cost little. In mixed precision the same
 * reorders round what a pass reads to bf16.
 */
#include "engine/nn/cpu.h"

#include <stdlib.h>
#include <string.h>

/* One operand of a primitive: where the primitive wants it, and how it gets there from our own buffers. */
struct operand {
    dnnl_memory_desc_t ours, wanted;
    dnnl_memory_t memory;
    dnnl_primitive_t reorder; /* NULL: the same layout, our buffer is handed over as it is */
    struct cpu_buffer
        *copy; /* where the reorder leads to or comes from: one for all stages, which run in turns */
};

enum operand_name { OPERAND_SOURCE, OPERAND_WEIGHTS, OPERAND_BIAS, OPERAND_TARGET, OPERANDS = CPU_COPIES };

struct conv_pass {
    dnnl_primitive_t primitive;
    struct operand operands[OPERANDS];
    char implementation[64];
};

struct cpu_conv {
    struct conv_pass passes[PASSES];
};

static struct cpu_conv *conv_of(const struct stage *s)
{
    return s->own;
}

static bool copy_room(struct cpu_buffer *copy, size_t bytes, struct error *e)
{
    if (copy->bytes >= bytes)
        return true;
    free(copy->data);
    copy->data = cpu_floats(bytes, e);
    copy->bytes = copy->data ? bytes : 0;
    return copy->data;
}

static bool operand_new(struct cpu *cpu, struct conv_pass *p, enum operand_name name,
                        const dnnl_memory_desc_t *ours, const dnnl_memory_desc_t *wanted, bool result,
                        struct error *e)
{
    struct operand *o = &p->operands[name];
    o->ours = *ours;
    o->wanted = *wanted;
    o->copy = &cpu->copies[name];
    if (!cpu_layout_same(ours, wanted)) {
        if (!copy_room(o->copy, dnnl_memory_desc_get_size(wanted), e))
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
}

/* Binds our buffer to an operand that the primitive reads, reordered where it must be. */
static bool operand_load(struct cpu *cpu, struct operand *o, const float *buffer, struct error *e)
{
    if (o->reorder && !cpu_reorder_run(cpu, o->reorder, &o->ours, buffer, &o->wanted, o->copy->data, e))
        return false;
    return cpu_check(dnnl_memory_set_data_handle(o->memory, o->reorder ? o->copy->data : (float *)buffer),
                     "bind a tensor", e);
}

static bool operand_bind(struct operand *o, float *buffer, struct error *e)
{
    return cpu_check(dnnl_memory_set_data_handle(o->memory, o->reorder ? o->copy->data : buffer),
                     "bind a tensor", e);
}

static bool operand_store(struct cpu *cpu, struct operand *o, float *buffer, struct error *e)
{
    return !o->reorder || cpu_reorder_run(cpu, o->reorder, &o->wanted, o->copy->data, &o->ours, buffer, e);
}

struct conv_shapes {
    dnnl_memory_desc_t source, weights, bias, target; /* layout: any */
    dnnl_memory_desc_t plain_weights;
    dnnl_dims_t strides, dilates, padding, padding_end;
};

/* What the pass reads is of type `operands`, what it computes is fp32. */
static bool conv_shapes_make(const struct stage_spec *spec, enum pass pass, dnnl_data_type_t operands,
                             struct conv_shapes *c, struct error *e)
{
    const struct layer_spec *l = spec->layer;
    dnnl_data_type_t source_type = pass == PASS_BACKWARD_DATA ? dnnl_f32 : operands,
                     weights_type = pass == PASS_BACKWARD_WEIGHTS ? dnnl_f32 : operands,
                     target_type = pass == PASS_FORWARD ? dnnl_f32 : operands;
    bool grouped = l->groups > 1;
    dnnl_dims_t source = {spec->batch, spec->in.channels, spec->in.height, spec->in.width};
    dnnl_dims_t target = {spec->batch, spec->out.channels, spec->out.height, spec->out.width};
    dnnl_dims_t single = {spec->out.channels, spec->in.channels, l->kernel[0], l->kernel[1]};
    dnnl_dims_t groups = {l->groups, spec->out.channels / l->groups, spec->in.channels / l->groups,
                          l->kernel[0], l->kernel[1]};
    dnnl_dims_t bias = {spec->out.channels};
    const dnnl_dim_t *weights = grouped ? groups : single;
    int in[2] = {spec->in.height, spec->in.width}, out[2] = {spec->out.height, spec->out.width};
    for (int i = 0; i < 2; i++) {
        c->strides[i] = l->stride[i];
        c->dilates[i] = l->dilation[i] - 1; /* oneDNN counts the gaps */
        c->padding[i] = l->padding[i];
        /* What the last row and column leave over needs no padding: oneDNN wants the two to add up exactly. */
        c->padding_end[i] =
            (out[i] - 1) * l->stride[i] + (l->kernel[i] - 1) * l->dilation[i] + 1 - in[i] - l->padding[i];
    }
    return cpu_check(dnnl_memory_desc_init_by_tag(&c->source, 4, source, source_type, dnnl_format_tag_any),
                     "describe an image", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->target, 4, target, target_type, dnnl_format_tag_any),
                     "describe an image", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->weights, 4 + grouped, weights, weights_type,
                                                  dnnl_format_tag_any),
                     "describe weights", e) &&
           cpu_check(dnnl_memory_desc_init_by_tag(&c->plain_weights, 4 + grouped, weights, dnnl_f32,
                                                  grouped ? dnnl_goihw : dnnl_oihw),
                     "describe weights", e) &&
           (l->bias ? cpu_check(dnnl_memory_desc_init_by_tag(&c->bias, 1, bias, dnnl_f32, dnnl_x),
                                "describe biases", e)
                    : (memset(&c->bias, 0, sizeof c->bias), true));
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
    const dnnl_memory_desc_t *bias = s->layer->bias ? &c->bias : NULL;
    if (pass == PASS_FORWARD)
        status = dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_training, dnnl_convolution_direct, &c->source, &c->weights, bias, &c->target,
            c->strides, c->dilates, c->padding, c->padding_end);
    else if (pass == PASS_BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &c->source,
                                                                  &c->weights, &c->target, c->strides,
                                                                  c->dilates, c->padding, c->padding_end);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &desc, dnnl_convolution_direct, &c->source, &c->weights, bias, &c->target, c->strides, c->dilates,
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
    struct conv_pass *p = &conv_of(s)->passes[pass];
    const char *name = NULL;
    if (dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success && name) {
        size_t length = strnlen(name, sizeof p->implementation - 1);
        memcpy(p->implementation, name, length);
    }
    bool backward_data = pass == PASS_BACKWARD_DATA, backward_weights = pass == PASS_BACKWARD_WEIGHTS;
    bool ok = cpu_check(dnnl_primitive_create(&p->primitive, pd), "make a convolution", e);
    ok = ok && operand_new(s->cpu, p, OPERAND_SOURCE, &s->inputs[0]->layout.md,
                           wanted(pd, pass, OPERAND_SOURCE), backward_data, e);
    ok = ok && operand_new(s->cpu, p, OPERAND_WEIGHTS, &c->plain_weights, wanted(pd, pass, OPERAND_WEIGHTS),
                           backward_weights, e);
    ok = ok && operand_new(s->cpu, p, OPERAND_TARGET, &s->layout.md, wanted(pd, pass, OPERAND_TARGET),
                           pass == PASS_FORWARD, e);
    if (pass != PASS_BACKWARD_DATA && s->layer->bias)
        ok = ok && operand_new(s->cpu, p, OPERAND_BIAS, &c->bias, wanted(pd, pass, OPERAND_BIAS),
                               backward_weights, e);
    return ok;
}

static bool conv_create(struct stage *s, struct error *e)
{
    struct conv_shapes c;
    dnnl_primitive_desc_t pds[PASSES] = {NULL};
    s->reads_output = s->spec.relu;
    s->keeps_gradient = !s->spec.relu;
    if (!(s->own = calloc(1, sizeof(struct cpu_conv))))
        return error_set(e, ERROR_FAILED, "there is not enough memory for a convolution");
    bool ok = conv_shapes_make(&s->spec, PASS_FORWARD, s->cpu->operands, &c, e) &&
              pass_describe(s, PASS_FORWARD, &c, NULL, &pds[PASS_FORWARD], e);
    /* The forward pass decides what the stage's output looks like. */
    if (ok && !cpu_layout_from(wanted(pds[PASS_FORWARD], PASS_FORWARD, OPERAND_TARGET), &s->layout))
        ok = cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
    for (int pass = 0; ok && pass < PASSES; pass++) {
        if ((pass == PASS_BACKWARD_DATA && !s->spec.input_gradient[0]) ||
            (pass == PASS_BACKWARD_WEIGHTS && !s->spec.backward))
            continue;
        if (pass != PASS_FORWARD)
            ok = conv_shapes_make(&s->spec, (enum pass)pass, s->cpu->operands, &c, e) &&
                 pass_describe(s, (enum pass)pass, &c, pds[PASS_FORWARD], &pds[pass], e);
        ok = ok && pass_new(s, (enum pass)pass, &c, pds[pass], e);
    }
    for (int pass = 0; pass < PASSES; pass++)
        dnnl_primitive_desc_destroy(pds[pass]);
    return ok;
}

static void conv_destroy(struct stage *s)
{
    struct cpu_conv *conv = s->own;
    if (!conv)
        return;
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < OPERANDS; i++)
            operand_free(&conv->passes[pass].operands[i]);
        dnnl_primitive_destroy(conv->passes[pass].primitive);
    }
    free(conv);
}

static bool conv_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct conv_pass *p = &conv_of(s)->passes[PASS_FORWARD];
    struct operand *o = p->operands;
    const struct layer_tensor *t = s->layer->tensors;
    if (!operand_load(s->cpu, &o[OPERAND_SOURCE], s->inputs[0]->value, e) ||
        !operand_load(s->cpu, &o[OPERAND_WEIGHTS], c->parameters + t[0].offset, e) ||
        (s->layer->bias && !operand_load(s->cpu, &o[OPERAND_BIAS], c->parameters + t[1].offset, e)) ||
        !operand_bind(&o[OPERAND_TARGET], s->value, e))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, o[OPERAND_SOURCE].memory},
                              {DNNL_ARG_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_DST, o[OPERAND_TARGET].memory},
                              {DNNL_ARG_BIAS, o[OPERAND_BIAS].memory}};
    return cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, s->layer->bias ? 4 : 3, args),
                     "convolve", e) &&
           operand_store(s->cpu, &o[OPERAND_TARGET], s->value, e);
}

static bool backward_weights(struct stage *s, float *gradients, struct error *e)
{
    struct conv_pass *p = &conv_of(s)->passes[PASS_BACKWARD_WEIGHTS];
    struct operand *o = p->operands;
    const struct layer_tensor *t = s->layer->tensors;
    float *weights = gradients + t[0].offset, *bias = s->layer->bias ? gradients + t[1].offset : NULL;
    if (!operand_load(s->cpu, &o[OPERAND_SOURCE], s->inputs[0]->value, e) ||
        !operand_load(s->cpu, &o[OPERAND_TARGET], s->grad, e) ||
        !operand_bind(&o[OPERAND_WEIGHTS], weights, e) || (bias && !operand_bind(&o[OPERAND_BIAS], bias, e)))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, o[OPERAND_SOURCE].memory},
                              {DNNL_ARG_DIFF_DST, o[OPERAND_TARGET].memory},
                              {DNNL_ARG_DIFF_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_DIFF_BIAS, o[OPERAND_BIAS].memory}};
    return cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, bias ? 4 : 3, args),
                     "compute the gradient of a convolution's weights", e) &&
           operand_store(s->cpu, &o[OPERAND_WEIGHTS], weights, e) &&
           (!bias || operand_store(s->cpu, &o[OPERAND_BIAS], bias, e));
}

static bool backward_data(struct stage *s, const float *parameters, struct error *e)
{
    struct conv_pass *p = &conv_of(s)->passes[PASS_BACKWARD_DATA];
    struct operand *o = p->operands;
    float *grad_in = cpu_grad_begin(s, 0);
    if (!operand_load(s->cpu, &o[OPERAND_TARGET], s->grad, e) ||
        !operand_load(s->cpu, &o[OPERAND_WEIGHTS], parameters + s->layer->tensors[0].offset, e) ||
        !operand_bind(&o[OPERAND_SOURCE], grad_in, e))
        return false;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, o[OPERAND_TARGET].memory},
                              {DNNL_ARG_WEIGHTS, o[OPERAND_WEIGHTS].memory},
                              {DNNL_ARG_DIFF_SRC, o[OPERAND_SOURCE].memory}};
    bool ok = cpu_check(dnnl_primitive_execute(p->primitive, s->cpu->stream, 3, args),
                        "compute the gradient of a convolution's input", e) &&
              operand_store(s->cpu, &o[OPERAND_SOURCE], grad_in, e);
    cpu_grad_end(s, 0);
    return ok;
}

static bool conv_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    if (s->spec.relu)
        cpu_relu_backward(s->value, s->grad, s->grad, s->layout.bytes / sizeof(float), s->backend->threads);
    return backward_weights(s, c->gradients, e) &&
           (!s->spec.input_gradient[0] || backward_data(s, c->parameters, e));
}

static const char *conv_implementation(const struct stage *s, enum pass pass)
{
    return conv_of(s)->passes[pass].implementation;
}

/* The gradient of the weights comes first: then nobody needs the input any more. */
const struct cpu_op cpu_op_conv2d = {.create = conv_create,
                                     .destroy = conv_destroy,
                                     .forward = conv_forward,
                                     .backward = conv_backward,
                                     .implementation = conv_implementation,
                                     .fuses_relu = true,
                                     .reads_input = true,
                                     .overwrites_input = true};
