/*
 * concat: the channels of several images one behind the other (C. Szegedy et al., Going deeper with convolutions, CVPR
 * 2015). Where all inputs come in the same blocks and fill them, an image's part is one piece of memory that is copied;
 * else the result is plain, and oneDNN reorders each input into its part of it.
 */
#include "engine/nn/cpu.h"

#include <stdlib.h>
#include <string.h>

struct part {
    size_t at, elements;       /* of an image's: where it begins, and how much it is */
    dnnl_memory_desc_t inside; /* the part as a view on the result */
    dnnl_primitive_t in, back; /* NULL: copied */
};

struct cpu_concat {
    struct part parts[LAYER_MAX_INPUTS];
    size_t elements; /* of an image of the result */
};

static bool blocks_fit(const struct stage *s)
{
    int block = s->inputs[0]->layout.block;
    for (int i = 0; i < s->input_count; i++)
        if (s->inputs[i]->layout.block != block || s->inputs[i]->spec.out.channels % block != 0 ||
            s->inputs[i]->layout.md.format_desc.blocking.inner_nblks !=
                s->inputs[0]->layout.md.format_desc.blocking.inner_nblks)
            return false;
    /* A block that is all the channels (NHWC) would grow. */
    return block == 1 || s->inputs[0]->layout.md.format_desc.blocking.inner_nblks > 0;
}

static bool part_create(struct stage *s, struct part *p, const struct stage *input, int channel,
                        struct error *e)
{
    struct model_shape shape = input->spec.out;
    p->at = (size_t)channel * (size_t)shape.height * (size_t)shape.width;
    p->elements = model_shape_elements(shape);
    if (input->layout.block == s->layout.block)
        return true;
    dnnl_dims_t dims = {s->spec.batch, shape.channels, shape.height, shape.width},
                offsets = {0, channel, 0, 0};
    return cpu_check(dnnl_memory_desc_init_submemory(&p->inside, &s->layout.md, dims, offsets),
                     "describe a part of a tensor", e) &&
           cpu_reorder_new(s->cpu, &input->layout.md, &p->inside, &p->in, e) &&
           cpu_reorder_new(s->cpu, &p->inside, &input->layout.md, &p->back, e);
}

static bool concat_create(struct stage *s, struct error *e)
{
    struct cpu_concat *c = s->own = calloc(1, sizeof *c);
    if (!c)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    bool ok = blocks_fit(s)
                  ? cpu_layout_like(&s->inputs[0]->layout, s->spec.batch, s->spec.out, &s->layout, e)
                  : cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
    c->elements = model_shape_elements(s->spec.out);
    for (int i = 0, channel = 0; ok && i < s->input_count; i++) {
        ok = part_create(s, &c->parts[i], s->inputs[i], channel, e);
        channel += s->inputs[i]->spec.out.channels;
    }
    return ok;
}

static void concat_destroy(struct stage *s)
{
    struct cpu_concat *c = s->own;
    for (int i = 0; c && i < s->input_count; i++) {
        dnnl_primitive_destroy(c->parts[i].in);
        dnnl_primitive_destroy(c->parts[i].back);
    }
    free(c);
}

static bool concat_forward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context;
    const struct cpu_concat *c = s->own;
    for (int i = 0; i < s->input_count; i++) {
        const struct part *p = &c->parts[i];
        const struct stage *input = s->inputs[i];
        if (p->in) {
            if (!cpu_reorder_run(s->cpu, p->in, &input->layout.md, input->value, &p->inside, s->value, e))
                return false;
            continue;
        }
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
        for (int n = 0; n < s->spec.batch; n++)
            memcpy(s->value + (size_t)n * c->elements + p->at, input->value + (size_t)n * p->elements,
                   p->elements * sizeof(float));
    }
    return true;
}

static bool concat_backward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context;
    const struct cpu_concat *c = s->own;
    for (int i = 0; i < s->input_count; i++) {
        const struct part *p = &c->parts[i];
        if (!s->spec.input_gradient[i])
            continue;
        float *grad_in = cpu_grad_begin(s, i);
        if (p->back &&
            !cpu_reorder_run(s->cpu, p->back, &p->inside, s->grad, &s->inputs[i]->layout.md, grad_in, e))
            return false;
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
        for (int n = 0; n < (p->back ? 0 : s->spec.batch); n++)
            memcpy(grad_in + (size_t)n * p->elements, s->grad + (size_t)n * c->elements + p->at,
                   p->elements * sizeof(float));
        cpu_grad_end(s, i);
    }
    return true;
}

const struct cpu_op cpu_op_concat = {.create = concat_create,
                                     .destroy = concat_destroy,
                                     .forward = concat_forward,
                                     .backward = concat_backward,
                                     .overwrites_input = true,
                                     .keeps_gradient = true};
