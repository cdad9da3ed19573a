/*
 * stages - where a training step's time goes: forward and backward of each stage, the loss, the optimiser.
 *
 *     stages MODEL [THREADS [BATCH [SECONDS]]]
 * Medians over whole steps, in which the stages follow each other as they do in training; with the library's name of what
 * computes each pass. On one thread it is the processor's time that counts, so that others on the machine do not matter.
 */
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/spec/model_lua.h"
#include "engine/train/bench_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STEPS = 201, LEAST_STEPS = 3 };

struct profile {
    struct network *n;
    struct optimizer *optimizer;
    float *gradients;
    int32_t *classes;
    float *values;
    size_t rows;
    int places;    /* what is timed: forward and backward of each stage, loss, optimiser */
    double *taken; /* [place][step] */
    int steps;
};

static double now(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct profile *p, int place)
{
    double *values = p->taken + (size_t)place * MOST_STEPS;
    qsort(values, (size_t)p->steps, sizeof *values, ascending);
    return values[p->steps / 2];
}

static void add_time(struct profile *p, int place, double *begin)
{
    double end = now(p->n->backend->threads);
    p->taken[(size_t)place * MOST_STEPS + (size_t)p->steps] = end - *begin;
    *begin = end;
}

static bool step(struct profile *p, struct error *e)
{
    struct network *n = p->n;
    const struct backend_ops *ops = n->backend->ops;
    struct targets targets = {.classes = p->classes, .samples = n->batch};
    if (n->model.loss.kind == LOSS_MSE)
        targets.values = p->values;
    struct loss_sum sum;
    double squares, begin = now(n->backend->threads);
    for (int i = 1; i < n->stage_count; i++) {
        if (!ops->forward(n->stages[i], &n->context, e))
            return false;
        add_time(p, 2 * i, &begin);
    }
    if (!ops->loss(network_output(n), &n->model.loss, &targets, 1.0 / (double)p->rows, &sum, NULL, e))
        return false;
    add_time(p, 0, &begin);
    for (int i = n->stage_count - 1; i > 0; i--) {
        if (!ops->backward(n->stages[i], &n->context, e))
            return false;
        add_time(p, 2 * i + 1, &begin);
    }
    if (!optimizer_take_step(p->optimizer, 1e-4, n->parameters, p->gradients, &squares, e))
        return false;
    add_time(p, 1, &begin);
    p->steps++;
    return true;
}

static void print(struct profile *p)
{
    struct network *n = p->n;
    const struct backend_ops *ops = n->backend->ops;
    double total = 0;
    double *times = calloc((size_t)p->places, sizeof *times);
    for (int i = 0; i < p->places; i++)
        total += times[i] = median(p, i);
    printf("%s, batch %d, threads %d: %.3f ms a step, %.0f samples/s, median of %d steps\n", n->model.name,
           n->batch, n->backend->threads, 1e3 * total, n->batch / total, p->steps);
    for (int l = 0; l < n->model.layer_count; l++) {
        int s = n->stage_of[l];
        if (l > 0 && n->stage_of[l - 1] == s)
            continue;
        char text[64];
        double both = times[2 * s] + times[2 * s + 1];
        printf("%-18s %-28s forward %8.3f ms  backward %8.3f ms  %5.1f %%  %s | %s | %s\n",
               n->model.layers[l].name, layer_describe(&n->model.layers[l], text), 1e3 * times[2 * s],
               1e3 * times[2 * s + 1], 100 * both / total, ops->implementation(n->stages[s], PASS_FORWARD),
               ops->implementation(n->stages[s], PASS_BACKWARD_DATA),
               ops->implementation(n->stages[s], PASS_BACKWARD_WEIGHTS));
    }
    printf("%-47s %8.3f ms  %26.1f %%\n%-47s %8.3f ms  %26.1f %%\n", "loss", 1e3 * times[0],
           100 * times[0] / total, "optimiser", 1e3 * times[1], 100 * times[1] / total);
    free(times);
}

static bool set_up(struct profile *p, const char *name, struct backend *backend, int batch, struct error *e)
{
    struct model_spec model;
    struct optimizer_spec adam;
    if (!model_named(name, &model, e) || !optimizer_named("adam", &adam, e))
        return false;
    p->gradients = aligned_alloc(64, (model.parameters * sizeof(float) / 64 + 1) * 64);
    p->n = network_new(&model, backend, batch, p->gradients, NETWORK_PLAIN, e);
    p->optimizer = p->n ? optimizer_new(&adam, &model, backend, e) : NULL;
    if (!p->optimizer)
        return false;
    struct model_shape out = model_output(&model);
    bool cross_entropy = model.loss.kind == LOSS_CROSS_ENTROPY;
    size_t elements = (size_t)batch * model_shape_elements(out);
    p->rows = !cross_entropy               ? elements
              : out.kind == SHAPE_SEQUENCE ? (size_t)(batch * out.channels)
                                           : (size_t)batch;
    p->classes = calloc(elements, sizeof *p->classes);
    p->values = calloc(elements, sizeof *p->values);
    p->places = 2 * p->n->stage_count;
    p->taken = calloc((size_t)p->places * MOST_STEPS, sizeof *p->taken);
    network_init(p->n, 1, NULL);
    bench_made_up(&model, (size_t)batch, network_input(p->n));
    model_free(&model);
    return network_forward(p->n, true, e); /* fills in the context */
}

int main(int argc, char **argv)
{
    struct profile p = {0};
    struct error e = {0};
    if (argc < 2 || argc > 5) {
        fprintf(stderr, "stages MODEL [THREADS [BATCH [SECONDS]]]\n");
        return 2;
    }
    int threads = argc > 2 ? atoi(argv[2]) : 1, batch = argc > 3 ? atoi(argv[3]) : 32;
    double seconds = argc > 4 ? atof(argv[4]) : 2;
    struct backend *backend = backend_cpu_open(threads, &e);
    bool ok = backend && set_up(&p, argv[1], backend, batch, &e) && step(&p, &e);
    p.steps = 0;
    for (double begin = now(0);
         ok && p.steps < MOST_STEPS && (p.steps < LEAST_STEPS || now(0) - begin < seconds);)
        ok = step(&p, &e);
    if (ok)
        print(&p);
    else
        fprintf(stderr, "stages: %s\n", e.text);
    optimizer_free(p.optimizer);
    network_free(p.n);
    backend_close(backend);
    free(p.gradients);
    free(p.classes);
    free(p.values);
    free(p.taken);
    return ok ? 0 : 1;
}
