#include "engine/train/straggler.h"

#include "engine/base/timing.h"

#include <math.h>

/* Of the others that compute; NAN: there are none. */
static double median_of_others(const double *compute_s, int ranks, int rank)
{
    double others[JOB_MAX_RANKS];
    int n = 0;
    for (int i = 0; i < ranks; i++)
        if (i != rank && compute_s[i] > 0)
            others[n++] = compute_s[i];
    return n > 0 ? timing_median(others, n) : NAN;
}

void stragglers_take(struct stragglers *s, const double *compute_s, int ranks)
{
    for (int r = 0; r < ranks && r < JOB_MAX_RANKS; r++) {
        s->news[r] = STRAGGLER_SAME;
        s->ratio[r] = compute_s[r] / median_of_others(compute_s, ranks, r);
        bool speaks = s->slow[r] ? s->ratio[r] < STRAGGLER_UNMARK : s->ratio[r] >= STRAGGLER_MARK;
        if (!speaks) {
            s->reports[r] = 0;
        } else if (++s->reports[r] == STRAGGLER_REPORTS) {
            s->reports[r] = 0;
            s->slow[r] = !s->slow[r];
            s->news[r] = s->slow[r] ? STRAGGLER_SLOW : STRAGGLER_RECOVERED;
        }
    }
}
