#include "engine/data/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void byte_values(float value[][256], int channels, const double *mean, const double *deviation)
{
    for (int c = 0; c < channels; c++)
        for (int p = 0; p < 256; p++)
            value[c][p] = (float)((p / 255.0 - mean[c]) / deviation[c]);
}

void byte_moments(const uint64_t histogram[256], double *mean, double *deviation)
{
    double n = 0, sum = 0, squares = 0;
    for (int v = 0; v < 256; v++) {
        double p = v / 255.0, count = (double)histogram[v];
        n += count;
        sum += count * p;
        squares += count * p * p;
    }
    *mean = n > 0 ? sum / n : 0;
    double variance = n > 0 ? squares / n - *mean * *mean : 0;
    *deviation = variance > 1e-9 ? sqrt(variance) : 0;
}

void byte_image_values(const uint8_t *pixels, struct model_shape shape, const float value[][256], float *out)
{
    size_t plane = (size_t)shape.height * (size_t)shape.width;
    for (int c = 0; c < shape.channels; c++) {
        const uint8_t *from = pixels + (size_t)c * plane;
        float *to = out + (size_t)c * plane;
        const float *of = value[c];
        for (size_t k = 0; k < plane; k++)
            to[k] = of[from[k]];
    }
}

static void classes_of(const struct dataset *d, uint32_t row, int32_t *classes)
{
    const struct byte_images *b = d->self;
    *classes = b->labels[row];
}

static bool batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                  struct error *e)
{
    (void)e;
    const struct byte_images *b = d->self;
    size_t size = dataset_sample_elements(d);
    for (int i = 0; i < n; i++) {
        byte_image_values(b->pixels + which[i] * size, d->shape, b->value,
                          (float *)inputs + (size_t)i * size);
        classes[i] = b->labels[which[i]];
    }
    return true;
}

static bool pixels(const struct dataset *d, uint32_t row, uint8_t *out, struct error *e)
{
    (void)e;
    const struct byte_images *b = d->self;
    size_t size = dataset_sample_elements(d);
    memcpy(out, b->pixels + row * size, size);
    return true;
}

static void close_bytes(struct dataset *d)
{
    struct byte_images *b = d->self;
    if (b) {
        free(b->pixels);
        free(b->labels);
    }
    free(b);
}

const struct dataset_source byte_images_source = {
    .batch = batch, .classes = classes_of, .pixels = pixels, .close = close_bytes};

struct byte_images *byte_images_new(struct dataset *d, struct error *e)
{
    struct byte_images *b = calloc(1, sizeof *b);
    if (!b) {
        error_set(e, ERROR_FAILED, "not enough memory for a dataset");
        return NULL;
    }
    d->source = &byte_images_source;
    d->self = b;
    d->targets = 1;
    return b;
}
