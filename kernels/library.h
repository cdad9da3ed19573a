/*
 * library.h - libraries that the plugin loads when they are needed, so that it opens where they are missing.
 */
#ifndef RINGSIDE_KERNELS_LIBRARY_H
#define RINGSIDE_KERNELS_LIBRARY_H

#include "engine/base/error.h"

#include <stddef.h>

/* "libnccl.so.2": from where the loader looks, else from where CUDA toolkits are installed. NULL: it is nowhere. */
void *library_load(const char *file);

/* Where the address of a function of that name goes: at `at` in a struct of pointers. */
struct library_symbol {
    const char *name;
    size_t at;
};
/* All of them, up to one without a name, into the struct `functions`; ERROR_MISSING names the first that is not there. */
bool library_find(void *handle, const char *file, const struct library_symbol *symbols, void *functions,
                  struct error *e);

#endif
