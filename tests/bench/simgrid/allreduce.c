/*
 * allreduce.c - the ring and recursive doubling by MPI_Sendrecv, for SimGrid's SMPI: the messages of engine/spec's schedules and
 * nothing else. Built with smpicc; ends with the slowest rank's seconds on standard output.
 *
 *     allreduce ring|recursive_doubling BYTES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SMPI_SHARED_MALLOC /* any other MPI */
#define SMPI_SHARED_MALLOC malloc
#define SMPI_SHARED_FREE free
#endif

/* Bytes of chunk i of n: the first length % n have an element more. */
static int chunk(long length, int element, int n, int i)
{
    return (int)((length / n + (i % n < length % n)) * element);
}

static void ring(char *out, char *in, long length, int element, int rank, int n)
{
    for (int k = 0; k < 2 * (n - 1); k++) {
        int back = k < n - 1 ? k : k - (n - 1) - 1;
        int mine = ((rank - back) % n + n) % n, theirs = (mine + n - 1) % n;
        MPI_Sendrecv(out, chunk(length, element, n, mine), MPI_BYTE, (rank + 1) % n, 0, in,
                     chunk(length, element, n, theirs), MPI_BYTE, (rank + n - 1) % n, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void recursive_doubling(char *out, char *in, long bytes, int rank, int n)
{
    for (int distance = 1; distance < n; distance *= 2)
        MPI_Sendrecv(out, (int)bytes, MPI_BYTE, rank ^ distance, 0, in, (int)bytes, MPI_BYTE, rank ^ distance,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    long bytes = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    char *out = SMPI_SHARED_MALLOC((size_t)bytes + 1), *in = SMPI_SHARED_MALLOC((size_t)bytes + 1);
    int element = bytes % 4 ? 1 : 4;
    /* All simulated processes begin at the same moment; a barrier would let them go at different ones. */
    double began = MPI_Wtime(), mine, slowest;
    if (argc == 3 && strcmp(argv[1], "ring") == 0)
        ring(out, in, bytes / element, element, rank, n);
    else
        recursive_doubling(out, in, bytes, rank, n);
    mine = MPI_Wtime() - began;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.9g\n", slowest);
    SMPI_SHARED_FREE(out);
    SMPI_SHARED_FREE(in);
    MPI_Finalize();
    return 0;
}
