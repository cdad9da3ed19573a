/*
 * training_network.h - the network of a training step on a platform: its collectives over a mesh of ranks.
 *
 * Ranks are laid out as Megatron-LM does: tensor parallel ranks are neighbours, then come the data parallel replicas,
 * then the pipeline's stages. A group along the data axis so has every tensor-th rank; the `tensor` groups of a node sum
 * at the same time and share its links, so each is given its part of their rate. Answers are kept: a size is timed
 * once.
 */
#ifndef RINGSIDE_SIM_TRAINING_NETWORK_H
#define RINGSIDE_SIM_TRAINING_NETWORK_H

#include "cluster-sim/collective.h"
#include "cluster-sim/training.h"

enum { NETWORK_ANSWERS = 2048 };

struct network_answer {
    enum mesh_axis axis;
    double bytes;
    struct sim_result result;
};

struct platform_network {
    struct training_network network; /* what training_plan_make is given */
    const struct platform *platform; /* the caller's */
    const char *algo;                /* of the data axis; along the tensor axis it is a ring */
    enum sim_tier tier;
    int data, tensor, pipeline;
    struct network_answer *answers; /* owned */
    int count;
};

/* ERROR_INPUT: the platform has fewer ranks than the mesh. */
bool platform_network_make(struct platform_network *n, const struct platform *p, const char *algo,
                           enum sim_tier tier, int data, int tensor, int pipeline, struct error *e);
void platform_network_free(struct platform_network *n);

/* The answer for the largest allreduce along the data axis; NULL: there was none. */
const struct sim_result *platform_network_largest(const struct platform_network *n);
/* "ring over 512 ranks (closed): bound by node 3 -> switch": part of a sentence. Returns text. */
const char *platform_network_text(const struct platform_network *n, char *text, size_t size);

/* The platform as one group along the axis sees it: a shallow copy, not to be freed. */
struct platform platform_group(const struct platform *p, enum mesh_axis axis, int tensor);

#endif
