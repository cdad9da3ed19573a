/*
 * ring_model.h - the messages of one sampled operation, put into rounds, and what every rank holds after each.
 *
 * An engine's operation says the round, the phase and the chunk of each message. A learner's rank script may say
 * none of these: then rounds follow from causality (a message comes after the last one its sender sent or had
 * received, and after the last one its receiver got), and chunks are drawn only where they are said.
 *
 * What a rank holds of a chunk is the set of ranks whose contributions are in it, one bit a rank: the chunk is
 * complete when all bits are there. In a reduce-scatter or reduce the receiver adds (union), in an allgather
 * or broadcast it overwrites.
 */
#ifndef RINGSIDE_TUI_RING_MODEL_H
#define RINGSIDE_TUI_RING_MODEL_H

#include "tui/run_model.h"

enum { RING_MAX_RANKS = 64 };

struct ring_message {
    int round; /* from 0 */
    enum hop_phase phase;
    int from, to, chunk; /* chunk -1: not said */
    double bytes, t0, t1;
    bool stranger; /* not to a neighbour on the ring */
};

struct ring_model {
    int ranks, chunks; /* chunks 0: not said */
    int rounds;
    struct ring_message *messages; /* by round, then by sender */
    int count;
    int *first; /* messages[first[k]] begins round k; rounds + 1 entries */
    long op;
    char algo[32];
    bool tree;           /* of a tree: the whole buffer up to rank 0 and down again */
    bool ring;           /* all messages go to the right neighbour */
    int strangers;       /* messages that do not */
    double total_bytes;  /* of all messages */
    double buffer_bytes; /* of the whole buffer, as far as the chunks tell; 0: not known */
};

/* Fails where the operation has no message, or more than RING_MAX_RANKS ranks. */
bool ring_model_build(struct ring_model *m, const struct run_op *op, struct error *e);
void ring_model_free(struct ring_model *m);

/* What every rank holds before round k (k = rounds: at the end): sets[rank * chunks + chunk]. */
void ring_model_state(const struct ring_model *m, int round, uint64_t *sets);
/* Bytes all ranks have sent before round k. */
double ring_model_bytes(const struct ring_model *m, int round);
/* Real duration of a round: from its first beginning to its last end, in seconds. */
double ring_model_duration(const struct ring_model *m, int round);
/* The phase most messages of the round are in. */
enum hop_phase ring_model_phase(const struct ring_model *m, int round);
/* Bytes a rank sends in a ring-allreduce of n ranks over a buffer: 2 (n - 1) / n of it. */
double ring_expected_bytes(int ranks, double buffer_bytes);

#endif
