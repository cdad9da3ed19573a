/*
 * tap.h - checks of a program that runs on several ranks: a check passes where it does on every rank; rank 0
 * prints one TAP line for it, the ranks it failed on and what they said.
 */
#ifndef RINGSIDE_TESTS_MPI_TAP_H
#define RINGSIDE_TESTS_MPI_TAP_H

#include "engine/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap {
    struct comm *comm;
    int checks, failures;
};

/* Collective. detail: what this rank found, shown where it failed; NULL for nothing. */
static inline void tap_check(struct tap *tap, const char *name, bool ok, const char *detail)
{
    struct {
        int ok;
        char detail[256];
    } mine = {.ok = ok}, *all = calloc((size_t)comm_size(tap->comm), sizeof mine);
    snprintf(mine.detail, sizeof mine.detail, "%s", detail ? detail : "");
    struct error e = {0};
    if (!all || !comm_gather(tap->comm, &mine, sizeof mine, all, &e)) {
        printf("not ok - %s: the ranks cannot be asked: %s\n", name, e.text);
        fflush(stdout);
        comm_abort(tap->comm, 1);
    }
    if (comm_rank(tap->comm) == 0) {
        int failed = 0;
        for (int i = 0; i < comm_size(tap->comm); i++)
            failed += !all[i].ok;
        printf("%s - %s\n", failed ? "not ok" : "ok", name);
        for (int i = 0; failed && i < comm_size(tap->comm); i++)
            if (!all[i].ok)
                printf("# rank %d: %s\n", i, all[i].detail);
        fflush(stdout);
        tap->failures += failed > 0;
        tap->checks++;
    }
    free(all);
}

static inline struct tap tap_open(int *argc, char ***argv)
{
    struct error e = {0};
    struct tap tap = {.comm = comm_open(argc, argv, &e)};
    if (!tap.comm) {
        printf("not ok - the ranks start: %s\n", e.text);
        exit(1);
    }
    return tap;
}

static inline int tap_close(struct tap *tap)
{
    bool first = comm_rank(tap->comm) == 0;
    comm_close(tap->comm);
    if (first)
        printf("1..%d\n", tap->checks);
    return 0;
}

#endif
