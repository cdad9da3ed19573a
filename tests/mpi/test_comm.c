/*
 * The collectives besides the allreduce, and comm_fail: a rank that fails alone makes rank 0's collective fail with
 * its sentence instead of leaving it to wait.
 */
#include "tests/mpi/tap.h"

#include <stdint.h>

static void test_broadcast(struct tap *tap)
{
    struct error e = {0};
    int size = comm_size(tap->comm), rank = comm_rank(tap->comm);
    bool ok = true;
    size_t lengths[] = {0, 1, 1000, 300001};
    for (int root = 0; root < size; root++)
        for (size_t k = 0; ok && k < sizeof lengths / sizeof *lengths; k++) {
            char *data = malloc(lengths[k] + 1);
            memset(data, rank == root ? 'a' + root : '-', lengths[k] + 1);
            ok = comm_broadcast(tap->comm, data, lengths[k], root, &e);
            for (size_t i = 0; ok && i < lengths[k]; i++)
                ok = data[i] == 'a' + root;
            free(data);
        }
    tap_check(tap, "broadcast from every rank", ok, e.text);
}

static void test_gather(struct tap *tap)
{
    struct error e = {0};
    int size = comm_size(tap->comm), rank = comm_rank(tap->comm);
    struct {
        double x;
        int rank;
    } mine = {.x = 0.5 * rank, .rank = rank}, *all = rank == 0 ? calloc((size_t)size, sizeof mine) : NULL;
    bool ok = comm_gather(tap->comm, &mine, sizeof mine, all, &e);
    for (int i = 0; ok && rank == 0 && i < size; i++)
        ok = all[i].rank == i && all[i].x == 0.5 * i;
    free(all);
    tap_check(tap, "gather in rank order", ok, e.text);
}

static void test_doubles(struct tap *tap)
{
    struct error e = {0};
    int size = comm_size(tap->comm), rank = comm_rank(tap->comm);
    double sum[2] = {rank + 1, 0.25}, most[2] = {rank, -rank};
    bool ok =
        comm_sum_double(tap->comm, sum, 2, &e) && sum[0] == size * (size + 1) / 2 && sum[1] == 0.25 * size;
    tap_check(tap, "sum of doubles", ok, e.text);
    ok = comm_max_double(tap->comm, most, 2, &e) && most[0] == size - 1 && most[1] == 0;
    tap_check(tap, "largest of doubles", ok, e.text);
    tap_check(tap, "barrier", comm_barrier(tap->comm, &e), e.text);
}

static void test_buffer(struct tap *tap)
{
    struct error e = {0};
    size_t n = 1001;
    float *x = comm_buffer(tap->comm, n, &e);
    bool ok = x && (uintptr_t)x % 64 == 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = x[i] == 0;
    comm_buffer_free(tap->comm, x);
    comm_buffer_free(tap->comm, NULL);
    tap_check(tap, "a buffer is aligned and zero", ok, e.text);
    for (size_t beyond = SIZE_MAX / 4; ok && beyond > (size_t)1 << 45; beyond /= 4)
        ok = !comm_buffer(tap->comm, beyond, &e) && strstr(e.text, "memory");
    tap_check(tap, "a buffer beyond all memory is refused", ok, e.text);
}

/* The last rank fails; rank 0 waits in a barrier that the last rank has not entered. */
static void test_fail(struct tap *tap)
{
    int size = comm_size(tap->comm), rank = comm_rank(tap->comm);
    struct error e = {0}, later = {0};
    bool ok = comm_barrier(tap->comm, &e); /* everybody is done with the checks before */
    /* Rank 0 may hear it in this first barrier already, which the others have left. */
    if (size == 1)
        ok = ok && comm_fail(tap->comm, "alone", 1) && comm_failed_rank(tap->comm) == -1;
    else if (rank == size - 1) /* having told, it enters the barrier after all, so that the test can go on */
        ok = ok && comm_fail(tap->comm, "the dataset is torn", 60) && comm_barrier(tap->comm, &e);
    else if (rank > 0)
        ok = ok && comm_barrier(tap->comm, &e);
    else {
        char who[32];
        snprintf(who, sizeof who, "rank %d on ", size - 1);
        bool second = comm_barrier(tap->comm, ok ? &e : &later);
        ok = ok != second && strstr(e.text, "the dataset is torn") &&
             strncmp(e.text, who, strlen(who)) == 0 && comm_failed_rank(tap->comm) == size - 1;
    }
    tap_check(tap, "the sentence of a rank that fails reaches rank 0 while it waits", ok, e.text);
    tap_check(tap, "and the ranks can still be asked", comm_barrier(tap->comm, &later), later.text);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    test_broadcast(&tap);
    test_gather(&tap);
    test_doubles(&tap);
    test_buffer(&tap);
    test_fail(&tap);
    return tap_close(&tap);
}
