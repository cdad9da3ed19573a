#include "kernels/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef KERNELS_TOOLKIT /* the toolkit's folder where the plugin was built, given by the Makefile */
#define KERNELS_TOOLKIT "/usr/local/cuda"
#endif

void *library_load(const char *file)
{
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda", "/opt/cuda",
                                   KERNELS_TOOLKIT};
    const char *const parts[] = {"lib64", "lib"};
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !handle && i < 2 * (sizeof folders / sizeof *folders); i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s/%s", folders[i / 2], parts[i % 2], file) < (int)sizeof path)
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

bool library_find(void *handle, const char *file, const struct library_symbol *symbols, void *functions,
                  struct error *e)
{
    for (; symbols->name; symbols++) {
        void *function = dlsym(handle, symbols->name);
        if (!function)
            return error_set(
                e, ERROR_MISSING,
                "%s has no %s: it is of another version than the one that Ringside was built for", file,
                symbols->name);
        memcpy((char *)functions + symbols->at, &function, sizeof function);
    }
    return true;
}
