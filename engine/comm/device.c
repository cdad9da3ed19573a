/* device.c - the allreduce "nccl": sums in the memory of GPUs, by a table that is handed to the comm. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/idle.h"

#include <math.h>

enum { LOOK_EVERY = 100 }; /* at what else may have happened; a look at the sums takes about 1 us */

void comm_set_device(struct comm *c, struct device_comm *d)
{
    c->device = d;
}

static enum device_type device_type(const struct element *type)
{
    return type == &element_f64    ? DEVICE_F64
           : type == &element_bf16 ? DEVICE_BF16
           : type == &element_f16  ? DEVICE_F16
                                   : DEVICE_F32;
}

bool comm_device_sum(struct comm *c, const struct element *type, const void *from, void *to, size_t n,
                     struct error *e)
{
    struct order *order = &c->faults.order;
    if (!c->device)
        return error_set(
            e, ERROR_INPUT,
            "nccl sums in the memory of GPUs, one for each rank, and this job computes without them; "
            "take ring, mpi or auto");
    c->sent_bytes = NAN;
    order_begin(order, ALLREDUCE, "nccl", type, n);
    return order_end(order, c->device->ops->sum(c->device, device_type(type), from, to, n, e), false, e);
}

bool comm_device_wait(struct comm *c, struct error *e)
{
    struct idle idle = idle_start(c->faults.gives_way, &c->faults.aside);
    if (!c->device->ops->join(c->device, e))
        return false;
    for (enum progress p; (p = c->device->ops->poll(c->device, e)) != PROGRESS_DONE; idle_step(&idle))
        if (p == PROGRESS_FAILED ||
            (idle.polls % LOOK_EVERY == LOOK_EVERY - 1 && !fault_check(&c->faults, e)))
            return false;
    return true;
}

void comm_device_times(struct comm *c, double *busy_s, double *exposed_s)
{
    *busy_s = *exposed_s = 0;
    if (c->device)
        c->device->ops->times(c->device, busy_s, exposed_s);
}
