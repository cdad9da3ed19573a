/*
 * gradients.h - a buffer of gradients: where backward writes them, and where the ranks sum them.
 *
 * Where the backend computes in the host's memory the two are one, which the other ranks can reach (comm_buffer), and
 * nothing is copied. Else backward writes into the backend's memory, and the sum over the ranks either goes through the
 * host's (out, summed, in again), by whatever algorithm, or is NCCL's and stays where it is. Behind the gradients come a
 * few words that the ranks sum too; they are always the host's.
 */
#ifndef RINGSIDE_TRAIN_GRADIENTS_H
#define RINGSIDE_TRAIN_GRADIENTS_H

#include "engine/comm/comm.h"
#include "engine/nn/backend.h"

struct gradients {
    struct backend *backend;
    struct comm *comm;
    size_t parameters, words;
    float *
        computed; /* as many as parameters, in the backend's memory: what backward writes and the optimiser reads */
    float *host; /* of comm: parameters, and the words behind them */
};

/* Collective. gradients_free is fine after it failed, and before. */
bool gradients_new(struct gradients *g, struct comm *comm, struct backend *backend, size_t parameters,
                   size_t words, struct error *e);
void gradients_free(struct gradients *g);

static inline float *gradients_words(const struct gradients *g)
{
    return g->host + g->parameters;
}

/* Elements [begin, end), words left out, from where they are computed to the host's memory, and back. */
bool gradients_to_host(const struct gradients *g, size_t begin, size_t end, struct error *e);
bool gradients_to_backend(const struct gradients *g, size_t begin, size_t end, struct error *e);
bool gradients_zero(const struct gradients *g, struct error *e); /* in both; the words stay */

/* Whether that algorithm sums them where they were computed; what the words are summed by then. */
bool gradients_stay(const char *algo);
const char *gradients_host_algo(const char *algo);

/* Sums gradients and words over all ranks, and waits. Collective. */
bool gradients_sum(const struct gradients *g, const char *algo, struct hop_log *log, struct error *e);

#endif
