#include "kernels/emulation/nccl.h"
#include "kernels/emulation/machine.h"
#include "kernels/emulation/numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 64, SLOT_BYTES = 64 << 10, JOIN_S = 60 };

/* What the processes share. New memory is zero, which is how all of it begins. */
struct meeting {
    atomic_int joined, arrived, round, broken;
    struct {
        atomic_int pid; /* 0: has not come yet */
        int device;
    } rank[MAX_RANKS];
    _Alignas(64) unsigned char slot[MAX_RANKS][SLOT_BYTES];
};

struct ncclComm {
    struct meeting *meeting;
    int rank, ranks;
    ncclResult_t error;
    char name[NCCL_UNIQUE_ID_BYTES];
};

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return ncclSystemError;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/ringside-emulation-%016llx", (unsigned long long)random);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    }
    return "unknown result code";
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool somebody_is_gone(const struct ncclComm *c)
{
    for (int r = 0; r < c->ranks; r++) {
        int pid = atomic_load(&c->meeting->rank[r].pid);
        if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH)
            return true;
    }
    return false;
}

/* Until all ranks have come here, or one has ended or given up. */
static ncclResult_t meet(struct ncclComm *c)
{
    struct meeting *m = c->meeting;
    const int round = atomic_load(&m->round);
    if (atomic_fetch_add(&m->arrived, 1) == c->ranks - 1) {
        atomic_store(&m->arrived, 0);
        atomic_fetch_add(&m->round, 1);
        return ncclSuccess;
    }
    for (long i = 0; atomic_load(&m->round) == round; i++) {
        if (atomic_load(&m->broken) || (i % 256 == 255 && somebody_is_gone(c))) {
            atomic_store(&m->broken, 1);
            return c->error = ncclRemoteError;
        }
        rest();
    }
    return ncclSuccess;
}

static ncclResult_t join(struct ncclComm *c)
{
    struct meeting *m = c->meeting;
    const double until = now_s() + JOIN_S;
    cudaGetDevice(&m->rank[c->rank].device);
    atomic_store(&m->rank[c->rank].pid, (int)getpid());
    atomic_fetch_add(&m->joined, 1);
    while (atomic_load(&m->joined) < c->ranks) {
        if (now_s() > until || somebody_is_gone(c))
            return ncclRemoteError;
        rest();
    }
    for (int r = 0; r < c->ranks; r++)
        for (int other = 0; other < r; other++)
            if (m->rank[r].device == m->rank[other].device)
                return ncclInvalidUsage; /* two ranks on one device */
    return meet(c);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    *comm = NULL;
    if (ranks < 1 || ranks > MAX_RANKS || rank < 0 || rank >= ranks || id.internal[0] != '/')
        return ncclInvalidArgument;
    struct ncclComm *c = calloc(1, sizeof *c);
    if (!c)
        return ncclSystemError;
    c->rank = rank;
    c->ranks = ranks;
    snprintf(c->name, sizeof c->name, "%s", id.internal);
    int file = shm_open(c->name, O_RDWR | O_CREAT, 0600);
    void *at = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof *c->meeting) == 0)
        at = mmap(NULL, sizeof *c->meeting, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (at == MAP_FAILED) {
        free(c);
        return ncclSystemError;
    }
    c->meeting = at;
    ncclResult_t result = join(c);
    shm_unlink(c->name); /* all have it open, or it is given up */
    if (result != ncclSuccess) {
        ncclCommAbort(c);
        return result;
    }
    *comm = c;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    munmap(c->meeting, sizeof *c->meeting);
    free(c);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    atomic_store(&c->meeting->broken, 1);
    return ncclCommDestroy(c);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    *error = c->error;
    return ncclSuccess;
}

static size_t size_of(ncclDataType_t type)
{
    return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 2;
}

static double load(const unsigned char *from, ncclDataType_t type, size_t i)
{
    switch (type) {
    case ncclFloat64: return ((const double *)(const void *)from)[i];
    case ncclFloat32: return (double)((const float *)(const void *)from)[i];
    case ncclFloat16: return (double)number_from_half(((const uint16_t *)(const void *)from)[i]);
    default: return (double)number_from_bf16(((const uint16_t *)(const void *)from)[i]);
    }
}

static void store(unsigned char *to, ncclDataType_t type, size_t i, double value)
{
    switch (type) {
    case ncclFloat64: ((double *)(void *)to)[i] = value; break;
    case ncclFloat32: ((float *)(void *)to)[i] = (float)value; break;
    case ncclFloat16: ((uint16_t *)(void *)to)[i] = number_to_half((float)value); break;
    default: ((uint16_t *)(void *)to)[i] = number_to_bf16((float)value); break;
    }
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream)
{
    (void)stream;
    const size_t size = size_of(type);
    enum memory_kind kinds[2];
    if (op != ncclSum || type < ncclFloat16 || type > ncclBfloat16)
        return ncclInvalidArgument;
    if (emulation_fault())
        return ncclUnhandledCudaError;
    if (c->error != ncclSuccess)
        return c->error;
    if (count > 0 && (!memory_within(from, count * size, &kinds[0]) || kinds[0] != MEMORY_DEVICE ||
                      !memory_within(to, count * size, &kinds[1]) || kinds[1] != MEMORY_DEVICE)) {
        machine_host_fault("NCCL is given numbers that are not wholly in one piece of the device's memory");
        return ncclUnhandledCudaError;
    }
    for (size_t first = 0; first < count; first += SLOT_BYTES / size) {
        size_t n = count - first < SLOT_BYTES / size ? count - first : SLOT_BYTES / size;
        memcpy(c->meeting->slot[c->rank], (const char *)from + first * size, n * size);
        if (meet(c) != ncclSuccess)
            return c->error;
        for (size_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (int r = 0; r < c->ranks; r++)
                sum += load(c->meeting->slot[r], type, i);
            store((unsigned char *)to + first * size, type, i, sum);
        }
        if (meet(c) != ncclSuccess)
            return c->error;
    }
    return ncclSuccess;
}
