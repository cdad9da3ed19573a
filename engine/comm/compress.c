#include "engine/comm/compress.h"

#include "engine/comm/comm_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 16384, /* floats that are compared at once, at most */
    BLOCK = 16384,  /* floats that are unpacked at once and looked at while they are in the cache */
};

/* Numbers that became 0, and those that were not 0 before. */
struct losses {
    double lost, there;
};

struct compressor {
    struct comm *comm;
    const struct element *type;
    size_t most;
    float *packed;    /* of comm: n elements of the type */
    float *sample;    /* the same numbers summed as floats */
    double off, size; /* squares of the differences, and of the sums */
    struct losses losses;
};

struct compressor *compressor_new(struct comm *c, const struct element *type, size_t most, struct error *e)
{
    struct compressor *z = calloc(1, sizeof *z);
    float *packed = comm_buffer(c, (most * type->bytes + sizeof(float) - 1) / sizeof(float), e);
    float *sample = malloc(SAMPLE * sizeof *sample);
    if (!z || !packed || !sample) {
        if (packed)
            error_set(e, ERROR_FAILED, "out of memory for gradients of 16 bits");
        comm_buffer_free(c, packed);
        free(sample);
        free(z);
        return NULL;
    }
    *z = (struct compressor){.comm = c, .type = type, .most = most, .packed = packed, .sample = sample};
    return z;
}

void compressor_free(struct compressor *z)
{
    if (!z)
        return;
    comm_buffer_free(z->comm, z->packed);
    free(z->sample);
    free(z);
}

bool compressor_figures(struct compressor *z, struct compression_figures *f)
{
    if (z->size == 0 && z->off == 0)
        return false;
    f->error = z->size > 0 ? sqrt(z->off / z->size) : INFINITY;
    f->lost = z->losses.there > 0 ? z->losses.lost / z->losses.there : 0;
    z->off = z->size = 0;
    z->losses = (struct losses){0};
    return true;
}

/* Which numbers are compared: every step-th. */
static size_t stride_of(size_t n)
{
    return n / SAMPLE + 1;
}

/* The sums of some of x as floats, and what the type makes of this rank's part. */
static bool take_sample(struct compressor *z, const char *algo, const float *x, size_t n, struct losses *part,
                        struct error *e)
{
    size_t stride = stride_of(n), count = 0;
    for (size_t i = 0; i < n; i += stride) {
        z->sample[count++] = x[i];
        part->there += x[i] != 0;
        part->lost += x[i] != 0 && z->type->get(z->packed, i) == 0;
    }
    double sent = z->comm->sent_bytes; /* this is no part of what the sum costs */
    bool ok = comm_allreduce(z->comm, algo, z->sample, count, NULL, e);
    z->comm->sent_bytes = sent;
    return ok;
}

static void compare(struct compressor *z, const float *x, size_t n, const struct losses *part)
{
    z->losses.lost += part->lost;
    z->losses.there += part->there;
    size_t stride = stride_of(n);
    for (size_t i = 0, k = 0; i < n; i += stride, k++) {
        double exact = (double)z->sample[k], off = (double)x[i] - exact;
        z->off += off * off;
        z->size += exact * exact;
    }
}

/* A loop that becomes vectors: the sum of zeros, or not a number where one of x is not finite. */
static bool all_finite(const float *x, size_t n)
{
    float zero = 0;
    for (size_t i = 0; i < n; i++)
        zero += x[i] * 0;
    return zero == 0;
}

/* The sum is not finite, on all ranks alike: was it so before, on any of them? */
static bool blame(struct compressor *z, bool finite_here, struct error *e)
{
    double broken = !finite_here;
    if (!comm_max_double(z->comm, &broken, 1, e))
        return false;
    if (broken > 0)
        return true; /* the training has diverged, and says so itself */
    return error_set(e, ERROR_FAILED,
                     z->type == &element_f16
                         ? "a sum of gradients became larger than 65504, the largest number of fp16: take "
                           "--compress bf16, whose numbers reach as far as float32's, or none"
                         : "a sum of gradients became too large for bf16: the training diverges");
}

bool comm_allreduce_compressed(struct compressor *z, const char *algo, float *x, size_t n, bool measure,
                               struct hop_log *log, struct error *e)
{
    if (n > z->most)
        return error_set(e, ERROR_INPUT, "%zu floats are to be compressed where at most %zu were announced",
                         n, z->most);
    struct losses part = {0};
    z->type->pack(z->packed, x, n);
    if (measure && n > 0 && !take_sample(z, algo, x, n, &part, e))
        return false;
    if (!comm_allreduce_to(z->comm, algo, z->type, z->packed, z->packed, n, log, e))
        return false;
    bool before = true, finite = true; /* whether x is, while it is still there, and the sum */
    for (size_t done = 0, length; done < n; done += length) {
        length = n - done < BLOCK ? n - done : BLOCK;
        before = before && all_finite(x + done, length);
        z->type->unpack(x + done, (const char *)z->packed + done * z->type->bytes, length);
        finite = finite && all_finite(x + done, length);
    }
    if (!finite && !blame(z, before, e))
        return false;
    if (measure && finite)
        compare(z, x, n, &part);
    return true;
}
