/*
 * link_load.h - how much a collective, or a step of training, puts on each link of a simulated cluster.
 *
 * Bytes come from the messages themselves: each goes along its route, and all that crosses a link is added up. The time is
 * the simulator's. A link's utilisation is its bytes over what it could carry in that time. A step of training is counted as
 * the allreduces of its gradients; its time is the whole step's, so that links idle while ranks compute.
 */
#ifndef RINGSIDE_TUI_LINK_LOAD_H
#define RINGSIDE_TUI_LINK_LOAD_H

#include "cluster-sim/collective.h"

struct link_question {
    char cluster[256]; /* of exercises/clusters, or a file */
    char algo[32];
    int ranks;     /* 0: as many as the cluster has, at most LINK_RANKS_MOST */
    double bytes;  /* of the buffer; of a training step: ignored */
    bool training; /* a step of LINK_MODEL, LINK_BATCH samples a rank */
};
enum { LINK_RANKS_MOST = 256, LINK_BATCH = 32 };
#define LINK_MODEL "resnet50"

struct link_load {
    struct link_question asked;
    struct platform platform;
    double *bytes; /* of each of platform.links */
    int ranks;
    double time_s, sum_bytes;    /* sum_bytes: of the buffer that is summed */
    double compute_s, exposed_s; /* of a training step */
    struct sim_result result;    /* of the collective; of training: of its largest */
    char why[512];               /* one line: what bounds it */
};

/* May take a second. ERROR_INPUT: no such cluster, an algorithm that does not fit the ranks ... */
bool link_load_make(struct link_load *l, const struct link_question *q, struct error *e);
void link_load_free(struct link_load *l);
/* 0 .. 1 */
double link_load_share(const struct link_load *l, int link);
/* The links with the highest share, the busiest first; returns how many (those with load, at most `most`). */
int link_load_busiest(const struct link_load *l, int *links, int most);

#endif
