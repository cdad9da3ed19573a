/*
 * checkpointing.h - how often to write a checkpoint, and what is left of a machine whose nodes fail.
 *
 * A job computes for tau, writes a checkpoint for delta, and so on until its work is done. Failures come at random
 * (exponentially), M apart on average: a node's mean time between failures over the number of nodes. A failure, which
 * may also come while a checkpoint is written or a restart is under way, costs what was not yet in a checkpoint and a
 * restart of R. The work is done when its last part is in a checkpoint, too.
 *
 *   Young     tau = sqrt(2 delta M)                      (J. Young, A first order approximation to the optimum checkpoint
 *             interval, CACM 17(9), 1974)
 *   Daly      tau = sqrt(2 delta M) (1 + 1/3 sqrt(delta / 2M) + 1/9 delta / 2M) - delta for delta < 2M, else M
 *   wall time T = M e^(R/M) (e^((tau + delta)/M) - 1) W / tau  (J. Daly, A higher order estimate of the optimum checkpoint
 *             interval for restart dumps, Future Generation Computer Systems 22, 2006, equations 37 and 20)
 *   best      where T is the least: (1 - tau/M) e^((tau + delta)/M) = 1
 *
 * W is the work without failures and checkpoints. T is exact for whole numbers of intervals; the last, shorter one is
 * counted as what it is here. Goodput is W / T. Of T, checkpoints take their delta each; every failure outside a restart
 * costs restarts of M (e^(R/M) - 1) on average, those that fail included; the rest is work done again.
 *
 * Not modelled: failures that come together, nodes that are not replaced, a checkpoint that cannot be read.
 */
#ifndef RINGSIDE_CLUSTER_SIM_CHECKPOINTING_H
#define RINGSIDE_CLUSTER_SIM_CHECKPOINTING_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct checkpointing {
    double work_s;       /* W */
    double checkpoint_s; /* delta */
    double restart_s;    /* R */
    double node_mtbf_s;
    int nodes;
    double interval_s; /* tau; 0: Daly's */
    int runs;          /* of the random simulation; 0: none */
    uint64_t seed;
};

struct checkpoint_result {
    double mtbf_s; /* M */
    double young_s, daly_s, best_s;
    double interval_s;
    double wall_s; /* T */
    double goodput;
    double checkpoints_s, again_s, restarts_s; /* parts of T; with work_s they make it up */
    double failures;                           /* T / M */
    double unprotected_s; /* the wall time without any checkpoint: M e^(R/M) (e^(W/M) - 1); may be infinite */
    /* of the runs: means and standard errors */
    double simulated_s, simulated_error_s, simulated_failures;
};

double checkpoint_young(double checkpoint_s, double mtbf_s);
double checkpoint_daly(double checkpoint_s, double mtbf_s);
double checkpoint_best(double checkpoint_s, double mtbf_s);

bool checkpoint_simulate(const struct checkpointing *c, struct checkpoint_result *r, struct error *e);

/* Where the interval that is asked for is cut to the work, a sentence on that; else "". */
void checkpoint_note(const struct checkpointing *c, const struct checkpoint_result *r, char *text,
                     size_t size);

/* What takes the most of the time that is no work. */
const char *checkpoint_bottleneck(const struct checkpoint_result *r);

/* Why: the formulas with their numbers. Lines, which the caller frees; NULL where memory is short. */
char *checkpoint_explain(const struct checkpointing *c, const struct checkpoint_result *r, struct error *e);

#endif
