/*
 * cpu_math.h - exp, tanh, sigmoid and the normal distribution, eight floats at a time. Private to
 * engine/nn/cpu*.c.
 *
 * The argument is reduced as W. Cody and W. Waite do it (Software manual for the elementary functions, 1980):
 * x = n ln 2 + r, so that exp(x) = 2ⁿ exp(r) with |r| <= ln 2 / 2. The polynomials are minimax fits of our
 * own (Lawson's algorithm on Chebyshev points). Errors over all floats: exp below 1e-7 of the value, sigmoid
 * and tanh 2e-7 of it, the distribution 3e-7 and its density 1e-7 absolutely (tests/unit/nn/test_math.c).
 * What is no number stays none.
 */
#ifndef RINGSIDE_NN_CPU_MATH_H
#define RINGSIDE_NN_CPU_MATH_H

#include "engine/nn/cpu_lanes.h"

/* exp(x) = scale · (1 + rest): rest keeps what would drown beside the 1. x must be in [-87, 88]. */
LANES_INLINE lanes lanes_exp_parts(lanes x, lanes *scale)
{
    const float to_whole = 0x1.8p23f; /* added to it, a small number is rounded to a whole one */
    lanes shifted = x * 0x1.715476p0f + to_whole, n = shifted - to_whole;
    lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    *scale = (lanes)(((lane_bits)shifted << 23) + (127u << 23));
    lanes p = r * 0.00138823958f + 0.00836718086f;
    p = p * r + 0.0416672213f;
    p = p * r + 0.166665387f;
    p = p * r + 0.49999998f;
    return p * r * r + r;
}

/* From x = -87 on downwards, and 88 on upwards, that of these. */
LANES_INLINE lanes lanes_exp(lanes x)
{
    lanes scale, rest = lanes_exp_parts(lanes_clamp(x, -87, 88), &scale);
    return scale * rest + scale;
}

LANES_INLINE lanes lanes_sigmoid(lanes x)
{
    return 1 / (1 + lanes_exp(-x));
}

/* (exp(2x) - 1) / (exp(2x) + 1). From 9 on it is 1 to a float's precision. */
LANES_INLINE lanes lanes_tanh(lanes x)
{
    lanes scale, rest = lanes_exp_parts(2 * lanes_clamp(x, -9.1f, 9.1f), &scale);
    lanes minus_one = scale * rest + (scale - 1);
    return minus_one / (minus_one + 2);
}

/*
 * Φ(x), and φ(x) in *density. Beyond 0 the tail is φ-like times a smooth function: of t = 1 / (1 + 0.3 |x|),
 * as C. Hastings has it (Approximations for digital computers, 1955), with more terms.
 */
LANES_INLINE lanes lanes_normal(lanes x, lanes *density)
{
    lanes size = lanes_select(x < 0, -x, x), t = 1 / (1 + 0.3f * size), bell = lanes_exp(-0.5f * size * size);
    lanes p = t * -0.00627283575f + 0.071179763f;
    p = p * t - 0.24316644f;
    p = p * t + 0.322973768f;
    p = p * t - 0.151168316f;
    p = p * t + 0.180521576f;
    p = p * t + 0.0822876079f;
    p = p * t + 0.124418245f;
    p = p * t + 0.119205925f;
    p = p * t + 2.07208612e-05f;
    *density = 0.398942280f * bell;
    return lanes_select(x < 0, bell * p, 1 - bell * p);
}

#endif
