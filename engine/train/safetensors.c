#include "engine/train/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The published readers refuse longer headers too: a length that is garbage must not become an allocation. */
enum { MAX_HEADER = 100000000, PREFIX = 8, CHUNK = 1 << 16 };

struct safetensors {
    char *path;
    int fd;
    uint64_t data_begin, data_bytes;
    json_t *header; /* owns the names and texts that are pointed at */
    json_t *metadata;
    struct safetensors_entry *entries; /* in the order of their data */
    int count;
};

static const struct {
    const char *name;
    enum safetensors_type type;
    size_t bytes;
} types[] = {
    {"F32", SAFETENSORS_F32, 4},       {"F64", SAFETENSORS_F64, 8},       {"F16", SAFETENSORS_F16, 2},
    {"BF16", SAFETENSORS_BF16, 2},     {"I32", SAFETENSORS_I32, 4},       {"I64", SAFETENSORS_I64, 8},
    {"BOOL", SAFETENSORS_OTHER, 1},    {"U8", SAFETENSORS_OTHER, 1},      {"I8", SAFETENSORS_OTHER, 1},
    {"F8_E4M3", SAFETENSORS_OTHER, 1}, {"F8_E5M2", SAFETENSORS_OTHER, 1}, {"U16", SAFETENSORS_OTHER, 2},
    {"I16", SAFETENSORS_OTHER, 2},     {"U32", SAFETENSORS_OTHER, 4},     {"U64", SAFETENSORS_OTHER, 8},
};
enum { TYPES = sizeof types / sizeof *types };

/* --- reading: the bytes --- */

static bool read_at(const struct safetensors *f, uint64_t at, void *to, size_t bytes, struct error *e)
{
    char *p = to;
    while (bytes > 0) {
        ssize_t n = pread(f->fd, p, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(e, ERROR_INPUT, "%s cannot be read", f->path);
        if (n == 0)
            return error_set(e, ERROR_INPUT, "%s ends early: it was cut short while it was read", f->path);
        p += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The file's own order of bytes, on any machine. */
static uint64_t little_endian(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction. */
static float float_of_half(uint32_t half)
{
    uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
    float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? ldexpf((float)fraction, -24)
                                 : ldexpf((float)(fraction + 1024), (int)exponent - 25);
    return half >> 15 ? -size : size;
}

static float element(enum safetensors_type type, const unsigned char *p, size_t size)
{
    uint64_t bits = little_endian(p, (int)size);
    double wide;
    switch (type) {
    case SAFETENSORS_F32: return float_of_bits((uint32_t)bits);
    case SAFETENSORS_F64: memcpy(&wide, &bits, sizeof wide); return (float)wide;
    case SAFETENSORS_F16: return float_of_half((uint32_t)bits);
    case SAFETENSORS_BF16: return float_of_bits((uint32_t)bits << 16);
    case SAFETENSORS_I32: return (float)(int32_t)(uint32_t)bits;
    default: return (float)(int64_t)bits;
    }
}

bool safetensors_read(const struct safetensors *f, const struct safetensors_entry *entry, float *to,
                      struct error *e)
{
    if (entry->type == SAFETENSORS_OTHER)
        return error_set(e, ERROR_INPUT,
                         "%s: the tensor \"%s\" is of the type %s; expected F32, F64, F16, BF16, I32 or I64",
                         f->path, entry->name, entry->type_name);
    uint64_t at = f->data_begin + entry->begin;
    size_t size = entry->element_bytes;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (entry->type == SAFETENSORS_F32)
        return read_at(f, at, to, entry->bytes, e);
#endif
    unsigned char chunk[CHUNK];
    for (size_t done = 0; done < entry->elements;) {
        size_t n = (entry->elements - done) * size < CHUNK ? entry->elements - done : CHUNK / size;
        if (!read_at(f, at + done * size, chunk, n * size, e))
            return false;
        for (size_t i = 0; i < n; i++)
            to[done + i] = element(entry->type, chunk + i * size, size);
        done += n;
    }
    return true;
}

/* As FNV-1a (G. Fowler, L. Noll, P. Vo, 1991), but a word at a time. */
#define HASH_BEGIN 0xcbf29ce484222325u
static uint64_t hash_word(uint64_t hash, uint32_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

bool safetensors_hash(const struct safetensors *f, uint64_t *hash, struct error *e)
{
    unsigned char chunk[CHUNK];
    *hash = HASH_BEGIN;
    for (uint64_t done = 0; done < f->data_bytes;) {
        size_t n = f->data_bytes - done < CHUNK ? (size_t)(f->data_bytes - done) : CHUNK;
        if (!read_at(f, f->data_begin + done, chunk, n, e))
            return false;
        for (size_t i = 0; i < n; i += 4)
            *hash = hash_word(*hash, (uint32_t)little_endian(chunk + i, n - i < 4 ? (int)(n - i) : 4));
        done += n;
    }
    return true;
}

/* --- reading: the header --- */

static bool wrong(const struct safetensors *f, const char *name, struct error *e, const char *what)
{
    return error_set(e, ERROR_INPUT, "%s: the tensor \"%.80s\" %s", f->path, name, what);
}

/* A whole number that is not negative. */
static bool whole(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_type(const struct safetensors *f, const json_t *object, struct safetensors_entry *entry,
                      struct error *e)
{
    const char *type = json_string_value(json_object_get(object, "dtype"));
    for (int i = 0; type && i < TYPES; i++)
        if (strcmp(type, types[i].name) == 0) {
            entry->type = types[i].type;
            entry->type_name = types[i].name;
            entry->element_bytes = types[i].bytes;
            return true;
        }
    if (!type)
        return wrong(f, entry->name, e, "has no dtype; expected one such as \"F32\"");
    return error_set(e, ERROR_INPUT,
                     "%s: the tensor \"%.80s\" has the dtype \"%.40s\"; expected one such as \"F32\"",
                     f->path, entry->name, type);
}

static bool read_shape(const struct safetensors *f, const json_t *object, struct safetensors_entry *entry,
                       struct error *e)
{
    const json_t *shape = json_object_get(object, "shape");
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > SAFETENSORS_MAX_RANK)
        return wrong(f, entry->name, e, "needs a shape: a list of at most 8 whole numbers");
    entry->rank = (int)rank;
    entry->elements = 1;
    for (size_t i = 0; i < rank; i++) {
        uint64_t extent;
        if (!whole(json_array_get(shape, i), &extent))
            return wrong(f, entry->name, e, "has a shape of other than whole numbers");
        entry->extent[i] = extent;
        if (__builtin_mul_overflow(entry->elements, extent, &entry->elements))
            return wrong(f, entry->name, e, "has a shape of more elements than there are numbers for");
    }
    return true;
}

static bool read_entry(const struct safetensors *f, const char *name, const json_t *object,
                       struct safetensors_entry *entry, struct error *e)
{
    *entry = (struct safetensors_entry){.name = name};
    if (!json_is_object(object))
        return wrong(f, name, e, "is no object of dtype, shape and data_offsets");
    if (!read_type(f, object, entry, e) || !read_shape(f, object, entry, e))
        return false;
    const json_t *offsets = json_object_get(object, "data_offsets");
    uint64_t end;
    if (json_array_size(offsets) != 2 || !whole(json_array_get(offsets, 0), &entry->begin) ||
        !whole(json_array_get(offsets, 1), &end) || end < entry->begin)
        return wrong(f, name, e, "needs data_offsets: where its data begin and end");
    if (end > f->data_bytes)
        return error_set(
            e, ERROR_INPUT,
            "%s: the tensor \"%.80s\" ends at byte %llu of the data, but there are only %llu: the "
            "file was cut short",
            f->path, name, (unsigned long long)end, (unsigned long long)f->data_bytes);
    if (__builtin_mul_overflow(entry->elements, entry->element_bytes, &entry->bytes) ||
        entry->bytes != end - entry->begin)
        return error_set(e, ERROR_INPUT,
                         "%s: the tensor \"%.80s\" has %llu bytes of data, but %zu elements of the type %s "
                         "need %zu each",
                         f->path, name, (unsigned long long)(end - entry->begin), entry->elements,
                         entry->type_name, entry->element_bytes);
    return true;
}

static int by_offset(const void *pa, const void *pb)
{
    const struct safetensors_entry *a = pa, *b = pb;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? -1 : 1) : strcmp(a->name, b->name);
}

static bool read_metadata(struct safetensors *f, json_t *object, struct error *e)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return error_set(e, ERROR_INPUT, "%s: __metadata__ must be an object of texts", f->path);
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return error_set(e, ERROR_INPUT, "%s: \"%.80s\" in __metadata__ must be a text", f->path, key);
    }
    f->metadata = object;
    return true;
}

static bool read_entries(struct safetensors *f, struct error *e)
{
    const char *name;
    json_t *value;
    f->entries = calloc(json_object_size(f->header) + 1, sizeof *f->entries);
    if (!f->entries)
        return error_set(e, ERROR_FAILED, "not enough memory for the header of %s", f->path);
    json_object_foreach(f->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0 ? !read_metadata(f, value, e)
                                              : !read_entry(f, name, value, &f->entries[f->count++], e))
            return false;
    }
    qsort(f->entries, (size_t)f->count, sizeof *f->entries, by_offset);
    uint64_t at = 0;
    for (int i = 0; i < f->count; i++) {
        if (f->entries[i].begin != at)
            return wrong(f, f->entries[i].name, e,
                         f->entries[i].begin < at ? "overlaps another one's data"
                                                  : "leaves a gap in the data before it");
        at += f->entries[i].bytes;
    }
    if (at != f->data_bytes)
        return error_set(e, ERROR_INPUT, "%s has %llu bytes of data that belong to no tensor", f->path,
                         (unsigned long long)(f->data_bytes - at));
    return true;
}

static bool read_header(struct safetensors *f, struct error *e)
{
    struct stat st;
    unsigned char prefix[PREFIX];
    if (fstat(f->fd, &st) != 0)
        return error_errno(e, ERROR_INPUT, "%s cannot be read", f->path);
    uint64_t file = (uint64_t)st.st_size;
    if (S_ISDIR(st.st_mode))
        return error_set(e, ERROR_INPUT, "%s is a folder; expected a safetensors file", f->path);
    if (!S_ISREG(st.st_mode) || file < PREFIX + 2)
        return error_set(e, ERROR_INPUT, "%s is no safetensors file: it is too short for a header", f->path);
    if (!read_at(f, 0, prefix, PREFIX, e))
        return false;
    uint64_t length = little_endian(prefix, PREFIX);
    if (length > MAX_HEADER || length > file - PREFIX)
        return error_set(e, ERROR_INPUT,
                         "%s is no whole safetensors file: its header would be %llu bytes long, the file has "
                         "%llu (and %d are allowed)",
                         f->path, (unsigned long long)length, (unsigned long long)file, MAX_HEADER);
    char *text = calloc(1, length + 1);
    if (!text)
        return error_set(e, ERROR_FAILED, "not enough memory for the header of %s", f->path);
    json_error_t where;
    bool ok = read_at(f, PREFIX, text, length, e);
    if (ok && text[0] == '{')
        f->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (ok && !f->header)
        ok = text[0] == '{'
                 ? error_set(e, ERROR_INPUT, "%s: the header is not the JSON that was expected: %s", f->path,
                             where.text)
                 : error_set(e, ERROR_INPUT, "%s is no safetensors file: its header must begin with {",
                             f->path);
    free(text);
    f->data_begin = PREFIX + length;
    f->data_bytes = file - f->data_begin;
    return ok && read_entries(f, e);
}

struct safetensors *safetensors_open(const char *path, struct error *e)
{
    struct safetensors *f = calloc(1, sizeof *f);
    if (f) {
        f->fd = -1;
        f->path = strdup(path);
    }
    if (!f || !f->path)
        error_set(e, ERROR_FAILED, "not enough memory to open %s", path);
    else if ((f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        error_errno(e, ERROR_INPUT, "%s cannot be read", path);
    else if (read_header(f, e))
        return f;
    safetensors_close(f);
    return NULL;
}

void safetensors_close(struct safetensors *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    json_decref(f->header);
    free(f->entries);
    free(f->path);
    free(f);
}

const char *safetensors_metadata(const struct safetensors *f, const char *key)
{
    const char *text = json_string_value(json_object_get(f->metadata, key));
    return text ? text : "";
}

int safetensors_count(const struct safetensors *f)
{
    return f->count;
}

const struct safetensors_entry *safetensors_entry(const struct safetensors *f, int i)
{
    return &f->entries[i];
}

const struct safetensors_entry *safetensors_find(const struct safetensors *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->entries[i].name, name) == 0)
            return &f->entries[i];
    return NULL;
}

/* --- writing --- */

static size_t part_elements(const struct safetensors_part *p)
{
    size_t n = 1;
    for (int i = 0; i < p->rank; i++)
        n *= p->extent[i];
    return n;
}

uint64_t safetensors_hash_parts(const struct safetensors_part *parts, int count)
{
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < count; i++)
        for (size_t k = 0, n = part_elements(&parts[i]); k < n; k++) {
            uint32_t bits;
            memcpy(&bits, &parts[i].data[k], sizeof bits);
            hash = hash_word(hash, bits);
        }
    return hash;
}

/* The header's text, filled up with spaces so that the data begin at a multiple of 8. NULL: no memory. */
static char *header_text(const struct safetensors_part *parts, int count, json_t *metadata)
{
    json_t *header = json_object();
    if (metadata)
        json_object_set(header, "__metadata__", metadata);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int k = 0; k < parts[i].rank; k++)
            json_array_append_new(shape, json_integer((json_int_t)parts[i].extent[k]));
        size_t end = at + part_elements(&parts[i]) * sizeof(float);
        json_object_set_new(header, parts[i].name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                                      (json_int_t)at, (json_int_t)end));
        at = end;
    }
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT), padded = (length + 7) / 8 * 8;
    char *text = length ? malloc(padded + 1) : NULL;
    if (text) {
        json_dumpb(header, text, length, JSON_COMPACT);
        memset(text + length, ' ', padded - length);
        text[padded] = 0;
    }
    json_decref(header);
    return text;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_floats(int fd, const float *data, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return write_all(fd, data, n * sizeof *data);
#else
    unsigned char chunk[CHUNK];
    for (size_t done = 0; done < n;) {
        size_t piece = n - done < CHUNK / 4 ? n - done : CHUNK / 4;
        for (size_t i = 0; i < piece; i++) {
            uint32_t bits;
            memcpy(&bits, &data[done + i], sizeof bits);
            for (int k = 0; k < 4; k++)
                chunk[4 * i + (size_t)k] = (unsigned char)(bits >> 8 * k);
        }
        if (!write_all(fd, chunk, piece * 4))
            return false;
        done += piece;
    }
    return true;
#endif
}

static bool write_file(int fd, const char *header, const struct safetensors_part *parts, int count)
{
    uint64_t length = strlen(header);
    unsigned char prefix[PREFIX];
    for (int i = 0; i < PREFIX; i++)
        prefix[i] = (unsigned char)(length >> 8 * i);
    bool ok = write_all(fd, prefix, PREFIX) && write_all(fd, header, length);
    for (int i = 0; ok && i < count; i++)
        ok = write_floats(fd, parts[i].data, part_elements(&parts[i]));
    return ok && fsync(fd) == 0;
}

/* The name itself reaches the disk with its folder. */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 1;
    if (snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".") >= (int)sizeof folder)
        return;
    int fd = open(length ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd); /* a filesystem that cannot flush a folder keeps the file all the same */
    close(fd);
}

bool safetensors_write(const char *path, const struct safetensors_part *parts, int count, json_t *metadata,
                       struct error *e)
{
    char fresh[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof fresh)
        return error_set(e, ERROR_INPUT, "%s: the path is too long", path);
    char *header = header_text(parts, count, metadata);
    if (!header)
        return error_set(e, ERROR_FAILED, "not enough memory for the header of %s", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    bool ok = fd >= 0 && write_file(fd, header, parts, count);
    int saved = errno;
    free(header);
    if (fd >= 0 && close(fd) != 0 && ok)
        ok = false, saved = errno; /* a network filesystem may say only now that the disk is full */
    if (ok && rename(fresh, path) != 0)
        ok = false, saved = errno;
    if (!ok) {
        if (fd >= 0)
            unlink(fresh);
        errno = saved;
        return error_errno(e, ERROR_FAILED, "%s cannot be written", path);
    }
    sync_folder(path);
    return true;
}
