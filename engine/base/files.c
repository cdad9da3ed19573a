/*
 * files.c - opens plain files, and nothing that could keep a reader waiting.
 */
#include "engine/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(const char *path, off_t most, struct error *e)
{
    struct stat about;
    /* Without O_NONBLOCK the open of a named pipe waits for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0)
        error_errno(e, ERROR_INPUT, "%s cannot be read", path);
    else if (!S_ISREG(about.st_mode))
        errno = EINVAL, error_set(e, ERROR_INPUT, "%s is not a plain file", path);
    else if (most > 0 && about.st_size > most)
        errno = EFBIG, error_set(e, ERROR_INPUT, "%s has %lld bytes, more than the %lld that are read", path,
                                 (long long)about.st_size, (long long)most);
    else
        return fd;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

FILE *file_stream(const char *path, off_t most, struct error *e)
{
    int fd = file_open(path, most, e);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !file) {
        error_errno(e, ERROR_FAILED, "%s cannot be read", path);
        close(fd);
    }
    return file;
}

json_t *file_json(const char *path, struct error *e)
{
    json_error_t where;
    FILE *file = file_stream(path, FILE_JSON_BYTES, e);
    json_t *value = file ? json_loadf(file, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (file && !value)
        error_set(e, ERROR_INPUT, "%s, line %d: this is not JSON: %s", path, where.line, where.text);
    if (file)
        fclose(file);
    return value;
}
