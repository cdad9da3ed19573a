#include "engine/data/dataset.h"

#include "engine/base/paths.h"
#include "engine/data/cifar.h"
#include "engine/data/mnist.h"
#include "engine/data/shards.h"
#include "engine/data/source.h"
#include "engine/data/synthetic.h"
#include "engine/data/text.h"
#include "engine/spec/data_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_named(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    char data[PATH_MAX], folder[PATH_MAX];
    if (!strcmp(name, "mnist"))
        return path_data(data, e) && path_join(folder, data, "exercises/data/mnist", e) &&
               mnist_read(folder, part, d, e);
    if (synthetic_known(name))
        return synthetic_read(name, part, d, e);
    if (text_known(name))
        return text_read(name, part, d, e);
    if (cifar_known(name) || cifar_folder(name))
        return cifar_read(name, part, d, e);
    if (shards_known(name))
        return shards_read(name, part, d, e);
    snprintf(folder, sizeof folder, "%s", name);
    return data_name_resolve(folder, e) && mnist_read(folder, part, d, e);
}

bool dataset_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    memset(d, 0, sizeof *d);
    if (read_named(name, part, d, e))
        return true;
    dataset_free(d);
    return false;
}

void dataset_free(struct dataset *d)
{
    if (d && d->source)
        d->source->close(d);
    if (d)
        memset(d, 0, sizeof *d);
}

size_t dataset_sample_elements(const struct dataset *d)
{
    return model_shape_elements(d->shape);
}

size_t dataset_sample_bytes(const struct dataset *d)
{
    return dataset_sample_elements(d) * (d->shape.kind == SHAPE_TOKENS ? sizeof(int32_t) : sizeof(float));
}

bool dataset_batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                   struct error *e)
{
    return d->source->batch(d, which, n, inputs, classes, e);
}

void dataset_classes(const struct dataset *d, uint32_t row, int32_t *classes)
{
    d->source->classes(d, row, classes);
}

bool dataset_pixels(const struct dataset *d, uint32_t row, uint8_t *pixels, struct error *e)
{
    if (!d->source->pixels)
        return error_set(e, ERROR_INPUT, "a sample of text has no pixels");
    return d->source->pixels(d, row, pixels, e);
}

const char *dataset_token(const struct dataset *d, int32_t token)
{
    if (!d->source->token || token < 0 || token >= d->vocabulary)
        return NULL;
    return d->source->token(d, token);
}

const char *dataset_class(const struct dataset *d, int class, char text[16])
{
    if (d->class_names && class >= 0 && class < d->classes)
        return d->class_names[class];
    snprintf(text, 16, "%d", class);
    return text;
}
