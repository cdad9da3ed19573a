/*
 * flatten, reshape and concat. Where channels-last and plain order are the same, flatten and reshape hand the input's own memory on;
 * else they turn the order. concat puts the channels of its inputs side by side in each place's row.
 */
#include "kernels/cuda.h"

static int points_of(struct model_shape shape)
{
    return shape.height * shape.width;
}

static bool flatten_create(struct stage *s, struct error *e)
{
    (void)e;
    if (!s->channels_last && !s->inputs[0]->channels_last) {
        s->value = s->inputs[0]->value;
        s->value_shared = true;
    }
    return true;
}

/* Between the layouts of the input and the output; reshape may have both turned: by way of the plain order. */
static bool turn(struct stage *s, const float *from, struct model_shape in, bool in_last, float *to,
                 struct model_shape out, bool out_last, bool add, struct error *e)
{
    struct cuda *cuda = s->cuda;
    int batch = s->spec.batch;
    if (!in_last && !out_last)
        kernel_copy(from, to, s->elements, add, cuda->stream);
    else if (!out_last)
        kernel_to_plain(from, to, batch, in.channels, points_of(in), add, cuda->stream);
    else if (!in_last)
        kernel_to_channels_last(from, to, batch, out.channels, points_of(out), add, cuda->stream);
    else {
        struct cuda_buffer *plain = cuda_buffer_take(cuda, s->elements * sizeof(float), e);
        if (!plain)
            return false;
        kernel_to_plain(from, plain->data, batch, in.channels, points_of(in), false, cuda->stream);
        kernel_to_channels_last(plain->data, to, batch, out.channels, points_of(out), add, cuda->stream);
        cuda_buffer_drop(plain);
    }
    return true;
}

static bool flatten_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    const struct stage *input = s->inputs[0];
    return s->value_shared || turn(s, input->value, s->spec.in, input->channels_last, s->value, s->spec.out,
                                   s->channels_last, false, e);
}

static bool flatten_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    const struct stage *input = s->inputs[0];
    return !s->spec.input_gradient[0] || turn(s, s->grad, s->spec.out, s->channels_last, input->grad,
                                              s->spec.in, input->channels_last, s->spec.accumulate[0], e);
}

const struct cuda_op cuda_op_flatten = {
    .create = flatten_create, .forward = flatten_forward, .backward = flatten_backward};

/* --- concat --- */

/* Of images without places (1 × 1) and of one channel too: a place's channels lie side by side anyway. */
static bool concat_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    int rows = s->spec.batch * points_of(s->spec.out), first = 0;
    for (int i = 0; i < s->input_count; i++) {
        int columns = s->inputs[i]->spec.out.channels;
        kernel_into_columns(s->inputs[i]->value, s->value, rows, columns, first, s->spec.out.channels,
                            s->cuda->stream);
        first += columns;
    }
    return true;
}

static bool concat_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    int rows = s->spec.batch * points_of(s->spec.out), first = 0;
    for (int i = 0; i < s->input_count; i++) {
        int columns = s->inputs[i]->spec.out.channels;
        if (s->spec.input_gradient[i])
            kernel_from_columns(s->grad, s->inputs[i]->grad, rows, columns, first, s->spec.out.channels,
                                s->spec.accumulate[i], s->cuda->stream);
        first += columns;
    }
    return true;
}

const struct cuda_op cuda_op_concat = {.forward = concat_forward, .backward = concat_backward};
