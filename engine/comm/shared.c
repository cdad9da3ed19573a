#include "engine/comm/shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void shared_unmap(struct shared *m)
{
    for (int r = 0; m->base && r < m->ranks; r++)
        if (m->base[r])
            munmap(m->base[r], m->bytes);
    free(m->base);
    *m = (struct shared){0};
}

static int create(size_t bytes)
{
    int fd = memfd_create("ringside", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool shared_map(MPI_Comm host, size_t bytes, struct shared *m)
{
    int rank, ranks, mine[2] = {(int)getpid(), create(bytes)};
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &ranks);
    int(*all)[2] = calloc((size_t)ranks, sizeof *all);
    *m = (struct shared){.bytes = bytes, .ranks = ranks, .base = calloc((size_t)ranks, sizeof(void *))};
    int good = all && m->base && mine[1] >= 0;
    if (!all || MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, host) != MPI_SUCCESS)
        good = 0;
    for (int r = 0; good && r < ranks; r++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", all[r][0], all[r][1]);
        int fd = all[r][1] < 0 ? -1 : r == rank ? mine[1] : open(path, O_RDWR | O_CLOEXEC);
        void *base = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0 && r != rank)
            close(fd);
        good = base != MAP_FAILED;
        m->base[r] = good ? base : NULL;
    }
    int everywhere = 0;
    if (MPI_Allreduce(&good, &everywhere, 1, MPI_INT, MPI_MIN, host) != MPI_SUCCESS)
        everywhere = 0;
    /* All have opened it, or will not: what is mapped stays. */
    if (mine[1] >= 0)
        close(mine[1]);
    free(all);
    if (!everywhere)
        shared_unmap(m);
    return everywhere;
}
