/*
 * bench.c - the ladder and the roofline as events.
 */
#include "engine/train/bench.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/nn/roofline/roofline.h"
#include "engine/train/bench_internal.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shares of the seconds that the job gives. The rest goes to the layers and the training step. */
#define RUNG_SHARE 0.02
#define PEAK_SHARE 0.02
#define BANDWIDTH_SHARE 0.03
#define LEAST_PEAK_S 0.2

/* Matrices that no second cache holds; smaller ones where time is short, since the first rung is slow. */
enum { PRODUCT = 768, SMALL_PRODUCT = 256, ROOF_POINTS = 9 };
#define PRODUCT_NEEDS_S 20

static const char ladder_title[] = "One matrix product";
static const char roof_title[] = "Roofline";

static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

struct bench *bench_new(const struct job *job, const struct device *device, const char *rundir,
                        struct event_sink *sink, struct error *e)
{
    struct bench *b = calloc(1, sizeof *b);
    if (!b) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    b->job = &job->bench;
    b->device = device;
    b->rundir = rundir;
    b->sink = sink;
    b->threads = b->job->threads > 0 ? b->job->threads : cores();
    b->product_size = b->job->seconds >= PRODUCT_NEEDS_S ? PRODUCT : SMALL_PRODUCT;
    return b;
}

void bench_free(struct bench *b)
{
    free(b);
}

bool bench_has(const struct job *job, const char *part)
{
    const char *p = strstr(job->bench.parts, part); /* no part's name is within another's */
    return p != NULL;
}

bool bench_stopped(const struct bench *b)
{
    return rundir_stop_requested(b->rundir);
}

json_t *bench_point(const struct bench *b, const char *title, const char *series, double x, double y,
                    const char *label)
{
    json_t *point = sink_event(b->sink, "point");
    event_set_text(point, "title", title);
    event_set_text(point, "series", series);
    event_set_number(point, "x", x);
    event_set_number(point, "y", y);
    event_set_text(point, "label", label);
    return point;
}

/* --- the ladder --- */

static bool tell_rung(struct bench *b, int i, bool *right, struct error *e)
{
    const struct ladder_rung *rung = &ladder_rungs[i];
    const struct ladder_result *r = &b->rungs[i];
    struct ladder_sizes s = {b->product_size, b->product_size, b->product_size};
    json_t *point = bench_point(b, ladder_title, "ladder", i + 1, ladder_flops(s) / r->time_s, rung->name);
    event_set_text(point, "xlabel", "rung");
    event_set_text(point, "ylabel", "FLOP/s");
    event_set_text(point, "why", rung->why);
    event_set_integer(point, "n", s.n);
    event_set_number(point, "flops", ladder_flops(s));
    event_set_number(point, "bytes", ladder_bytes(s));
    event_set_number(point, "time_s", r->time_s);
    event_set_integer(point, "times", r->times);
    event_set_number(point, "ratio", b->rungs[0].time_s / r->time_s);
    event_set_number(point, "error", r->error);
    event_set_number(point, "error_bound", r->bound);
    if (!sink_emit(b->sink, point, e))
        return false;
    if (r->error <= r->bound)
        return true;
    *right = false;
    char text[200];
    snprintf(text, sizeof text,
             "the product of the rung \"%s\" is off by %.3g of the summands' size, more than the %.3g that "
             "rounding explains",
             rung->name, r->error, r->bound);
    return sink_note(b->sink, "error", text, e);
}

bool bench_ladder(struct bench *b, bool *right, struct error *e)
{
    for (int i = 0; i < LADDER_RUNGS && !bench_stopped(b); i++) {
        if (!ladder_measure(&ladder_rungs[i], b->product_size, RUNG_SHARE * b->job->seconds, &b->rungs[i], e))
            return false;
        b->climbed = i + 1;
        if (!tell_rung(b, i, right, e))
            return false;
    }
    return true;
}

/* --- the roofline --- */

struct roof {
    int threads;
    double peak, bandwidth;
};

static bool tell_roof(struct bench *b, const struct roof *roof, const struct roofline_bandwidth *memory,
                      struct error *e)
{
    char text[256], series[32];
    snprintf(text, sizeof text,
             "on %d thread%s: %.1f GFLOP/s at most; memory %.1f GB/s (triad %.1f, copy %.1f, arrays of %zu "
             "MiB%s); the ridge is at %.1f FLOP/byte",
             roof->threads, roof->threads == 1 ? "" : "s", 1e-9 * roof->peak, 1e-9 * roof->bandwidth,
             1e-9 * memory->triad, 1e-9 * memory->copy, memory->array_bytes >> 20,
             memory->beyond_cache ? "" : ", less than four times the last cache: memory was short",
             roof->peak / roof->bandwidth);
    if (!sink_note(b->sink, "info", text, e))
        return false;
    snprintf(series, sizeof series, roof->threads == b->threads ? "roofline" : "roofline, 1 thread");
    double ridge = roof->peak / roof->bandwidth;
    for (int i = 0; i < ROOF_POINTS; i++) {
        /* Powers of two from 1/16 to 16 ridges, the ridge itself in the middle. */
        double x = ldexp(ridge, i - ROOF_POINTS / 2);
        json_t *point = bench_point(b, roof_title, series, x, roofline_at(roof->peak, roof->bandwidth, x),
                                    i < ROOF_POINTS / 2   ? "memory-bound"
                                    : i > ROOF_POINTS / 2 ? "compute-bound"
                                                          : "ridge");
        event_set_text(point, "xlabel", "FLOP/byte");
        event_set_text(point, "ylabel", "FLOP/s");
        event_set_integer(point, "threads", roof->threads);
        event_set_number(point, "peak_flops_per_s", roof->peak);
        event_set_number(point, "bandwidth_bytes_per_s", roof->bandwidth);
        if (!sink_emit(b->sink, point, e))
            return false;
    }
    return true;
}

static bool measure_roof(struct bench *b, int threads, struct roof *roof, struct error *e)
{
    struct roofline_bandwidth memory;
    roof->threads = threads;
    roof->peak = roofline_peak(threads, fmax(LEAST_PEAK_S, PEAK_SHARE * b->job->seconds));
    if (!roofline_bandwidth(threads, BANDWIDTH_SHARE * b->job->seconds, &memory, e))
        return false;
    roof->bandwidth = fmax(memory.triad, memory.copy);
    return tell_roof(b, roof, &memory, e);
}

/* The rungs that were climbed, on the roof of the one thread that they had. */
static bool place_rungs(struct bench *b, const struct roof *roof, struct error *e)
{
    struct ladder_sizes s = {b->product_size, b->product_size, b->product_size};
    double intensity = ladder_flops(s) / ladder_bytes(s);
    for (int i = 0; i < b->climbed; i++) {
        double rate = ladder_flops(s) / b->rungs[i].time_s;
        json_t *point = bench_point(b, roof_title, "products", intensity, rate, ladder_rungs[i].name);
        event_set_integer(point, "threads", 1);
        event_set_number(point, "share", rate / roofline_at(roof->peak, roof->bandwidth, intensity));
        if (!sink_emit(b->sink, point, e))
            return false;
    }
    return true;
}

bool bench_roofline(struct bench *b, struct error *e)
{
    struct roof one, all;
    if (!measure_roof(b, 1, &one, e) || !place_rungs(b, &one, e))
        return false;
    all = one;
    if (b->threads > 1 && !measure_roof(b, b->threads, &all, e))
        return false;
    return !b->job->layers || bench_stopped(b) || bench_layers(b, all.peak, all.bandwidth, e);
}
