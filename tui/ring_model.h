/*
 * ring_model.h - the messages of one operation, put into rounds, and what every rank holds after each.
 *
 * An engine's operation says the round, the phase and the chunk of each message, and they are taken as said: a schedule may
 * have a single round. A learner's rank script knows no rounds: where its own count makes none, they follow from causality
 * (a message comes after the last one its sender sent or had received, and after the last one its receiver got), and
 * chunks are drawn only where they are said.
 *
 * What a rank holds of a chunk is the set of ranks whose contributions are in it, one bit a rank. In a reduce-scatter,
 * reduce or barrier the receiver adds (union), in an allgather or broadcast it overwrites; in an alltoall rank i's piece j
 * becomes rank j's piece i. What is to be there at the end depends on the operation: of an allreduce all bits everywhere.
 */
#ifndef RINGSIDE_TUI_RING_MODEL_H
#define RINGSIDE_TUI_RING_MODEL_H

#include "engine/spec/collective.h"
#include "tui/run_model.h"

enum { RING_MAX_RANKS = 64, RING_MAX_FAULTS = 64 };

struct ring_message {
    int round; /* from 0 */
    enum hop_phase phase;
    int from, to, chunk; /* chunk -1: not said */
    int span;            /* chunks that it carries, from that one on */
    double bytes, t0, t1;
    bool far;      /* not to a neighbour on the ring */
    bool stranger; /* ... though this operation is a ring */
    bool faulty;   /* some fault names it, that one included */
};

/* Something that does not belong into the operation; ring_fault_text says it. */
enum ring_fault_kind {
    RING_WRONG_NEIGHBOUR, /* to `to`, not to `expected` (-1: not to a neighbour) */
    RING_MISSING,    /* from -> to: never came; from alone (to -1): `seen` messages instead of `expected` */
    RING_UNEXPECTED, /* the schedule has no such message */
    RING_TWICE /* what arrives is counted twice: the receiver has some of it already, or it came twice */
};
struct ring_fault {
    enum ring_fault_kind kind;
    int round, from, to, chunk, expected, seen;
};

struct ring_model {
    int ranks, chunks; /* chunks 0: not said */
    int rounds;
    struct ring_message *messages; /* by round, then by sender */
    int count;
    int *first; /* messages[first[k]] begins round k; rounds + 1 entries */
    long op;
    char algo[32];
    enum collective collective; /* what is to be done */
    bool yours;                 /* a learner's script: nobody said what its algorithm is */
    bool tree;                  /* of a tree: the whole buffer up to rank 0 and down again */
    bool claims_ring;           /* it should be a ring: by its algorithm, or since it is the learner's */
    bool ring;                  /* all messages go to a neighbour */
    int strangers;              /* messages that do not, though they should */
    double total_bytes;         /* of all messages */
    double buffer_bytes;        /* of the whole buffer, as far as the chunks tell; 0: not known */
    struct ring_fault faults[RING_MAX_FAULTS]; /* by round */
    int fault_count;
};

/* whole: no more messages will come, so that what is missing can be told. Fails where the operation has no message, or more
 * than RING_MAX_RANKS ranks. */
bool ring_model_build(struct ring_model *m, const struct run_op *op, bool whole, struct error *e);
void ring_model_free(struct ring_model *m);

/* What every rank holds before round k (k = rounds: at the end): sets[rank * chunks + chunk]. */
void ring_model_state(const struct ring_model *m, int round, uint64_t *sets);
/* Of such sets: how much of what is to be there is there, 0 .. ranks: contributions, or where nothing is added all or none. */
int ring_model_have(const struct ring_model *m, const uint64_t *sets, int rank, int chunk);
/* Whether the rank has all it is to have at the end; false where chunks are not said. */
bool ring_model_complete(const struct ring_model *m, const uint64_t *sets, int rank);
/* Bytes all ranks have sent before round k. */
double ring_model_bytes(const struct ring_model *m, int round);
/*
 * Bytes through the busiest rank's link before round k: of each of its rounds what it sends or what it receives, whichever
 * is more, since links carry both ways at once. It is what the linear model multiplies by beta.
 */
double ring_model_busiest_bytes(const struct ring_model *m, int round);
/* What the formula of engine/spec/cost.h multiplies by beta for this operation; NaN: there is none. *text: the formula. */
double ring_model_formula_bytes(const struct ring_model *m, const char **text);
/* Real duration of a round: from its first beginning to its last end, in seconds. */
double ring_model_duration(const struct ring_model *m, int round);
/* The phase most messages of the round are in. */
enum hop_phase ring_model_phase(const struct ring_model *m, int round);
/* Bytes a rank sends in a ring-allreduce of n ranks over a buffer: 2 (n - 1) / n of it. */
double ring_expected_bytes(int ranks, double buffer_bytes);

/* ring_faults.c: finds them, marks the messages; called by ring_model_build. */
void ring_faults_find(struct ring_model *m, bool whole);
/* The first fault of a round; NULL: none. */
const struct ring_fault *ring_fault_in(const struct ring_model *m, int round);
/* One sentence, translated. */
void ring_fault_text(const struct ring_model *m, const struct ring_fault *fault, char *text, size_t size);

/*
 * ring_schedule.c: an operation as its schedule says it, without a run. name: of an allreduce algorithm ("hierarchical:4",
 * "nccl_tree": two trees at once), or of another collective ("broadcast"). A round takes as long as its largest message by the linear model on `link`.
 * The buffer is about `bytes` long, so that all pieces are equal. Free op->hops.
 */
struct cost_link;
bool ring_schedule_op(struct run_op *op, const char *name, int ranks, double bytes,
                      const struct cost_link *link, struct error *e);
/* The names in a fixed order: the allreduce algorithms, NCCL's, then the other collectives; NULL past the last. */
const char *ring_schedule_name(int i);

#endif
