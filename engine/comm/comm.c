#include "engine/comm/comm.h"

#include "engine/comm/comm_internal.h"
#include "engine/comm/executor.h"
#include "engine/comm/idle.h"
#include "engine/comm/shm.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool duplicate(MPI_Comm *comm, struct error *e)
{
    if (!mpi_ok(MPI_Comm_dup(MPI_COMM_WORLD, comm), "starting MPI", e))
        return false;
    return mpi_ok(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN), "starting MPI", e);
}

/* How many ranks this host has, and whether all hosts have as many and in order: ranks_per_host, else 0. */
static bool count_host_ranks(struct comm *c, struct error *e)
{
    MPI_Comm host = MPI_COMM_NULL;
    int rank, local;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!mpi_ok(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                "starting MPI", e))
        return false;
    MPI_Comm_size(host, &c->host_ranks);
    MPI_Comm_rank(host, &local);
    c->host = host;
    int n = c->host_ranks, mine[3] = {n, -n, rank % n != local}, all[3];
    if (!mpi_ok(MPI_Allreduce(mine, all, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "starting MPI", e))
        return false;
    c->ranks_per_host = all[0] == -all[1] && !all[2] ? n : 0;
    return true;
}

/* Whether these are more than the cores this process may use. */
static bool is_crowded(int ranks)
{
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    /* Ranks bound to a core each see one core only, which is theirs. */
    return count > 1 ? ranks > count : ranks > sysconf(_SC_NPROCESSORS_ONLN);
}

struct comm *comm_open(int *argc, char ***argv, struct error *e)
{
    struct comm *c = calloc(1, sizeof *c);
    if (!c) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    c->failed_rank = -1;
    c->fault_request = MPI_REQUEST_NULL;
    c->sum_bf16 = MPI_OP_NULL;
    int provided = 0;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_SERIALIZED) {
        error_set(e, ERROR_MISSING,
                  "MPI does not start here: start the ranks with mpirun, and see `ringside doctor`");
        goto fail;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm data = MPI_COMM_NULL;
    if (!count_host_ranks(c, e) || !duplicate(&c->collective, e) || !duplicate(&c->fault, e) ||
        !duplicate(&data, e) || !mpi_ok(MPI_Comm_rank(MPI_COMM_WORLD, &c->rank), "starting MPI", e) ||
        !mpi_ok(MPI_Comm_size(MPI_COMM_WORLD, &c->size), "starting MPI", e))
        goto fail;
    MPI_Comm_set_errhandler(c->host, MPI_ERRORS_RETURN);
    mpi_transport_init(&c->data, c, data, c->rank, c->size);
    c->data.transport.crowded = is_crowded(c->host_ranks);
    c->shm = shm_new(c, c->host, c->no_shm);
    if (c->rank == 0 && c->size > 1 &&
        !mpi_ok(
            MPI_Irecv(c->fault_text, COMM_SENTENCE, MPI_CHAR, MPI_ANY_SOURCE, 0, c->fault, &c->fault_request),
            "starting MPI", e))
        goto fail;
    return c;
fail:
    free(c);
    return NULL;
}

void comm_close(struct comm *c)
{
    if (!c)
        return;
    if (c->fault_request != MPI_REQUEST_NULL) {
        MPI_Cancel(&c->fault_request);
        MPI_Wait(&c->fault_request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < COMM_PLANS; i++)
        plan_free(c->plans.kept[i].plan);
    comm_auto_free(c);
    if (c->sum_bf16 != MPI_OP_NULL)
        MPI_Op_free(&c->sum_bf16);
    shm_free(c->shm);
    MPI_Comm_free(&c->host);
    MPI_Comm_free(&c->data.comm);
    MPI_Comm_free(&c->fault);
    MPI_Comm_free(&c->collective);
    MPI_Finalize();
    free(c);
}

int comm_rank(const struct comm *c)
{
    return c->rank;
}

int comm_size(const struct comm *c)
{
    return c->size;
}

struct transport *comm_transport(struct comm *c)
{
    return &c->data.transport;
}

bool fault_check(struct comm *c, struct error *e)
{
    if (c->fault_request == MPI_REQUEST_NULL)
        return true;
    int done = 0;
    MPI_Status status;
    if (MPI_Test(&c->fault_request, &done, &status) != MPI_SUCCESS || !done)
        return true;
    c->failed_rank = status.MPI_SOURCE;
    return error_set(e, ERROR_FAILED, "%s", c->fault_text);
}

int comm_failed_rank(const struct comm *c)
{
    return c->failed_rank;
}

bool comm_wait(struct comm *c, MPI_Request *request, const char *doing, struct error *e)
{
    struct idle idle = idle_start(c->data.transport.crowded && !c->data.transport.yields);
    for (;;) {
        int done = 0;
        if (!mpi_ok(MPI_Test(request, &done, MPI_STATUS_IGNORE), doing, e))
            return false;
        if (done)
            return true;
        if (!fault_check(c, e))
            return false;
        idle_step(&idle);
    }
}

bool comm_fail(struct comm *c, const char *sentence, double timeout_s)
{
    if (c->rank == 0)
        return true;
    if (c->fault_told)
        return false;
    c->fault_told = true;
    char host[COMM_HOST] = "unknown host";
    gethostname(host, sizeof host - 1);
    /* Lives as long as the process: where the wait below gives up, MPI may still read it. */
    snprintf(c->fault_text, sizeof c->fault_text, "rank %d on %s: %s", c->rank, host, sentence);
    MPI_Request request;
    if (MPI_Issend(c->fault_text, (int)strlen(c->fault_text) + 1, MPI_CHAR, 0, 0, c->fault, &request) !=
        MPI_SUCCESS)
        return false;
    struct idle idle = idle_start(true);
    for (double end = sink_clock() + timeout_s; sink_clock() < end; idle_step(&idle)) {
        int done = 0;
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
    }
    return false;
}

_Noreturn void comm_abort(struct comm *c, int code)
{
    MPI_Abort(c ? c->collective : MPI_COMM_WORLD, code);
    _exit(code);
}

void comm_library(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    snprintf(text, size, "%s", version);
}

/* --- collectives --------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 30 }; /* MPI counts in int: longer data go in pieces */

bool comm_broadcast(struct comm *c, void *data, size_t bytes, int root, struct error *e)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        MPI_Request request;
        if (!mpi_ok(MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, root, c->collective, &request),
                    "broadcasting", e) ||
            !comm_wait(c, &request, "broadcasting", e))
            return false;
    }
    return true;
}

bool comm_gather(struct comm *c, const void *mine, size_t bytes, void *all, struct error *e)
{
    if (bytes > INT_MAX)
        return error_set(e, ERROR_INPUT, "gathering %zu bytes from each rank: at most 2 GiB", bytes);
    MPI_Request request;
    return mpi_ok(
               MPI_Igather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, c->collective, &request),
               "gathering", e) &&
           comm_wait(c, &request, "gathering", e);
}

static bool doubles(struct comm *c, double *x, int n, MPI_Op op, const char *doing, struct error *e)
{
    MPI_Request request;
    return mpi_ok(MPI_Iallreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, op, c->collective, &request), doing, e) &&
           comm_wait(c, &request, doing, e);
}

bool comm_sum_double(struct comm *c, double *x, int n, struct error *e)
{
    return doubles(c, x, n, MPI_SUM, "summing over the ranks", e);
}

bool comm_max_double(struct comm *c, double *x, int n, struct error *e)
{
    return doubles(c, x, n, MPI_MAX, "finding the largest over the ranks", e);
}

bool comm_barrier(struct comm *c, struct error *e)
{
    MPI_Request request;
    return mpi_ok(MPI_Ibarrier(c->collective, &request), "waiting for all ranks", e) &&
           comm_wait(c, &request, "waiting for all ranks", e);
}

/* --- allreduce ----------------------------------------------------------------------------------------- */

static void mpi_add_bf16(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void)type;
    element_bf16.add(to, from, (size_t)*n);
}

bool comm_mpi_type(struct comm *c, const struct element *type, MPI_Datatype *name, MPI_Op *sum,
                   struct error *e)
{
    *name = type == &element_f32 ? MPI_FLOAT : type == &element_f64 ? MPI_DOUBLE : MPI_UINT16_T;
    *sum = MPI_SUM;
    if (type != &element_bf16)
        return true;
    if (c->sum_bf16 == MPI_OP_NULL &&
        !mpi_ok(MPI_Op_create(mpi_add_bf16, 1, &c->sum_bf16), "making MPI's sum of bf16", e))
        return false;
    *sum = c->sum_bf16;
    return true;
}

static bool mpi_allreduce(struct comm *c, const struct element *type, const void *from, void *to, size_t n,
                          struct error *e)
{
    MPI_Datatype name;
    MPI_Op sum;
    if (!comm_mpi_type(c, type, &name, &sum, e))
        return false;
    for (size_t at = 0; at < n; at += PIECE) {
        int piece = n - at < PIECE ? (int)(n - at) : PIECE;
        const void *source = from == to ? MPI_IN_PLACE : (const char *)from + at * type->bytes;
        if (!mpi_ok(MPI_Allreduce(source, (char *)to + at * type->bytes, piece, name, sum, c->collective),
                    "MPI_Allreduce", e))
            return false;
    }
    return true;
}

/* "hierarchical" without a number goes by the hosts that there are. */
static bool with_hosts(const struct comm *c, const char *algo, char name[32], struct error *e)
{
    snprintf(name, 32, "%s", algo);
    if (strcmp(algo, "hierarchical") != 0)
        return true;
    if (c->ranks_per_host == 0)
        return error_set(
            e, ERROR_INPUT,
            "hierarchical: every host needs as many ranks, numbered one after the other; start them "
            "so (mpirun --map-by slot), or take another algorithm");
    snprintf(name, 32, "hierarchical:%d", c->ranks_per_host);
    return true;
}

static bool shm_check(const struct comm *c, struct error *e)
{
    if (c->host_ranks < c->size)
        return error_set(
            e, ERROR_INPUT,
            "shm sums in the memory of one host, and these ranks are on several; take hierarchical or ring");
    return c->shm || error_set(e, ERROR_MISSING, "shm: %s; take ring or mpi", c->no_shm);
}

struct plan *comm_plan(struct comm *c, enum collective op, const char *algo, const struct element *type,
                       size_t n, struct error *e)
{
    struct plan_cache *cache = &c->plans;
    int oldest = 0;
    for (int i = 0; i < COMM_PLANS; i++) {
        struct kept_plan *k = &cache->kept[i];
        if (k->plan && k->length == n && plan_element(k->plan) == type &&
            strcmp(plan_schedule(k->plan)->algo, algo) == 0) {
            k->used = ++cache->clock;
            return k->plan;
        }
        if (k->used < cache->kept[oldest].used)
            oldest = i;
    }
    struct schedule s;
    if (!(op == ALLREDUCE ? schedule_make(&s, algo, c->size, n, e)
                          : schedule_collective(&s, op, c->size, n, e)))
        return NULL;
    struct plan *made = plan_new(&s, c->rank, type, 0, e);
    if (!made)
        return NULL;
    plan_free(cache->kept[oldest].plan);
    cache->kept[oldest] = (struct kept_plan){.plan = made, .length = n, .used = ++cache->clock};
    return made;
}

bool comm_allreduce_to(struct comm *c, const char *algo, const struct element *type, const void *from,
                       void *to, size_t n, struct hop_log *log, struct error *e)
{
    hop_log_clear(log);
    if (strcmp(algo, "auto") == 0 && !(algo = comm_auto_choose(c, n * type->bytes, from, to, e)))
        return false;
    if (strcmp(algo, "shm") == 0)
        return shm_check(c, e) && shm_allreduce(c->shm, type, from, to, n, e);
    if (strcmp(algo, "mpi") == 0)
        return mpi_allreduce(c, type, from, to, n, e);
    char name[32];
    struct plan *plan = with_hosts(c, algo, name, e) ? comm_plan(c, ALLREDUCE, name, type, n, e) : NULL;
    if (!plan)
        return false;
    if (from != to)
        memcpy(to, from, n * type->bytes);
    if (log)
        snprintf(log->algo, sizeof log->algo, "%s", algo);
    return plan_run(plan, comm_transport(c), to, log, e);
}

bool comm_allreduce(struct comm *c, const char *algo, float *x, size_t n, struct hop_log *log,
                    struct error *e)
{
    return comm_allreduce_to(c, algo, &element_f32, x, x, n, log, e);
}

#ifdef __SANITIZE_ADDRESS__
/*
 * Open MPI keeps memory until the process ends, and unloads its components before that, so that its leaks can
 * neither be told from ours nor suppressed by name: in programs with ranks nobody looks for leaks at exit.
 */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif
