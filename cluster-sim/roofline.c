#include "cluster-sim/roofline.h"

#include <math.h>

struct roofline roofline_of(double flops_per_s, double bytes_per_s, bool gpu)
{
    return (struct roofline){.flops_per_s = flops_per_s,
                             .bytes_per_s = bytes_per_s,
                             .compute_share = ROOFLINE_COMPUTE,
                             .memory_share = ROOFLINE_MEMORY,
                             .launch_s = gpu ? ROOFLINE_LAUNCH : 0};
}

bool roofline_has_weights(const struct layer_spec *layer)
{
    switch (layer->kind) {
    case LAYER_CONV2D:
    case LAYER_DENSE:
    case LAYER_EMBEDDING:
    case LAYER_SIMPLE_RNN:
    case LAYER_LSTM: return true;
    default: return false;
    }
}

/* Of an embedding only the rows looked up are moved, and the description counts those with the samples. */
static double weights_moved(const struct layer_spec *layer)
{
    return layer->kind == LAYER_EMBEDDING ? 0 : (double)layer_parameters(layer);
}

/* Inputs and output of one sample, in elements. */
static double elements_moved(const struct layer_spec *layer)
{
    double elements = layer->bytes / (double)sizeof(float) - weights_moved(layer);
    return elements > 0 ? elements : 0;
}

double roofline_bytes(const struct layer_spec *layer, int batch, double width, int split)
{
    double cut = roofline_has_weights(layer) ? split : 1;
    return width * (batch * elements_moved(layer) + weights_moved(layer) / cut);
}

static double seconds(const struct roofline *r, double flops, double bytes)
{
    return fmax(flops / (r->flops_per_s * r->compute_share), bytes / (r->bytes_per_s * r->memory_share)) +
           r->launch_s;
}

struct roofline_time roofline_layer(const struct roofline *r, const struct layer_spec *layer, int batch,
                                    double width, int split)
{
    if (layer->kind == LAYER_FLATTEN || layer->kind == LAYER_RESHAPE)
        return (struct roofline_time){0};
    double cut = roofline_has_weights(layer) ? split : 1;
    double flops = batch * layer->flops / cut, bytes = roofline_bytes(layer, batch, width, split);
    double gradients = layer->flops > 0 ? layer->backward_flops / layer->flops : 1;
    struct roofline_time t = {.forward_s = seconds(r, flops, bytes)};
    t.memory_bound = bytes / (r->bytes_per_s * r->memory_share) > flops / (r->flops_per_s * r->compute_share);
    t.backward_s = gradients * seconds(r, flops, bytes);
    return t;
}
