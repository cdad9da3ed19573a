/*
 * training_explain.c - why a step takes as long as it does: a line for each part, with the formula and its numbers.
 */
#include "cluster-sim/training.h"
#include "engine/base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *training_bottleneck_name(enum training_bottleneck b)
{
    static const char *const names[] = {"compute", "network", "pipeline", "input", "straggler"};
    return names[b];
}

struct speaker {
    training_say *say;
    void *self;
};

static void line(struct speaker *s, const char *what, double seconds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void line(struct speaker *s, const char *what, double seconds, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->say(s->self, what, seconds, text);
}

enum { WORD = 32 };

static const char *time_text(double seconds, char text[WORD])
{
    units_show_seconds(seconds, text, WORD);
    return text;
}

static const char *bytes_text(double bytes, char text[WORD])
{
    units_show_bytes(bytes, text, WORD);
    return text;
}

static const char *number_text(double value, char text[WORD])
{
    units_show_number(value, text, WORD);
    return text;
}

static void explain_compute(const struct training_plan *p, struct speaker *s)
{
    const struct training *t = &p->t;
    const struct roofline *r = &t->device;
    char layer[64], forward[WORD], backward[WORD], optimizer[WORD], speed[WORD], flops[WORD], memory[WORD];
    double alone = p->forward_s + p->backward_s + p->optimizer_s;
    units_show_flops(r->flops_per_s, flops, sizeof flops);
    units_show_rate(r->bytes_per_s, memory, sizeof memory);
    line(s, "one rank", alone,
         "forward %s + backward %s + optimiser %s, %d sample%s: %s samples/s; each layer max(FLOP / (%s x "
         "%.2f), "
         "bytes / (%s x %.2f)) + %.0f us a kernel",
         time_text(p->forward_s, forward), time_text(p->backward_s, backward),
         time_text(p->optimizer_s, optimizer), t->batch, t->batch == 1 ? "" : "s",
         number_text(t->batch / alone, speed), flops, r->compute_share, memory, r->memory_share,
         1e6 * r->launch_s);
    if (t->samples_per_s > 0)
        line(s, "measured rate", t->batch / t->samples_per_s,
             "one rank's %s samples/s is given, so every layer's time is multiplied by %.3f",
             number_text(t->samples_per_s, speed), p->scale);
    const struct layer_spec *l = &t->model->layers[p->longest_layer];
    struct roofline_time time = roofline_layer(r, l, t->batch, t->width, 1);
    line(s, "longest layer", p->scale * (time.forward_s + time.backward_s),
         "%s %s: %s GFLOP and %s forward, bound by %s", l->name, layer_describe(l, layer),
         number_text(1e-9 * t->batch * l->flops, flops),
         bytes_text(roofline_bytes(l, t->batch, t->width, 1), memory),
         p->longest_memory_bound ? "memory" : "arithmetic");
}

static void explain_pipeline(const struct training_plan *p, struct speaker *s)
{
    const struct training *t = &p->t;
    if (t->tensor > 1)
        line(s, "tensor parallel", p->expected.comm_s,
             "layers with weights are cut over %d ranks; an allreduce of each pair's output forward and of "
             "its "
             "input's gradient backward, which nothing hides",
             t->tensor);
    if (t->pipeline == 1)
        return;
    int busiest = 0;
    for (int i = 1; i < t->pipeline; i++)
        if (p->stages[i].busy_s > p->stages[busiest].busy_s)
            busiest = i;
    line(s, "pipeline", p->pipeline_s,
         "%d stages, %d micro-batches of %d, 1F1B: idle %.1f %%; equal stages would idle (p-1)/(m+p-1) = "
         "%.1f %%; "
         "stage %d is the busiest",
         t->pipeline, t->microbatches, t->batch / t->microbatches, 100 * p->idle,
         100.0 * (t->pipeline - 1) / (t->microbatches + t->pipeline - 1), busiest + 1);
}

static void explain_network(const struct training_plan *p, const char *network, struct speaker *s)
{
    const struct training *t = &p->t;
    if (t->data == 1)
        return;
    double comm = 0, bytes = 0;
    int count = 0;
    const struct training_bucket *last = NULL;
    for (int i = 0; i < p->bucket_count; i++)
        if (p->buckets[i].stage == p->critical_stage) {
            last = &p->buckets[i];
            comm += last->takes_s;
            bytes += last->bytes;
            count++;
        }
    if (!last)
        return;
    char a[WORD], b[WORD], c[WORD], d[WORD];
    line(s, "gradients", comm, "%s in %d bucket%s of at least %s over %d ranks, by %s", bytes_text(bytes, a),
         count, count == 1 ? "" : "s", bytes_text(t->bucket_bytes, b), t->data, network);
    line(s, "overlap", p->expected.exposed_comm_s,
         "the last bucket (%s) is ready at %s, begins at %s and is summed at %s; backward %s",
         bytes_text(last->bytes, d), time_text(last->ready_s, a), time_text(last->start_s, b),
         time_text(last->end_s, c), t->overlap ? "hides the rest" : "hides nothing: there is no overlap");
}

static void explain_rest(const struct training_plan *p, struct speaker *s)
{
    const struct training *t = &p->t;
    const struct training_step *e = &p->expected;
    const struct training_memory *m = &p->memory;
    char w[6][WORD];
    if (e->straggler_s > 0)
        line(s, "stragglers", e->straggler_s,
             "%s, spread %.3g: the slowest of %d ranks is expected to take %.3f times as long",
             straggler_name(t->straggler.kind), t->straggler.spread, p->ranks,
             straggler_expected(&t->straggler, p->ranks));
    if (t->input_samples_per_s > 0)
        line(s, "input", e->input_s, "reading yields %s samples/s, a step needs %s in the time of the rest",
             number_text(t->input_samples_per_s, w[0]),
             number_text(t->batch * (double)t->data / (e->step_s - e->input_s), w[1]));
    char pieces[64] = "";
    if (m->in_flight > 1)
        snprintf(pieces, sizeof pieces, " of %d micro-batches", m->in_flight);
    line(s, "memory", 0, "%s = parameters %s + gradients %s + %s's state %s + activations%s %s + bucket %s",
         bytes_text(m->total, w[0]), bytes_text(m->parameters, w[1]), bytes_text(m->gradients, w[2]),
         t->optimizer, bytes_text(m->optimizer, w[3]), pieces, bytes_text(m->activations, w[4]),
         bytes_text(m->buckets, w[5]));
}

const char *training_bottleneck_text(const struct training_plan *p, const char *network, char *text,
                                     size_t size)
{
    const struct training_step *e = &p->expected;
    char layer[64];
    const struct layer_spec *l = &p->t.model->layers[p->longest_layer];
    double share = 100 / e->step_s;
    char speed[WORD];
    switch (e->bottleneck) {
    case BOTTLENECK_COMPUTE:
        snprintf(text, size, "compute: %.0f %% of the step; the longest layer is %s %s, bound by %s",
                 share * e->compute_s, l->name, layer_describe(l, layer),
                 p->longest_memory_bound ? "memory" : "arithmetic");
        break;
    case BOTTLENECK_NETWORK:
        snprintf(text, size, "network: %.0f %% of the step waits for sums (%s)", share * e->exposed_comm_s,
                 network);
        break;
    case BOTTLENECK_BUBBLE:
        snprintf(text, size,
                 "pipeline: the stage that ends last idles for %.0f %% of the step; more micro-batches help",
                 share * e->bubble_s);
        break;
    case BOTTLENECK_INPUT:
        snprintf(text, size, "input: %.0f %% of the step waits for data, which come at %s samples/s",
                 share * e->input_s, number_text(p->t.input_samples_per_s, speed));
        break;
    case BOTTLENECK_STRAGGLER:
        snprintf(text, size, "stragglers: %.0f %% of the step waits for the slowest rank",
                 share * e->straggler_s);
        break;
    }
    return text;
}

void training_explain(const struct training_plan *p, const char *network, training_say *say, void *self)
{
    struct speaker s = {say, self};
    const struct training_step *e = &p->expected;
    char compute[WORD], comm[WORD], bubble[WORD], straggler[WORD], input[WORD], text[512];
    line(&s, "step", e->step_s,
         "compute %s + communication not hidden %s + bubble %s + stragglers %s + waiting for data %s",
         time_text(e->compute_s, compute), time_text(e->exposed_comm_s, comm), time_text(e->bubble_s, bubble),
         time_text(e->straggler_s, straggler), time_text(e->input_s, input));
    explain_compute(p, &s);
    explain_pipeline(p, &s);
    explain_network(p, network, &s);
    explain_rest(p, &s);
    line(&s, "efficiency", 0, "%.1f %%: one rank's %s samples/s x %d ranks would be %s, it is %s",
         100 * e->efficiency,
         number_text(p->t.batch / (p->forward_s + p->backward_s + p->optimizer_s), compute), p->ranks,
         number_text(e->samples_per_s / e->efficiency, comm), number_text(e->samples_per_s, bubble));
    line(&s, "bottleneck", 0, "%s", training_bottleneck_text(p, network, text, sizeof text));
}
