/*
 * dropout: sets a random share of the elements to 0 in training and scales the others up (N. Srivastava et al., Dropout, JMLR
 * 2014). The mask is the CPU backend's (engine/nn/dropout.h); backward makes it again.
 */
#include "kernels/cuda.h"

#include "engine/nn/dropout.h"

static void drop(struct stage *s, const float *in, float *out, bool add)
{
    struct model_shape shape = s->spec.out;
    int points = s->channels_last ? shape.height * shape.width : 1;
    struct kernel_dropout d = {.stream = DROPOUT_STREAM,
                               .purpose = dropout_purpose(s->layer->name),
                               .threshold = dropout_threshold(s->layer->rate),
                               .bits = DROPOUT_BITS,
                               .scale = dropout_scale(s->layer->rate),
                               .batch = s->spec.batch,
                               .channels = (int)(s->elements / (size_t)s->spec.batch) / points,
                               .points = points};
    kernel_dropout(&d, s->cuda->step, in, out, add, s->cuda->stream);
}

static bool dropout_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    if (c->training)
        drop(s, s->inputs[0]->value, s->value, false);
    else
        kernel_copy(s->inputs[0]->value, s->value, s->elements, false, s->cuda->stream);
    return true;
}

/* What the value was multiplied with, the gradient is. */
static bool dropout_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    if (s->spec.input_gradient[0])
        drop(s, s->grad, s->inputs[0]->grad, s->spec.accumulate[0]);
    return true;
}

const struct cuda_op cuda_op_dropout = {.forward = dropout_forward, .backward = dropout_backward};
