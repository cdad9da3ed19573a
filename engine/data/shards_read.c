#include "engine/data/shards.h"

#include "engine/base/paths.h"
#include "engine/data/little_endian.h"
#include "engine/data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct shards {
    char path[PATH_MAX];
    struct shards_header h;
    const uint8_t *file; /* mapped, h.file_bytes */
    size_t mapped;
    uint64_t first; /* row of the part's first image */
    uint64_t shard_count;
    _Atomic uint8_t *checked; /* of each shard: its CRC-32 was right; owned */
    const char **names;       /* of the classes, into the map; owned */
    float value[SHARDS_MAX_CHANNELS][256];
};

/* --- opening --- */

static bool map_file(struct shards *s, struct error *e)
{
    uint8_t header[SHARDS_HEADER_BYTES];
    struct stat st = {0};
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(e, ERROR_INPUT, "%s cannot be opened", s->path);
    bool ok = true;
    ssize_t got = read(fd, header, sizeof header);
    if (got < 0 || fstat(fd, &st) != 0)
        ok = error_errno(e, ERROR_INPUT, "%s cannot be read", s->path);
    else if ((size_t)got < sizeof header)
        ok = error_set(e, ERROR_INPUT, "%s is cut short within its header, or no file of shards", s->path);
    ok = ok && shards_header_unpack(header, s->path, &s->h, e);
    if (ok && (uint64_t)st.st_size != s->h.file_bytes)
        ok = error_set(e, ERROR_INPUT, "%s has %lld bytes, expected %llu: it was not copied whole", s->path,
                       (long long)st.st_size, (unsigned long long)s->h.file_bytes);
    if (ok) {
        void *map = mmap(NULL, s->h.file_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) {
            ok = error_errno(e, ERROR_FAILED, "%s cannot be mapped into memory", s->path);
        } else {
            s->file = map;
            s->mapped = s->h.file_bytes;
        }
    }
    close(fd);
    return ok;
}

static bool find_names(struct shards *s, struct error *e)
{
    const char *at = (const char *)s->file + s->h.names_at, *end = (const char *)s->file + s->h.labels_at;
    s->names = malloc(s->h.classes * sizeof *s->names);
    if (!s->names)
        return error_set(e, ERROR_FAILED, "not enough memory for %u classes", s->h.classes);
    for (uint32_t i = 0; i < s->h.classes; i++) {
        s->names[i] = at;
        const char *zero = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!zero)
            return error_set(e, ERROR_INPUT, "%s: the names of the classes are torn; pack it again", s->path);
        at = zero + 1;
    }
    return at == end ||
           error_set(e, ERROR_INPUT, "%s: there are more names than classes; pack it again", s->path);
}

static const uint8_t *index_of(const struct shards *s, uint64_t shard)
{
    return s->file + s->h.index_at + SHARDS_INDEX_BYTES * shard;
}

static uint64_t rows_of(const struct shards *s, uint64_t shard)
{
    uint64_t all = s->h.rows[0] + s->h.rows[1], before = shard * s->h.shard_rows;
    return all - before < s->h.shard_rows ? all - before : s->h.shard_rows;
}

/* Names, labels and index are what the header says they are: after this, no offset needs a check. */
static bool check_tables(struct shards *s, struct error *e)
{
    uint64_t all = s->h.rows[0] + s->h.rows[1], at = SHARDS_HEADER_BYTES;
    uint64_t tables = s->h.file_bytes - s->h.names_at;
    if ((uint32_t)crc32_z(0, s->file + s->h.names_at, tables) != s->h.tables_crc)
        return error_set(e, ERROR_INPUT, "%s: the tables are damaged (their CRC-32 is wrong); pack it again",
                         s->path);
    for (uint64_t i = 0; i < all; i++) {
        uint32_t label = get_u32(s->file + s->h.labels_at + 4 * i);
        if (label >= s->h.classes)
            return error_set(e, ERROR_INPUT, "%s: image %llu has the class %u, expected 0 to %u", s->path,
                             (unsigned long long)i + 1, label, s->h.classes - 1);
    }
    for (uint64_t k = 0; k < s->shard_count; k++) {
        const uint8_t *entry = index_of(s, k);
        if (get_u64(entry) != at || get_u32(entry + 12) != rows_of(s, k))
            return error_set(e, ERROR_INPUT, "%s: the index of shard %llu makes no sense; pack it again",
                             s->path, (unsigned long long)k + 1);
        at += rows_of(s, k) * model_shape_elements(s->h.shape);
    }
    return find_names(s, e);
}

static void shards_close(struct shards *s)
{
    if (!s)
        return;
    if (s->file)
        munmap((void *)s->file, s->mapped);
    free((void *)s->checked);
    free(s->names);
    free(s);
}

static bool shards_open(struct shards *s, const char *path, struct error *e)
{
    if (!path_join(s->path, path, "", e) || !map_file(s, e))
        return false;
    s->shard_count = (s->h.rows[0] + s->h.rows[1] - 1) / s->h.shard_rows + 1;
    s->checked = calloc(s->shard_count, sizeof *s->checked);
    if (!s->checked)
        return error_set(e, ERROR_FAILED, "%s: not enough memory for its %llu shards", path,
                         (unsigned long long)s->shard_count);
    byte_values(s->value, s->h.shape.channels, s->h.mean, s->h.deviation);
    return check_tables(s, e);
}

/* --- images --- */

/* Two threads may check the same shard at once: both find the same. */
static bool check_shard(const struct shards *s, uint64_t shard, struct error *e)
{
    if (atomic_load_explicit(&s->checked[shard], memory_order_relaxed))
        return true;
    const uint8_t *entry = index_of(s, shard);
    uint32_t found =
        (uint32_t)crc32_z(0, s->file + get_u64(entry), rows_of(s, shard) * model_shape_elements(s->h.shape));
    if (found != get_u32(entry + 8))
        return error_set(
            e, ERROR_INPUT,
            "%s: shard %llu of %llu is damaged (its CRC-32 is %08x, expected %08x); pack it again", s->path,
            (unsigned long long)shard + 1, (unsigned long long)s->shard_count, found, get_u32(entry + 8));
    atomic_store_explicit(&s->checked[shard], 1, memory_order_relaxed);
    return true;
}

/* The bytes of a row of the part, or NULL. */
static const uint8_t *image(const struct shards *s, uint32_t row, struct error *e)
{
    uint64_t at = s->first + row;
    if (!check_shard(s, at / s->h.shard_rows, e))
        return NULL;
    return s->file + SHARDS_HEADER_BYTES + at * model_shape_elements(s->h.shape);
}

static void classes_of(const struct dataset *d, uint32_t row, int32_t *classes)
{
    const struct shards *s = d->self;
    *classes = (int32_t)get_u32(s->file + s->h.labels_at + 4 * (s->first + row));
}

static bool batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                  struct error *e)
{
    const struct shards *s = d->self;
    size_t size = dataset_sample_elements(d);
    for (int i = 0; i < n; i++) {
        const uint8_t *pixels = image(s, which[i], e);
        if (!pixels)
            return false;
        byte_image_values(pixels, d->shape, s->value, (float *)inputs + (size_t)i * size);
        classes_of(d, which[i], &classes[i]);
    }
    return true;
}

static bool copy_pixels(const struct dataset *d, uint32_t row, uint8_t *out, struct error *e)
{
    const uint8_t *pixels = image(d->self, row, e);
    if (pixels)
        memcpy(out, pixels, dataset_sample_elements(d));
    return pixels != NULL;
}

static void close_shards(struct dataset *d)
{
    shards_close(d->self);
}

static const struct dataset_source shards_source = {
    .batch = batch, .classes = classes_of, .pixels = copy_pixels, .close = close_shards, .mapped = true};

bool shards_known(const char *name)
{
    size_t n = strlen(name), suffix = strlen(".shards");
    return n > suffix && !strcmp(name + n - suffix, ".shards");
}

bool shards_read(const char *path, enum dataset_part part, struct dataset *d, struct error *e)
{
    struct shards *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(e, ERROR_FAILED, "not enough memory for a dataset");
    d->source = &shards_source;
    d->self = s;
    if (!shards_open(s, path, e))
        return false;
    s->first = part == DATASET_TRAIN ? 0 : s->h.rows[DATASET_TRAIN];
    d->rows = (uint32_t)s->h.rows[part];
    d->shape = s->h.shape;
    d->classes = (int)s->h.classes;
    d->class_names = s->names;
    d->targets = 1;
    return true;
}

bool shards_verify(const char *path, struct shards_report *report, struct error *e)
{
    struct shards *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(e, ERROR_FAILED, "not enough memory to verify %s", path);
    bool ok = shards_open(s, path, e);
    for (uint64_t k = 0; ok && k < s->shard_count; k++)
        ok = check_shard(s, k, e);
    *report = (struct shards_report){.header = s->h, .shards = s->shard_count};
    shards_close(s);
    return ok;
}
