/* declines.c - a plugin that opens anywhere and has no GPU. */
#include "engine/nn/plugin.h"

#include <stdio.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION GPU_PLUGIN_VERSION
#endif

static int none(struct error *e)
{
    if (e) {
        e->kind = ERROR_MISSING;
        snprintf(e->text, sizeof e->text, "no GPU: this plugin has never seen one");
    }
    return 0;
}

extern const struct gpu_plugin ringside_cuda_plugin;
const struct gpu_plugin ringside_cuda_plugin = {
    .version = PLUGIN_VERSION, .name = "none", .build = "for tests", .device_count = none};
