/* A scratch folder for the tests of readers, files in it, and seeded damage to them. */
#ifndef RINGSIDE_TESTS_DATA_SCRATCH_H
#define RINGSIDE_TESTS_DATA_SCRATCH_H

#include "engine/base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[] = "/tmp/ringside-data-XXXXXX";

static int scratch_make(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", scratch);
    return system(command);
}

/* Writes scratch/name, whose path comes back. */
static const char *scratch_write(const char *name, const void *data, size_t bytes)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    unlink(path); /* a file system may hurry to the disk with one that is overwritten */
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes)
        abort();
    fclose(f);
    return path;
}

/* A damaged copy of what is whole: some bytes changed, or a piece cut out, doubled, or the end cut off; *bytes is its
 * length, at most 2 × that of the original. */
static inline unsigned char *damaged(const unsigned char *whole, size_t n, struct random *r, size_t *bytes)
{
    unsigned char *copy = malloc(2 * n + 1);
    if (!copy)
        abort();
    memcpy(copy, whole, n);
    size_t from = random_below(r, n), length = 1 + random_below(r, n - from);
    *bytes = n;
    switch (random_below(r, 5)) {
    case 0: *bytes = from; break;
    case 1:
        memmove(copy + from, copy + from + length, n - from - length);
        *bytes = n - length;
        break;
    case 2:
        memcpy(copy + n, copy + from, length);
        *bytes = n + length;
        break;
    case 3: /* somewhere near the beginning, where headers are */
        for (uint64_t k = 1 + random_below(r, 4); k; k--)
            copy[random_below(r, n < 64 ? n : 64)] = (unsigned char)random_next(r);
        break;
    default:
        for (uint64_t k = 1 + random_below(r, 8); k; k--)
            copy[random_below(r, n)] = (unsigned char)random_next(r);
    }
    return copy;
}

#endif
