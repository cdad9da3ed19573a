#include "engine/data/idx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { IDX_UNSIGNED_BYTE = 0x08 };
/* No dataset of the course comes near; a header that claims more is broken. */
#define IDX_MAX_ELEMENTS ((size_t)1 << 31)

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Reads exactly n bytes; *got says how many came. False only where the compressed data is damaged. */
static bool read_bytes(gzFile file, const char *path, void *to, size_t n, size_t *got, struct error *e)
{
    *got = 0;
    while (*got < n) {
        size_t want = n - *got;
        int k = gzread(file, (char *)to + *got, want > 1 << 30 ? 1 << 30 : (unsigned)want);
        if (k < 0) {
            int code;
            const char *why = gzerror(file, &code);
            return error_set(e, ERROR_INPUT, "%s: the compressed data is damaged (%s); fetch the file again",
                             path, code == Z_ERRNO ? strerror(errno) : why);
        }
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    return true;
}

static bool read_header(gzFile file, const char *path, int dimensions, struct idx *idx, struct error *e)
{
    unsigned char head[4 + 4 * IDX_MAX_DIMENSIONS];
    size_t size = 4 + 4 * (size_t)dimensions, got;
    if (!read_bytes(file, path, head, size, &got, e))
        return false;
    if (got < 4 || head[0] != 0 || head[1] != 0)
        return error_set(e, ERROR_INPUT, "%s is no IDX file: expected it to begin with the bytes 0 0 8 %d",
                         path, dimensions);
    if (head[2] != IDX_UNSIGNED_BYTE || head[3] != dimensions)
        return error_set(
            e, ERROR_INPUT,
            "%s: expected an IDX file of unsigned bytes in %d dimensions (magic number %d), found magic "
            "number %u: is it another file of the set?",
            path, dimensions, IDX_UNSIGNED_BYTE << 8 | dimensions, big_endian(head));
    if (got < size)
        return error_set(e, ERROR_INPUT, "%s is cut short within its header", path);
    idx->dimensions = dimensions;
    idx->elements = 1;
    for (int i = 0; i < dimensions; i++) {
        idx->extent[i] = big_endian(head + 4 + 4 * i);
        if (idx->extent[i] == 0 || idx->elements > IDX_MAX_ELEMENTS / idx->extent[i])
            return error_set(e, ERROR_INPUT, "%s: dimension %d is said to be %u, which cannot be right", path,
                             i + 1, idx->extent[i]);
        idx->elements *= idx->extent[i];
    }
    return true;
}

/* Grows as data really comes, so that a header's lie costs no memory. */
static bool read_elements(gzFile file, const char *path, struct idx *idx, struct error *e)
{
    size_t have = 0, room = 0;
    while (have < idx->elements) {
        if (have == room) {
            room = room ? 2 * room : 1 << 20;
            if (room > idx->elements)
                room = idx->elements;
            uint8_t *grown = realloc(idx->data, room);
            if (!grown)
                return error_set(e, ERROR_FAILED, "%s: not enough memory for %zu bytes", path, idx->elements);
            idx->data = grown;
        }
        size_t got;
        if (!read_bytes(file, path, idx->data + have, room - have, &got, e))
            return false;
        have += got;
        if (have < room)
            return error_set(e, ERROR_INPUT,
                             "%s is cut short: its header says %zu bytes of data, there are %zu", path,
                             idx->elements, have);
    }
    unsigned char more;
    size_t got;
    if (!read_bytes(file, path, &more, 1, &got, e))
        return false;
    if (got)
        return error_set(e, ERROR_INPUT, "%s is longer than the %zu bytes of data its header says", path,
                         idx->elements);
    return true;
}

bool idx_read(const char *path, int dimensions, struct idx *idx, struct error *e)
{
    memset(idx, 0, sizeof *idx);
    gzFile file = gzopen(path, "rb");
    if (!file)
        return error_errno(e, ERROR_INPUT, "%s cannot be opened", path);
    gzbuffer(file, 1 << 17);
    bool ok = read_header(file, path, dimensions, idx, e) && read_elements(file, path, idx, e);
    int closed = gzclose(file);
    if (ok && closed == Z_BUF_ERROR)
        ok = error_set(e, ERROR_INPUT, "%s is cut short at the end of its compressed data", path);
    if (!ok)
        idx_free(idx);
    return ok;
}

void idx_free(struct idx *idx)
{
    free(idx->data);
    memset(idx, 0, sizeof *idx);
}
