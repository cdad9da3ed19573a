#include "engine/nn/plugin.h"

#include "engine/base/paths.h"
#include "engine/base/units.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_IT "build it where CUDA's nvcc is (module load cuda, then make), or use the CPU"

static bool find(char path[PATH_MAX], bool *named, struct error *e)
{
    const char *given = getenv("RINGSIDE_CUDA_PLUGIN");
    *named = given && *given;
    if (!*named)
        return path_program("ringside-cuda.so", path, NULL) ||
               error_set(e, ERROR_MISSING,
                         "no GPU: this Ringside was built without its CUDA plugin; " BUILD_IT);
    /* Absolute: dlopen looks for a name without a slash elsewhere. */
    return realpath(given, path) ||
           error_set(e, ERROR_MISSING, "no GPU: RINGSIDE_CUDA_PLUGIN names %.300s, which is not there",
                     given);
}

/* The linker's own words begin with the path, which the sentence has named. */
static const char *why_not(const char *path)
{
    const char *said = dlerror();
    size_t length = strlen(path);
    if (!said)
        return "no reason was given";
    return strncmp(said, path, length) == 0 && strncmp(said + length, ": ", 2) == 0 ? said + length + 2
                                                                                    : said;
}

const struct gpu_plugin *plugin_load(struct error *e)
{
    char path[PATH_MAX];
    bool named;
    if (!find(path, &named, e))
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        error_set(e, ERROR_MISSING, "no GPU: the CUDA plugin %s cannot be loaded (%.300s)", path,
                  why_not(path));
        return NULL;
    }
    const struct gpu_plugin *plugin = dlsym(library, GPU_PLUGIN_SYMBOL);
    if (plugin && plugin->version == GPU_PLUGIN_VERSION)
        return plugin;
    if (plugin)
        error_set(e, ERROR_MISSING,
                  "no GPU: the CUDA plugin %s is of version %d and this program takes version %d: one of the "
                  "two is "
                  "older; " BUILD_IT,
                  path, plugin->version, GPU_PLUGIN_VERSION);
    else
        error_set(e, ERROR_MISSING, "no GPU: %s is no CUDA plugin of Ringside%s", path,
                  named ? ": set RINGSIDE_CUDA_PLUGIN to one, or to nothing" : "; " BUILD_IT);
    dlclose(library);
    return NULL;
}

void gpu_describe(const struct gpu_device *device, char *text, size_t size)
{
    char memory[32];
    units_show_bytes((double)device->memory_bytes, memory, sizeof memory);
    if (device->major > 0)
        snprintf(text, size, "%s, %s, compute capability %d.%d", device->name, memory, device->major,
                 device->minor);
    else
        snprintf(text, size, "%s, %s", device->name, memory);
}
