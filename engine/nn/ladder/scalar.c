/*
 * scalar.c - the lower rungs of the ladder: the definition, its loops exchanged, its loops cut into blocks.
 */
#include "engine/nn/ladder/ladder.h"

#include <string.h>

/*
 * The definition: each element of C is the inner product of a row of A and a column of B. A column's elements lie n
 * floats apart, so every one brings a whole cache line of 16 of which one is used; and each addition waits for
 * the one before it, which takes three or four cycles in which the processor could have started eight.
 */
bool ladder_naive(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    (void)e;
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
            float sum = 0;
            for (int p = 0; p < s.k; p++)
                sum += a[(size_t)i * s.k + p] * b[(size_t)p * s.n + j];
            c[(size_t)i * s.n + j] = sum;
        }
    return true;
}

/*
 * The same sums with the two inner loops exchanged: the innermost now walks along a row of B and a row of C, so a
 * cache line is used whole and the next is fetched ahead; and its additions go to different elements, so none
 * waits for another.
 */
bool ladder_order(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    (void)e;
    memset(c, 0, (size_t)s.m * s.n * sizeof *c);
    for (int i = 0; i < s.m; i++)
        for (int p = 0; p < s.k; p++) {
            float factor = a[(size_t)i * s.k + p];
            const float *from = b + (size_t)p * s.n;
            float *to = c + (size_t)i * s.n;
            for (int j = 0; j < s.n; j++)
                to[j] += factor * from[j];
        }
    return true;
}

/* --- blocks --- */

enum {
    TILE = 4,    /* 4 × 4 sums stay in registers: 16 multiply-adds for 8 loads, and no store */
    DEPTH = 256, /* 256 × 64 floats of B are 64 KiB: they stay in the second cache while all of A goes by */
    WIDTH = 64,
};

/* Adds A[rows i..i+4][p0..p1) B[p0..p1)[columns j..j+4) to a tile of C. */
static void tile(struct ladder_sizes s, const float *a, const float *b, float *c, int i, int j, int p0,
                 int p1)
{
    float sum[TILE][TILE] = {{0}};
    const float *rows[TILE];
    for (int y = 0; y < TILE; y++)
        rows[y] = a + (size_t)(i + y) * s.k;
    for (int p = p0; p < p1; p++) {
        const float *from = b + (size_t)p * s.n + j;
        for (int y = 0; y < TILE; y++)
            for (int x = 0; x < TILE; x++)
                sum[y][x] += rows[y][p] * from[x];
    }
    for (int y = 0; y < TILE; y++)
        for (int x = 0; x < TILE; x++)
            c[(size_t)(i + y) * s.n + j + x] += sum[y][x];
}

/* What is left over at the edges, where no whole tile fits. */
static void edge(struct ladder_sizes s, const float *a, const float *b, float *c, int i0, int i1, int j0,
                 int j1, int p0, int p1)
{
    for (int i = i0; i < i1; i++)
        for (int p = p0; p < p1; p++)
            for (int j = j0; j < j1; j++)
                c[(size_t)i * s.n + j] += a[(size_t)i * s.k + p] * b[(size_t)p * s.n + j];
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/*
 * The same sums in blocks: whatever is loaded is used many times before it makes room for something else. A block
 * of B is used for all rows of A while it lies in a cache (M. Lam, E. Rothberg, M. Wolf, The cache performance
 * and optimizations of blocked algorithms, ASPLOS 1991), and within it a tile of C stays in registers for the whole
 * depth: the loop before loaded B, loaded C and stored C for each multiply-add, this one loads half a float.
 */
bool ladder_blocked(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    (void)e;
    memset(c, 0, (size_t)s.m * s.n * sizeof *c);
    for (int p0 = 0; p0 < s.k; p0 += DEPTH)
        for (int j0 = 0; j0 < s.n; j0 += WIDTH) {
            int p1 = least(p0 + DEPTH, s.k), j1 = least(j0 + WIDTH, s.n);
            int jt = j0 + (j1 - j0) / TILE * TILE, it = s.m / TILE * TILE;
            for (int i = 0; i < it; i += TILE)
                for (int j = j0; j < jt; j += TILE)
                    tile(s, a, b, c, i, j, p0, p1);
            edge(s, a, b, c, 0, it, jt, j1, p0, p1);
            edge(s, a, b, c, it, s.m, j0, j1, p0, p1);
        }
    return true;
}
