/*
 * adam - how near a step of Adam on a GPU comes to the GPU's own copy: both move memory and hardly compute.
 *
 *     adam [PARAMETERS]     (default 1e8)   prints "SECONDS BYTES_PER_S COPY_BYTES_PER_S SHARE"
 *
 * A step reads parameter, gradient and both moments and writes three of them back: 28 bytes a parameter. The time is the
 * median of steps that are waited for, so that of a launch and of the norm that comes back is in it.
 */
#include "engine/base/timing.h"
#include "engine/nn/optimizer.h"
#include "engine/nn/plugin.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 21, ROW = 1024, BYTES_A_PARAMETER = 28 };

static bool measure(const struct gpu_plugin *plugin, int rows, double *time_s, size_t *parameters,
                    struct error *e)
{
    struct layer_spec layer = {.kind = LAYER_DENSE, .tensor_count = 1};
    layer.tensors[0] = (struct layer_tensor){
        .name = "weight", .rank = 2, .extent = {rows, ROW}, .elements = (size_t)rows * ROW};
    struct model_spec model = {.layers = &layer, .layer_count = 1, .parameters = (size_t)rows * ROW};
    struct optimizer_spec adam;
    struct backend *b = plugin->backend_open(0, 0, e);
    bool ok = b && optimizer_named("adam", &adam, e);
    struct optimizer *o = ok ? optimizer_new(&adam, &model, b, e) : NULL;
    float *w = o ? b->ops->memory_new(b, model.parameters, e) : NULL;
    float *g = w ? b->ops->memory_new(b, model.parameters, e) : NULL;
    double taken[STEPS], squares;
    ok = g != NULL;
    for (int i = -1; ok && i < STEPS; i++) { /* the first warms up */
        double begin = timing_now();
        ok = optimizer_take_step(o, 1e-3, w, g, &squares, e);
        if (i >= 0)
            taken[i] = timing_now() - begin;
    }
    if (ok)
        *time_s = timing_median(taken, STEPS);
    *parameters = model.parameters;
    if (w)
        b->ops->memory_free(b, w);
    if (g)
        b->ops->memory_free(b, g);
    optimizer_free(o);
    backend_close(b);
    return ok;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct gpu_roof roof;
    size_t parameters = 0;
    double time_s = 0, wanted = argc > 1 ? strtod(argv[1], NULL) : 1e8;
    const struct gpu_plugin *plugin = plugin_load(&e);
    if (!plugin || plugin->device_count(&e) < 1 || !plugin->roof_measure(0, 1, &roof, &e) ||
        !measure(plugin, (int)(wanted / ROW) + 1, &time_s, &parameters, &e)) {
        fprintf(stderr, "adam: %s\n", e.text);
        return e.kind == ERROR_MISSING ? 3 : 1;
    }
    double rate = BYTES_A_PARAMETER * (double)parameters / time_s;
    printf("%.6e %.4e %.4e %.3f\n", time_s, rate, roof.copy_bytes_per_s, rate / roof.copy_bytes_per_s);
    return 0;
}
