/*
 * relu, leaky_relu, gelu, tanh, sigmoid and add: functions of each element, whatever the layout. The gradients can be told from
 * what they put out, but for gelu's.
 */
#include "kernels/cuda.h"

bool cuda_through_relu(struct stage *s, const float *value, float *sums, int rows, int columns,
                       struct error *e)
{
    struct cuda *cuda = s->cuda;
    struct cuda_buffer *scratch = NULL;
    if (!value && !sums)
        return true;
    if (sums && !(scratch = cuda_buffer_take(cuda, kernel_column_scratch(rows, columns) * sizeof(float), e)))
        return false;
    if (sums)
        kernel_column_sums(s->grad, value, sums, scratch->data, rows, columns, cuda->stream);
    else
        kernel_relu_backward(value, s->grad, s->grad, s->elements, false, cuda->stream);
    cuda_buffer_drop(scratch);
    return true;
}

/* --- relu by itself: in front, or behind what several layers take --- */

static bool relu_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    kernel_relu(s->inputs[0]->value, s->value, s->elements, s->cuda->stream);
    return true;
}

static bool relu_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    if (s->spec.input_gradient[0])
        kernel_relu_backward(s->value, s->grad, s->inputs[0]->grad, s->elements, s->spec.accumulate[0],
                             s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_relu = {.forward = relu_forward, .backward = relu_backward};

/* --- leaky_relu, gelu, tanh, sigmoid --- */

static enum kernel_function function_of(const struct stage *s)
{
    switch (s->layer->kind) {
    case LAYER_LEAKY_RELU: return KERNEL_LEAKY_RELU;
    case LAYER_GELU: return KERNEL_GELU;
    case LAYER_TANH: return KERNEL_TANH;
    default: return KERNEL_SIGMOID;
    }
}

static bool activation_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    kernel_activation(function_of(s), s->inputs[0]->value, s->value, s->elements, (float)s->layer->slope,
                      s->cuda->stream);
    return true;
}

static bool activation_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    const float *value = s->layer->kind == LAYER_GELU ? s->inputs[0]->value : s->value;
    if (s->spec.input_gradient[0])
        kernel_activation_backward(function_of(s), value, s->grad, s->inputs[0]->grad, s->elements,
                                   (float)s->layer->slope, s->spec.accumulate[0], s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_activation = {.forward = activation_forward, .backward = activation_backward};

/* --- add: the sum of several inputs, and the relu behind it (K. He et al., CVPR 2016) --- */

static bool add_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    const float *sum = s->inputs[0]->value;
    if (s->input_count == 1 && s->spec.relu)
        kernel_relu(sum, s->value, s->elements, s->cuda->stream);
    else if (s->input_count == 1)
        kernel_copy(sum, s->value, s->elements, false, s->cuda->stream);
    for (int i = 1; i < s->input_count; i++) {
        kernel_add(sum, s->inputs[i]->value, s->value, s->elements, s->spec.relu && i == s->input_count - 1,
                   s->cuda->stream);
        sum = s->value;
    }
    return true;
}

/* Each input gets the gradient as it is, through the relu. */
static bool add_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    for (int i = 0; i < s->input_count; i++) {
        if (!s->spec.input_gradient[i])
            continue;
        if (s->spec.relu)
            kernel_relu_backward(s->value, s->grad, s->inputs[i]->grad, s->elements, s->spec.accumulate[i],
                                 s->cuda->stream);
        else
            kernel_copy(s->grad, s->inputs[i]->grad, s->elements, s->spec.accumulate[i], s->cuda->stream);
    }
    return true;
}

const struct cuda_op cuda_op_add = {.forward = add_forward, .backward = add_backward, .fuses_relu = true};
