/*
 * gan_test.c - how the two networks stand, on images neither has learnt from, and what the generator makes now.
 */
#include "engine/train/trainer_internal.h"

#include "engine/base/event.h"
#include "engine/train/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 16, TESTED = 2000, FIRST_EARLY = 25, LAST_EARLY = 800 };

/* Early on much changes: after 25, 50, 100 ... 800 steps. */
bool gan_shows(long step)
{
    for (long early = FIRST_EARLY; early <= LAST_EARLY; early *= 2)
        if (step == early)
            return true;
    return false;
}

/* The answers to `count` images, one logit each, of which the network takes twice a batch. */
static bool ask(struct trainer *tr, const float *images, int count, float *answers, struct error *e)
{
    struct network *d = tr->network;
    memcpy(network_input(d), images, (size_t)count * model_shape_elements(d->model.input) * sizeof *images);
    return network_forward(d, false, e) && tr->backend->ops->read(network_output(d), answers, e);
}

/* -log of the probability p = sigmoid(answer), or of 1 - p, without losing digits. */
static double minus_log(float answer, bool real)
{
    double x = real ? answer : -(double)answer;
    return x > 0 ? log1p(exp(-x)) : log1p(exp(x)) - x;
}

static bool add_figures(struct trainer *tr, uint32_t begin, int count, float *images, double sums[5],
                        struct error *e)
{
    float *answers = tr->gan->answers;
    uint32_t *which = malloc((size_t)count * sizeof *which);
    for (int i = 0; which && i < count; i++)
        which[i] = begin + (uint32_t)i;
    bool ok = which ? gan_real(tr, &tr->test, which, count, images, e)
                    : error_set(e, ERROR_FAILED, "not enough memory to test the gan");
    free(which);
    if (!ok || !ask(tr, images, count, answers, e))
        return false;
    for (int i = 0; i < count; i++) {
        sums[0] += minus_log(answers[i], true);
        sums[2] += gan_probability(answers[i]);
    }
    if (!gan_generate(tr, begin, count, images, e) || !ask(tr, images, count, answers, e))
        return false;
    for (int i = 0; i < count; i++) {
        sums[0] += minus_log(answers[i], false);
        sums[1] += minus_log(answers[i], true);
        sums[3] += gan_probability(answers[i]);
    }
    sums[4] += count;
    return true;
}

static bool emit_image(struct trainer *tr, int number, const float *image, float answer, struct error *e)
{
    struct model_shape shape = tr->test.shape;
    size_t elements = model_shape_elements(shape);
    uint8_t *pixels = tr->gan->pixels;
    for (size_t k = 0; k < elements; k++)
        pixels[k] = (uint8_t)lrintf(fminf(255, fmaxf(0, (image[k] + 1) * 127.5f)));
    json_t *event = samples_event(tr->sink, "image", tr->step, number);
    json_object_set_new(event, "generated", json_true());
    event_set_number(event, "probability", gan_probability(answer));
    return samples_image(tr->sink, event, pixels, shape.channels, shape.height, shape.width, e);
}

static bool show(struct trainer *tr, float *images, struct error *e)
{
    size_t elements = model_shape_elements(tr->model.input);
    for (int first = 0, batch = tr->t->batch; first < SHOWN; first += batch) {
        int count = SHOWN - first < batch ? SHOWN - first : batch;
        if (!gan_generate(tr, first, count, images, e) || !ask(tr, images, count, tr->gan->answers, e))
            return false;
        for (int i = 0; i < count; i++)
            if (!emit_image(tr, first + i, images + (size_t)i * elements, tr->gan->answers[i], e))
                return false;
    }
    return true;
}

bool gan_test(struct trainer *tr, struct gan_figures *figures, struct error *e)
{
    int batch = tr->t->batch, rank = comm_rank(tr->comm), ranks = comm_size(tr->comm);
    double sums[5] = {0};
    float *images = tr->gan->images;
    long rows = tr->test.rows < TESTED ? tr->test.rows : TESTED;
    for (long begin = (long)rank * batch; begin < rows; begin += (long)ranks * batch) {
        int count = rows - begin < batch ? (int)(rows - begin) : batch;
        if (!add_figures(tr, (uint32_t)begin, count, images, sums, e))
            return false;
    }
    if (!comm_sum_double(tr->comm, sums, 5, e) || (rank == 0 && !show(tr, images, e)))
        return false;
    *figures =
        (struct gan_figures){sums[0] / sums[4], sums[1] / sums[4], sums[2] / sums[4], sums[3] / sums[4]};
    tr->loss = figures->loss_d + figures->loss_g;
    return true;
}
