#include "engine/base/trace.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct trace_lane {
    struct trace *trace;
    uint8_t number;
    char name[32];
};

struct trace {
    int64_t started; /* nanoseconds since the epoch */
    struct trace_span *spans;
    int room;
    atomic_int count, dropped;
    _Atomic int32_t step; /* the open one; 0: none */
    int step_began;       /* count at its beginning */
    int largest;          /* spans of a step so far */
    bool full;
    int32_t first_step, last_step;
    char (*names)[TRACE_NAME];
    int name_count;
    struct trace_lane lanes[TRACE_LANES];
};

static const struct {
    const char *name, *title;
} kinds[TRACE_KINDS] = {
    [TRACE_STEP] = {"step", "step"},
    [TRACE_DATA] = {"data", "data"},
    [TRACE_FORWARD] = {"forward", "forward"},
    [TRACE_BACKWARD] = {"backward", "backward"},
    [TRACE_LAYER_FORWARD] = {"forward_layer", "layer"},
    [TRACE_LAYER_BACKWARD] = {"backward_layer", "layer"},
    [TRACE_COMPUTE] = {"compute", "compute"},
    [TRACE_OPTIMIZER] = {"optimizer", "optimizer"},
    [TRACE_ALLREDUCE] = {"allreduce", "allreduce"},
    [TRACE_WAIT] = {"wait", "wait"},
    [TRACE_BETWEEN] = {"between", "between steps"},
    [TRACE_IDLE] = {"idle", "idle"},
    [TRACE_HOP] = {"hop", "hop"},
};

const char *trace_kind_name(enum trace_kind kind)
{
    return kinds[kind].name;
}

const char *trace_kind_title(enum trace_kind kind)
{
    return kinds[kind].title;
}

struct trace *trace_new(double started, int ranks, struct error *e)
{
    struct trace *t = calloc(1, sizeof *t);
    if (t) {
        t->started = llround(started * 1e9);
        t->room = TRACE_SPANS / ranks;
        t->spans = calloc((size_t)t->room + 1, sizeof *t->spans);
        t->names = calloc(TRACE_NAMES, sizeof *t->names);
    }
    if (!t || !t->spans || !t->names) {
        error_set(e, ERROR_FAILED,
                  "not enough memory for the trace of the first steps; --trace 0 does without");
        trace_free(t);
        return NULL;
    }
    trace_lane(t, TRACE_LANE_MAIN, "compute");
    return t;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    free(t->spans);
    free(t->names);
    free(t);
}

struct trace_lane *trace_lane(struct trace *t, int number, const char *name)
{
    if (!t)
        return NULL;
    struct trace_lane *lane = &t->lanes[number];
    lane->trace = t;
    lane->number = (uint8_t)number;
    snprintf(lane->name, sizeof lane->name, "%s", name);
    return lane;
}

/* At most TRACE_NAME - 1 bytes of it, and no half of a UTF-8 character. */
static size_t name_length(const char *name)
{
    size_t n = strnlen(name, TRACE_NAME - 1);
    while (name[n] && n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80)
        n--;
    return n;
}

int trace_name(struct trace *t, const char *name)
{
    if (!t)
        return -1;
    size_t n = name_length(name);
    for (int i = 0; i < t->name_count; i++)
        if (strncmp(t->names[i], name, n) == 0 && !t->names[i][n])
            return i;
    if (t->name_count == TRACE_NAMES)
        return TRACE_NAMES - 1;
    if (t->name_count == TRACE_NAMES - 1)
        name = "...", n = 3;
    memcpy(t->names[t->name_count], name, n);
    return t->name_count++;
}

bool trace_step(struct trace *t, long step)
{
    if (!t)
        return false;
    int count = atomic_load(&t->count);
    if (t->step_began < count && count - t->step_began > t->largest)
        t->largest = count - t->step_began;
    t->step_began = count;
    t->full |= count + t->largest > t->room || step > INT32_MAX;
    if (t->full) {
        trace_pause(t);
        return false;
    }
    if (t->first_step == 0)
        t->first_step = (int32_t)step;
    t->last_step = (int32_t)step;
    atomic_store(&t->step, (int32_t)step);
    return true;
}

long trace_pause(struct trace *t)
{
    return t ? atomic_exchange(&t->step, 0) : 0;
}

void trace_resume(struct trace *t, long step)
{
    if (t)
        atomic_store(&t->step, (int32_t)step);
}

int64_t trace_clock(const struct trace *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - t->started;
}

static int32_t open_step(const struct trace_lane *lane)
{
    return lane ? atomic_load_explicit(&lane->trace->step, memory_order_relaxed) : 0;
}

int64_t trace_now(const struct trace_lane *lane)
{
    return open_step(lane) ? trace_clock(lane->trace) : 0;
}

static void keep(struct trace *t, const struct trace_span *span)
{
    int i = atomic_fetch_add_explicit(&t->count, 1, memory_order_relaxed);
    if (i < t->room) {
        t->spans[i] = *span;
        return;
    }
    atomic_fetch_sub_explicit(&t->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->dropped, 1, memory_order_relaxed);
}

int64_t trace_put(struct trace_lane *lane, int64_t began, struct trace_span span)
{
    span.step = open_step(lane);
    if (began == 0 || span.step == 0)
        return 0;
    int64_t now = trace_clock(lane->trace);
    span.t0 = began;
    span.t1 = now > began ? now : began; /* the clock may be set back */
    span.lane = lane->number;
    keep(lane->trace, &span);
    return span.t1;
}

int64_t trace_span(struct trace_lane *lane, int64_t began, enum trace_kind kind, int name)
{
    return trace_put(
        lane, began,
        (struct trace_span){
            .kind = (uint8_t)kind, .name = (int16_t)name, .bytes = -1, .bucket = -1, .algo = -1});
}

int64_t trace_reduce(struct trace_lane *lane, int64_t began, enum trace_kind kind, int bucket, int64_t bytes,
                     int algo)
{
    return trace_put(
        lane, began,
        (struct trace_span){
            .kind = (uint8_t)kind, .name = -1, .bytes = bytes, .bucket = bucket, .algo = (int16_t)algo});
}

void trace_add(struct trace_lane *lane, double began, double ended, struct trace_span span)
{
    span.step = open_step(lane);
    if (span.step == 0)
        return;
    span.t0 = llround((began - 1e-9 * (double)lane->trace->started) * 1e9);
    span.t1 = span.t0 + (ended > began ? llround((ended - began) * 1e9) : 0);
    span.lane = lane->number;
    keep(lane->trace, &span);
}

void trace_get_head(const struct trace *t, struct trace_head *head)
{
    *head = (struct trace_head){.spans = atomic_load(&t->count),
                                .names = t->name_count,
                                .dropped = atomic_load(&t->dropped),
                                .first_step = t->first_step,
                                .last_step = t->last_step};
    for (int i = 0; i < TRACE_LANES; i++)
        if (t->lanes[i].trace)
            snprintf(head->lanes[i], sizeof head->lanes[i], "%s", t->lanes[i].name);
}

struct trace_span *trace_spans(const struct trace *t)
{
    return t->spans;
}

const char (*trace_names(const struct trace *t))[TRACE_NAME]
{
    return (const char(*)[TRACE_NAME])t->names;
}
