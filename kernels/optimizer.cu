/*
 * One step of an optimiser over the whole parameter buffer: sgd, adam (adamw), lars, lamb; formulas in
 * engine/nn/optimizer.h.
 *
 * A block takes a piece of 2048 parameters, four neighbours a thread, and reads and writes each number once. adam moves 28 bytes a
 * parameter and computes little, so the aim is the memory's bandwidth. What depends on a norm (clip, lars, lamb) has it
 * from launches before: squares of pieces in double, pieces added up to tensors, tensors to one number, each sum in one order.
 * The norms stay on the GPU; the host is not asked in between.
 */
#include "kernels/reduce.h"

enum { WARPS = BLOCK / WARP };

/* What a thread does to each of its four, or one, neighbours. */
struct momentum_rule {
    float scale, decay, momentum, rate, ahead, behind;
    __device__ void operator()(float &w, float g, float &v, float &) const
    {
        float gi = scale * g + decay * w;
        v = momentum * v + gi;
        w -= rate * (ahead * gi + behind * v);
    }
};

struct plain_rule {
    float scale, decay, rate;
    __device__ void operator()(float &w, float g, float &, float &) const
    {
        w -= rate * (scale * g + decay * w);
    }
};

struct adam_rule {
    float scale, decay, keep, beta1, rest1, beta2, rest2, size, second_scale, epsilon;
    __device__ void operator()(float &w, float g, float &m, float &v) const
    {
        float gi = scale * g + decay * w;
        m = beta1 * m + rest1 * gi;
        v = beta2 * v + rest2 * gi * gi;
        w = keep * w - size * m / (sqrtf(v) * second_scale + epsilon);
    }
};

/* lamb moves only once it knows the norm of all directions: the moments first ... */
struct lamb_moments_rule {
    float scale, beta1, rest1, beta2, rest2;
    __device__ void operator()(float &, float g, float &m, float &v) const
    {
        float gi = scale * g;
        m = beta1 * m + rest1 * gi;
        v = beta2 * v + rest2 * gi * gi;
    }
};

/* ... and the direction both times. */
struct lamb_direction {
    float size, second_scale, epsilon, pull;
    __device__ float operator()(float w, float m, float v) const
    {
        return size * m / (sqrtf(v) * second_scale + epsilon) + pull * w;
    }
};

struct lamb_rule {
    lamb_direction direction;
    float rate;
    __device__ void operator()(float &w, float, float &m, float &v) const
    {
        w -= rate * direction(w, m, v);
    }
};

/* What of a piece is read, and what is written back. */
enum { FIRST = 1, SECOND = 2, KEEP_PARAMETERS = 4, KEEP_MOMENTS = 8 };

template <int N, int WHAT, typename RULE>
__device__ static void apply_at(const kernel_optimizer_step &s, size_t at, const RULE &rule, double &squares)
{
    pack<N> w = load<N>(s.parameters + at), g = load<N>(s.gradients + at),
            m = WHAT & FIRST ? load<N>(s.first + at) : pack<N>{},
            v = WHAT & SECOND ? load<N>(s.second + at) : pack<N>{};
#pragma unroll
    for (int k = 0; k < N; k++) {
        squares += (double)g.at[k] * (double)g.at[k];
        rule(w.at[k], g.at[k], m.at[k], v.at[k]);
    }
    if (!(WHAT & KEEP_PARAMETERS))
        store<N>(s.parameters + at, w);
    if ((WHAT & FIRST) && !(WHAT & KEEP_MOMENTS))
        store<N>(s.first + at, m);
    if ((WHAT & SECOND) && !(WHAT & KEEP_MOMENTS))
        store<N>(s.second + at, v);
}

/* Whether the piece's parts of all four buffers begin at a multiple of 16 bytes. */
__device__ static bool piece_in_fours(const kernel_optimizer_step &s, size_t offset)
{
    return (((uintptr_t)(s.parameters + offset) | (uintptr_t)(s.gradients + offset) |
             (uintptr_t)(s.first + offset) | (uintptr_t)(s.second + offset)) &
            15) == 0;
}

/* The rule over a whole piece; returns this thread's part of the squares of the gradient. */
template <int WHAT, typename RULE>
__device__ static double apply(const kernel_optimizer_step &s, const kernel_piece &p, const RULE &rule)
{
    double squares = 0;
    int done = 0;
    if (piece_in_fours(s, p.offset)) {
        done = p.elements / 4 * 4;
        for (int i = 4 * (int)threadIdx.x; i < done; i += 4 * BLOCK)
            apply_at<4, WHAT>(s, p.offset + i, rule, squares);
    }
    for (int i = done + (int)threadIdx.x; i < p.elements; i += BLOCK)
        apply_at<1, WHAT>(s, p.offset + i, rule, squares);
    return squares;
}

/* Leaves the sum over the block of what its threads found in the piece's place. */
__device__ static void keep_sum(const kernel_optimizer_step &s, enum kernel_squares which, double squares,
                                double *room)
{
    double sum = block_sum(squares, room);
    if (threadIdx.x == 0)
        s.sums[(size_t)which * s.piece_count + blockIdx.x] = sum;
    __syncthreads();
}

/* The factor that brings the gradient to the norm it is clipped to: PyTorch's clip_grad_norm_. */
__device__ static double clip_scale(const kernel_optimizer_step &s)
{
    return s.clip > 0 ? fmin(1.0, s.clip / (sqrt(*s.gradient_squares) + 1e-6)) : 1.0;
}

/* --- norms --- */

__global__ static void squares_of_pieces(kernel_optimizer_step s)
{
    SHARED(double, room, [WARPS]);
    kernel_piece p = s.pieces[blockIdx.x];
    double gradient = 0, parameter = 0;
    for (int i = (int)threadIdx.x; i < p.elements; i += BLOCK) {
        double g = s.gradients[p.offset + i], w = s.kind == KERNEL_LARS ? s.parameters[p.offset + i] : 0;
        gradient += g * g;
        parameter += w * w;
    }
    keep_sum(s, KERNEL_OF_GRADIENT, gradient, room);
    if (s.kind == KERNEL_LARS)
        keep_sum(s, KERNEL_OF_PARAMETER, parameter, room);
}

/* A block a tensor; the second extent of the grid is what the squares are of. */
__global__ static void squares_of_tensors(kernel_optimizer_step s)
{
    SHARED(double, room, [WARPS]);
    kernel_tensor t = s.tensors[blockIdx.x];
    const double *sums = s.sums + (size_t)blockIdx.y * s.piece_count + t.first_piece;
    double sum = 0;
    for (int i = (int)threadIdx.x; i < t.pieces; i += BLOCK)
        sum += sums[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0)
        s.totals[(size_t)blockIdx.y * s.tensor_count + blockIdx.x] = sum;
}

/* A block a part of the sums; the four loads of a thread do not wait for each other. */
__global__ static void sum_parts(const double *__restrict__ sums, int n, double *totals)
{
    SHARED(double, room, [WARPS]);
    int first = (int)blockIdx.x * (int)KERNEL_PART + (int)threadIdx.x;
    double sum = 0;
#pragma unroll
    for (int k = 0; k < (int)KERNEL_PART / (int)BLOCK; k++)
        sum += first + k * (int)BLOCK < n ? sums[first + k * (int)BLOCK] : 0;
    sum = block_sum(sum, room);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = sum;
}

/* Sums of parts lie behind the whole one. Parts of parts go on until one is left: one launch below two million parameters. */
static void sum_all(const kernel_optimizer_step *s, cudaStream_t stream)
{
    const double *from = s->sums;
    double *room = s->gradient_squares + 1;
    int n = s->piece_count;
    while (n > KERNEL_PART) {
        int parts = ceil_div(n, KERNEL_PART);
        LAUNCH(sum_parts, parts, BLOCK, 0, stream, from, n, room);
        from = room;
        room += parts;
        n = parts;
    }
    LAUNCH(sum_parts, 1, BLOCK, 0, stream, from, n, s->gradient_squares);
}

/* --- steps --- */

/* sgd and lars, whose rate is inside the momentum: what was gathered keeps the rate of its time. */
__device__ static momentum_rule momentum_of(const kernel_optimizer_step &s, int tensor)
{
    double scale = clip_scale(s), rate = s.lr, decay = s.weight_decay;
    if (s.kind != KERNEL_LARS)
        return {(float)scale, (float)decay, s.momentum, (float)rate, s.ahead, s.behind};
    if (s.tensors[tensor].adapts) {
        double w = sqrt(s.totals[(size_t)KERNEL_OF_PARAMETER * s.tensor_count + tensor]),
               g = scale * sqrt(s.totals[(size_t)KERNEL_OF_GRADIENT * s.tensor_count + tensor]);
        rate *= w > 0 && g > 0 ? s.trust * w / (g + decay * w) : 1;
    } else
        decay = 0;
    return {(float)(rate * scale), (float)(rate * decay), s.momentum, 1, s.ahead, s.behind};
}

__global__ static void momentum_step(kernel_optimizer_step s)
{
    SHARED(double, room, [WARPS]);
    SHARED(momentum_rule, rule, [1]);
    kernel_piece p = s.pieces[blockIdx.x];
    if (threadIdx.x == 0)
        rule[0] = momentum_of(s, p.tensor);
    __syncthreads();
    momentum_rule r = rule[0];
    double squares = s.first ? apply<FIRST>(s, p, r) : apply<0>(s, p, plain_rule{r.scale, r.decay, r.rate});
    keep_sum(s, KERNEL_OF_GRADIENT, squares, room);
}

__global__ static void adam_step(kernel_optimizer_step s)
{
    SHARED(double, room, [WARPS]);
    SHARED(float, scale, [1]);
    if (threadIdx.x == 0)
        scale[0] = (float)clip_scale(s);
    __syncthreads();
    adam_rule rule = {scale[0], s.decay, s.keep, s.beta1,        s.rest1,
                      s.beta2,  s.rest2, s.size, s.second_scale, s.epsilon};
    keep_sum(s, KERNEL_OF_GRADIENT, apply<FIRST | SECOND>(s, s.pieces[blockIdx.x], rule), room);
}

__device__ static lamb_direction direction_of(const kernel_optimizer_step &s, int tensor)
{
    return {s.size, s.second_scale, s.epsilon, s.tensors[tensor].adapts ? (float)s.weight_decay : 0};
}

__global__ static void lamb_moments(kernel_optimizer_step s)
{
    SHARED(double, room, [WARPS]);
    SHARED(float, scale, [1]);
    kernel_piece p = s.pieces[blockIdx.x];
    if (threadIdx.x == 0)
        scale[0] = (float)clip_scale(s);
    __syncthreads();
    lamb_moments_rule rule = {scale[0], s.beta1, s.rest1, s.beta2, s.rest2};
    keep_sum(s, KERNEL_OF_GRADIENT, apply<FIRST | SECOND | KEEP_PARAMETERS>(s, p, rule), room);
    lamb_direction direction = direction_of(s, p.tensor);
    double parameter = 0, squares = 0;
    for (int i = (int)threadIdx.x; i < p.elements; i += BLOCK) {
        size_t at = p.offset + i;
        float w = s.parameters[at], r = direction(w, s.first[at], s.second[at]);
        parameter += (double)w * (double)w;
        squares += (double)r * (double)r;
    }
    keep_sum(s, KERNEL_OF_PARAMETER, parameter, room);
    keep_sum(s, KERNEL_OF_DIRECTION, squares, room);
}

__global__ static void lamb_step(kernel_optimizer_step s)
{
    SHARED(float, rate, [1]);
    kernel_piece p = s.pieces[blockIdx.x];
    if (threadIdx.x == 0) {
        double parameter = s.totals[(size_t)KERNEL_OF_PARAMETER * s.tensor_count + p.tensor],
               direction = s.totals[(size_t)KERNEL_OF_DIRECTION * s.tensor_count + p.tensor];
        bool adapts = s.tensors[p.tensor].adapts && parameter > 0 && direction > 0;
        rate[0] = (float)(s.lr * (adapts ? sqrt(parameter) / sqrt(direction) : 1));
    }
    __syncthreads();
    lamb_rule rule = {direction_of(s, p.tensor), rate[0]};
    apply<FIRST | SECOND | KEEP_MOMENTS>(s, p, rule);
}

static void add_up(const kernel_optimizer_step *s, cudaStream_t stream)
{
    LAUNCH(squares_of_tensors, dim3(s->tensor_count, KERNEL_SQUARES), BLOCK, 0, stream, *s);
}

extern "C" void kernel_optimize(const struct kernel_optimizer_step *s, cudaStream_t stream)
{
    bool norms = s->clip > 0 || s->kind == KERNEL_LARS;
    if (norms) {
        LAUNCH(squares_of_pieces, s->piece_count, BLOCK, 0, stream, *s);
        sum_all(s, stream);
    }
    switch (s->kind) {
    case KERNEL_LARS: add_up(s, stream); /* fall through */
    case KERNEL_SGD: LAUNCH(momentum_step, s->piece_count, BLOCK, 0, stream, *s); break;
    case KERNEL_ADAM: LAUNCH(adam_step, s->piece_count, BLOCK, 0, stream, *s); break;
    case KERNEL_LAMB:
        LAUNCH(lamb_moments, s->piece_count, BLOCK, 0, stream, *s);
        add_up(s, stream);
        LAUNCH(lamb_step, s->piece_count, BLOCK, 0, stream, *s);
        break;
    }
    if (!norms)
        sum_all(s, stream);
}
