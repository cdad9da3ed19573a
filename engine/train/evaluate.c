#include "engine/train/evaluate.h"

#include "engine/base/event.h"

#include <stdlib.h>

enum { FIRST_SAMPLES = 4, WRONG_SAMPLES = 4 };

/* Numbers, classes and predicted classes of a batch's samples. */
struct batch {
    uint32_t *which;
    int32_t *classes, *predicted;
};

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

/* A few of a batch's samples, the first ones and the first wrong ones. */
struct shown {
    int right, wrong;
};

static bool emit_samples(struct event_sink *sink, const struct dataset *d, const struct batch *b, int n,
                         struct shown *shown, struct error *e)
{
    if (d->vocabulary > 0 || d->shape.channels != 1)
        return true;
    for (int i = 0; i < n; i++) {
        bool right = b->predicted[i] == b->classes[i];
        if (right ? shown->right >= FIRST_SAMPLES : shown->wrong >= WRONG_SAMPLES)
            continue;
        if (!emit_sample(sink, d, b->which[i], b->classes[i], b->predicted[i], e))
            return false;
        shown->right += right;
        shown->wrong += !right;
    }
    return true;
}

static bool batch_new(struct batch *b, size_t samples, size_t targets, struct error *e)
{
    b->which = calloc(samples, sizeof *b->which);
    b->classes = calloc(samples * targets, sizeof *b->classes);
    b->predicted = calloc(samples * targets, sizeof *b->predicted);
    return (b->which && b->classes && b->predicted) ||
           error_set(e, ERROR_FAILED, "not enough memory to test the model");
}

static void batch_free(struct batch *b)
{
    free(b->which);
    free(b->classes);
    free(b->predicted);
}

static bool evaluate_share(struct network *n, const struct dataset *d, int rank, int ranks, struct batch *b,
                           struct event_sink *sink, double *losses, struct loss_sum *sum, struct error *e)
{
    struct shown shown = {0};
    long stride = (long)ranks * n->batch;
    for (long begin = (long)rank * n->batch; begin < d->rows; begin += stride) {
        int samples = d->rows - begin < n->batch ? (int)(d->rows - begin) : n->batch;
        for (int i = 0; i < samples; i++)
            b->which[i] = (uint32_t)(begin + i);
        struct loss_sum part;
        struct targets targets = {.classes = b->classes, .samples = samples};
        if (!dataset_batch(d, b->which, samples, network_input(n), b->classes, e) ||
            !network_evaluate(n, &targets, &part, b->predicted, e) ||
            (rank == 0 && !emit_samples(sink, d, b, samples, &shown, e)))
            return false;
        losses[begin / n->batch] = part.loss;
        sum->correct += part.correct;
        sum->rows += part.rows;
    }
    return true;
}

bool evaluate(struct network *n, const struct dataset *d, struct comm *comm, struct event_sink *sink,
              double *loss, double *accuracy, struct error *e)
{
    struct batch b = {0};
    struct loss_sum sum = {0};
    /* The loss of each batch, 0 where it is another rank's: their sums over the ranks are exact, and then they are added
     * up in one order, however many ranks there are. */
    int batches = (int)((d->rows + (uint32_t)n->batch - 1) / (uint32_t)n->batch);
    double *losses = calloc((size_t)batches + 1, sizeof *losses);
    if (!losses)
        return error_set(e, ERROR_FAILED, "not enough memory to test the model");
    bool ok = batch_new(&b, (size_t)n->batch, (size_t)d->targets, e) &&
              evaluate_share(n, d, comm_rank(comm), comm_size(comm), &b, sink, losses, &sum, e);
    batch_free(&b);
    double counts[2] = {(double)sum.correct, (double)sum.rows}, total = 0;
    ok = ok && comm_sum_double(comm, losses, batches, e) && comm_sum_double(comm, counts, 2, e);
    for (int i = 0; ok && i < batches; i++)
        total += losses[i];
    free(losses);
    *loss = total / counts[1];
    *accuracy = counts[0] / counts[1];
    return ok;
}
