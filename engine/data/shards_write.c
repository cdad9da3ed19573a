#include "engine/data/shards.h"

#include "engine/data/little_endian.h"
#include "engine/data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

struct shards_writer {
    char path[PATH_MAX], beside[PATH_MAX];
    struct shards_header h;
    int fd; /* of beside; -1: none is there */
    uint64_t at, rows, shard_count;
    uint8_t *shard; /* of images not yet written */
    uint32_t shard_rows;
    uint8_t *names, *labels, *index;
    size_t names_bytes;
    uint64_t histogram[SHARDS_MAX_CHANNELS][256]; /* of the training pixels */
};

static bool put(struct shards_writer *w, const void *data, size_t bytes, struct error *e)
{
    for (const uint8_t *from = data; bytes;) {
        ssize_t n = write(w->fd, from, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(e, ERROR_INPUT, "%s cannot be written", w->path);
        from += n;
        bytes -= (size_t)n;
        w->at += (uint64_t)n;
    }
    return true;
}

static uint64_t all_rows(const struct shards_writer *w)
{
    return w->h.rows[0] + w->h.rows[1];
}

static bool allocate(struct shards_writer *w, const char *const *names, struct error *e)
{
    size_t image = model_shape_elements(w->h.shape);
    w->h.shard_rows = image < SHARD_BYTES ? (uint32_t)(SHARD_BYTES / image) : 1;
    w->shard_count = (all_rows(w) - 1) / w->h.shard_rows + 1;
    for (uint32_t i = 0; i < w->h.classes; i++)
        w->names_bytes += strlen(names[i]) + 1;
    w->names = malloc(w->names_bytes);
    w->labels = malloc(4 * all_rows(w));
    w->index = malloc(SHARDS_INDEX_BYTES * w->shard_count);
    w->shard = malloc(w->h.shard_rows * image);
    if (!w->names || !w->labels || !w->index || !w->shard)
        return error_set(e, ERROR_FAILED, "not enough memory to pack %llu images",
                         (unsigned long long)all_rows(w));
    uint8_t *to = w->names;
    for (uint32_t i = 0; i < w->h.classes; i++)
        to = (uint8_t *)stpcpy((char *)to, names[i]) + 1;
    return true;
}

struct shards_writer *shards_create(const char *path, const struct shards_header *header,
                                    const char *const *names, struct error *e)
{
    struct shards_writer *w = calloc(1, sizeof *w);
    if (!w) {
        error_set(e, ERROR_FAILED, "not enough memory to pack images");
        return NULL;
    }
    w->fd = -1;
    w->h = *header;
    int length = snprintf(w->path, sizeof w->path, "%s", path);
    int beside = snprintf(w->beside, sizeof w->beside, "%s.%ld.part", path, (long)getpid());
    uint8_t nothing[SHARDS_HEADER_BYTES] = {0};
    bool ok = length >= 0 && beside > length && beside < (int)sizeof w->beside;
    if (!ok)
        error_set(e, ERROR_INPUT, "the path %.60s... is longer than this system allows", path);
    ok = ok && allocate(w, names, e);
    if (ok) {
        w->fd = open(w->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        ok = w->fd >= 0 || error_errno(e, ERROR_INPUT, "%s cannot be created", w->path);
    }
    if (ok && put(w, nothing, sizeof nothing, e))
        return w;
    shards_free(w);
    return NULL;
}

static bool flush_shard(struct shards_writer *w, struct error *e)
{
    size_t bytes = w->shard_rows * model_shape_elements(w->h.shape);
    uint8_t *entry = w->index + SHARDS_INDEX_BYTES * ((w->rows - 1) / w->h.shard_rows);
    put_u64(entry, w->at);
    put_u32(entry + 8, (uint32_t)crc32_z(0, w->shard, bytes));
    put_u32(entry + 12, w->shard_rows);
    w->shard_rows = 0;
    return put(w, w->shard, bytes, e);
}

bool shards_add(struct shards_writer *w, const uint8_t *pixels, uint32_t class, struct error *e)
{
    size_t plane = (size_t)w->h.shape.height * (size_t)w->h.shape.width;
    size_t image = plane * (size_t)w->h.shape.channels;
    for (int c = 0; w->rows < w->h.rows[DATASET_TRAIN] && c < w->h.shape.channels; c++)
        for (size_t k = 0; k < plane; k++)
            w->histogram[c][pixels[(size_t)c * plane + k]]++;
    memcpy(w->shard + w->shard_rows * image, pixels, image);
    put_u32(w->labels + 4 * w->rows, class);
    w->shard_rows++;
    w->rows++;
    return (w->shard_rows < w->h.shard_rows && w->rows < all_rows(w)) || flush_shard(w, e);
}

bool shards_finish(struct shards_writer *w, struct error *e)
{
    uint8_t header[SHARDS_HEADER_BYTES];
    size_t labels = 4 * all_rows(w), index = SHARDS_INDEX_BYTES * w->shard_count;
    if (w->rows != all_rows(w))
        return error_set(e, ERROR_FAILED, "%s: %llu images of %llu were packed", w->path,
                         (unsigned long long)w->rows, (unsigned long long)all_rows(w));
    for (int c = 0; c < SHARDS_MAX_CHANNELS; c++) {
        byte_moments(w->histogram[c], &w->h.mean[c], &w->h.deviation[c]);
        if (w->h.deviation[c] <= 0) /* a channel that is all alike, or absent */
            w->h.deviation[c] = 1;
    }
    w->h.names_at = w->at;
    w->h.labels_at = w->h.names_at + w->names_bytes;
    w->h.index_at = w->h.labels_at + labels;
    w->h.file_bytes = w->h.index_at + index;
    uLong crc = crc32_z(0, w->names, w->names_bytes);
    crc = crc32_z(crc, w->labels, labels);
    w->h.tables_crc = (uint32_t)crc32_z(crc, w->index, index);
    shards_header_pack(&w->h, header);
    if (!put(w, w->names, w->names_bytes, e) || !put(w, w->labels, labels, e) || !put(w, w->index, index, e))
        return false;
    if (pwrite(w->fd, header, sizeof header, 0) != (ssize_t)sizeof header || fsync(w->fd) != 0)
        return error_errno(e, ERROR_INPUT, "%s cannot be written", w->path);
    if (rename(w->beside, w->path) != 0)
        return error_errno(e, ERROR_INPUT, "%s cannot be written", w->path);
    close(w->fd);
    w->fd = -1;
    return true;
}

void shards_free(struct shards_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0) {
        close(w->fd);
        unlink(w->beside);
    }
    free(w->shard);
    free(w->names);
    free(w->labels);
    free(w->index);
    free(w);
}
