/* flatten and reshape: the elements in plain order, out of the blocks that convolutions leave them in. */
#include "engine/nn/cpu.h"

#include <stdlib.h>
#include <string.h>

struct flatten {
    struct cpu_layout plain;               /* of the input's shape */
    dnnl_primitive_t to_plain, from_plain; /* NULL: it is plain already */
};

static bool flatten_create(struct stage *s, struct error *e)
{
    struct flatten *f = s->own = calloc(1, sizeof *f);
    if (!f)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    const dnnl_memory_desc_t *before = &s->inputs[0]->layout.md;
    if (!cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e) ||
        !cpu_layout_plain(s->spec.batch, s->spec.in, &f->plain, e))
        return false;
    if (s->inputs[0]->layout.block == 1)
        return true;
    return cpu_reorder_new(s->cpu, before, &f->plain.md, &f->to_plain, e) &&
           cpu_reorder_new(s->cpu, &f->plain.md, before, &f->from_plain, e);
}

static void flatten_destroy(struct stage *s)
{
    struct flatten *f = s->own;
    if (!f)
        return;
    dnnl_primitive_destroy(f->to_plain);
    dnnl_primitive_destroy(f->from_plain);
    free(f);
}

static bool flatten_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    const struct flatten *f = s->own;
    const struct stage *input = s->inputs[0];
    if (f->to_plain)
        return cpu_reorder_run(s->cpu, f->to_plain, &input->layout.md, input->value, &f->plain.md, s->value,
                               e);
    memcpy(s->value, input->value, s->layout.bytes);
    return true;
}

static bool flatten_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    const struct flatten *f = s->own;
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0);
    bool ok = true;
    if (f->from_plain)
        ok = cpu_reorder_run(s->cpu, f->from_plain, &f->plain.md, s->grad, &s->inputs[0]->layout.md, grad_in,
                             e);
    else
        memcpy(grad_in, s->grad, s->layout.bytes);
    cpu_grad_end(s, 0);
    return ok;
}

const struct cpu_op cpu_op_flatten = {.create = flatten_create,
                                      .destroy = flatten_destroy,
                                      .forward = flatten_forward,
                                      .backward = flatten_backward};
