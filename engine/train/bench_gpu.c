/*
 * bench_gpu.c - a GPU's ladders and the roofs above them, as events.
 *
 * Matrix products lie under the roof of arithmetic: that of fp32, or of the tensor cores for rungs that use them. A sum
 * reads each number once and a softmax reads and writes it once: their roof is the bandwidth of a copy.
 */
#include "engine/train/bench.h"

#include "engine/base/event.h"
#include "engine/base/random.h"
#include "engine/base/units.h"
#include "engine/train/bench_internal.h"
#include "engine/train/device.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNG_SHARE 0.02
#define ROOFS_SHARE 0.1
/* Operands in half precision, of 11 bits: a product of two rounded numbers is off by 2^-10 at most, to first order. */
#define HALF_ROUNDING 0x1p-10

struct gpu_ladder {
    const char *name, *title;
    struct gpu_ladder_sizes sizes, emulated; /* the emulation is there to be right, not fast */
};

static const struct gpu_ladder ladders[] = {
    {"product", "Matrix product", {4096, 4096, 4096}, {96, 96, 96}},
    {"sum", "Sum", {8192, 8192, 1}, {64, 130, 1}},
    {"softmax", "Softmax", {16384, 4096, 1}, {8, 1000, 1}},
};

/* One ladder under way: arrays on the host, and what there is to tell of its rungs. */
struct climb {
    const struct gpu_ladder *ladder;
    struct gpu_ladder_sizes sizes;
    float *a, *b, *c;
    double *room; /* of ladder_error */
    double first_s;
};

static size_t elements(int rows, int columns)
{
    return (size_t)rows * (size_t)columns;
}

static bool is(const struct climb *c, const char *name)
{
    return !strcmp(c->ladder->name, name);
}

static void climb_end(struct climb *c)
{
    free(c->a);
    free(c->b);
    free(c->c);
    free(c->room);
}

static bool climb_begin(struct climb *c, const struct gpu_ladder *ladder, bool emulation, struct error *e)
{
    *c = (struct climb){.ladder = ladder, .sizes = emulation ? ladder->emulated : ladder->sizes};
    size_t n = elements(c->sizes.rows, c->sizes.columns);
    c->a = malloc(n * sizeof *c->a);
    c->b = malloc(n * sizeof *c->b);
    c->c = malloc(n * sizeof *c->c);
    c->room = malloc(2 * (size_t)c->sizes.columns * sizeof *c->room);
    if (!c->a || !c->b || !c->c || !c->room)
        return error_set(e, ERROR_FAILED, "not enough memory for the arrays of a ladder");
    struct random r = random_stream(1, 1, 0);
    for (size_t i = 0; i < n; i++) {
        c->a[i] = random_uniform(&r, -1, 1);
        c->b[i] = random_uniform(&r, -1, 1);
        if (is(c,
               "sum")) /* whole numbers: exact whatever the order, so the result must be right to the bit */
            c->a[i] = roundf(c->a[i]);
    }
    return true;
}

static double sum_error(const struct climb *c)
{
    double sum = 0;
    for (size_t i = 0; i < elements(c->sizes.rows, c->sizes.columns); i++)
        sum += (double)c->a[i];
    return fabs((double)c->c[0] - sum);
}

/* The largest relative error of some rows. */
static double softmax_error(const struct climb *c)
{
    enum { CHECKED = 64 };
    double worst = 0;
    int columns = c->sizes.columns, step = c->sizes.rows > CHECKED ? c->sizes.rows / CHECKED : 1;
    for (int i = 0; i < c->sizes.rows; i += step) {
        const float *x = c->a + elements(i, columns), *y = c->c + elements(i, columns);
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += exp((double)x[j]); /* of numbers up to 1: nothing overflows */
        for (int j = 0; j < columns; j++) {
            double off = fabs((double)y[j] * sum / exp((double)x[j]) - 1);
            if (!(off <= worst))
                worst = isnan(off) ? INFINITY : off;
        }
    }
    return worst;
}

/* What rounding explains: of sums N. J. Higham, Accuracy and stability of numerical algorithms, section 3.1. */
static void judge(const struct climb *c, const struct gpu_rung *rung, double *error, double *bound)
{
    double half_eps = 0.5 * (double)FLT_EPSILON;
    if (is(c, "product")) {
        *error = ladder_error(c->sizes.rows, c->a, c->b, c->c, c->room);
        *bound = c->sizes.depth * half_eps + (rung->half ? HALF_ROUNDING : 0);
    } else if (is(c, "sum")) {
        *error = sum_error(c);
        *bound = 0;
    } else {
        *error = softmax_error(c);
        *bound = (c->sizes.columns + 16) * half_eps; /* 16: exponentials and the division */
    }
}

static bool tell_rung(struct bench *b, struct climb *c, int number, const struct gpu_rung *rung,
                      const struct gpu_roof *roof, double time_s, int times, bool *right, struct error *e)
{
    double n = (double)elements(c->sizes.rows, c->sizes.columns), error, bound;
    double flops = is(c, "product") ? 2 * n * c->sizes.depth : is(c, "sum") ? n : 4 * n;
    double bytes = sizeof(float) * (is(c, "product") ? 3 * n : is(c, "sum") ? n : 2 * n);
    bool memory = !is(c, "product");
    double rate = (memory ? bytes : flops) / time_s;
    double best = memory ? roof->copy_bytes_per_s : rung->half ? roof->tensor_flops_per_s : roof->flops_per_s;
    char series[32], size[96];
    snprintf(series, sizeof series, "gpu %s", c->ladder->name);
    const char *emulated = b->device->plugin->emulation ? " (emulated: the times are the host's)" : "";
    if (is(c, "sum"))
        snprintf(size, sizeof size, "%.0f numbers%s", n, emulated);
    else
        snprintf(size, sizeof size, "%d x %d%s", c->sizes.rows, c->sizes.columns, emulated);
    judge(c, rung, &error, &bound);
    if (c->first_s == 0)
        c->first_s = time_s;
    json_t *point = bench_point(b, c->ladder->title, series, number, rate, rung->name);
    event_set_text(point, "xlabel", "rung");
    event_set_text(point, "ylabel", memory ? "bytes/s" : "FLOP/s");
    event_set_text(point, "device", b->device->name);
    event_set_text(point, "size", size);
    event_set_text(point, "why", rung->why);
    event_set_text(point, "roof", memory ? "memory" : rung->half ? "tensor cores" : "fp32");
    event_set_number(point, "flops", flops);
    event_set_number(point, "bytes", bytes);
    event_set_number(point, "time_s", time_s);
    event_set_integer(point, "times", times);
    event_set_number(point, "ratio", c->first_s / time_s);
    if (best > 0 && !b->device->plugin->emulation) /* the emulation's time says nothing of a roof */
        event_set_number(point, "share", rate / best);
    event_set_number(point, "error", error);
    event_set_number(point, "error_bound", bound);
    if (!sink_emit(b->sink, point, e))
        return false;
    if (error <= bound)
        return true;
    *right = false;
    char text[200];
    snprintf(text, sizeof text, "%s, rung \"%s\": off by %.3g, more than the %.3g that rounding explains",
             c->ladder->title, rung->name, error, bound);
    return sink_note(b->sink, "error", text, e);
}

static bool climb(struct bench *b, const struct gpu_ladder *ladder, const struct gpu_roof *roof, bool *right,
                  struct error *e)
{
    const struct gpu_plugin *p = b->device->plugin;
    struct climb c;
    bool ok = climb_begin(&c, ladder, p->emulation, e);
    for (int i = 0, number = 0; ok && i < p->rung_count && !bench_stopped(b); i++) {
        const struct gpu_rung *rung = &p->rungs[i];
        if (strcmp(rung->ladder, ladder->name) != 0 || (rung->real_only && p->emulation))
            continue;
        double time_s = 0;
        int times = 0;
        ok = p->rung_run(b->device->number, i, c.sizes, c.a, c.b, c.c, RUNG_SHARE * b->job->seconds, &time_s,
                         &times, e) &&
             tell_rung(b, &c, ++number, rung, roof, time_s, times, right, e);
    }
    climb_end(&c);
    return ok;
}

static bool tell_roof(struct bench *b, const struct gpu_roof *roof, struct error *e)
{
    char text[400], memory[32], array[32], tensor[64] = "";
    units_show_rate(roof->copy_bytes_per_s, memory, sizeof memory);
    units_show_bytes((double)roof->array_bytes, array, sizeof array);
    if (roof->tensor_flops_per_s > 0)
        snprintf(tensor, sizeof tensor, ", %.1f TFLOP/s on tensor cores", 1e-12 * roof->tensor_flops_per_s);
    snprintf(text, sizeof text,
             "%s: %.2f TFLOP/s at most in fp32%s; memory %s (copy of %s); the ridge is at %.1f FLOP/byte%s",
             b->device->name, 1e-12 * roof->flops_per_s, tensor, memory, array,
             roof->flops_per_s / roof->copy_bytes_per_s,
             b->device->plugin->emulation ? ". Emulated on the host: no figure of a GPU" : "");
    return sink_note(b->sink, "info", text, e);
}

bool bench_gpu(struct bench *b, bool *right, struct error *e)
{
    const struct device *d = b->device;
    struct gpu_roof roof;
    if (!d->plugin)
        return true;
    if (!d->plugin->roof_measure(d->number, ROOFS_SHARE * b->job->seconds, &roof, e) ||
        !tell_roof(b, &roof, e))
        return false;
    for (size_t i = 0; i < sizeof ladders / sizeof *ladders && !bench_stopped(b); i++)
        if (!climb(b, &ladders[i], &roof, right, e))
            return false;
    return true;
}
