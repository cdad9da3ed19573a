/*
 * trainer.h - data-parallel training: every rank computes the gradient of its own batch, one allreduce sums
 * them, every rank takes the same step. A rank may first add up the gradients of several batches
 * (accumulate): the same step as with one batch of that size, but that batchnorm sees each batch by itself.
 *
 * The gradients carry two numbers more at their end, so that a step needs one allreduce and no other word
 * between ranks: the loss of the batch, and what rank 0 wants of everybody (stop, report, time is up). Nobody
 * else decides, so all ranks do the same in the same step.
 *
 * Emitted on rank 0: run, step, rank, eval, hop, sample, done (and fault). See CONTRIBUTING.md for the
 * fields.
 */
#ifndef RINGSIDE_TRAIN_TRAINER_H
#define RINGSIDE_TRAIN_TRAINER_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"
#include "engine/spec/job.h"

struct train_result {
    long steps;
    double loss, accuracy; /* of the last evaluation; NaN: there was none */
    double samples_per_s;  /* whole job, evaluation left out */
    bool stopped;          /* the stop file */
};

/* Collective: every rank calls it with the same job. False: the sentence is in e (alike on all ranks where the
 * training itself went wrong, as by a loss that is no number). */
bool train_run(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
               struct train_result *result, struct error *e);

#endif
