/*
 * Ranks that do not call the same collectives, on purpose: `mpirun -n N mismatch ALGO HOW ELEMENTS`. Prints one line a rank:
 * "rank R failed: SENTENCE" or "rank R went on: SUM". tests/e2e/test_mismatch.sh starts it and reads them.
 *   HOW  length     the last rank sums one element more
 *        type       the last rank sums bf16 where the others sum f32
 *        algo       the last rank sums by another algorithm
 *        broadcast  the last rank takes part in a broadcast first
 *        gather     the last rank takes part in a gathering first
 *        same       nobody does anything wrong
 */
#include "engine/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct error e = {0};
    struct comm *c = comm_open(&argc, &argv, &e);
    if (!c || argc != 4) {
        fprintf(stderr, "usage: mpirun -n N mismatch ALGO HOW ELEMENTS\n");
        return 2;
    }
    const char *algo = argv[1], *how = argv[2];
    size_t n = strtoul(argv[3], NULL, 10);
    bool wrong = comm_rank(c) == comm_size(c) - 1, ok = true;
    const struct element *type = &element_f32;
    double numbers[4] = {0}, all[4 * 64];
    float *x = calloc(n + 2, sizeof *x);
    if (!x)
        return 1;
    for (int i = 0; ok && i < 3; i++) /* that go well */
        ok = comm_allreduce(c, algo, x, n, NULL, &e) && comm_barrier(c, &e);
    for (size_t i = 0; i < n + 2; i++)
        x[i] = 1;
    if (wrong && !strcmp(how, "length"))
        n++;
    if (wrong && !strcmp(how, "type"))
        type = &element_bf16;
    if (wrong && !strcmp(how, "algo"))
        algo = strcmp(algo, "ring") == 0 ? "tree" : "ring";
    if (wrong && !strcmp(how, "broadcast"))
        ok = comm_collective(c, BROADCAST, algo, type, x, n, NULL, &e);
    if (wrong && !strcmp(how, "gather"))
        ok = comm_gather(c, numbers, sizeof numbers, all, &e);
    ok = ok && comm_allreduce_to(c, algo, type, x, x, n, NULL, &e);
    /* Whoever has not noticed waits for the others here. */
    ok = ok && comm_barrier(c, &e);
    char line[1200];
    if (ok)
        snprintf(line, sizeof line, "rank %d went on: %g\n", comm_rank(c), (double)x[0]);
    else
        snprintf(line, sizeof line, "rank %d failed: %s\n", comm_rank(c), e.text);
    fputs(line, stdout);
    fflush(stdout);
    free(x);
    if (ok) {
        comm_close(c);
        return 0;
    }
    sleep(1); /* the others have noticed, too */
    comm_abort(c, 1);
}
