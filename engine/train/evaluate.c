#include "engine/train/evaluate.h"

#include "engine/base/event.h"

#include <stdlib.h>
#include <string.h>

enum { EVAL_BATCH = 200, FIRST_SAMPLES = 4, WRONG_SAMPLES = 4 };

bool evaluator_init(struct evaluator *v, const struct model_spec *model, struct backend *backend,
                    const struct dataset *test, struct error *e)
{
    v->test = test;
    v->network = network_new(model, backend, EVAL_BATCH, NULL, NETWORK_PLAIN, e);
    return v->network != NULL;
}

void evaluator_free(struct evaluator *v)
{
    network_free(v->network);
    v->network = NULL;
}

/* The image as two hexadecimal digits a pixel. */
static bool emit_sample(struct event_sink *sink, const struct dataset *d, uint32_t row, int label,
                        int predicted, struct error *e)
{
    size_t size = dataset_sample_elements(d);
    static const char digit[] = "0123456789abcdef";
    char *hex = malloc(3 * size + 1);
    if (!hex)
        return error_set(e, ERROR_FAILED, "out of memory for a sample image");
    uint8_t *pixels = (uint8_t *)hex + 2 * size + 1;
    if (!dataset_pixels(d, row, pixels, e)) {
        free(hex);
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digit[pixels[i] >> 4];
        hex[2 * i + 1] = digit[pixels[i] & 15];
    }
    hex[2 * size] = 0;
    json_t *event = sink_event(sink, "sample");
    event_set_text(event, "kind", "image");
    event_set_integer(event, "rows", d->shape.height);
    event_set_integer(event, "cols", d->shape.width);
    event_set_text(event, "data", hex);
    event_set_integer(event, "label", label);
    event_set_integer(event, "predicted", predicted);
    free(hex);
    return sink_emit(sink, event, e);
}

bool evaluate(struct evaluator *v, const struct network *trained, struct comm *comm, struct event_sink *sink,
              double *loss, double *accuracy, struct error *e)
{
    const struct dataset *d = v->test;
    memcpy(v->network->parameters, trained->parameters, trained->model.parameters * sizeof(float));
    memcpy(v->network->state, trained->state, trained->model.states * sizeof(float));
    uint32_t which[EVAL_BATCH];
    int32_t labels[EVAL_BATCH], predicted[EVAL_BATCH];
    struct loss_sum sum = {0};
    int rank = comm_rank(comm), size = comm_size(comm), right_shown = 0, wrong_shown = 0;
    for (uint32_t begin = (uint32_t)rank * EVAL_BATCH; begin < d->rows;
         begin += (uint32_t)size * EVAL_BATCH) {
        int n = d->rows - begin < EVAL_BATCH ? (int)(d->rows - begin) : EVAL_BATCH;
        for (int i = 0; i < n; i++)
            which[i] = begin + (uint32_t)i;
        if (!dataset_batch(d, which, n, network_input(v->network), labels, e))
            return false;
        struct loss_sum part;
        struct targets targets = {.classes = labels, .samples = n};
        if (!network_evaluate(v->network, &targets, &part, predicted, e))
            return false;
        sum.loss += part.loss;
        sum.correct += part.correct;
        sum.rows += part.rows;
        for (int i = 0; rank == 0 && i < n; i++) {
            bool right = predicted[i] == labels[i];
            if (right ? right_shown >= FIRST_SAMPLES : wrong_shown >= WRONG_SAMPLES)
                continue;
            if (!emit_sample(sink, d, which[i], labels[i], predicted[i], e))
                return false;
            right_shown += right;
            wrong_shown += !right;
        }
    }
    double total[3] = {sum.loss, (double)sum.correct, (double)sum.rows};
    if (!comm_sum_double(comm, total, 3, e))
        return false;
    *loss = total[0] / total[2];
    *accuracy = total[1] / total[2];
    return true;
}
