#include "engine/data/facts.h"

#include "engine/data/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 200000000 };

/* How often each class is a target, d->classes numbers that the caller frees; NULL where memory is short. */
static long *count_classes(const struct dataset *d)
{
    int32_t *classes = malloc((size_t)d->targets * sizeof *classes);
    long *count = calloc((size_t)d->classes, sizeof *count);
    for (uint32_t row = 0; classes && count && row < d->rows; row++) {
        dataset_classes(d, row, classes);
        for (int k = 0; k < d->targets; k++)
            count[classes[k]]++;
    }
    if (!classes) {
        free(count);
        count = NULL;
    }
    free(classes);
    return count;
}

static bool weigh_classes(const struct dataset *train, const struct dataset *test, struct dataset_facts *f,
                          struct error *e)
{
    long *in_train = count_classes(train), *in_test = count_classes(test);
    bool ok = in_train && in_test;
    if (ok) {
        for (int k = 1; k < train->classes; k++)
            if (in_train[k] > in_train[f->largest])
                f->largest = k;
        f->share[0] = (double)in_train[f->largest] / ((double)train->rows * train->targets);
        f->share[1] = (double)in_test[f->largest] / ((double)test->rows * test->targets);
    } else {
        error_set(e, ERROR_FAILED, "not enough memory to count %d classes", train->classes);
    }
    free(in_train);
    free(in_test);
    return ok;
}

static bool measure_pixels(const struct dataset *d, struct dataset_facts *f, struct error *e)
{
    size_t size = dataset_sample_elements(d), channels = (size_t)d->shape.channels, plane = size / channels;
    if (!d->source->pixels || channels > FACTS_MAX_CHANNELS)
        return true;
    uint8_t *pixels = malloc(size);
    if (!pixels)
        return error_set(e, ERROR_FAILED, "not enough memory for an image");
    uint64_t images = MOST_PIXELS / size ? MOST_PIXELS / size : 1;
    f->measured = images < d->rows ? (uint32_t)images : d->rows;
    uint64_t histogram[FACTS_MAX_CHANNELS][256] = {{0}};
    bool ok = true;
    for (uint64_t i = 0; ok && i < f->measured; i++) {
        ok = dataset_pixels(d, (uint32_t)(i * d->rows / f->measured), pixels, e);
        for (size_t k = 0; ok && k < size; k++)
            histogram[k / plane][pixels[k]]++;
    }
    free(pixels);
    for (size_t c = 0; c < channels; c++)
        byte_moments(histogram[c], &f->mean[c], &f->deviation[c]);
    return ok;
}

bool dataset_facts(const struct dataset *train, const struct dataset *test, struct dataset_facts *f,
                   struct error *e)
{
    memset(f, 0, sizeof *f);
    f->rows[DATASET_TRAIN] = train->rows;
    f->rows[DATASET_TEST] = test->rows;
    return weigh_classes(train, test, f, e) && measure_pixels(train, f, e);
}
