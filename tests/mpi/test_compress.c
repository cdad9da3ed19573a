/*
 * Gradients that travel as 16 bits: the sum is what rounding to the type explains and the same bits on all ranks,
 * half the bytes are sent, what is measured is what is so, and what the type cannot hold is named.
 */
#include "engine/comm/compress.h"
#include "tests/mpi/tap.h"

#include <math.h>

enum { LENGTH = 100003 };

/* Different on each rank, of several magnitudes, and exactly known. */
static float value_of(int rank, size_t i)
{
    unsigned h = (unsigned)(i * 2654435761u) ^ (unsigned)(rank * 40503 + 977);
    h = (h ^ h >> 15) * 2246822519u;
    return ldexpf((float)((int)(h >> 8 & 0xffff) - 32768), -20 - (int)(h & 3));
}

static uint64_t hash_of(const float *x, size_t n)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n * sizeof *x; i++)
        hash = (hash ^ ((const unsigned char *)x)[i]) * 1099511628211u;
    return hash;
}

/* The ranks' words are all the same. */
static bool agree(struct tap *tap, uint64_t word, struct error *e)
{
    double most[2] = {(double)(word >> 32), -(double)(word >> 32)};
    double rest[2] = {(double)(uint32_t)word, -(double)(uint32_t)word};
    return comm_max_double(tap->comm, most, 2, e) && comm_max_double(tap->comm, rest, 2, e) &&
           most[0] == -most[1] && rest[0] == -rest[1];
}

static void test_sum(struct tap *tap, const struct element *type, const char *algo)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    float *x = comm_buffer(tap->comm, LENGTH, &e);
    struct compressor *z = compressor_new(tap->comm, type, LENGTH, &e);
    bool ok = x && z;
    for (size_t i = 0; ok && i < LENGTH; i++)
        x[i] = value_of(rank, i);
    comm_take_sent_bytes(tap->comm);
    ok = ok && comm_allreduce_compressed(z, algo, x, LENGTH, true, NULL, &e);
    double sent = comm_take_sent_bytes(tap->comm), off = 0, size = 0, worst = 0;
    for (size_t i = 0; ok && i < LENGTH; i++) {
        double exact = 0, sizes = 0;
        for (int r = 0; r < ranks; r++) {
            exact += (double)value_of(r, i);
            sizes += fabs((double)value_of(r, i));
        }
        double error = (double)x[i] - exact;
        off += error * error;
        size += exact * exact;
        if (sizes > 0)
            worst = fmax(worst, fabs(error) / sizes);
    }
    /* Each number is rounded once, and each of n - 1 additions: half a last bit of what has been summed so far. */
    double bound = ranks * 0.5 * type->epsilon * (1 + type->epsilon * ranks);
    char name[128], detail[200];
    snprintf(name, sizeof name, "%s as %s: what rounding explains", algo, type->name);
    snprintf(detail, sizeof detail, "off by %.3g of the summands, not %.3g; %.100s", worst, bound, e.text);
    tap_check(tap, name, ok && worst <= bound, detail);
    snprintf(name, sizeof name, "%s as %s: the same bits on all ranks", algo, type->name);
    tap_check(tap, name, agree(tap, ok ? hash_of(x, LENGTH) : 0, &e), e.text);
    struct compression_figures f = {0};
    bool measured = ok && compressor_figures(z, &f);
    double relative = sqrt(off / size);
    snprintf(name, sizeof name, "%s as %s: the error that is measured is the error", algo, type->name);
    snprintf(detail, sizeof detail, "%.3g was measured, it is %.3g, lost %.3g", f.error, relative, f.lost);
    tap_check(tap, name, measured && f.error > 0.9 * relative && f.error < 1.1 * relative && f.lost == 0,
              detail);
    tap_check(tap, "and nothing is told twice", !z || !compressor_figures(z, &f), NULL);
    if (strcmp(algo, "ring") == 0) {
        double expected = 2.0 * (ranks - 1) / ranks * LENGTH * 2;
        snprintf(detail, sizeof detail, "%.0f bytes, not %.0f", sent, expected);
        tap_check(tap, "a ring sends 2(n-1)/n of two bytes for each number", fabs(sent - expected) < 0.5,
                  detail);
    } else if (strcmp(algo, "mpi") == 0) {
        tap_check(tap, "of MPI's own nobody knows what it sends", isnan(sent), NULL);
    }
    compressor_free(z);
    comm_buffer_free(tap->comm, x);
}

/* What float16 cannot hold, and bfloat16 can. */
static void test_limits(struct tap *tap, const struct element *type)
{
    struct error e = {0};
    bool half = type == &element_f16;
    int ranks = comm_size(tap->comm);
    struct compressor *z = compressor_new(tap->comm, type, 64, &e);
    float x[64] = {0};
    char name[128];
    x[3] = 50000; /* fits; of two ranks the sum does not */
    bool ok = z && comm_allreduce_compressed(z, "ring", x, 64, false, NULL, &e);
    bool too_large = half && ranks > 1;
    snprintf(name, sizeof name, "%s: a sum beyond 65504 is %s", type->name, half ? "named" : "fine");
    tap_check(tap, name, too_large ? !ok && strstr(e.text, "take --compress bf16") : ok && x[3] > 49000,
              e.text);
    memset(x, 0, sizeof x);
    x[5] = comm_rank(tap->comm) == ranks - 1 ? INFINITY
                                             : 1; /* the training has diverged: that is not ours to tell */
    ok = z && comm_allreduce_compressed(z, "ring", x, 64, true, NULL, &e);
    snprintf(name, sizeof name, "%s: what was infinite before stays so", type->name);
    tap_check(tap, name, ok && isinf(x[5]) && x[4] == 0, e.text);
    struct compression_figures f = {0};
    if (z)
        compressor_figures(z, &f);
    for (int i = 0; i < 64; i++)
        x[i] = i % 4 == 0 ? 1e-8f : i % 4 == 1 ? 0 : 0.25f;
    ok = z && comm_allreduce_compressed(z, "ring", x, 64, true, NULL, &e) && compressor_figures(z, &f);
    double lost = half ? 1 / 3.0 : 0; /* of three that are not 0 */
    snprintf(name, sizeof name, "%s: small numbers that became 0 are counted", type->name);
    tap_check(tap, name, ok && fabs(f.lost - lost) < 1e-9 && x[2] == 0.25f * (float)ranks, e.text);
    ok = z && comm_allreduce_compressed(z, "ring", x, 0, true, NULL, &e) &&
         !comm_allreduce_compressed(z, "ring", x, 65, false, NULL, &e);
    tap_check(tap, "no numbers are fine, more than announced are not", ok && e.kind == ERROR_INPUT, e.text);
    compressor_free(z);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    static const char *const algos[] = {"ring", "tree", "shm", "mpi", "auto"};
    for (size_t i = 0; i < sizeof algos / sizeof *algos; i++)
        if (strcmp(algos[i], "shm") != 0 || comm_shares_memory(tap.comm)) {
            test_sum(&tap, &element_f16, algos[i]);
            test_sum(&tap, &element_bf16, algos[i]);
        }
    test_limits(&tap, &element_f16);
    test_limits(&tap, &element_bf16);
    return tap_close(&tap);
}
