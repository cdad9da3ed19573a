#include "engine/data/mnist.h"

#include "engine/base/paths.h"
#include "engine/data/idx.h"
#include "engine/data/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MNIST_CLASSES = 10 };

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

static bool check_labels(const struct idx *labels, const char *path, uint32_t rows, const char *images_path,
                         struct error *e)
{
    if (labels->extent[0] != rows)
        return error_set(e, ERROR_INPUT, "%s has %u labels, %s has %u images: they must be as many", path,
                         labels->extent[0], images_path, rows);
    for (uint32_t i = 0; i < rows; i++)
        if (labels->data[i] >= MNIST_CLASSES)
            return error_set(e, ERROR_INPUT, "%s: label %u is %u, expected 0 to %d", path, i + 1,
                             labels->data[i], MNIST_CLASSES - 1);
    return true;
}

bool mnist_read(const char *folder, enum dataset_part part, struct dataset *d, struct error *e)
{
    const char *prefix = part == DATASET_TRAIN ? "train" : "t10k";
    const double mean = MNIST_MEAN, deviation = MNIST_DEVIATION;
    char images_name[48], labels_name[48], images_path[PATH_MAX], labels_path[PATH_MAX];
    snprintf(images_name, sizeof images_name, "%s-images-idx3-ubyte", prefix);
    snprintf(labels_name, sizeof labels_name, "%s-labels-idx1-ubyte", prefix);
    struct byte_images *b = byte_images_new(d, e);
    if (!b || !find_file(folder, images_name, images_path, e) ||
        !find_file(folder, labels_name, labels_path, e))
        return false;
    struct idx images, labels;
    if (!idx_read(images_path, 3, &images, e))
        return false;
    b->pixels = images.data;
    d->rows = images.extent[0];
    d->shape =
        (struct model_shape){.channels = 1, .height = (int)images.extent[1], .width = (int)images.extent[2]};
    d->classes = MNIST_CLASSES;
    byte_values(b->value, 1, &mean, &deviation);
    if (!idx_read(labels_path, 1, &labels, e))
        return false;
    b->labels = malloc(d->rows * sizeof *b->labels);
    bool ok = check_labels(&labels, labels_path, d->rows, images_path, e);
    if (ok && !b->labels)
        ok = error_set(e, ERROR_FAILED, "not enough memory for %u labels", d->rows);
    for (uint32_t i = 0; ok && b->labels && i < d->rows; i++)
        b->labels[i] = labels.data[i];
    idx_free(&labels);
    return ok;
}
