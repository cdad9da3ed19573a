/*
 * ladder.c - the rungs in order, timed and held against float64.
 */
#include "engine/nn/ladder/ladder.h"

#include "engine/base/random.h"
#include "engine/base/timing.h"
#include "engine/nn/cpu.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { LEAST_TIMES = 3, MOST_TIMES = 101, CHECKED_ROWS = 64 };

const struct ladder_rung ladder_rungs[LADDER_RUNGS] = {
    {"naive", "the definition: a row of A times a column of B", ladder_naive},
    {"loop order", "walks along rows, so that cache lines are used whole and no addition waits for another",
     ladder_order},
    {"blocked", "uses what lies in registers and caches many times before it goes", ladder_blocked},
    {"vectorised", "eight multiply-adds in one instruction, on data packed in the order they are read",
     ladder_vectorised},
    {"oneDNN", "a library's code, made for this processor", ladder_library},
};

double ladder_flops(struct ladder_sizes s)
{
    return 2.0 * s.m * s.n * s.k;
}

double ladder_bytes(struct ladder_sizes s)
{
    return sizeof(float) * ((double)s.m * s.k + (double)s.k * s.n + (double)s.m * s.n);
}

/*
 * The largest error of some rows of C, relative to |a| |b| summed. A sum of k products in any order, fused or not,
 * is off by at most k eps/2 of that, eps = 2^-23 (N. J. Higham, Accuracy and stability of numerical algorithms,
 * section 3.1).
 */
double ladder_error(int n, const float *a, const float *b, const float *c, double *room)
{
    double *sums = room, *sizes = room + n, worst = 0;
    int step = n > CHECKED_ROWS ? n / CHECKED_ROWS : 1;
    for (int i = 0; i < n; i += step) {
        for (int j = 0; j < n; j++)
            sums[j] = sizes[j] = 0;
        for (int p = 0; p < n; p++) {
            double factor = a[(size_t)i * n + p];
            for (int j = 0; j < n; j++) {
                double product = factor * b[(size_t)p * n + j];
                sums[j] += product;
                sizes[j] += fabs(product);
            }
        }
        for (int j = 0; j < n; j++) {
            double off = fabs(c[(size_t)i * n + j] - sums[j]) / (sizes[j] > 0 ? sizes[j] : 1);
            if (!(off <= worst)) /* not a number is the worst */
                worst = isnan(off) ? INFINITY : off;
        }
    }
    return worst;
}

static bool measure(const struct ladder_rung *rung, int n, double seconds, float *matrices, double *sums,
                    struct ladder_result *result, struct error *e)
{
    size_t elements = (size_t)n * n;
    float *a = matrices, *b = a + elements, *c = b + elements;
    struct ladder_sizes s = {n, n, n};
    struct random values = random_stream(1, 1, 0);
    for (size_t i = 0; i < 2 * elements; i++)
        a[i] = random_uniform(&values, -1, 1);
    for (size_t i = 0; i < elements; i++)
        c[i] = NAN;                    /* a rung that leaves an element out is found */
    if (!rung->product(s, a, b, c, e)) /* warms up, too */
        return false;
    result->error = ladder_error(n, a, b, c, sums);
    result->bound = n * 0.5 * (double)FLT_EPSILON;
    double times[MOST_TIMES], begin = timing_now();
    int count = 0;
    while (count < LEAST_TIMES || (count < MOST_TIMES && timing_now() - begin < seconds)) {
        double start = timing_now();
        if (!rung->product(s, a, b, c, e))
            return false;
        times[count++] = timing_now() - start;
    }
    result->time_s = timing_median(times, count);
    result->times = count;
    return true;
}

bool ladder_measure(const struct ladder_rung *rung, int n, double seconds, struct ladder_result *result,
                    struct error *e)
{
    float *matrices = cpu_floats(3 * (size_t)n * n * sizeof *matrices, e);
    double *sums = malloc(2 * (size_t)n * sizeof *sums);
    if (matrices && !sums)
        error_set(e, ERROR_FAILED, "not enough memory for matrices of %d × %d", n, n);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* the rungs below oneDNN's have one; the ladder compares code, not cores */
    bool ok = matrices && sums && measure(rung, n, seconds, matrices, sums, result, e);
    omp_set_num_threads(threads);
    free(matrices);
    free(sums);
    return ok;
}
