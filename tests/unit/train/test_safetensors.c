/*
 * The safetensors reader against a file that PyTorch wrote, files made here that are wrong in every way the
 * format forbids, and thousands of seeded mutations; the writer against the bytes of the published format.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/random.h"
#include "engine/train/safetensors.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/ringside-safetensors-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails where a temporary file was left */
}

static void write_bytes(const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t read_bytes(const char *from, unsigned char *data, size_t room)
{
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    size_t n = fread(data, 1, room, f);
    fclose(f);
    return n;
}

/* A file of that header and `bytes` bytes of data 0, 1, 2 ... */
static void write_header(const char *header, size_t bytes)
{
    unsigned char file[4096] = {0};
    size_t length = strlen(header);
    assert_true(8 + length + bytes <= sizeof file);
    file[0] = (unsigned char)length;
    file[1] = (unsigned char)(length >> 8);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < bytes; i++)
        file[8 + length + i] = (unsigned char)i;
    write_bytes(file, 8 + length + bytes);
}

static const char *golden(void)
{
    static char file[4200];
    const char *data = getenv("RINGSIDE_DATA");
    snprintf(file, sizeof file, "%s/tests/golden/pytorch.safetensors", data ? data : ".");
    return file;
}

static void expect_floats(const struct safetensors *f, const char *name, const float *right, size_t n)
{
    struct error e = {0};
    const struct safetensors_entry *entry = safetensors_find(f, name);
    assert_non_null(entry);
    assert_int_equal(entry->elements, n);
    float got[8];
    assert_true(n <= 8);
    assert_true(safetensors_read(f, entry, got, &e));
    assert_memory_equal(got, right, n * sizeof *got);
}

/* What tests/golden/make_safetensors.py put in. */
static void test_reads_pytorch(void **state)
{
    (void)state;
    struct error e = {0};
    struct safetensors *f = safetensors_open(golden(), &e);
    if (!f)
        fail_msg("%s", e.text);
    assert_int_equal(safetensors_count(f), 8);
    assert_string_equal(safetensors_metadata(f, "made by"), "PyTorch");
    assert_string_equal(safetensors_metadata(f, "absent"), "");
    expect_floats(f, "0.weight", (float[]){-0.625f, -0.375f, -0.125f, 0.125f, 0.375f, 0.625f}, 6);
    expect_floats(f, "0.bias", (float[]){(float)(1.0 / 3), -1e-3f}, 2);
    /* 65504 is the largest half, 2^-24 the smallest; a third is rounded to 11 bits: 1365 / 4096. */
    expect_floats(f, "half", (float[]){0, -0.5f, 65504, 0x1p-24f, INFINITY, 1365 / 4096.0f}, 6);
    expect_floats(f, "brain", (float[]){1, -3.140625f, 0x1p100f}, 3);
    expect_floats(f, "counts", (float[]){1, -0x1p40f}, 2);
    expect_floats(f, "small", (float[]){-7}, 1);
    expect_floats(f, "empty", (float[]){0}, 0);
    assert_int_equal(safetensors_find(f, "small")->rank, 0);
    const struct safetensors_entry *weight = safetensors_find(f, "0.weight");
    assert_int_equal(weight->rank, 2);
    assert_int_equal(weight->extent[0], 2);
    assert_int_equal(weight->extent[1], 3);
    float none[8];
    assert_false(safetensors_read(f, safetensors_find(f, "mask"), none, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "BOOL"));
    safetensors_close(f);
}

static void test_writes_the_format(void **state)
{
    (void)state;
    struct error e = {0};
    float weight[] = {1, -2, 0.5f, 8}, bias[] = {3};
    struct safetensors_part parts[] = {{"a.weight", 2, {2, 2}, weight}, {"a.bias", 1, {1}, bias}};
    json_t *metadata = json_pack("{s:s}", "step", "12");
    assert_true(safetensors_write(path, parts, 2, metadata, &e));
    json_decref(metadata);
    unsigned char got[1024];
    size_t n = read_bytes(path, got, sizeof got);
    size_t length = got[0] + 256u * got[1];
    assert_int_equal(length % 8, 0);
    assert_int_equal(got[8], '{');
    assert_int_equal(n, 8 + length + 20);
    /* 1, -2, 0.5, 8, 3 in IEEE 754, the least byte first */
    static const unsigned char data[] = {0, 0,    0x80, 0x3f, 0, 0,    0, 0xc0, 0,    0,
                                         0, 0x3f, 0,    0,    0, 0x41, 0, 0,    0x40, 0x40};
    assert_memory_equal(got + 8 + length, data, sizeof data);

    struct safetensors *f = safetensors_open(path, &e);
    assert_non_null(f);
    assert_string_equal(safetensors_metadata(f, "step"), "12");
    expect_floats(f, "a.weight", weight, 4);
    expect_floats(f, "a.bias", bias, 1);
    assert_string_equal(safetensors_entry(f, 0)->name, "a.weight");
    safetensors_close(f);
    assert_false(safetensors_write("/dev/null/file", parts, 2, NULL, &e));
    assert_non_null(strstr(e.text, "/dev/null/file"));
    /* A folder in the way: nothing is left of the temporary file (remove_folder would fail). */
    unlink(path);
    assert_false(safetensors_write(folder, parts, 2, NULL, &e));
}

static void expect_refused(const char *told)
{
    struct error e = {0};
    struct safetensors *f = safetensors_open(path, &e);
    if (f)
        fail_msg("it was read: expected \"%s\"", told);
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, told) || !strstr(e.text, path))
        fail_msg("\"%s\" names neither the file nor \"%s\"", e.text, told);
}

#define T(dtype, shape, begin, end)                                                                          \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        const char *told;
    } wrong[] = {
        {"{\"a\":" T("F32", "[2]", 0, 8) "}", 7, "cut short"},
        {"{\"a\":" T("F32", "[2]", 0, 8) "}", 9, "1 bytes of data that belong to no tensor"},
        {"{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("F32", "[2]", 4, 12) "}", 12, "overlaps"},
        {"{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("F32", "[2]", 0, 8) "}", 8, "overlaps"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"b\":" T("F32", "[1]", 8, 12) "}", 12, "gap"},
        {"{\"a\":" T("F32", "[2]", 0, 4) "}", 4, "need 4 each"},
        {"{\"a\":" T("F32", "[2]", 8, 0) "}", 8, "data_offsets"},
        {"{\"a\":" T("F32", "[2]", -8, 0) "}", 8, "data_offsets"},
        {"{\"a\":" T("F32", "[2.5]", 0, 8) "}", 8, "whole numbers"},
        {"{\"a\":" T("F32", "[-2]", 0, 8) "}", 8, "whole numbers"},
        {"{\"a\":" T("F32", "2", 0, 8) "}", 8, "shape"},
        {"{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "at most 8"},
        {"{\"a\":" T("F32", "[4294967296,4294967296]", 0, 0) "}", 0, "more elements"},
        {"{\"a\":" T("F64", "[2305843009213693952]", 0, 0) "}", 0, "need 8 each"},
        {"{\"a\":" T("F31", "[2]", 0, 8) "}", 8, "\"F31\"; expected"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "data_offsets"},
        {"{\"a\":7}", 0, "no object"},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"a\":" T("F32", "[1]", 0, 4) "}", 4, "duplicate"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "must be a text"},
        {"{\"__metadata__\":[]}", 0, "__metadata__"},
        {"{\"a\":", 0, "JSON"},
        {"{} x", 0, "JSON"},
        {" {}", 0, "begin with {"},
        {"[]", 0, "begin with {"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_header(wrong[i].header, wrong[i].bytes);
        expect_refused(wrong[i].told);
    }
    write_bytes("\x02\0\0\0\0\0\0", 7);
    expect_refused("too short");
    write_bytes("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
    expect_refused("header would be 9223372036854775807 bytes");
    write_bytes("\0\0\0\0\0\0\0\0{}", 10);
    expect_refused("begin with {");
    write_bytes("\x03\0\0\0\0\0\0\0{}", 10);
    expect_refused("header would be 3 bytes");
    struct error e = {0};
    assert_null(safetensors_open("/dev/null/file", &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_null(safetensors_open(folder, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    safetensors_close(NULL);
    /* And what is allowed: no tensor at all, spaces behind the header, data in another order than the
     * names. */
    write_header("{}      ", 0);
    struct safetensors *f = safetensors_open(path, &e);
    assert_non_null(f);
    safetensors_close(f);
    write_header("{\"b\":" T("F32", "[1]", 4, 8) ",\"a\":" T("F32", "[1]", 0, 4) "}", 8);
    f = safetensors_open(path, &e);
    assert_non_null(f);
    assert_string_equal(safetensors_entry(f, 0)->name, "a");
    safetensors_close(f);
}

/* Whatever the bytes are, the reader reads within them or says a sentence; it finds no way out of the
 * file. */
static void test_mutations(void **state)
{
    (void)state;
    static const char tokens[] = "{}[],:\"0123456789-eF";
    unsigned char whole[1024], file[1024 + 64];
    size_t size = read_bytes(golden(), whole, sizeof whole);
    assert_true(size > 0 && size < sizeof whole);
    long read = 0, refused = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random r = random_stream(seed, 77, 0);
        size_t n = size;
        memcpy(file, whole, size);
        for (uint64_t change = 0, changes = 1 + random_below(&r, 4); change < changes; change++) {
            size_t at = random_below(&r, random_below(&r, 2) ? n : 8 + 64);
            at = at < n ? at : n - 1;
            switch (random_below(&r, 4)) {
            case 0: file[at] ^= (unsigned char)(1u << random_below(&r, 8)); break;
            case 1: file[at] = (unsigned char)tokens[random_below(&r, sizeof tokens - 1)]; break;
            case 2: n = at + 1; break;
            default:
                if (n < sizeof file) {
                    memmove(file + at + 1, file + at, n - at);
                    file[at] = (unsigned char)tokens[random_below(&r, sizeof tokens - 1)];
                    n++;
                }
            }
        }
        write_bytes(file, n);
        struct error e = {0};
        struct safetensors *f = safetensors_open(path, &e);
        if (!f) {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, path));
            refused++;
            continue;
        }
        size_t bytes = 0;
        for (int i = 0; i < safetensors_count(f); i++) {
            const struct safetensors_entry *entry = safetensors_entry(f, i);
            float *to = malloc((entry->elements + 1) * sizeof *to);
            assert_non_null(to);
            if (!safetensors_read(f, entry, to, &e))
                assert_int_equal(entry->type, SAFETENSORS_OTHER);
            bytes += entry->bytes;
            free(to);
        }
        assert_true(bytes <= n);
        safetensors_close(f);
        read++;
    }
    /* Changes in data and metadata do no harm, most in the header are noticed: both must have been met. */
    assert_true(read > 50 && refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_pytorch),
        cmocka_unit_test(test_writes_the_format),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
