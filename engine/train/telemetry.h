/*
 * telemetry.h - where the time of the steps went, and the events that say so.
 *
 * A meter adds up the phases of the steps since it was last emptied: data (making the batch), compute (forward,
 * backward, optimiser) and communication, all of it exposed as long as nothing is computed meanwhile.
 */
#ifndef RINGSIDE_TRAIN_TELEMETRY_H
#define RINGSIDE_TRAIN_TELEMETRY_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"

struct meter {
    long steps;
    double began; /* sink_clock when it was emptied */
    double data_s, compute_s, comm_s;
    double loss; /* sum over the steps */
};

void meter_reset(struct meter *m);
/* One step more. */
void meter_add(struct meter *m, double data_s, double compute_s, double comm_s, double loss);

/* One `step` event of the steps in the meter: the times of one step are their means, loss too. */
bool telemetry_step(struct event_sink *sink, const struct meter *m, long step, double epoch,
                    long global_batch, double lr, double grad_norm, struct error *e);

/* One `rank` event for each rank, from that rank's meter. Collective. */
bool telemetry_ranks(struct comm *comm, struct event_sink *sink, const struct meter *m, int batch,
                     struct error *e);

#endif
