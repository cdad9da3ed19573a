/*
 * soak.c - random collectives, one after the other: `mpirun -n RANKS soak SEED FIRST COUNT [RATE LATENCY]`.
 *
 * Case number i is the same wherever it is run with the same seed and number of ranks: operation, algorithm, type,
 * length, in place or not, kind of buffer, and the numbers, which every rank knows of every other. Small integers, whose
 * sums the type holds exactly, or fractions, whose sums may be off by what rounding explains. RATE and LATENCY slow
 * the link down on purpose. Rank 0 tells each case before it begins, so that the last line names one that hangs; a
 * wrong result ends the program with status 1.
 */
#include "engine/comm/comm.h"
#include "engine/comm/compress.h"
#include "engine/spec/schedule.h"
#include "engine/spec/slow_link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 20, LONGEST_SLOW = 1 << 15 };

struct soak {
    struct comm *comm;
    uint64_t seed, state;
    bool slowed;
};

struct one {
    enum collective op;
    char algo[32];
    const struct element *type;
    size_t n;
    bool inplace, shared, exact, compressed;
    uint64_t numbers; /* seed of them */
};

/* splitmix64 (S. Vigna). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static unsigned draw(struct soak *s, unsigned below)
{
    s->state += 0x9e3779b97f4a7c15ull;
    return (unsigned)(mix(s->state) % below);
}

/* Element i of a rank, as the type holds it. */
static double number(const struct one *c, int rank, size_t i)
{
    uint64_t z = mix(c->numbers + 0x9e3779b97f4a7c15ull * (((uint64_t)rank << 40) + i + 1));
    double value = c->exact ? (double)(z % 17) - 8 : (double)(int32_t)(z >> 32) / 2147483648.0, held = 0;
    c->type->set(&held, 0, value);
    return c->type->get(&held, 0);
}

/* --- a case --- */

static void draw_algo(struct soak *s, struct one *c)
{
    int ranks = comm_size(s->comm);
    unsigned schedules = 0;
    while (schedule_algo((int)schedules))
        schedules++;
    unsigned which = draw(s, schedules + 3);
    static const char *const others[] = {"auto", "mpi", "shm"};
    const char *name = which < schedules ? schedule_algo((int)which) : others[which - schedules];
    if ((s->slowed && (!strcmp(name, "mpi") || !strcmp(name, "shm"))) ||
        (!strcmp(name, "shm") && !comm_shares_memory(s->comm)))
        name = "ring";
    snprintf(c->algo, sizeof c->algo, "%s", name);
    bool numbered = draw(s, 2);
    if (numbered && !strcmp(name, "ring_segmented"))
        snprintf(c->algo, sizeof c->algo, "%s:%u", name,
                 1 + draw(s, 20000) * (c->n > 20000 ? 1 : 0) + (unsigned)c->n / 64);
    if (numbered && !strcmp(name, "param_server"))
        snprintf(c->algo, sizeof c->algo, "%s:%u", name, 1 + draw(s, (unsigned)ranks));
    if (numbered && !strcmp(name, "hierarchical")) {
        unsigned per_host = 1 + draw(s, (unsigned)ranks);
        while ((unsigned)ranks % per_host)
            per_host--;
        snprintf(c->algo, sizeof c->algo, "%s:%u", name, per_host);
    }
}

static struct one draw_case(struct soak *s, long index)
{
    static const struct element *const types[] = {&element_f32, &element_f64, &element_bf16, &element_f16};
    int ranks = comm_size(s->comm);
    struct one c = {0};
    s->state = s->seed ^ mix((uint64_t)index * 64 + (uint64_t)ranks);
    c.numbers = mix(s->state);
    c.op = draw(s, 3) ? ALLREDUCE : (enum collective)draw(s, COLLECTIVES);
    c.type = types[draw(s, 4)];
    /* As many short as long ones: the exponent is uniform. */
    double most = (s->slowed ? LONGEST_SLOW : LONGEST) / (ranks > 4 ? 8.0 : 1);
    c.n = (size_t)exp(log(most) * draw(s, 10001) / 10000) - (draw(s, 2) ? 1 : 0);
    c.inplace = c.op != ALLREDUCE || draw(s, 2);
    c.shared = draw(s, 2);
    c.exact = draw(s, 2);
    if (c.op == ALLREDUCE) {
        c.compressed = draw(s, 8) == 0;
        draw_algo(s, &c);
        if (c.compressed) {
            c.type = draw(s, 2) ? &element_f16 : &element_bf16;
            c.inplace = c.exact = true; /* small whole numbers pass unharmed */
        }
    } else {
        const char *ours = collective_algo(c.op);
        snprintf(c.algo, sizeof c.algo, "%s", !s->slowed && draw(s, 2) ? "mpi" : ours);
    }
    if (c.op == ALLGATHER || c.op == REDUCE_SCATTER || c.op == ALLTOALL)
        c.n = c.n / (size_t)ranks * (size_t)ranks;
    return c;
}

static void tell(const struct soak *s, const struct one *c, long index)
{
    if (comm_rank(s->comm) != 0)
        return;
    printf("case %ld, %d ranks: %s by %s, %zu of %s%s, %s place, %s buffers, %s\n", index, comm_size(s->comm),
           collective_name(c->op), c->algo, c->n, c->type->name, c->compressed ? " (compressed)" : "",
           c->inplace ? "in" : "out of", c->shared ? "engine" : "private",
           c->exact ? "integers" : "fractions");
    fflush(stdout);
}

/* What element i of this rank is to be, and how far off it may be; false: it may be anything. */
static bool expected(const struct soak *s, const struct one *c, size_t i, double *value, double *off)
{
    int ranks = comm_size(s->comm), rank = comm_rank(s->comm), from = -1;
    size_t piece = c->n / (size_t)ranks;
    if (c->op == BARRIER || (c->op == REDUCE && rank != 0) ||
        (c->op == REDUCE_SCATTER && i / piece != (size_t)rank))
        return false;
    if (c->op == BROADCAST)
        from = 0;
    else if (c->op == ALLGATHER || c->op == ALLTOALL)
        from = (int)(i / piece);
    if (c->op == ALLTOALL)
        i = (size_t)rank * piece + i % piece;
    double size = 0;
    *value = 0;
    for (int r = 0; r < ranks; r++)
        if (from < 0 || r == from) {
            double part = number(c, r, i);
            *value += part;
            size += fabs(part);
        }
    int additions = from < 0 ? ranks - 1 : 0;
    *off = c->exact ? 0 : size * additions * 0.5 * c->type->epsilon * (1 + additions * c->type->epsilon);
    return true;
}

/* Compressed numbers are floats before and after. */
static double get(const struct one *c, const void *x, size_t i)
{
    return c->compressed ? (double)((const float *)x)[i] : c->type->get(x, i);
}

static bool look_at(const struct soak *s, const struct one *c, const void *from, const void *result,
                    struct error *e)
{
    double value, off;
    int rank = comm_rank(s->comm);
    for (size_t i = 0; i < c->n; i++) {
        if (expected(s, c, i, &value, &off) && !(fabs(get(c, result, i) - value) <= off))
            return error_set(e, ERROR_FAILED, "rank %d: element %zu is %.17g, not %.17g (within %.3g)", rank,
                             i, get(c, result, i), value, off);
        if (!c->inplace && get(c, from, i) != number(c, rank, i))
            return error_set(e, ERROR_FAILED, "rank %d: summand %zu has changed to %.17g", rank, i,
                             get(c, from, i));
    }
    return true;
}

static bool carry_out(const struct soak *s, const struct one *c, void *from, void *to, struct error *e)
{
    if (c->compressed) {
        struct compressor *z = compressor_new(s->comm, c->type, c->n + 1, e);
        bool ok = z && comm_allreduce_compressed(z, c->algo, from, c->n, c->numbers & 1, NULL, e);
        compressor_free(z);
        return ok;
    }
    if (c->op == ALLREDUCE)
        return comm_allreduce_to(s->comm, c->algo, c->type, from, c->inplace ? from : to, c->n, NULL, e);
    return comm_collective(s->comm, c->op, c->algo, c->type, from, c->n, NULL, e);
}

static bool run_case(const struct soak *s, const struct one *c, struct error *e)
{
    size_t floats = c->n * (c->compressed ? sizeof(float) : c->type->bytes) / sizeof(float) + 1;
    void *from = c->shared ? comm_buffer(s->comm, floats, e) : calloc(floats, sizeof(float));
    void *to = c->shared ? comm_buffer(s->comm, floats, e) : calloc(floats, sizeof(float));
    bool ok = from && to;
    for (size_t i = 0; ok && i < c->n; i++) {
        double value = number(c, comm_rank(s->comm), i);
        if (c->compressed)
            ((float *)from)[i] = (float)value;
        else
            c->type->set(from, i, value);
    }
    ok = ok && carry_out(s, c, from, to, e) && look_at(s, c, from, c->inplace ? from : to, e);
    if (c->shared) {
        comm_buffer_free(s->comm, from);
        comm_buffer_free(s->comm, to);
    } else {
        free(from);
        free(to);
    }
    return ok;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct soak s = {.comm = comm_open(&argc, &argv, &e)};
    if (!s.comm || (argc != 4 && argc != 6)) {
        fprintf(stderr, "usage: mpirun -n RANKS soak SEED FIRST COUNT [RATE LATENCY]; %s\n", e.text);
        return 2;
    }
    s.seed = mix(strtoull(argv[1], NULL, 10));
    long first = strtol(argv[2], NULL, 10), count = strtol(argv[3], NULL, 10);
    struct slow_link link;
    bool ok = argc == 4 || (slow_link_parse(&link, argv[4], argv[5], comm_size(s.comm), &e) &&
                            comm_set_link(s.comm, &link, &e));
    s.slowed = argc == 6;
    for (long i = first; ok && i < first + count; i++) {
        struct one c = draw_case(&s, i);
        tell(&s, &c, i);
        ok = run_case(&s, &c, &e);
        double failed = !ok;
        ok = ok && comm_max_double(s.comm, &failed, 1, &e) && failed == 0;
        if (!ok && *e.text)
            printf("FAILED: case %ld: %s\n", i, e.text);
        fflush(stdout);
    }
    if (!ok)
        comm_abort(s.comm, 1);
    comm_close(s.comm);
    return 0;
}
