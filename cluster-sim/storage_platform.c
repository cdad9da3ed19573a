/*
 * storage_platform.c - what a described cluster (platform.h) reads its data from, as storage.h takes it.
 */
#include "cluster-sim/storage.h"

#include <math.h>

/* A described disk's time to open a file is all that there is before its bytes come: seeks are in it. */
static void take(const struct sim_storage *from, struct storage_system *s)
{
    *s = (struct storage_system){.target_bytes_per_s = from->read_bytes_per_s,
                                 .open_s = from->open_s,
                                 .metadata_per_s = from->opens_per_s,
                                 .server_link_bytes_per_s = from->link_bytes_per_s,
                                 .depth = 1,
                                 .targets = from->targets > 0 ? from->targets : 1,
                                 .servers = 1,
                                 .operations_per_file = 1,
                                 .stripe_count = from->stripe_count > 0 ? from->stripe_count : 1,
                                 .stripe_bytes = from->stripe_bytes > 0 ? from->stripe_bytes : 1048576};
    switch (from->kind) {
    case SIM_STORAGE_NONE:
    case SIM_STORAGE_LOCAL: s->kind = STORAGE_LOCAL; break;
    case SIM_STORAGE_NFS: s->kind = STORAGE_NFS; break;
    case SIM_STORAGE_SAN:
    case SIM_STORAGE_PARALLEL:
        s->kind = STORAGE_PARALLEL;
        s->servers = s->targets; /* the link is that of each target's server */
        break;
    }
}

bool storage_of_platform(const struct platform *p, struct storage_system *s, struct storage_load *load,
                         struct error *e)
{
    if (p->shared.kind == SIM_STORAGE_NONE && p->disk.kind == SIM_STORAGE_NONE)
        return error_set(
            e, ERROR_INPUT,
            "cluster %s has no storage: give it storage = {kind =, read = ...} or disk = {read = ...}",
            p->name);
    take(p->shared.kind != SIM_STORAGE_NONE ? &p->shared : &p->disk, s);
    if (p->disk.kind != SIM_STORAGE_NONE)
        take(&p->disk, &load->local);
    load->clients = p->nodes;
    load->client_link_bytes_per_s = p->bandwidth * fmax(1, p->node.nics);
    if (p->node.memory_bytes_per_s > 0)
        load->memory_bytes_per_s = p->node.memory_bytes_per_s;
    return true;
}
