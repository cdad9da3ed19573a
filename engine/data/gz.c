#include "engine/data/gz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { PART = 1 << 20 };

static bool read_all(gzFile file, const char *path, size_t max_bytes, uint8_t **data, size_t *bytes,
                     struct error *e)
{
    size_t room = 0;
    for (;;) {
        if (*bytes == room) {
            room = room ? 2 * room : PART;
            uint8_t *grown = realloc(*data, room);
            if (!grown)
                return error_set(e, ERROR_FAILED, "%s: not enough memory for %zu bytes", path, room);
            *data = grown;
        }
        size_t want = room - *bytes;
        int got = gzread(file, *data + *bytes, want > 1 << 30 ? 1 << 30 : (unsigned)want);
        if (got < 0) {
            int code;
            const char *why = gzerror(file, &code);
            return error_set(e, ERROR_INPUT, "%s: the compressed data is damaged (%s); fetch the file again",
                             path, code == Z_ERRNO ? strerror(errno) : why);
        }
        if (got == 0)
            return true;
        *bytes += (size_t)got;
        if (*bytes > max_bytes)
            return error_set(e, ERROR_INPUT, "%s is longer than the %zu bytes that such a file may have",
                             path, max_bytes);
    }
}

bool gz_read(const char *path, size_t max_bytes, uint8_t **data, size_t *bytes, struct error *e)
{
    *data = NULL;
    *bytes = 0;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(e, ERROR_INPUT, "%s is a folder; expected a file, plain or .gz", path);
    gzFile file = gzopen(path, "rb");
    if (!file)
        return error_errno(e, ERROR_INPUT, "%s cannot be opened", path);
    gzbuffer(file, 1 << 17);
    bool ok = read_all(file, path, max_bytes, data, bytes, e);
    int closed = gzclose(file);
    if (ok && closed == Z_BUF_ERROR)
        ok = error_set(e, ERROR_INPUT, "%s is cut short at the end of its compressed data", path);
    if (!ok) {
        free(*data);
        *data = NULL;
        *bytes = 0;
    }
    return ok;
}
