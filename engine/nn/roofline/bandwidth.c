/*
 * bandwidth.c - the slope of the roof: STREAM's copy and triad on arrays that no cache can hold.
 *
 * Every thread first writes the part that it will work on, since memory lies on the socket of the core that touches it
 * first. STREAM counts what the program reads and writes; plain stores make the processor read each line before it
 * is overwritten, so the memory itself may move a third more.
 */
#include "engine/nn/roofline/roofline.h"

#include "engine/base/timing.h"
#include "engine/nn/cpu.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LEAST_ROUNDS = 3,
    MOST_INDEX = 8, /* caches that a processor may list */
    PIECES = 32,
    HUGE_PAGE = 2 << 20,
    GRAIN = PIECES * 4096 > HUGE_PAGE ? PIECES * 4096 : HUGE_PAGE,
};

/* Where the cache's size is unknown: what is likely. Where memory is short, less than four times the cache. */
#define LIKELY_CACHE ((size_t)32 << 20)
#define MOST_BYTES ((size_t)1 << 30)

/* The kernel's list of caches, since sysconf knows nothing on some processors; the largest is the last. */
size_t roofline_cache_bytes(void)
{
    size_t most = 0;
    for (int i = 0; i < MOST_INDEX; i++) {
        char path[80];
        unsigned long kib = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *f = fopen(path, "re");
        if (!f)
            break;
        if (fscanf(f, "%luK", &kib) == 1 && (kib << 10) > most)
            most = kib << 10;
        fclose(f);
    }
    return most;
}

static size_t available_bytes(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

CPU_KERNEL static void triad(float *a, const float *b, const float *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3 * c[i];
}

/*
 * The least seconds that a piece of the arrays takes, all threads working on it together. Pieces are shorter than a
 * scheduler's slices, so that some go undisturbed; a pass goes over all of them before it comes back to the first,
 * so no cache remembers one. memcpy is the C library's, which writes around the caches.
 */
static double fastest_piece(float *const arrays[3], size_t n, int threads, bool copy)
{
    double best = INFINITY, begin = 0;
    size_t piece = n / PIECES;
#pragma omp parallel num_threads(threads)
    {
        size_t count = (size_t)omp_get_num_threads(), mine = (size_t)omp_get_thread_num();
        for (size_t i = 0; i < PIECES; i++) {
            size_t from = i * piece + piece / count * mine;
            size_t length = mine + 1 == count ? piece - piece / count * mine : piece / count;
            float *a = arrays[0] + from;
#pragma omp barrier
#pragma omp master
            begin = timing_now();
            if (copy)
                memcpy(a, arrays[1] + from, length * sizeof *a);
            else
                triad(a, arrays[1] + from, arrays[2] + from, length);
#pragma omp barrier
#pragma omp master
            best = fmin(best, timing_now() - begin);
        }
    }
    return best;
}

static void first_touch(float *const arrays[3], size_t n, int threads)
{
    size_t piece = n / PIECES;
#pragma omp parallel num_threads(threads)
    for (size_t i = 0; i < PIECES; i++) {
#pragma omp for schedule(static)
        for (size_t k = i * piece; k < (i + 1) * piece; k++) {
            arrays[0][k] = 0;
            arrays[1][k] = 1;
            arrays[2][k] = 2;
        }
    }
}

bool roofline_bandwidth(int threads, double seconds, struct roofline_bandwidth *result, struct error *e)
{
    size_t cache = roofline_cache_bytes(), wanted = 4 * (cache ? cache : LIKELY_CACHE);
    size_t most = available_bytes() / 8 < MOST_BYTES ? available_bytes() / 8 : MOST_BYTES;
    size_t bytes = (wanted < most ? wanted : most) / GRAIN * GRAIN, n = bytes / sizeof(float);
    float *arrays[3] = {NULL};
    bool ok = n > 0;
    for (int i = 0; ok && i < 3; i++) {
        ok = (arrays[i] = aligned_alloc(HUGE_PAGE, bytes)) != NULL;
        if (ok)
            madvise(arrays[i], bytes, MADV_HUGEPAGE); /* fewer misses of the TLB; without it, so be it */
    }
    if (ok) {
        double best[2] = {INFINITY, INFINITY}, begin = timing_now(), piece = (double)bytes / PIECES;
        first_touch(arrays, n, threads);
        for (int round = 0; round < LEAST_ROUNDS || timing_now() - begin < seconds; round++)
            for (int copy = 0; copy < 2; copy++)
                best[copy] = fmin(best[copy], fastest_piece(arrays, n, threads, copy));
        *result = (struct roofline_bandwidth){.triad = 3 * piece / best[0],
                                              .copy = 2 * piece / best[1],
                                              .array_bytes = bytes,
                                              .beyond_cache = bytes == wanted / GRAIN * GRAIN};
    } else {
        error_set(e, ERROR_FAILED,
                  "not enough memory to measure its bandwidth: three arrays of %zu MiB are needed",
                  wanted >> 20);
    }
    for (int i = 0; i < 3; i++)
        free(arrays[i]);
    return ok;
}
