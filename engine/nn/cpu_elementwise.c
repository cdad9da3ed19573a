#include "engine/nn/cpu.h"

#include <math.h>

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 15, CHUNK = 4096 };

CPU_KERNEL static void relu_forward(const float *restrict in, float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] > 0 ? in[i] : 0;
}

CPU_KERNEL static void relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n)
{
#pragma omp simd /* grad_in may be grad_out: element by element that is harmless */
    for (size_t i = 0; i < n; i++)
        grad_in[i] = value[i] > 0 ? grad_out[i] : 0;
}

static size_t chunk_size(size_t n, size_t begin)
{
    return n - begin < CHUNK ? n - begin : CHUNK;
}

void cpu_relu_forward(const float *in, float *out, size_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        relu_forward(in + i, out + i, chunk_size(n, i));
}

void cpu_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        relu_backward(value + i, grad_out + i, grad_in + i, chunk_size(n, i));
}

/* The logits are moved by their maximum first, so that no exponential overflows. */
bool cpu_loss(struct stage *last, const uint8_t *labels, int rows, double scale, struct loss_sum *sum,
              uint8_t *predicted, struct error *e)
{
    int classes = last->spec.out.channels;
    *sum = (struct loss_sum){.rows = rows};
    if (scale > 0 && !last->grad && !(last->grad = cpu_floats(last->layout.bytes, e)))
        return false;
    for (int r = 0; r < last->spec.batch; r++) {
        const float *logits = last->value + (size_t)r * (size_t)classes;
        float *grad = scale > 0 ? last->grad + (size_t)r * (size_t)classes : NULL;
        if (r >= rows) {
            for (int c = 0; grad && c < classes; c++)
                grad[c] = 0;
            continue;
        }
        int best = 0;
        for (int c = 1; c < classes; c++)
            if (logits[c] > logits[best])
                best = c;
        double total = 0;
        for (int c = 0; c < classes; c++)
            total += exp((double)logits[c] - logits[best]);
        sum->loss += log(total) + logits[best] - logits[labels[r]];
        sum->correct += best == labels[r];
        if (predicted)
            predicted[r] = (uint8_t)best;
        for (int c = 0; grad && c < classes; c++)
            grad[c] =
                (float)(scale * (exp((double)logits[c] - logits[best]) / total - (c == labels[r] ? 1 : 0)));
    }
    return true;
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
