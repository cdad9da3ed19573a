/*
 * probe.c - `ringside-rank --probe`: what the doctor asks.
 *
 * Alone it tells which MPI and oneDNN it was linked with, without starting MPI. Started by mpirun it also proves
 * that ranks start and reach each other: every rank's number and host come to rank 0 through MPI. One line:
 *     {"mpi": "Open MPI v4.1.4", "dnnl": "2.6.0", "size": 2, "ranks": [{"rank": 0, "size": 2, "host": "n1"}, ...]}
 */
#include "engine/rank/rank.h"

#include "engine/base/event.h"
#include "engine/train/device.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What Open MPI's, MPICH's and Slurm's launchers leave in the environment of a rank. */
static bool launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return true;
    return false;
}

struct answer {
    int rank, size;
    char host[64];
};

static bool ask_ranks(struct comm *comm, json_t *ranks, struct error *e)
{
    struct answer mine = {.rank = comm_rank(comm), .size = comm_size(comm)};
    struct answer *all = calloc((size_t)mine.size, sizeof *all);
    if (!all)
        return error_set(e, ERROR_FAILED, "out of memory");
    gethostname(mine.host, sizeof mine.host - 1);
    bool ok = comm_gather(comm, &mine, sizeof mine, all, e);
    for (int i = 0; ok && mine.rank == 0 && i < mine.size; i++) {
        json_t *rank = json_object();
        event_set_integer(rank, "rank", all[i].rank);
        event_set_integer(rank, "size", all[i].size);
        event_set_text(rank, "host", all[i].host);
        json_array_append_new(ranks, rank);
    }
    free(all);
    return ok;
}

int rank_probe(int *argc, char ***argv, int channel)
{
    struct error e = {0};
    char mpi[256], dnnl[64];
    comm_library(mpi, sizeof mpi);
    const dnnl_version_t *version = dnnl_version();
    snprintf(dnnl, sizeof dnnl, "%d.%d.%d", version->major, version->minor, version->patch);
    json_t *line = json_object(), *ranks = json_array();
    event_set_text(line, "mpi", mpi);
    event_set_text(line, "dnnl", dnnl);
    int rank = 0, size = 0;
    bool ok = true;
    if (launched()) {
        struct comm *comm = comm_open(argc, argv, &e);
        ok = comm && ask_ranks(comm, ranks, &e);
        if (comm) {
            rank = comm_rank(comm);
            size = comm_size(comm);
        }
        if (ok)
            comm_close(comm);
    }
    event_set_integer(line, "size", size);
    json_object_set_new(line, "ranks", ranks);
    if (ok && rank == 0)
        ok = event_write(channel, json_incref(line), &e);
    json_decref(line);
    if (!ok)
        fprintf(stderr, "ringside-rank: %s\n", e.text);
    return ok ? 0 : e.kind;
}

int rank_gpus(int channel)
{
    struct error e = {0};
    if (event_write(channel, device_report(), &e))
        return 0;
    fprintf(stderr, "ringside-rank: %s\n", e.text);
    return e.kind;
}
