/*
 * trainer_internal.h - what the files of the trainer share: setup.c and setup_fit.c make it ready, step.c takes a step,
 * saving.c keeps checkpoints, trainer.c goes through the run.
 */
#ifndef RINGSIDE_TRAIN_TRAINER_INTERNAL_H
#define RINGSIDE_TRAIN_TRAINER_INTERNAL_H

#include "engine/base/activity.h"
#include "engine/comm/tracing.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/data/order.h"
#include "engine/nn/learning_rate.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/train/autotune.h"
#include "engine/train/device.h"
#include "engine/train/gan.h"
#include "engine/train/gradients.h"
#include "engine/train/reducer.h"
#include "engine/train/reproducible.h"
#include "engine/train/telemetry.h"
#include "engine/train/trainer.h"

enum {
    EXTRAS = 2,    /* numbers behind the gradients, for the word between ranks */
    STAMPS = 1000, /* steps of the learning rate's schedule in a run bounded by time */
};

/* What rank 0 wants of all, as one small number that only it puts into the sum. */
enum { WANT_STOP = 1, WANT_RANKS = 2, WANT_HOPS = 4, WANT_END = 8, WANT_BUCKET = 16, WANTS = 32 };

struct checkpoint;

struct trainer {
    const struct job *job;
    const struct job_train *t;
    const char *rundir;
    struct comm *comm;
    struct activity *activity; /* what this rank is doing, of comm */
    struct event_sink *sink;

    /* setup.c */
    struct dataset train, test;
    struct gan *gan;         /* of a job of two networks; NULL: there is one */
    struct model_spec model; /* of a gan the discriminator, and so on */
    struct device device;
    struct backend *backend; /* of the device */
    struct network *network;
    struct reproducible *reproducible; /* computes the gradients in place of network; NULL: network does */
    const char *algo;                  /* of the allreduce */
    struct autotune *tuning;           /* of that and the buckets, as long as it lasts */
    const char *about_auto;            /* what algo auto goes by; NULL: it is another */
    struct optimizer *optimizer;
    struct learning_rate rate;
    struct order order;
    struct loader *loader;
    struct hop_log *hops[REDUCER_LOGS]; /* of a step's allreduces, or of a gan's two */
    int logged;                         /* so many of them hold the last step's */
    struct rank_sum all_ranks;          /* what layers that look across ranks are handed */
    struct gradients gradients;         /* what the allreduce sums */
    struct reducer *reducer; /* which does it; NULL: a gan's two networks have one allreduce each */
    float
        *part; /* where a batch's gradient is computed that is added to others, of the backend; NULL: there */
    int32_t *next_classes; /* of one that was fetched while a step went on */
    bool fetched;          /* there is such a batch, in the network's input */
    bool records;          /* a step's passes are the same each time and can be recorded (backend.h) */
    int32_t *classes;      /* of a batch */
    int samples;           /* of this rank in a step: batch × accumulate */
    long global_batch;     /* of all ranks */
    double trained;        /* samples in this run so far, of all ranks, in global batches */
    int readers;           /* ranks that have samples in this step; the others join */
    double global_rows;    /* the loss is the mean over them: of a sequence, one a step */
    long total_steps;      /* 0: bounded by time */

    /* step_trace.c */
    struct tracing *tracing; /* NULL: nothing is recorded */
    struct trace_lane *lane; /* of this thread */
    int loss_name, shards_name, sum_name, recorded_name;

    /* step.c */
    long step; /* done so far, those of the run that this one goes on with included */
    double lr, grad_norm;
    double share;         /* of the time that is over, as rank 0 sees it */
    int bad_layer;        /* whose output was not finite in this step, from 0; -1: none */
    double layers_s;      /* a gan: this step's communication inside layers */
    int wants;            /* rank 0: what it asks for in this step */
    struct phases phases; /* of the last step */
    struct meter step_meter, rank_meter;
    struct stragglers stragglers; /* rank 0 */
    long compared_step;           /* after which the ranks' parameters were compared last */

    /* trainer.c */
    double began, left_out_s;
    double next_step_event, next_rank_event, next_hops, next_look;
    long bucket_asked; /* rank 0: the size that was asked for last while the run goes on; -1: none was */
    bool sample_hops;  /* in the coming step, on every rank */
    long ops;
    double loss, accuracy; /* of the last evaluation */
    bool evaluated;        /* since the last step */
    bool lost_told;        /* that compression makes many gradients 0 */

    /* saving.c */
    long first_step, saved_step; /* where this run began; of the last checkpoint, -1: none */
    char resume_note[600];       /* what there was to say about the one it began with; "": nothing */
};

/* setup.c. Collective. trainer_tear_down is fine after a trainer_set_up that failed. */
bool trainer_set_up(struct trainer *tr, struct error *e);
void trainer_tear_down(struct trainer *tr);
bool trainer_emit_run(struct trainer *tr, struct error *e);
/* Parts of it that a gan shares. */
bool trainer_open_backend(struct trainer *tr, struct error *e);
/* What sums other things than gradients over the ranks, which lie in the host's memory. */
const char *trainer_host_algo(const struct trainer *tr);
bool trainer_optimizer_spec(const struct trainer *tr, struct optimizer_spec *spec, struct error *e);

/* step.c: one step on every rank; wants: what rank 0 asks for; *want: what it asked for, on every rank. */
bool trainer_step(struct trainer *tr, int wants, int *want, struct error *e);
/* The number that carries rank 0's wishes to all; the others put 0. */
float trainer_word(const struct trainer *tr, int wants);
/* What the sum of those says. */
void trainer_take_word(struct trainer *tr, float word, int *want);
double trainer_rate(const struct trainer *tr);
/* Puts a step into both meters. */
void trainer_count(struct trainer *tr, const struct phases *p, double loss);

/* setup_fit.c. ERROR_INPUT names data, or the last layer, that would fit. */
bool trainer_check_fit(const struct model_spec *m, const struct dataset *d, const char *data,
                       struct error *e);

/*
 * step_trace.c. Of the trace: which steps and whose lanes; a step begins (collective); the transfers of this step that
 * were sampled.
 */
bool trainer_open_trace(struct trainer *tr, struct error *e);
bool trainer_trace_step(struct trainer *tr, struct error *e);
void trainer_trace_hops(struct trainer *tr);

/* trainer.c. Collective: the network's running statistics become their mean over the ranks. */
bool trainer_share_state(struct trainer *tr, struct error *e);
/* These seconds are not the training's: its speed is told without them. */
void trainer_leave_out(struct trainer *tr, double seconds);

/* trainer.c. Collective: loss and accuracy on the test set. */
bool trainer_test(struct trainer *tr, struct error *e);

/* inference.c. Collective. Fills the network from job.train.eval, tests it and times it: no training. */
bool trainer_load_tested(struct trainer *tr, struct error *e);
bool trainer_inference(struct trainer *tr, struct train_result *result, struct error *e);

/* saving.c. Collective. trainer_save: a disk that is full is a note, not an error. */
bool trainer_save(struct trainer *tr, struct error *e);
/* Of one model or of a gan, for writing and for reading, as the host has them: made as new as the backend's. */
bool trainer_add_networks(const struct trainer *tr, struct checkpoint *c, bool optimizers, struct error *e);
/* What has been read becomes the backend's. */
bool trainer_install_networks(const struct trainer *tr, bool optimizers, struct error *e);
/* Goes on from the last checkpoint of job.train.resume, where there is one. */
bool trainer_resume(struct trainer *tr, struct error *e);

/*
 * False where the loss, the same on all ranks, is no finite number: the sentence names step and layer
 * (tr->bad_layer, as each rank found it). Collective then.
 */
bool trainer_loss_is_finite(struct trainer *tr, const char *what, double loss, long step, struct error *e);

/* The run's position in epochs. */
static inline double trainer_epoch(const struct trainer *tr)
{
    return (double)tr->step / (double)tr->order.steps_per_epoch;
}

#endif
