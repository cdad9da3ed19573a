/*
 * cpu_windows.h - what the pools share: an image of one block of channels, and the windows over it. Private to
 * engine/nn/cpu*.c.
 */
#ifndef RINGSIDE_NN_CPU_WINDOWS_H
#define RINGSIDE_NN_CPU_WINDOWS_H

#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"

/* One image of one block of channels. */
struct plane {
    int height, width, out_height, out_width;
    int kernel[2], stride[2], padding[2];
    int block;
    bool relu;
};

/* The part of a window that lies on the image: no window lies in the padding alone. */
struct window {
    int top, bottom, left, right; /* bottom and right: one behind the last */
};

LANES_INLINE struct plane plane_of(const struct stage *s)
{
    const struct layer_spec *l = s->layer;
    return (struct plane){.height = s->spec.in.height,
                          .width = s->spec.in.width,
                          .out_height = s->spec.out.height,
                          .out_width = s->spec.out.width,
                          .kernel = {l->kernel[0], l->kernel[1]},
                          .stride = {l->stride[0], l->stride[1]},
                          .padding = {l->padding[0], l->padding[1]},
                          .block = s->layout.block,
                          .relu = s->spec.relu};
}

LANES_INLINE size_t plane_size(int height, int width, int block)
{
    return (size_t)height * (size_t)width * (size_t)block;
}

LANES_INLINE struct window window_at(const struct plane *p, int y, int x)
{
    int top = y * p->stride[0] - p->padding[0], left = x * p->stride[1] - p->padding[1];
    int bottom = top + p->kernel[0], right = left + p->kernel[1];
    return (struct window){top > 0 ? top : 0, bottom < p->height ? bottom : p->height, left > 0 ? left : 0,
                           right < p->width ? right : p->width};
}

/* Where a place of the image begins. */
LANES_INLINE size_t place_at(const struct plane *p, int y, int x)
{
    return ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->block;
}

#endif
