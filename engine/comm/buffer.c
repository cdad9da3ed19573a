/* Buffers that all ranks have alike: gradients, and whatever else is summed. Shared inside a host where that can be. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/shm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double comm_memory_available(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    double kib = -1;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kib = strtod(line + 13, NULL);
    if (f)
        fclose(f);
    return kib < 0 ? -1 : kib * 1024;
}

/* Linux promises more memory than there is and kills who uses it: ask before, for all ranks of the host. */
static bool fits(const struct comm *c, size_t elements, struct error *e)
{
    double wanted = (double)elements * sizeof(float) * c->host_ranks, available = comm_memory_available();
    return available < 0 || wanted <= available ||
           error_set(
               e, ERROR_FAILED,
               "a buffer of %.3g GB in each of %d ranks does not fit into the %.3g GB of memory that this "
               "host has left: choose a smaller size or fewer ranks",
               (double)elements * sizeof(float) / 1e9, c->host_ranks, available / 1e9);
}

float *comm_buffer(struct comm *c, size_t elements, struct error *e)
{
    size_t bytes = (elements * sizeof(float) + 64) / 64 * 64;
    struct error why = {0};
    int good = fits(c, elements, &why), everywhere = 0;
    if (good && elements > SIZE_MAX / 8)
        good =
            error_set(&why, ERROR_FAILED, "a buffer of %zu elements does not fit into any memory", elements);
    if (!mpi_ok(MPI_Allreduce(&good, &everywhere, 1, MPI_INT, MPI_MIN, c->host), "making a buffer", e))
        return NULL;
    if (!everywhere) {
        error_set(e, ERROR_FAILED, "%s",
                  good ? "another rank of this host has no memory for its buffer" : why.text);
        return NULL;
    }
    float *buffer = c->shm ? shm_buffer(c->shm, bytes) : NULL;
    if (buffer)
        return buffer;
    if (!(buffer = aligned_alloc(64, bytes))) {
        error_set(e, ERROR_FAILED, "out of memory for a buffer of %zu elements", elements);
        return NULL;
    }
    memset(buffer, 0, bytes);
    return buffer;
}

void comm_buffer_free(struct comm *c, float *buffer)
{
    if (!c->shm || !shm_buffer_free(c->shm, buffer))
        free(buffer);
}
