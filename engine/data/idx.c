#include "engine/data/idx.h"

#include "engine/data/gz.h"

#include <stdlib.h>
#include <string.h>

enum { IDX_UNSIGNED_BYTE = 0x08, IDX_MAX_HEADER = 4 + 4 * IDX_MAX_DIMENSIONS };
/* No dataset of the course comes near; a header that claims more is broken. */
#define IDX_MAX_ELEMENTS ((size_t)1 << 31)

static uint32_t big_endian(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool read_header(const uint8_t *file, size_t bytes, const char *path, int dimensions, struct idx *idx,
                        struct error *e)
{
    if (bytes < 4 || file[0] != 0 || file[1] != 0)
        return error_set(e, ERROR_INPUT, "%s is no IDX file: expected it to begin with the bytes 0 0 8 %d",
                         path, dimensions);
    if (file[2] != IDX_UNSIGNED_BYTE || file[3] != dimensions)
        return error_set(
            e, ERROR_INPUT,
            "%s: expected an IDX file of unsigned bytes in %d dimensions (magic number %d), found magic "
            "number %u: is it another file of the set?",
            path, dimensions, IDX_UNSIGNED_BYTE << 8 | dimensions, big_endian(file));
    if (bytes < 4 + 4 * (size_t)dimensions)
        return error_set(e, ERROR_INPUT, "%s is cut short within its header", path);
    idx->dimensions = dimensions;
    idx->elements = 1;
    for (int i = 0; i < dimensions; i++) {
        idx->extent[i] = big_endian(file + 4 + 4 * i);
        if (idx->extent[i] == 0 || idx->elements > IDX_MAX_ELEMENTS / idx->extent[i])
            return error_set(e, ERROR_INPUT, "%s: dimension %d is said to be %u, which cannot be right", path,
                             i + 1, idx->extent[i]);
        idx->elements *= idx->extent[i];
    }
    return true;
}

bool idx_read(const char *path, int dimensions, struct idx *idx, struct error *e)
{
    memset(idx, 0, sizeof *idx);
    size_t bytes, header = 4 + 4 * (size_t)dimensions;
    if (!gz_read(path, IDX_MAX_HEADER + IDX_MAX_ELEMENTS, &idx->data, &bytes, e))
        return false;
    bool ok = read_header(idx->data, bytes, path, dimensions, idx, e);
    if (ok && bytes - header < idx->elements)
        ok = error_set(e, ERROR_INPUT, "%s is cut short: its header says %zu bytes of data, there are %zu",
                       path, idx->elements, bytes - header);
    if (ok && bytes - header > idx->elements)
        ok = error_set(e, ERROR_INPUT, "%s is longer than the %zu bytes of data its header says", path,
                       idx->elements);
    if (ok)
        memmove(idx->data, idx->data + header, idx->elements);
    else
        idx_free(idx);
    return ok;
}

void idx_free(struct idx *idx)
{
    free(idx->data);
    memset(idx, 0, sizeof *idx);
}
