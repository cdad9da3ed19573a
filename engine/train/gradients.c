#include "engine/train/gradients.h"

#include <string.h>

bool gradients_new(struct gradients *g, struct comm *comm, struct backend *backend, size_t parameters,
                   size_t words, struct error *e)
{
    *g = (struct gradients){.backend = backend, .comm = comm, .parameters = parameters, .words = words};
    g->host = comm_buffer(comm, parameters + words, e);
    if (!g->host)
        return false;
    g->computed = backend->ops->host_memory ? g->host : backend->ops->memory_new(backend, parameters, e);
    return g->computed;
}

void gradients_free(struct gradients *g)
{
    if (g->computed && g->computed != g->host)
        g->backend->ops->memory_free(g->backend, g->computed);
    if (g->host)
        comm_buffer_free(g->comm, g->host);
    *g = (struct gradients){0};
}

static size_t length(const struct gradients *g, size_t begin, size_t end)
{
    size_t most = end < g->parameters ? end : g->parameters;
    return begin < most ? most - begin : 0;
}

bool gradients_to_host(const struct gradients *g, size_t begin, size_t end, struct error *e)
{
    return g->backend->ops->copy_out(g->backend, g->host + begin, g->computed + begin, length(g, begin, end),
                                     e);
}

bool gradients_to_backend(const struct gradients *g, size_t begin, size_t end, struct error *e)
{
    return g->backend->ops->copy_in(g->backend, g->computed + begin, g->host + begin, length(g, begin, end),
                                    e);
}

bool gradients_zero(const struct gradients *g, struct error *e)
{
    memset(g->host, 0, g->parameters * sizeof *g->host);
    return gradients_to_backend(g, 0, g->parameters, e);
}

bool gradients_stay(const char *algo)
{
    return strcmp(algo, "nccl") == 0;
}

const char *gradients_host_algo(const char *algo)
{
    return gradients_stay(algo) ? "mpi" : algo;
}

bool gradients_sum(const struct gradients *g, const char *algo, struct hop_log *log, struct error *e)
{
    if (gradients_stay(algo))
        return comm_device_sum(g->comm, &element_f32, g->computed, g->computed, g->parameters, e) &&
               comm_allreduce(g->comm, "mpi", gradients_words(g), g->words, NULL, e) &&
               comm_device_wait(g->comm, e);
    return gradients_to_host(g, 0, g->parameters, e) &&
           comm_allreduce(g->comm, algo, g->host, g->parameters + g->words, log, e) &&
           gradients_to_backend(g, 0, g->parameters, e);
}
