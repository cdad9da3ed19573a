/* allreduce.c - the allreduce by its name: MPI's, in shared memory, or a schedule, whose plans are kept. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/executor.h"
#include "engine/comm/shm.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void mpi_add_bf16(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void)type;
    element_bf16.add(to, from, (size_t)*n);
}

static void mpi_add_f16(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void)type;
    element_f16.add(to, from, (size_t)*n);
}

/* MPI knows no type of 16 bits that it could add: such a sum is an operation of our own, made when it is needed. */
bool comm_mpi_type(struct comm *c, const struct element *type, MPI_Datatype *name, MPI_Op *sum,
                   struct error *e)
{
    *name = type == &element_f32 ? MPI_FLOAT : type == &element_f64 ? MPI_DOUBLE : MPI_UINT16_T;
    *sum = MPI_SUM;
    if (type != &element_bf16 && type != &element_f16)
        return true;
    MPI_Op *own = type == &element_bf16 ? &c->sum_bf16 : &c->sum_f16;
    MPI_User_function *add = type == &element_bf16 ? mpi_add_bf16 : mpi_add_f16;
    if (*own == MPI_OP_NULL && !mpi_ok(MPI_Op_create(add, 1, own), "making MPI's sum of 16 bits", e))
        return false;
    *sum = *own;
    return true;
}

static bool mpi_allreduce(struct comm *c, const struct element *type, const void *from, void *to, size_t n,
                          struct error *e)
{
    MPI_Datatype name;
    MPI_Op sum;
    if (!comm_mpi_type(c, type, &name, &sum, e))
        return false;
    for (size_t at = 0; at < n; at += MPI_PIECE) {
        int piece = n - at < MPI_PIECE ? (int)(n - at) : MPI_PIECE;
        const void *source = from == to ? MPI_IN_PLACE : (const char *)from + at * type->bytes;
        char *target = (char *)to + at * type->bytes;
        if (c->threaded) { /* beside a thread that computes: look, and sleep */
            MPI_Request request;
            if (!mpi_ok(MPI_Iallreduce(source, target, piece, name, sum, c->collective, &request),
                        "MPI_Iallreduce", e) ||
                !fault_wait(&c->faults, &request, "MPI_Iallreduce", e))
                return false;
        } else if (!mpi_ok(MPI_Allreduce(source, target, piece, name, sum, c->collective), "MPI_Allreduce",
                           e)) {
            return false;
        }
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
    if (c->long_tags)
        plan_stamp(made,
                   order_stamp(order_word(&c->faults.order, (int)op, op == ALLREDUCE ? algo : "", type, n)));
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
    bool nccl = strcmp(algo, "nccl") == 0;
    if (c->paced && (nccl || strcmp(algo, "shm") == 0 || strcmp(algo, "mpi") == 0))
        return error_set(e, ERROR_INPUT,
                         "%s goes past the link that is slowed on purpose; take ring or another", algo);
    if (nccl)
        return comm_device_sum(c, type, from, to, n, e) && comm_device_wait(c, e);
    struct order *order = &c->faults.order;
    if (strcmp(algo, "shm") == 0 || strcmp(algo, "mpi") == 0)
        c->sent_bytes = NAN;
    if (strcmp(algo, "shm") == 0) {
        if (!shm_check(c, e))
            return false;
        uint64_t word = order_begin(order, ALLREDUCE, algo, type, n);
        return order_end(order, shm_allreduce(c->shm, type, from, to, n, order_stamp(word), e), false, e);
    }
    if (strcmp(algo, "mpi") == 0) {
        order_begin(order, ALLREDUCE, algo, type, n);
        return order_end(order, mpi_allreduce(c, type, from, to, n, e), order_due(order, n * type->bytes), e);
    }
    char name[32];
    struct plan *plan = with_hosts(c, algo, name, e) ? comm_plan(c, ALLREDUCE, name, type, n, e) : NULL;
    if (!plan)
        return false;
    if (log)
        snprintf(log->algo, sizeof log->algo, "%s", algo);
    c->sent_bytes += plan_sent_bytes(plan);
    order_begin(order, ALLREDUCE, name, type, n);
    if (from != to)
        memcpy(to, from, n * type->bytes);
    return order_end(order, plan_run(plan, comm_transport(c), to, log, e), false, e);
}

double comm_take_sent_bytes(struct comm *c)
{
    double bytes = c->sent_bytes;
    c->sent_bytes = 0;
    return bytes;
}

bool comm_allreduce(struct comm *c, const char *algo, float *x, size_t n, struct hop_log *log,
                    struct error *e)
{
    return comm_allreduce_to(c, algo, &element_f32, x, x, n, log, e);
}
