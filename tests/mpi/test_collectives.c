/*
 * Broadcast, reduce, allgather, reduce_scatter and alltoall on real ranks, by their schedules and by the MPI
 * library: exact on small integers. The barrier: nobody leaves it before the last has come.
 */
#include "tests/mpi/tap.h"

/* x[i] of rank r before the operation. */
static double before(int r, size_t i)
{
    return (double)(((size_t)r * 31 + i * 7) % 97);
}

static double sum(int ranks, size_t i)
{
    double all = 0;
    for (int r = 0; r < ranks; r++)
        all += before(r, i);
    return all;
}

/* What it should be afterwards; -1: it may be anything. */
static double after(enum collective op, int ranks, int rank, size_t i, size_t n)
{
    size_t piece = n / (size_t)ranks;
    int owner = (int)(i / piece);
    switch (op) {
    case BROADCAST: return before(0, i);
    case REDUCE: return rank == 0 ? sum(ranks, i) : -1;
    case ALLGATHER: return before(owner, i);
    case REDUCE_SCATTER: return owner == rank ? sum(ranks, i) : -1;
    case ALLTOALL: return before(owner, (size_t)rank * piece + i % piece);
    default: return -1;
    }
}

static void test_one(struct tap *tap, enum collective op, const char *algo, const struct element *type)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    static const size_t pieces[] = {0, 1, 3, 1000, 150001};
    char detail[256] = "", name[128];
    bool ok = true;
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        size_t n = pieces[k] * (size_t)ranks;
        char *x = malloc(n * type->bytes + 1);
        for (size_t i = 0; i < n; i++)
            type->set(x, i, before(rank, i));
        ok = ok && comm_collective(tap->comm, op, algo, type, x, n, NULL, &e);
        for (size_t i = 0; ok && i < n; i++) {
            double right = after(op, ranks, rank, i, n);
            if (right >= 0 && type->get(x, i) != right) {
                snprintf(detail, sizeof detail, "%zu elements: element %zu is %g, not %g", n, i,
                         type->get(x, i), right);
                ok = false;
            }
        }
        free(x);
    }
    snprintf(name, sizeof name, "%s by %s in %s", collective_name(op), algo, type->name);
    tap_check(tap, name, ok, *detail ? detail : e.text);
}

/* Each rank in turn comes late: the others must not have left before. */
static void test_barrier(struct tap *tap, const char *algo)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    char name[128], detail[128] = "";
    bool ok = true;
    for (int late = 0; ok && late < ranks; late++) {
        double came = 0;
        ok = comm_barrier(tap->comm, &e);
        if (rank == late) {
            for (double end = sink_clock() + 0.02; sink_clock() < end;) {
            }
            came = sink_clock();
        }
        ok = ok && comm_collective(tap->comm, BARRIER, algo, &element_f32, NULL, 0, NULL, &e);
        double left = sink_clock();
        ok = ok && comm_broadcast(tap->comm, &came, sizeof came, late, &e) && left >= came;
    }
    snprintf(detail, sizeof detail, "left too early %.80s", e.text);
    snprintf(name, sizeof name, "barrier by %s: nobody leaves before the last comes", algo);
    tap_check(tap, name, ok, detail);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    for (int op = BROADCAST; op < BARRIER; op++) {
        const char *ours = collective_algo((enum collective)op);
        test_one(&tap, (enum collective)op, ours, &element_f32);
        test_one(&tap, (enum collective)op, ours, &element_f64);
        test_one(&tap, (enum collective)op, "mpi", &element_f32);
    }
    test_barrier(&tap, collective_algo(BARRIER));
    test_barrier(&tap, "mpi");
    return tap_close(&tap);
}
