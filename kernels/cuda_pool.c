/* maxpool (with the relu in front or behind: the same), avgpool and global_avgpool: kernels/pool.cu. */
#include "kernels/cuda.h"

static struct kernel_windows windows_of(const struct stage *s)
{
    const struct layer_spec *l = s->layer;
    return (struct kernel_windows){.channels = s->spec.in.channels,
                                   .height = s->spec.in.height,
                                   .width = s->spec.in.width,
                                   .out_height = s->spec.out.height,
                                   .out_width = s->spec.out.width,
                                   .kernel = {l->kernel[0], l->kernel[1]},
                                   .stride = {l->stride[0], l->stride[1]},
                                   .padding = {l->padding[0], l->padding[1]},
                                   .dilation = {1, 1},
                                   .groups = 1};
}

/* s->own: of each output where its maximum lies. */
static bool maxpool_create(struct stage *s, struct error *e)
{
    return (s->own = cuda_memory_new(s->cuda, s->elements * sizeof(int32_t), "a pool's maxima", e));
}

static void maxpool_destroy(struct stage *s)
{
    cuda_memory_free(s->own);
}

static bool maxpool_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct kernel_windows w = windows_of(s);
    kernel_maxpool(s->inputs[0]->value, s->value, s->own, &w, s->spec.batch, s->spec.relu, s->cuda->stream);
    return true;
}

static bool maxpool_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct kernel_windows w = windows_of(s);
    if (s->spec.input_gradient[0])
        kernel_maxpool_backward(s->grad, s->own, s->inputs[0]->grad, &w, s->spec.batch, s->spec.accumulate[0],
                                s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_maxpool = {.create = maxpool_create,
                                        .destroy = maxpool_destroy,
                                        .forward = maxpool_forward,
                                        .backward = maxpool_backward,
                                        .fuses_relu = true};

static bool avgpool_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct kernel_windows w = windows_of(s);
    kernel_avgpool(s->inputs[0]->value, s->value, &w, s->spec.batch, s->cuda->stream);
    return true;
}

static bool avgpool_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct kernel_windows w = windows_of(s);
    if (s->spec.input_gradient[0])
        kernel_avgpool_backward(s->grad, s->inputs[0]->grad, &w, s->spec.batch, s->spec.accumulate[0],
                                s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_avgpool = {.forward = avgpool_forward, .backward = avgpool_backward};

static bool global_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    kernel_global_avgpool(s->inputs[0]->value, s->value, s->spec.batch, s->spec.in.height * s->spec.in.width,
                          s->spec.in.channels, s->cuda->stream);
    return true;
}

static bool global_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    if (s->spec.input_gradient[0])
        kernel_global_avgpool_backward(s->grad, s->inputs[0]->grad, s->spec.batch,
                                       s->spec.in.height * s->spec.in.width, s->spec.in.channels,
                                       s->spec.accumulate[0], s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_global_avgpool = {.forward = global_forward, .backward = global_backward};
