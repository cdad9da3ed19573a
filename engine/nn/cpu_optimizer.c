/* The optimisers: one pass over all parameters. */
#include "engine/nn/cpu.h"

#include <math.h>

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 15, CHUNK = 4096 };

static size_t chunk_size(size_t n, size_t begin)
{
    return n - begin < CHUNK ? n - begin : CHUNK;
}

/* rest1 = 1 - beta1 and rest2 = 1 - beta2, subtracted in double: in floats 1 - 0.999 is wrong in its fifth digit. */
struct adam_factors {
    float beta1, rest1, beta2, rest2, step_size, second_scale, epsilon;
};

CPU_KERNEL static double adam_chunk(const struct adam_factors *f, float *restrict w, const float *restrict g,
                                    float *restrict m, float *restrict v, size_t n)
{
    float b1 = f->beta1, r1 = f->rest1, b2 = f->beta2, r2 = f->rest2, size = f->step_size,
          scale = f->second_scale, epsilon = f->epsilon;
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < n; i++) {
        float gi = g[i];
        squares += (double)gi * gi;
        m[i] = b1 * m[i] + r1 * gi;
        v[i] = b2 * v[i] + r2 * gi * gi;
        w[i] -= size * m[i] / (sqrtf(v[i]) * scale + epsilon);
    }
    return squares;
}

/* As PyTorch computes it: w -= lr / (1 - b1^t) · m / (sqrt(v) / sqrt(1 - b2^t) + epsilon). */
bool cpu_adam(struct backend *b, const struct adam_step *step, float *parameters, const float *gradients,
              float *first, float *second, size_t n, double *gradient_squares, struct error *e)
{
    (void)e;
    struct adam_factors f = {.beta1 = (float)step->beta1,
                             .rest1 = (float)(1 - step->beta1),
                             .beta2 = (float)step->beta2,
                             .rest2 = (float)(1 - step->beta2),
                             .step_size = (float)(step->lr / (1 - pow(step->beta1, (double)step->step))),
                             .second_scale = (float)(1 / sqrt(1 - pow(step->beta2, (double)step->step))),
                             .epsilon = (float)step->epsilon};
    double squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : squares) num_threads(b->threads) \
    if (b->threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        squares += adam_chunk(&f, parameters + i, gradients + i, first + i, second + i, chunk_size(n, i));
    *gradient_squares = squares;
    return true;
}

CPU_KERNEL static double sgd_chunk(float lr, float momentum, float *restrict w, const float *restrict g,
                                   float *restrict v, size_t n)
{
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < n; i++) {
        squares += (double)g[i] * g[i];
        v[i] = momentum * v[i] + g[i];
        w[i] -= lr * v[i];
    }
    return squares;
}

/* As PyTorch: v = momentum · v + g; w -= lr · v. */
bool cpu_sgd(struct backend *b, double lr, double momentum, float *parameters, const float *gradients,
             float *velocity, size_t n, double *gradient_squares, struct error *e)
{
    (void)e;
    double squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : squares) num_threads(b->threads) \
    if (b->threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        squares += sgd_chunk((float)lr, (float)momentum, parameters + i, gradients + i, velocity + i,
                             chunk_size(n, i));
    *gradient_squares = squares;
    return true;
}
