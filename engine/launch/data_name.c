#include "engine/launch/data_name.h"

#include "engine/base/paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name(const char *data)
{
    static const char *const known[] = {"mnist",        "cifar10",    "cifar100",
                                        "text-classes", "text-words", "text-chars"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(data, known[i]))
            return true;
    return strncmp(data, "synthetic:", strlen("synthetic:")) == 0;
}

static bool check_folder(const char *folder, struct error *e)
{
    static const char *const first[] = {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
                                        "data_batch_1.bin", "train.bin"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        char path[PATH_MAX];
        if (!path_join(path, folder, first[i], e))
            return false;
        if (access(path, R_OK) == 0)
            return true;
    }
    return error_set(e, ERROR_INPUT,
                     "the folder %s holds neither train-images-idx3-ubyte (MNIST), plain or .gz, nor "
                     "data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100)",
                     folder);
}

bool data_name_resolve(char data[PATH_MAX], struct error *e)
{
    char path[PATH_MAX];
    struct stat st;
    if (is_name(data))
        return true;
    if (!realpath(data, path) || stat(path, &st) != 0)
        return error_set(
            e, ERROR_INPUT,
            "expected mnist, cifar10, cifar100, text-classes, text-words, text-chars, "
            "synthetic:SHAPE:CLASSES:ROWS, a folder with the files of MNIST or CIFAR, or a FILE.shards; "
            "got '%s', which is not there",
            data);
    if (S_ISDIR(st.st_mode) && !check_folder(path, e))
        return false;
    memcpy(data, path, strlen(path) + 1);
    return true;
}
