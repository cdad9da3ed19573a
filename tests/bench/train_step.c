/*
 * train_step - our side of tests/bench/train: whole training steps (data, forward, backward, Adam) of `cnn` on one
 * rank, for as long as asked.
 *
 *     train_step THREADS BATCH DATA
 * Each line on standard input is a number of seconds; the answer is a line "SAMPLES SECONDS".
 */
#include "engine/data/dataset.h"
#include "engine/data/order.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct bench {
    struct dataset data;
    struct order order;
    struct backend *backend;
    struct network *network;
    struct optimizer *optimizer;
    float *gradients;
    int32_t *labels;
    int batch;
    long step;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool set_up(struct bench *b, int threads, const char *data, struct error *e)
{
    struct model_spec model;
    if (!dataset_read(data, DATASET_TRAIN, &b->data, e) ||
        !order_init(&b->order, b->data.rows, 1, b->batch, 1, e) || !model_named("cnn", &model, e) ||
        !(b->backend = backend_cpu_open(threads, e)))
        return false;
    size_t bytes = (model.parameters * sizeof(float) + 63) / 64 * 64;
    b->gradients = aligned_alloc(64, bytes);
    b->labels = malloc((size_t)b->batch * sizeof *b->labels);
    if (!b->gradients || !b->labels)
        return error_set(e, ERROR_FAILED, "not enough memory");
    struct optimizer_spec adam;
    if (!(b->network = network_new(&model, b->backend, b->batch, b->gradients, NETWORK_PLAIN, e)) ||
        !optimizer_named("adam", &adam, e) || !(b->optimizer = optimizer_new(&adam, &model, b->backend, e)))
        return false;
    network_init(b->network, 1);
    model_free(&model);
    return true;
}

static bool one_step(struct bench *b, struct error *e)
{
    struct loss_sum sum;
    double squares;
    const uint32_t *rows = order_rows(&b->order, b->step++, 0);
    if (!dataset_batch(&b->data, rows, b->batch, network_input(b->network), b->labels, e) ||
        !network_gradients(b->network, &(struct targets){.classes = b->labels, .samples = b->batch},
                           1.0 / b->batch, &sum, e))
        return false;
    return optimizer_take_step(b->optimizer, 1e-3, b->network->parameters, b->gradients, &squares, e);
}

static void tear_down(struct bench *b)
{
    optimizer_free(b->optimizer);
    network_free(b->network);
    backend_close(b->backend);
    order_free(&b->order);
    dataset_free(&b->data);
    free(b->gradients);
    free(b->labels);
}

int main(int argc, char **argv)
{
    struct error e = {0};
    if (argc != 4) {
        fprintf(stderr, "train_step THREADS BATCH DATA\n");
        return 2;
    }
    struct bench b = {.batch = atoi(argv[2])};
    bool ok = set_up(&b, atoi(argv[1]), argv[3], &e);
    for (int i = 0; ok && i < 3; i++)
        ok = one_step(&b, &e);
    char line[64];
    while (ok && fgets(line, sizeof line, stdin)) {
        double seconds = atof(line), begin = now();
        long samples = 0;
        while (ok && now() - begin < seconds) {
            ok = one_step(&b, &e);
            samples += b.batch;
        }
        printf("%ld %.6f\n", samples, now() - begin);
        fflush(stdout);
    }
    if (!ok)
        fprintf(stderr, "%s\n", e.text);
    tear_down(&b);
    return ok ? 0 : 1;
}
