/*
 * twin_data - what tests/bench/twin gives a model's twin in PyTorch: the very weights, batches and test set
 * that a run of ringside on one rank has.
 *
 *     twin_data MODEL DATA BATCH STEPS SEED
 * First a line of JSON: the description, and how much follows. Then, as they lie in memory: the parameters
 * (float); for each step the samples (int32 tokens or floats) and their classes (int32); the test samples and
 * theirs.
 */
#include "engine/data/dataset.h"
#include "engine/data/order.h"
#include "engine/nn/network.h"
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <stdlib.h>

/* Samples and classes of so many rows. */
static bool put_rows(const struct dataset *d, const uint32_t *rows, uint32_t count, struct error *e)
{
    size_t bytes = dataset_sample_bytes(d), targets = (size_t)d->targets;
    void *inputs = malloc(count * bytes);
    int32_t *classes = malloc(count * targets * sizeof *classes);
    bool ok = inputs && classes ? dataset_batch(d, rows, (int)count, inputs, classes, e)
                                : error_set(e, ERROR_FAILED, "not enough memory");
    if (ok && (fwrite(inputs, bytes, count, stdout) != count ||
               fwrite(classes, targets * sizeof *classes, count, stdout) != count))
        ok = error_set(e, ERROR_FAILED, "standard output is closed");
    free(inputs);
    free(classes);
    return ok;
}

static bool put_parameters(const struct model_spec *model, uint64_t seed, struct error *e)
{
    struct backend *backend = backend_cpu_open(1, e);
    struct network *n = backend ? network_new(model, backend, 1, NULL, NETWORK_PLAIN, e) : NULL;
    if (n) {
        network_init(n, seed, NULL);
        fwrite(n->parameters, sizeof(float), model->parameters, stdout);
    }
    bool ok = n != NULL;
    network_free(n);
    backend_close(backend);
    return ok;
}

static bool put_test(const struct dataset *test, struct error *e)
{
    uint32_t *all = malloc(test->rows * sizeof *all);
    for (uint32_t i = 0; all && i < test->rows; i++)
        all[i] = i;
    bool ok = all ? put_rows(test, all, test->rows, e) : error_set(e, ERROR_FAILED, "not enough memory");
    free(all);
    return ok;
}

static bool put_all(char **argv, struct error *e)
{
    struct model_spec model;
    struct dataset train = {0}, test = {0};
    struct order order = {0};
    int batch = atoi(argv[3]);
    long steps = atol(argv[4]);
    uint64_t seed = strtoull(argv[5], NULL, 10);
    json_t *description = model_description(argv[1], e);
    if (!description || !model_from_json(description, &model, e))
        return false;
    bool ok = dataset_read(argv[2], DATASET_TRAIN, &train, e) &&
              dataset_read(argv[2], DATASET_TEST, &test, e) &&
              order_init(&order, train.rows, 1, batch, seed, e);
    if (ok) {
        json_t *head =
            json_pack("{s:o, s:i, s:i, s:i, s:I, s:I}", "description", description, "elements",
                      (int)dataset_sample_elements(&train), "targets", train.targets, "test", (int)test.rows,
                      "parameters", (json_int_t)model.parameters, "epoch", (json_int_t)order.steps_per_epoch);
        json_dumpf(head, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(head);
        ok = put_parameters(&model, seed, e);
    }
    for (long step = 0; ok && step < steps; step++)
        ok = put_rows(&train, order_rows(&order, step, 0), (uint32_t)batch, e);
    ok = ok && put_test(&test, e);
    order_free(&order);
    dataset_free(&train);
    dataset_free(&test);
    model_free(&model);
    return ok;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    if (argc != 6) {
        fprintf(stderr, "twin_data MODEL DATA BATCH STEPS SEED\n");
        return 2;
    }
    if (put_all(argv, &e))
        return 0;
    fprintf(stderr, "twin_data: %s\n", e.text);
    return 1;
}
