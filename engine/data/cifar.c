#include "engine/data/cifar.h"

#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/data/gz.h"
#include "engine/data/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 32, CHANNELS = 3, PIXELS = CHANNELS * SIDE * SIDE, MAX_FILES = 5 };
#define FILE_MAX_BYTES ((size_t)1 << 30)

static const char *const cifar10_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};

static const struct set {
    const char *name, *folder, *archive;
    int classes, label_bytes; /* the last of these bytes is the class */
    const char *train[MAX_FILES + 1], *test[2];
    const char *const *class_names;
    double mean[CHANNELS], deviation[CHANNELS];
} sets[] = {
    {.name = "cifar10",
     .folder = "cifar-10-batches-bin",
     .archive = "cifar-10-binary.tar.gz, 162 MB",
     .classes = 10,
     .label_bytes = 1,
     .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
               "data_batch_5.bin"},
     .test = {"test_batch.bin"},
     .class_names = cifar10_names,
     .mean = {0.49139968, 0.48215841, 0.44653091},
     .deviation = {0.24703223, 0.24348513, 0.26158784}},
    {.name = "cifar100",
     .folder = "cifar-100-binary",
     .archive = "cifar-100-binary.tar.gz, 161 MB",
     .classes = 100,
     .label_bytes = 2,
     .train = {"train.bin"},
     .test = {"test.bin"},
     .mean = {0.50707516, 0.48654887, 0.44091784},
     .deviation = {0.26733429, 0.25643846, 0.27615047}},
};
enum { SETS = sizeof sets / sizeof *sets };

static const struct set *set_named(const char *name)
{
    for (int i = 0; i < SETS; i++)
        if (!strcmp(name, sets[i].name))
            return &sets[i];
    return NULL;
}

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return path_join(path, folder, name, NULL) && access(path, R_OK) == 0;
}

/* The set that the folder has a file of; CIFAR-100's names are common ones, so both are asked for. */
static const struct set *set_in(const char *folder)
{
    if (has_file(folder, sets[0].train[0]) || has_file(folder, sets[0].test[0]))
        return &sets[0];
    return has_file(folder, sets[1].train[0]) && has_file(folder, sets[1].test[0]) ? &sets[1] : NULL;
}

bool cifar_known(const char *name)
{
    return set_named(name) != NULL;
}

bool cifar_folder(const char *folder)
{
    return set_in(folder) != NULL;
}

static bool missing(const struct set *set, const char *file, const char *folder, struct error *e)
{
    return error_set(
        e, ERROR_INPUT,
        "there is no %s in %s: %s needs %s and %s of its binary version (%s, from A. Krizhevsky, "
        "Learning multiple layers of features from tiny images, University of Toronto, 2009); "
        "unpack it so that they lie there",
        file, folder, set->name, set->train[1] ? "data_batch_1.bin to data_batch_5.bin" : set->train[0],
        set->test[0], set->archive);
}

/* Where the named set lies: the first place that has its folder, else the first one looked at. */
static bool find_folder(const struct set *set, char folder[PATH_MAX], struct error *e)
{
    char home[PATH_MAX], course[PATH_MAX], inside[64];
    snprintf(inside, sizeof inside, "data/%s", set->folder);
    if (!ringside_home(home, e) || !path_join(folder, home, inside, e))
        return false;
    if (access(folder, R_OK) == 0)
        return true;
    if (!path_data(home, NULL) || !path_join(course, home, "exercises", NULL) ||
        !path_join(course, course, inside, NULL) || access(course, R_OK) != 0)
        return true;
    memcpy(folder, course, strlen(course) + 1);
    return true;
}

/* Room for so many more images. */
static bool grow(struct byte_images *b, size_t rows, const char *path, struct error *e)
{
    uint8_t *pixels = realloc(b->pixels, rows * PIXELS);
    if (pixels)
        b->pixels = pixels;
    int32_t *labels = realloc(b->labels, rows * sizeof *labels);
    if (labels)
        b->labels = labels;
    return (pixels && labels) ||
           error_set(e, ERROR_FAILED, "%s: not enough memory for %zu images", path, rows);
}

static bool add_records(const struct set *set, const uint8_t *data, size_t bytes, const char *path,
                        struct byte_images *b, struct dataset *d, struct error *e)
{
    size_t record = (size_t)set->label_bytes + PIXELS, rows = bytes / record;
    if (rows == 0 || bytes % record != 0)
        return error_set(
            e, ERROR_INPUT,
            "%s has %zu bytes: expected a whole number of records of %zu (the published file has 10 000, "
            "CIFAR-100's train.bin 50 000); fetch it again",
            path, bytes, record);
    if (!grow(b, d->rows + rows, path, e))
        return false;
    for (size_t i = 0; i < rows; i++) {
        const uint8_t *from = data + i * record;
        int label = from[set->label_bytes - 1];
        if (label >= set->classes)
            return error_set(e, ERROR_INPUT, "%s: record %zu has the class %d, expected 0 to %d", path, i + 1,
                             label, set->classes - 1);
        b->labels[d->rows + i] = label;
        memcpy(b->pixels + (d->rows + i) * PIXELS, from + set->label_bytes, PIXELS);
    }
    d->rows += (uint32_t)rows;
    return true;
}

/* Adds a file's records to what is there. */
static bool read_file(const struct set *set, const char *path, struct byte_images *b, struct dataset *d,
                      struct error *e)
{
    size_t bytes;
    uint8_t *data;
    if (!gz_read(path, FILE_MAX_BYTES, &data, &bytes, e))
        return false;
    bool ok = add_records(set, data, bytes, path, b, d, e);
    free(data);
    return ok;
}

bool cifar_read(const char *name, enum dataset_part part, struct dataset *d, struct error *e)
{
    const struct set *set = set_named(name);
    char folder[PATH_MAX], path[PATH_MAX];
    if (set ? !find_folder(set, folder, e) : !path_join(folder, name, "", e))
        return false;
    if (!set && !(set = set_in(folder)))
        return error_set(e, ERROR_INPUT, "%s has no files of CIFAR-10 or CIFAR-100", folder);
    struct byte_images *b = byte_images_new(d, e);
    if (!b)
        return false;
    d->shape = (struct model_shape){.channels = CHANNELS, .height = SIDE, .width = SIDE};
    d->classes = set->classes;
    d->class_names = set->class_names;
    byte_values(b->value, CHANNELS, set->mean, set->deviation);
    for (const char *const *file = part == DATASET_TRAIN ? set->train : set->test; *file; file++) {
        if (!path_join(path, folder, *file, e))
            return false;
        if (access(path, R_OK) != 0)
            return missing(set, *file, folder, e);
        if (!read_file(set, path, b, d, e))
            return false;
    }
    return true;
}
