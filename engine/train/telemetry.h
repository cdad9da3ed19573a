/*
 * telemetry.h - where the time of the steps went, and the events that say so.
 *
 * A meter adds up the phases of the steps since it was last emptied: data (making the batch), compute
 * (forward, backward, optimiser) and exposed communication (nothing is computed meanwhile) are the step;
 * communication in all may be longer, where some of it is hidden behind backward.
 */
#ifndef RINGSIDE_TRAIN_TELEMETRY_H
#define RINGSIDE_TRAIN_TELEMETRY_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"
#include "engine/comm/compress.h"
#include "engine/train/device.h"
#include "engine/train/straggler.h"

/* What a gan's step tells beside the loss; means over samples. */
struct gan_figures {
    double loss_d, loss_g;
    double d_real,
        d_fake; /* the probability of being real that D gives to real images, and to generated ones */
};

/* Seconds of a step. */
struct phases {
    double data, compute, comm, exposed;
};

/* How the gradients of the last step were summed. */
struct fusion {
    const char *algo;                              /* where it may change from step to step; else NULL */
    size_t bucket;                                 /* bytes, as asked for */
    int buckets;                                   /* allreduces */
    int joined;                                    /* ranks that had no samples left and put in zeros */
    double sent_bytes;                             /* by a rank, the mean over the ranks; NAN: not known */
    const struct compression_figures *compression; /* NULL: not measured since the last event */
};

struct meter {
    long steps;
    double began;         /* sink_clock when it was emptied */
    struct phases phases; /* sums over the steps */
    double batches;       /* global batches in them: fewer than steps, where ranks have joined */
    long read;            /* steps in which this rank had samples */
    double loss;          /* sum over the steps, each weighted with its part of a global batch */
    bool gan;
    struct gan_figures figures; /* of a gan: sums over the steps */
};

void meter_reset(struct meter *m);
/* One step more, of so much of a global batch; read: this rank had samples in it. */
void meter_add(struct meter *m, const struct phases *p, double loss, double share, bool read);
void meter_add_gan(struct meter *m, const struct gan_figures *figures);

/* One `step` event of the steps in the meter: the times of one step are their means; the loss is that over
 * samples. */
bool telemetry_step(struct event_sink *sink, const struct meter *m, long step, double epoch,
                    long global_batch, double lr, double grad_norm, const struct fusion *fusion,
                    struct error *e);

/* The figures of a gan as fields: the sums divided by n. */
void telemetry_gan(json_t *event, const struct gan_figures *sums, double n);

/*
 * One `rank` event for each rank, from that rank's meter and of its device, and a `fault` for one that has become slow.
 * Collective.
 */
bool telemetry_ranks(struct comm *comm, struct event_sink *sink, const struct meter *m, struct device *device,
                     int batch, long step, struct stragglers *s, struct error *e);

#endif
