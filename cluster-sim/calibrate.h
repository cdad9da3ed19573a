/*
 * calibrate.h - what real runs on a machine say of it: what an allreduce takes by its size, and what a step takes on one
 * rank; and what follows from that for runs that were not looked at.
 *
 * The time of a collective is a curve in pieces, alpha + beta m in each: the pieces join at sizes that were measured,
 * as few of them as keep every measured time within CURVE_TOLERANCE (U. Ramer 1972 and D. Douglas and T. Peucker 1973,
 * on relative distances). The fit's error is told as what each size would be predicted by its two neighbours alone, so
 * that it is never the error of a curve through its own points.
 *
 * A training step of n ranks is predicted from runs of one rank (its time for data, compute and optimiser) and from a
 * curve for n ranks: step = one rank's + allreduce of the gradients, in the buckets and with the overlap of the run.
 */
#ifndef RINGSIDE_SIM_CALIBRATE_H
#define RINGSIDE_SIM_CALIBRATE_H

#include "engine/base/error.h"
#include "engine/spec/job.h"

#include <jansson.h>
#include <stdbool.h>

enum { CURVE_POINTS = 256, CALIBRATION_CURVES = 32, CALIBRATION_RUNS = 256 };
#define CURVE_TOLERANCE 0.03

struct curve_point {
    double bytes, seconds;
};

struct curve {
    struct curve_point point[CURVE_POINTS]; /* measured, ascending; of each size the median */
    int points;
    int knot[CURVE_POINTS]; /* which of them the pieces join at; the first and the last are */
    int knots;
    double error; /* median relative error of predicting an inner size by its neighbours; NaN: too few */
};

/* Sorts the points, takes the median of equal sizes and chooses the knots. ERROR_INPUT: fewer than two sizes. */
bool curve_fit(struct curve *c, const struct curve_point *points, int count, struct error *e);
/* alpha + beta bytes of the piece that holds the size; beyond the ends the outer pieces go on. */
double curve_seconds(const struct curve *c, double bytes);
/* The line of piece k, from knot k to knot k + 1. Neither figure is negative: where time grows faster than size, alpha is
 * held at 0, and where it falls, beta; the line is right at its upper end then. False: one was held. */
bool curve_piece(const struct curve *c, int k, double *alpha, double *beta);
/* calibrate_platform.c: of ring allreduces on so many ranks, as cluster{...} describes a network. A new reference. */
json_t *curve_to_cluster(const struct curve *c, int ranks);
/* Median relative error on the points. */
double curve_error(const struct curve *c, const struct curve_point *points, int count);

/* Collectives of one kind: the same operation, algorithm, ranks, buffer and place. */
struct calibration_curve {
    char name[128]; /* "allreduce ring, 2 ranks, engine buffer" */
    char op[24], algo[40], buffer[16];
    int ranks;
    bool inplace;
    struct curve_point *points; /* as they came; owned */
    int count;
};

/* A training run: medians over its steps but the first tenth. */
struct calibration_run {
    char id[128], model[64], algo[40];
    int ranks, batch, threads;
    double parameters;
    double step_s, data_s, compute_s, comm_s, exposed_s;
    long steps, bucket; /* bucket: bytes, 0: all in one */
    struct job *job;    /* owned */
};

struct calibration {
    struct calibration_curve curve[CALIBRATION_CURVES];
    int curves;
    struct calibration_run run[CALIBRATION_RUNS];
    int runs;
};

/* Takes in the run in a directory; simulated and replayed ones are refused. */
bool calibration_add(struct calibration *c, const char *dir, struct error *e);
void calibration_free(struct calibration *c);

/* What a training run of several ranks was predicted by. */
struct calibration_prediction {
    double alone_s; /* one rank's step, the mean of the runs with the same model and batch */
    int alone_runs;
    double comm_s; /* of the curve */
    double step_s, samples_per_s;
    double measured_samples_per_s, error; /* relative */
    bool overlap;
};

/*
 * ERROR_INPUT: there is no run of one rank with the same model, batch and threads, or no curve for its allreduce on so
 * many ranks. cores: of the machine; buckets overlap with backward only where cores are left for it.
 */
bool calibration_predict(const struct calibration *c, const struct calibration_run *run, int cores,
                         struct calibration_prediction *p, struct error *e);

#endif
