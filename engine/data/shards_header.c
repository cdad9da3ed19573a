#include "engine/data/shards.h"

#include "engine/data/little_endian.h"

#include <math.h>
#include <zlib.h>

static const uint8_t shards_magic[8] = {'R', 'S', 'H', 'A', 'R', 'D', 'S', '\n'};

enum { MAX_EXTENT = 1 << 14 };

void shards_header_pack(const struct shards_header *h, uint8_t b[SHARDS_HEADER_BYTES])
{
    memcpy(b, shards_magic, sizeof shards_magic);
    put_u32(b + 8, SHARDS_VERSION);
    put_u32(b + 12, (uint32_t)h->shape.channels);
    put_u32(b + 16, (uint32_t)h->shape.height);
    put_u32(b + 20, (uint32_t)h->shape.width);
    put_u32(b + 24, h->classes);
    put_u32(b + 28, h->shard_rows);
    put_u64(b + 32, h->rows[0]);
    put_u64(b + 40, h->rows[1]);
    put_u64(b + 48, h->names_at);
    put_u64(b + 56, h->labels_at);
    put_u64(b + 64, h->index_at);
    put_u64(b + 72, h->file_bytes);
    for (int c = 0; c < SHARDS_MAX_CHANNELS; c++) {
        put_double(b + 80 + 8 * c, h->mean[c]);
        put_double(b + 104 + 8 * c, h->deviation[c]);
    }
    put_u32(b + 128, h->tables_crc);
    put_u32(b + 132, (uint32_t)crc32(0, b, 132));
}

/* So small that no product of them overflows 64 bits. */
static bool plausible(const struct shards_header *h)
{
    const struct model_shape *s = &h->shape;
    if ((s->channels != 1 && s->channels != 3) || s->height < 1 || s->height > MAX_EXTENT || s->width < 1 ||
        s->width > MAX_EXTENT || h->classes < 1 || h->classes > SHARDS_MAX_CLASSES || h->shard_rows < 1 ||
        h->rows[0] < 1 || h->rows[0] > UINT32_MAX || h->rows[1] < 1 || h->rows[1] > UINT32_MAX)
        return false;
    for (int c = 0; c < s->channels; c++)
        if (!isfinite(h->mean[c]) || !isfinite(h->deviation[c]) || h->deviation[c] <= 0)
            return false;
    uint64_t rows = h->rows[0] + h->rows[1], shards = (rows - 1) / h->shard_rows + 1;
    uint64_t pixels = rows * model_shape_elements(*s);
    return h->names_at == SHARDS_HEADER_BYTES + pixels && h->labels_at > h->names_at &&
           h->labels_at < (uint64_t)1 << 62 && h->index_at == h->labels_at + 4 * rows &&
           h->file_bytes == h->index_at + SHARDS_INDEX_BYTES * shards;
}

bool shards_header_unpack(const uint8_t b[SHARDS_HEADER_BYTES], const char *path, struct shards_header *h,
                          struct error *e)
{
    if (memcmp(b, shards_magic, sizeof shards_magic) != 0)
        return error_set(
            e, ERROR_INPUT,
            "%s is no file of shards; 'ringside data pack DIR %s' makes one from a folder of class "
            "folders with pictures",
            path, path);
    if (get_u32(b + 8) != SHARDS_VERSION)
        return error_set(e, ERROR_INPUT, "%s is of version %u of the format, expected %d; pack it again",
                         path, get_u32(b + 8), SHARDS_VERSION);
    if (get_u32(b + 132) != (uint32_t)crc32(0, b, 132))
        return error_set(e, ERROR_INPUT, "%s: the header is damaged (its CRC-32 is wrong); pack it again",
                         path);
    *h = (struct shards_header){
        .shape = {.channels = (int)get_u32(b + 12),
                  .height = (int)get_u32(b + 16),
                  .width = (int)get_u32(b + 20)},
        .classes = get_u32(b + 24),
        .shard_rows = get_u32(b + 28),
        .rows = {get_u64(b + 32), get_u64(b + 40)},
        .names_at = get_u64(b + 48),
        .labels_at = get_u64(b + 56),
        .index_at = get_u64(b + 64),
        .file_bytes = get_u64(b + 72),
        .tables_crc = get_u32(b + 128),
    };
    for (int c = 0; c < SHARDS_MAX_CHANNELS; c++) {
        h->mean[c] = get_double(b + 80 + 8 * c);
        h->deviation[c] = get_double(b + 104 + 8 * c);
    }
    return plausible(h) || error_set(e, ERROR_INPUT, "%s: the header makes no sense; pack it again", path);
}
