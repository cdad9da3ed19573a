/*
 * training.h - one step of distributed training, timed: layers through a roofline, buckets of gradients summed while
 * backward goes on, pipeline stages, the optimiser, the input pipeline, stragglers, memory.
 *
 * The mesh has data × tensor × pipeline ranks. Ranks that do the same are computed once, so the cost does not depend
 * on their number. What is modelled:
 *   compute   each layer's forward and backward time (roofline.h), scaled to a measured rate of one rank where given
 *   tensor    layers with weights are cut over `tensor` ranks, the first of a pair by columns, the second by rows: one
 *             allreduce of the pair's output forward and one of its input's gradient backward, which nothing hides
 *             (M. Shoeybi et al., Megatron-LM, 2019)
 *   pipeline  contiguous stages of as equal a time as can be, in the order 1F1B (pipeline.h)
 *   data      gradients are ready in reverse layer order and fused into buckets: a bucket is closed by the layer that
 *             fills it, the first one smaller so that the network starts early (S. Li et al., PyTorch distributed,
 *             VLDB 2020). One stream of communication sums them one after another; without overlap it begins after
 *             backward.
 *   optimiser reads and writes parameters, gradient and state once, after the last bucket
 *   input     the step takes at least as long as reading the next batch, which goes on meanwhile (prefetch)
 *   straggler every rank waits for the slowest (straggler.h)
 * Not modelled: that communication takes time from the cores or multiprocessors that compute, and that memory is
 * fragmented.
 */
#ifndef RINGSIDE_SIM_TRAINING_H
#define RINGSIDE_SIM_TRAINING_H

#include "cluster-sim/pipeline.h"
#include "cluster-sim/roofline.h"
#include "cluster-sim/straggler.h"
#include "engine/spec/model.h"

#include <stdbool.h>
#include <stddef.h>

enum mesh_axis { MESH_DATA, MESH_TENSOR };

/* What the step asks of the network. */
struct training_network {
    /* Seconds of an allreduce of the mesh's ranks along an axis. */
    bool (*allreduce)(struct training_network *n, enum mesh_axis axis, double bytes, double *seconds,
                      struct error *e);
    /* Seconds of a message from a pipeline stage to the next. */
    bool (*send)(struct training_network *n, double bytes, double *seconds, struct error *e);
};

struct training {
    const struct model_spec *model;
    struct roofline device;     /* of one rank */
    double memory_bytes;        /* of one rank; 0: not said */
    int data, tensor, pipeline; /* the mesh */
    int batch;                  /* samples of one of the `data` replicas */
    int microbatches;           /* that it is cut into; divides batch */
    bool overlap;               /* buckets are summed while backward goes on */
    double bucket_bytes;        /* 0: one bucket with everything */
    double first_bucket_bytes;  /* 0: as the others */
    double width;               /* bytes of a number that layers compute in: 4, or 2 of bf16 */
    const char *optimizer;      /* "sgd", "adam", "adamw", "lars", "lamb" */
    double samples_per_s;       /* of one rank that has the whole model, measured; 0: by the roofline */
    double input_samples_per_s; /* that the input pipeline yields, over all ranks; 0: any */
    struct straggler straggler;
};

/* Gradients that are summed together. Times are of a step without stragglers. */
struct training_bucket {
    int stage, last, first; /* layers, in the order in which their gradients are ready */
    double bytes;
    double takes_s;
    double ready_s, start_s, end_s;
};

struct training_memory {
    double parameters, gradients, optimizer, activations, buckets, total; /* bytes */
    int in_flight; /* micro-batches whose activations are kept */
    int stage;     /* that needs the most */
};

enum training_bottleneck {
    BOTTLENECK_COMPUTE,
    BOTTLENECK_NETWORK,
    BOTTLENECK_BUBBLE,
    BOTTLENECK_INPUT,
    BOTTLENECK_STRAGGLER
};

struct training_step {
    double step_s;
    double compute_s;      /* of the stage that ends last: forward, backward and optimiser */
    double comm_s;         /* all its communication */
    double exposed_comm_s; /* what of it, or of waiting for it, the step is longer by */
    double bubble_s;       /* that stage idles for others */
    double input_s;        /* waiting for data */
    double straggler_s;    /* the step is longer by */
    double samples_per_s;  /* of the whole job */
    double
        efficiency; /* against the same work at one rank's rate without any of the above, shared out evenly */
    enum training_bottleneck bottleneck;
};

/* A step that has been worked out; free it. */
struct training_plan {
    struct training t;
    int ranks;
    double forward_s, backward_s, optimizer_s; /* of one rank that has the whole model, on the whole batch */
    double scale;                              /* the measured rate's factor on the roofline's times */
    double *layer_forward_s,
        *layer_backward_s; /* of one micro-batch, tensor parallelism's messages included; owned */
    double *layer_sums_forward_s, *layer_sums_backward_s; /* those messages alone; owned */
    struct pipeline_stage *stages;                        /* owned */
    int *stage_first;                /* each stage's first layer, and behind the last their number; owned */
    double *stage_optimizer_s;       /* owned */
    struct training_bucket *buckets; /* stage after stage; owned */
    int bucket_count;
    int longest_layer; /* of forward and backward together */
    bool longest_memory_bound;
    double pipeline_s, idle; /* without stragglers: the end of the last backward pass, idle share */
    int critical_stage;      /* whose gradients come last, or else whose compute */
    struct training_memory memory;
    struct training_step expected; /* with the expected straggler */
};

/* ERROR_INPUT names what does not fit: batch and micro-batches, more stages than layers. */
bool training_plan_make(struct training_plan *p, const struct training *t, struct training_network *network,
                        struct error *e);
/* The step in which the slowest rank takes `slowest` times as long as usual. */
bool training_step_at(const struct training_plan *p, double slowest, struct training_step *step,
                      struct error *e);
void training_plan_free(struct training_plan *p);

/* training_memory.c: bytes of the rank that needs the most, once the stages are known. */
void training_memory_count(struct training_plan *p);
/* Bytes that the optimiser keeps for a parameter, and moves in a step. */
double optimizer_state_bytes(const char *optimizer);
double optimizer_moved_bytes(const char *optimizer);

/* training_explain.c: why, a line for each part: formula and the numbers in it. */
typedef void training_say(void *self, const char *what, double seconds, const char *text);
/* network: how an allreduce is done and what bounds it, as part of a sentence. */
void training_explain(const struct training_plan *p, const char *network, training_say *say, void *self);
const char *training_bottleneck_name(enum training_bottleneck b);
/* One sentence: what bounds the step. Returns text. */
const char *training_bottleneck_text(const struct training_plan *p, const char *network, char *text,
                                     size_t size);

#endif
