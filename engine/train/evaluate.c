#include "engine/train/evaluate.h"

#include <stdlib.h>

/* Numbers, classes and predicted classes of a batch's samples. */
struct batch {
    uint32_t *which;
    int32_t *classes, *predicted;
};

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
                           struct samples *shown, double *losses, struct loss_sum *sum, struct error *e)
{
    long stride = (long)ranks * n->batch;
    for (long begin = (long)rank * n->batch; begin < d->rows; begin += stride) {
        int samples = d->rows - begin < n->batch ? (int)(d->rows - begin) : n->batch;
        for (int i = 0; i < samples; i++)
            b->which[i] = (uint32_t)(begin + i);
        struct loss_sum part;
        struct targets targets = {.classes = b->classes, .samples = samples};
        if (!dataset_batch(d, b->which, samples, network_input(n), b->classes, e) ||
            !network_evaluate(n, &targets, &part, b->predicted, e) ||
            (shown && !samples_of_batch(shown, n, d, b->which, b->classes, b->predicted, samples, e)))
            return false;
        losses[begin / n->batch] = part.loss;
        sum->correct += part.correct;
        sum->rows += part.rows;
    }
    return true;
}

bool evaluate(struct network *n, const struct dataset *d, struct comm *comm, struct samples *samples,
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
              evaluate_share(n, d, comm_rank(comm), comm_size(comm), &b, samples, losses, &sum, e);
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
