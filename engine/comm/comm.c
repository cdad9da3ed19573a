/* comm.c - opening MPI, the communicators of a job, and groups of its ranks. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/executor.h"
#include "engine/comm/paced.h"
#include "engine/comm/shm.h"

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

/* Where every rank's activity lies, and which of them this one can look at. */
static bool open_order(struct comm *c, struct error *e)
{
    struct order *o = &c->faults.order;
    MPI_Comm_size(c->host, &o->count);
    MPI_Comm_rank(c->host, &o->self);
    o->ranks = calloc((size_t)o->count, sizeof *o->ranks);
    o->mine = c->shm ? shm_activity(c->shm, o->self) : &c->own_activity;
    activity_init(o->mine);
    if (c->shm)
        o->peers = calloc((size_t)o->count, sizeof(struct activity *));
    if (!o->ranks || (c->shm && !o->peers))
        return error_set(e, ERROR_FAILED, "out of memory");
    for (int i = 0; c->shm && i < o->count; i++)
        o->peers[i] = shm_activity(c->shm, i);
    return mpi_ok(MPI_Allgather(&c->rank, 1, MPI_INT, o->ranks, 1, MPI_INT, c->host), "starting MPI", e);
}

/*
 * Between hosts Open MPI asks for leave before it sends what is longer than 64 KiB, and question and answer wait behind
 * the data that is on its way already: a fifth of the time of a ring over a full link both ways. So segments
 * of float32 and their headers go without; whoever has set this is not overruled. Before MPI_Init, which reads it.
 */
static void tell_library(void)
{
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%zu", PLAN_SEGMENT * sizeof(float) + 4096);
    if (all && here && strcmp(all, here) != 0)
        setenv("OMPI_MCA_btl_tcp_eager_limit", bytes, 0);
}

struct comm *comm_open(int *argc, char ***argv, struct error *e)
{
    struct comm *c = calloc(1, sizeof *c);
    if (!c) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    c->sum_bf16 = c->sum_f16 = MPI_OP_NULL;
    int provided = 0;
    tell_library();
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_SERIALIZED) {
        error_set(e, ERROR_MISSING,
                  "MPI does not start here: start the ranks with mpirun, and see `ringside doctor`");
        goto fail;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm data = MPI_COMM_NULL;
    if (!count_host_ranks(c, e) || !duplicate(&c->collective, e) || !duplicate(&data, e) ||
        !mpi_ok(MPI_Comm_rank(MPI_COMM_WORLD, &c->rank), "starting MPI", e) ||
        !mpi_ok(MPI_Comm_size(MPI_COMM_WORLD, &c->size), "starting MPI", e))
        goto fail;
    MPI_Comm_set_errhandler(c->host, MPI_ERRORS_RETURN);
    int *largest = NULL, found = 0;
    MPI_Comm_get_attr(data, MPI_TAG_UB, (void *)&largest, &found);
    c->long_tags = found && *largest >= 1 << 27;
    mpi_transport_init(&c->data, &c->faults, data, is_crowded(c->host_ranks));
    struct transport *t = &c->data.transport;
    c->shm = shm_new(&c->faults, c->host, t->crowded, c->no_shm);
    if (!open_order(c, e) || !fault_open(&c->faults, t->crowded && !c->data.yields, e))
        goto fail;
    c->mailbox = mailbox_new(&c->data, c->host);
    return c;
fail:
    free(c);
    return NULL;
}

void comm_close(struct comm *c)
{
    if (!c)
        return;
    for (int i = 0; i < COMM_PLANS; i++)
        plan_free(c->plans.kept[i].plan);
    free(c->automatic);
    if (c->sum_bf16 != MPI_OP_NULL)
        MPI_Op_free(&c->sum_bf16);
    if (c->sum_f16 != MPI_OP_NULL)
        MPI_Op_free(&c->sum_f16);
    mailbox_free(c->mailbox);
    shm_free(c->shm);
    paced_free(c->paced);
    MPI_Comm_free(&c->host);
    MPI_Comm_free(&c->data.comm);
    fault_close(&c->faults);
    free(c->faults.order.peers);
    free(c->faults.order.ranks);
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

int comm_host_rank(const struct comm *c)
{
    return c->faults.order.self;
}

struct activity *comm_activity(struct comm *c)
{
    return c->faults.order.mine;
}

void comm_measures(struct comm *c, enum collective op, const char *algo, const struct element *type, size_t n,
                   long iteration)
{
    struct order *o = &c->faults.order;
    bool named = op == ALLREDUCE || strcmp(algo, "mpi") == 0; /* as order_begin is told of them */
    activity_measure(o->mine, order_word(o, (int)op, named ? algo : "", type, n), iteration);
}

bool comm_is_slowed(const struct comm *c)
{
    return c->paced != NULL;
}

bool comm_one_host(const struct comm *c)
{
    return c->host_ranks == c->size;
}

struct transport *comm_transport(struct comm *c)
{
    return c->paced ? c->paced : comm_transport_real(c);
}

struct transport *comm_transport_real(struct comm *c)
{
    return c->mailbox ? mailbox_transport(c->mailbox) : &c->data.transport;
}

struct transport *comm_transport_mpi(struct comm *c)
{
    return &c->data.transport;
}

bool comm_set_link(struct comm *c, const struct slow_link *l, struct error *e)
{
    MPI_Group all, here;
    int *local = calloc((size_t)c->size, sizeof *local), *ranks = calloc((size_t)c->size, sizeof *ranks);
    bool *same_clock = calloc((size_t)c->size, sizeof *same_clock);
    if (local && ranks && same_clock) {
        for (int i = 0; i < c->size; i++)
            ranks[i] = i;
        MPI_Comm_group(c->collective, &all);
        MPI_Comm_group(c->host, &here);
        MPI_Group_translate_ranks(all, c->size, ranks, here, local);
        MPI_Group_free(&all);
        MPI_Group_free(&here);
        for (int i = 0; i < c->size; i++)
            same_clock[i] = local[i] != MPI_UNDEFINED;
        c->slow = *l;
        c->paced = paced_new(comm_transport_real(c), &c->slow, same_clock, e);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for the slowed link");
    }
    free(local);
    free(ranks);
    free(same_clock);
    return c->paced;
}

bool comm_transport_group(struct comm *c, int colour, struct transport **t, struct error *e)
{
    *t = NULL;
    MPI_Comm group = MPI_COMM_NULL;
    struct mpi_transport *m = calloc(1, sizeof *m);
    if (!m)
        return error_set(e, ERROR_FAILED, "out of memory for a group of ranks");
    if (!mpi_ok(MPI_Comm_split(c->collective, colour >= 0 ? colour : MPI_UNDEFINED, c->rank, &group),
                "making a group of ranks", e)) {
        free(m);
        return false;
    }
    if (group == MPI_COMM_NULL) {
        free(m);
        return true;
    }
    MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    mpi_transport_init(m, &c->faults, group, c->data.transport.crowded);
    *t = &m->transport;
    return true;
}

bool comm_transport_split(struct comm *c, int ranks, struct transport **t, struct error *e)
{
    *t = NULL;
    if (ranks < 1 || ranks > c->size)
        return error_set(e, ERROR_INPUT, "a group of %d ranks was asked for, but the job has %d", ranks,
                         c->size);
    return comm_transport_group(c, c->rank < ranks ? 0 : -1, t, e);
}

void comm_transport_free(struct transport *t)
{
    if (!t)
        return;
    struct mpi_transport *m = t->self;
    MPI_Comm_free(&m->comm);
    free(m);
}

int comm_failed_rank(const struct comm *c)
{
    return c->faults.failed_rank;
}

bool comm_fail(struct comm *c, const char *sentence, double timeout_s)
{
    return fault_tell(&c->faults, sentence, timeout_s);
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
