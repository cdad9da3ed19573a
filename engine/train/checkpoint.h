/*
 * checkpoint.h - what a run needs to go on as if it had never ended: RUN/checkpoints/step-N.safetensors.
 *
 * The file holds the parameters and running statistics under PyTorch's names ("0.weight", "1.running_mean"),
 * the optimiser's moments ("optimizer.exp_avg.0.weight") and, as metadata, the step, the seed, the global
 * batch, the training set's size, the optimiser, the job and a hash of the data. Nothing else is random or remembered: the order of
 * the samples and dropout's masks follow from seed and step. A file is there whole or not at all, and the
 * last two are kept, so that one which a disk has damaged since still leaves the one before.
 */
#ifndef RINGSIDE_TRAIN_CHECKPOINT_H
#define RINGSIDE_TRAIN_CHECKPOINT_H

#include "engine/comm/comm.h"
#include "engine/nn/optimizer.h"
#include "engine/spec/job.h"

enum { CHECKPOINT_NETWORKS = 2, CHECKPOINTS_KEPT = 2 };

/* A network and its optimiser: borrowed buffers, in the layout of the model. */
struct checkpoint_network {
    const char *prefix; /* of its names, where there are several: "generator."; else "" */
    const struct model_spec *model;
    float *parameters, *state;
    struct optimizer_state moments[2];
    int moment_count;
};

struct checkpoint {
    struct checkpoint_network networks[CHECKPOINT_NETWORKS];
    int network_count;
    const char *optimizer; /* its name; NULL: only the networks are wanted, not how to go on training them */
    long step;
    double epoch;
    uint64_t seed;
    long global_batch;
    long samples; /* of the training set */
};

/* Adds a network with its optimiser (NULL: none). */
void checkpoint_add(struct checkpoint *c, const char *prefix, const struct model_spec *model,
                    float *parameters, float *state, const struct optimizer *optimizer);

/* Writes it and removes all but the last two. job: kept as text, may be NULL. */
bool checkpoint_write(const char *rundir, const struct checkpoint *c, const struct job *job, struct error *e);

/*
 * Fills the buffers, c->step, c->epoch and (on the rank that reads) c->seed from the run's last checkpoint; where that one is damaged from the
 * one before, which is then the news in note (else ""). ERROR_INPUT where there is none, or it is of another
 * model, optimiser, global batch or number of samples.
 */
bool checkpoint_read(const char *rundir, struct checkpoint *c, char *note, size_t note_size, struct error *e);

/* The same for all ranks: rank 0 reads, all get what it read, or its error. note is filled on rank 0.
 * Collective. */
bool checkpoint_share(struct comm *comm, const char *rundir, struct checkpoint *c, char *note,
                      size_t note_size, struct error *e);

#endif
