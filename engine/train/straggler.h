/*
 * straggler.h - which rank computes so much longer than the others that they all wait for it, step by step.
 *
 * In synchronous training the samples per second are the same on all ranks; the slow one shows in its compute
 * time, while the others wait in the allreduce. It is one when in several reports in a row it took twice the median
 * of the others, and no more one when it is well below that: said once each. Rank 0 alone keeps this.
 */
#ifndef RINGSIDE_TRAIN_STRAGGLER_H
#define RINGSIDE_TRAIN_STRAGGLER_H

#include "engine/spec/job.h"

#include <stdbool.h>

#define STRAGGLER_MARK 2.0
#define STRAGGLER_UNMARK 1.5
enum { STRAGGLER_REPORTS = 3 };

enum straggler_news { STRAGGLER_SAME, STRAGGLER_SLOW, STRAGGLER_RECOVERED };

struct stragglers {
    bool slow[JOB_MAX_RANKS];
    unsigned char reports[JOB_MAX_RANKS]; /* in a row that speak for a change */
    double ratio[JOB_MAX_RANKS];          /* to the median of the others, of the last report */
    enum straggler_news news[JOB_MAX_RANKS];
};

/*
 * A report: compute_s[0..ranks), seconds of a step; NAN: that rank has computed none (it has no samples left), and
 * is left out. Fills news and ratio.
 */
void stragglers_take(struct stragglers *s, const double *compute_s, int ranks);

#endif
