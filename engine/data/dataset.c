#include "engine/data/dataset.h"

#include "engine/base/paths.h"
#include "engine/data/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MNIST_CLASSES = 10 };

static bool folder_of(const char *name, char folder[PATH_MAX], struct error *e)
{
    char data[PATH_MAX];
    if (strcmp(name, "mnist") != 0)
        return snprintf(folder, PATH_MAX, "%s", name) < PATH_MAX ||
               error_set(e, ERROR_INPUT, "the dataset's path is too long");
    return path_data(data, e) && path_join(folder, data, "exercises/data/mnist", e);
}

/* folder/name.gz or folder/name, whichever is there. */
static bool find_file(const char *folder, const char *name, char path[PATH_MAX], struct error *e)
{
    char compressed[64];
    snprintf(compressed, sizeof compressed, "%s.gz", name);
    if (!path_join(path, folder, compressed, e))
        return false;
    if (access(path, R_OK) == 0)
        return true;
    if (!path_join(path, folder, name, e))
        return false;
    if (access(path, R_OK) == 0)
        return true;
    return error_set(
        e, ERROR_INPUT,
        "there is no %s.gz in %s: the dataset needs the four IDX files of MNIST (train-images-idx3-ubyte, "
        "train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, with or without .gz; "
        "publisher: Y. LeCun, C. Cortes, C. J. C. Burges); put them there, or use --data mnist, which "
        "comes with the course",
        name, folder);
}

static bool read_part(const char *folder, const char *prefix, struct dataset *d, struct error *e)
{
    char images_name[48], labels_name[48], images_path[PATH_MAX], labels_path[PATH_MAX];
    snprintf(images_name, sizeof images_name, "%s-images-idx3-ubyte", prefix);
    snprintf(labels_name, sizeof labels_name, "%s-labels-idx1-ubyte", prefix);
    if (!find_file(folder, images_name, images_path, e) || !find_file(folder, labels_name, labels_path, e))
        return false;
    struct idx images, labels;
    if (!idx_read(images_path, 3, &images, e))
        return false;
    d->pixels = images.data;
    d->rows = images.extent[0];
    d->height = images.extent[1];
    d->width = images.extent[2];
    if (!idx_read(labels_path, 1, &labels, e))
        return false;
    d->labels = labels.data;
    if (labels.extent[0] != d->rows)
        return error_set(e, ERROR_INPUT, "%s has %u labels, %s has %u images: they must be as many",
                         labels_path, labels.extent[0], images_path, d->rows);
    for (uint32_t i = 0; i < d->rows; i++)
        if (d->labels[i] >= d->classes)
            return error_set(e, ERROR_INPUT, "%s: label %u is %u, expected 0 to %d", labels_path, i + 1,
                             d->labels[i], d->classes - 1);
    return true;
}

bool dataset_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    memset(d, 0, sizeof *d);
    d->classes = MNIST_CLASSES;
    for (int p = 0; p < 256; p++)
        d->value[p] = (float)((p / 255.0 - MNIST_MEAN) / MNIST_DEVIATION);
    char folder[PATH_MAX];
    if (folder_of(name, folder, e) && read_part(folder, part == DATASET_TRAIN ? "train" : "t10k", d, e))
        return true;
    dataset_free(d);
    return false;
}

void dataset_free(struct dataset *d)
{
    free(d->pixels);
    free(d->labels);
    d->pixels = d->labels = NULL;
    d->rows = 0;
}

size_t dataset_image_elements(const struct dataset *d)
{
    return (size_t)d->height * d->width;
}

void dataset_batch(const struct dataset *d, const uint32_t *which, int n, float *out, uint8_t *labels)
{
    size_t size = dataset_image_elements(d);
    for (int i = 0; i < n; i++) {
        const uint8_t *image = d->pixels + which[i] * size;
        float *to = out + (size_t)i * size;
        for (size_t k = 0; k < size; k++)
            to[k] = d->value[image[k]];
        labels[i] = d->labels[which[i]];
    }
}
