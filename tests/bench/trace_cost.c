/*
 * trace_cost - what recording one span takes, in nanoseconds of this thread's processor time: the least of many rounds,
 * and the median. For tests/bench/trace.
 */
#include "engine/base/sink.h"
#include "engine/base/timing.h"
#include "engine/base/trace.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 200, SPANS = 500 };

static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(void)
{
    double times[ROUNDS];
    struct error e = {0};
    struct trace *t = trace_new(sink_clock(), 1, &e);
    struct trace_lane *lane = trace_lane(t, TRACE_LANE_MAIN, "compute");
    if (!t) {
        fprintf(stderr, "trace_cost: %s\n", e.text);
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) {
        trace_step(t, i + 1);
        double began = processor_ns();
        int64_t at = trace_now(lane);
        for (int k = 0; k < SPANS; k++)
            at = trace_span(lane, at, TRACE_LAYER_FORWARD, -1);
        times[i] = (processor_ns() - began) / SPANS;
    }
    double median = timing_median(times, ROUNDS); /* sorts them */
    printf("%.1f %.1f\n", times[0], median);
    trace_free(t);
    return 0;
}
