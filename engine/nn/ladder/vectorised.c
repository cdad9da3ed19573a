/*
 * vectorised.c - the rung where the processor's vector units do the work: the blocked product again, with a tile of
 * vectors for a tile of floats, and both matrices copied into the order in which they are read.
 *
 * The scheme is that of K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS
 * 34 (2008): a panel of B for the third cache, a block of A for the second, a strip of B for the first, a tile
 * of C in registers. Copying ("packing") costs a pass over each matrix and pays: every load in the innermost loop
 * takes the next bytes, no two lines fall on each other in a cache, no page is missed in the TLB.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"
#include "engine/nn/ladder/ladder.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Of C in registers: 6 rows of 2 vectors, 12 sums. Two units that start one multiply-add a cycle and take four
     * cycles for it need 8 independent sums to stay busy; with 2 vectors of B and one of A that fills AVX2's 16. */
    ROWS = 6,
    VECTORS = 2,
    COLUMNS = VECTORS * LANES,
    /* A block of A: 96 × 256 floats, 96 KiB of the second cache. A strip of B: 256 × 16 floats, 16 KiB of the first. */
    BLOCK_ROWS = 16 * ROWS,
    DEPTH = 256,
    /* A panel of B: 256 × 2048 floats, 2 MiB of the third. */
    PANEL = 128 * COLUMNS,
};

/*
 * A tile's sums over `depth`: a holds ROWS floats for each step of it, b COLUMNS. The loops over the tile are written
 * out by the compiler: only then can it keep the sums in registers.
 */
LANES_INLINE void multiply(int depth, const float *a, const float *b, lanes out[ROWS][VECTORS])
{
    lanes sum[ROWS][VECTORS] = {{{0}}};
    for (int p = 0; p < depth; p++, a += ROWS, b += COLUMNS) {
        lanes left = lanes_load(b), right = lanes_load(b + LANES);
#pragma GCC unroll 6
        for (int y = 0; y < ROWS; y++) {
            sum[y][0] += a[y] * left;
            sum[y][1] += a[y] * right;
        }
    }
#pragma GCC unroll 6
    for (int y = 0; y < ROWS; y++) {
        out[y][0] = sum[y][0];
        out[y][1] = sum[y][1];
    }
}

/* rows × columns of a tile are added to C; the others were computed with zeros. */
LANES_INLINE void add_tile(lanes sum[ROWS][VECTORS], float *c, size_t stride, int rows, int columns)
{
    for (int y = 0; y < rows; y++, c += stride) {
        float line[COLUMNS];
        if (columns == COLUMNS) {
            lanes_store(c, lanes_load(c) + sum[y][0]);
            lanes_store(c + LANES, lanes_load(c + LANES) + sum[y][1]);
            continue;
        }
        lanes_store(line, sum[y][0]);
        lanes_store(line + LANES, sum[y][1]);
        for (int x = 0; x < columns; x++)
            c[x] += line[x];
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* A block of A times a panel of B, both packed, added to C. */
CPU_KERNEL static void block_times_panel(int rows, int columns, int depth, const float *a, const float *b,
                                         float *c, size_t stride)
{
    for (int j = 0; j < columns; j += COLUMNS)
        for (int i = 0; i < rows; i += ROWS) {
            lanes sum[ROWS][VECTORS];
            multiply(depth, a + (size_t)i * depth, b + (size_t)j * depth, sum);
            add_tile(sum, c + (size_t)i * stride + j, stride, least(ROWS, rows - i),
                     least(COLUMNS, columns - j));
        }
}

/* Strips of `width` columns of B (rows of `stride`), one below the other, the last filled up with zeros. */
static void pack_panel(float *to, const float *b, size_t stride, int depth, int columns)
{
    for (int j = 0; j < columns; j += COLUMNS) {
        int width = least(COLUMNS, columns - j);
        for (int p = 0; p < depth; p++, to += COLUMNS) {
            memcpy(to, b + (size_t)p * stride + j, (size_t)width * sizeof *to);
            memset(to + width, 0, (size_t)(COLUMNS - width) * sizeof *to);
        }
    }
}

/* Strips of ROWS rows of A, each column's elements side by side, the last filled up with zeros. */
static void pack_block(float *to, const float *a, size_t stride, int rows, int depth)
{
    for (int i = 0; i < rows; i += ROWS)
        for (int p = 0; p < depth; p++)
            for (int y = 0; y < ROWS; y++)
                *to++ = i + y < rows ? a[(size_t)(i + y) * stride + p] : 0;
}

bool ladder_vectorised(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    float *panel = cpu_floats((size_t)PANEL * DEPTH * sizeof *panel, e);
    float *block = cpu_floats((size_t)BLOCK_ROWS * DEPTH * sizeof *block, e);
    bool ok = panel && block;
    if (ok)
        memset(c, 0, (size_t)s.m * s.n * sizeof *c);
    for (int j = 0; ok && j < s.n; j += PANEL)
        for (int p = 0; p < s.k; p += DEPTH) {
            int columns = least(PANEL, s.n - j), depth = least(DEPTH, s.k - p);
            pack_panel(panel, b + (size_t)p * s.n + j, (size_t)s.n, depth, columns);
            for (int i = 0; i < s.m; i += BLOCK_ROWS) {
                int rows = least(BLOCK_ROWS, s.m - i);
                pack_block(block, a + (size_t)i * s.k + p, (size_t)s.k, rows, depth);
                block_times_panel(rows, columns, depth, block, panel, c + (size_t)i * s.n + j, (size_t)s.n);
            }
        }
    free(panel);
    free(block);
    return ok;
}
