/*
 * Ranks that do not call the same collectives, on purpose: `mpirun -n N mismatch ALGO HOW ELEMENTS`. They are watched as
 * those of a run are (heartbeat.h), so rank 0's events go to standard output; besides, each prints "rank R failed:
 * SENTENCE" or "rank R went on: SUM". tests/e2e/test_mismatch.sh starts it and reads them.
 *   HOW  length     the last rank sums one element more
 *        type       the last rank sums bf16 where the others sum f32
 *        algo       the last rank sums by another algorithm
 *        broadcast  the last rank takes part in a broadcast first
 *        gather     the last rank takes part in a gathering first
 *        early      the last rank has finished, the others wait for it in one more allreduce
 *        same       nobody does anything wrong
 */
#include "engine/comm/comm.h"
#include "engine/rank/heartbeat.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As ringside-rank ends where it fails. */
static _Noreturn void end(struct comm *c, struct heartbeat *watch, const char *sentence)
{
    heartbeat_settle(watch);
    if (comm_rank(c) != 0)
        comm_fail(c, sentence, 5);
    else if (!heartbeat_claim(watch))
        pause();
    if (comm_rank(c) != 0)
        sleep(1);
    comm_abort(c, 1);
}

static bool collectives(struct comm *c, const char *algo, const char *how, float *x, size_t n,
                        struct error *e)
{
    bool wrong = comm_rank(c) == comm_size(c) - 1, ok = true;
    const struct element *type = &element_f32;
    double numbers[4] = {0}, all[4 * 64];
    for (int i = 0; ok && i < 3; i++) /* that go well */
        ok = comm_allreduce(c, algo, x, n, NULL, e) && comm_barrier(c, e);
    for (size_t i = 0; i < n + 2; i++)
        x[i] = 1;
    if (wrong && !strcmp(how, "early"))
        return ok;
    if (wrong && !strcmp(how, "length"))
        n++;
    if (wrong && !strcmp(how, "type"))
        type = &element_bf16;
    if (wrong && !strcmp(how, "algo"))
        algo = strcmp(algo, "ring") == 0 ? "tree" : "ring";
    if (wrong && !strcmp(how, "broadcast"))
        ok = ok && comm_collective(c, BROADCAST, algo, type, x, n, NULL, e);
    if (wrong && !strcmp(how, "gather"))
        ok = ok && comm_gather(c, numbers, sizeof numbers, all, e);
    /* Whoever has not noticed waits for the others in the barrier. */
    return ok && comm_allreduce_to(c, algo, type, x, x, n, NULL, e) && comm_barrier(c, e);
}

int main(int argc, char **argv)
{
    struct error e = {0};
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    struct comm *c = comm_open(&argc, &argv, &e);
    if (!c || argc != 4) {
        fprintf(stderr, "usage: mpirun -n N mismatch ALGO HOW ELEMENTS\n");
        return 2;
    }
    struct fd_sink sink;
    sink_fd_init(&sink, STDOUT_FILENO);
    struct heartbeat *watch = heartbeat_start(c, &sink.sink);
    size_t n = strtoul(argv[3], NULL, 10);
    float *x = calloc(n + 2, sizeof *x);
    char line[1200];
    bool ok = x && collectives(c, argv[1], argv[2], x, n, &e);
    if (ok)
        snprintf(line, sizeof line, "rank %d went on: %g\n", comm_rank(c), (double)x[0]);
    else
        snprintf(line, sizeof line, "rank %d failed: %s\n", comm_rank(c), e.text);
    fputs(line, stdout);
    fflush(stdout);
    free(x);
    if (!ok)
        end(c, watch, e.text);
    heartbeat_stop(watch);
    comm_close(c);
    sink_fd_clear(&sink);
    return 0;
}
