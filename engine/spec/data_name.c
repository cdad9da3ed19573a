#include "engine/spec/data_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const known[] = {"mnist",        "cifar10",    "cifar100",
                                    "text-classes", "text-words", "text-chars"};

const char *data_name_path(const char *name)
{
    if (!strncmp(name, "synthetic:", strlen("synthetic:")))
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i]);
        if (strncmp(name, known[i], length) != 0)
            continue;
        if (name[length] == 0)
            return NULL;
        if (name[length] == ':' && !strncmp(name, "text-", strlen("text-")))
            return name + length + 1;
    }
    return name;
}

static bool check_folder(const char *path, struct error *e)
{
    static const char *const files[] = {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
                                        "data_batch_1.bin", "train.bin"};
    char file[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(file, sizeof file, "%s/%s", path, files[i]);
        if (access(file, R_OK) == 0)
            return true;
    }
    return error_set(
        e, ERROR_INPUT,
        "the folder %s is no dataset: it has neither train-images-idx3-ubyte (MNIST, plain or .gz; "
        "Y. LeCun, C. Cortes, C. J. C. Burges) nor data_batch_1.bin (CIFAR-10) nor train.bin "
        "(CIFAR-100; both A. Krizhevsky, binary version); 'ringside data pack' makes a dataset of "
        "pictures",
        path);
}

static bool is_packed(const char *path)
{
    size_t length = strlen(path), suffix = strlen(".shards");
    return length > suffix && !strcmp(path + length - suffix, ".shards");
}

bool data_name_resolve(char name[PATH_MAX], struct error *e)
{
    const char *path = data_name_path(name);
    char real[PATH_MAX];
    struct stat st;
    if (!path)
        return true;
    size_t before = (size_t)(path - name);
    if (!realpath(path, real) || stat(real, &st) != 0)
        return error_set(
            e, ERROR_INPUT,
            "expected mnist, cifar10, cifar100, text-classes, text-words, text-chars, "
            "synthetic:SHAPE:CLASSES:ROWS, a folder with the files of MNIST or CIFAR, or a FILE.shards; "
            "got '%s', which is not there",
            name);
    if (before > 0 && S_ISDIR(st.st_mode))
        return error_set(e, ERROR_INPUT, "%s is a folder; expected %.*sFILE, a file of text, plain or .gz",
                         real, (int)before, name);
    if (S_ISDIR(st.st_mode) && !check_folder(real, e))
        return false;
    if (before == 0 && !S_ISDIR(st.st_mode) && !is_packed(real))
        return error_set(
            e, ERROR_INPUT,
            "%s is a file, but neither a folder with the files of MNIST or CIFAR nor a FILE.shards "
            "('ringside data pack' makes one)",
            real);
    if (before + strlen(real) >= PATH_MAX)
        return error_set(e, ERROR_INPUT, "the path %.60s... is longer than this system allows", real);
    memcpy(name + before, real, strlen(real) + 1);
    return true;
}
