/* The IDX reader against files made here, whole and damaged in every way it claims to notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/idx.h"

#include "tests/unit/data/scratch.h"

#include <zlib.h>

static const char *path;

/* magic 2051 (three dimensions of bytes), 2 images of 2 x 3 */
static const unsigned char whole[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2,  0,  0,
                                      0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};

static void write_plain(const void *data, size_t n)
{
    path = scratch_write("file", data, n);
}

static size_t write_gz(const void *data, size_t n)
{
    path = scratch_write("file", "", 0);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)n), n);
    gzclose(f);
    FILE *size = fopen(path, "rb");
    fseek(size, 0, SEEK_END);
    long bytes = ftell(size);
    fclose(size);
    return (size_t)bytes;
}

static void expect_refused(int dimensions, const char *words)
{
    struct idx idx;
    struct error e = {0};
    assert_false(idx_read(path, dimensions, &idx, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, path));
    if (!strstr(e.text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, e.text);
    assert_null(idx.data);
}

static void test_whole(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed)
            write_gz(whole, sizeof whole);
        else
            write_plain(whole, sizeof whole);
        struct idx idx;
        struct error e = {0};
        if (!idx_read(path, 3, &idx, &e))
            fail_msg("%s", e.text);
        assert_int_equal(idx.extent[0], 2);
        assert_int_equal(idx.extent[1], 2);
        assert_int_equal(idx.extent[2], 3);
        assert_int_equal(idx.elements, 12);
        assert_memory_equal(idx.data, whole + 16, 12);
        idx_free(&idx);
    }
}

static void test_cut_short(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof whole; n++) {
        write_plain(whole, n);
        expect_refused(3, n < 4 ? "no IDX file" : "cut short");
        write_gz(whole, n);
        expect_refused(3, n < 4 ? "no IDX file" : "cut short");
    }
}

/* The compressed file itself cut, at every byte: never accepted, never a crash. */
static void test_compressed_data_cut(void **state)
{
    (void)state;
    size_t bytes = write_gz(whole, sizeof whole);
    unsigned char *all = malloc(bytes);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(all, 1, bytes, f), bytes);
    fclose(f);
    for (size_t n = 0; n < bytes; n++) {
        write_plain(all, n);
        struct idx idx;
        struct error e = {0};
        if (idx_read(path, 3, &idx, &e))
            fail_msg("accepted %zu of %zu compressed bytes", n, bytes);
        assert_int_equal(e.kind, ERROR_INPUT);
    }
    free(all);
}

static void test_too_long(void **state)
{
    (void)state;
    unsigned char longer[sizeof whole + 1] = {0};
    memcpy(longer, whole, sizeof whole);
    write_plain(longer, sizeof longer);
    expect_refused(3, "longer than the 12 bytes");
}

static void test_wrong_magic(void **state)
{
    (void)state;
    write_plain(whole, sizeof whole);
    expect_refused(1, "another file of the set");
    unsigned char other[sizeof whole];
    memcpy(other, whole, sizeof whole);
    other[2] = 0x0d; /* floats */
    write_plain(other, sizeof other);
    expect_refused(3, "unsigned bytes");
    other[0] = 'P';
    write_plain(other, sizeof other);
    expect_refused(3, "no IDX file");
}

static void test_impossible_extents(void **state)
{
    (void)state;
    unsigned char huge[sizeof whole];
    memcpy(huge, whole, sizeof whole);
    memset(huge + 4, 0xff, 12);
    write_plain(huge, sizeof huge);
    expect_refused(3, "cannot be right");
    memset(huge + 4, 0, 4);
    write_plain(huge, sizeof huge);
    expect_refused(3, "cannot be right");
    /* 2^31 bytes claimed, 12 there: refused without asking for 2 GiB */
    memcpy(huge, whole, sizeof whole);
    memset(huge + 4, 0, 12);
    huge[4] = 1;
    huge[11] = 8;
    huge[15] = 8;
    write_plain(huge, sizeof huge);
    expect_refused(3, "cut short");
}

static void test_missing(void **state)
{
    (void)state;
    unlink(path);
    expect_refused(3, "cannot be opened");
}

/* 4 000 damaged files, plain and compressed: read where they still make sense, else refused with a sentence. */
static void test_damaged(void **state)
{
    (void)state;
    struct random r = random_stream(6, 1, 1);
    size_t zipped = write_gz(whole, sizeof whole);
    unsigned char gz[256];
    FILE *f = fopen(path, "rb");
    assert_true(zipped <= sizeof gz && fread(gz, 1, zipped, f) == zipped);
    fclose(f);
    for (int i = 0; i < 4000; i++) {
        size_t bytes;
        unsigned char *bad =
            i % 2 ? damaged(gz, zipped, &r, &bytes) : damaged(whole, sizeof whole, &r, &bytes);
        write_plain(bad, bytes);
        struct idx idx;
        struct error e = {0};
        if (idx_read(path, 3, &idx, &e)) {
            assert_int_equal(idx.elements, (size_t)idx.extent[0] * idx.extent[1] * idx.extent[2]);
            assert_in_range(idx.elements, 1, 2 * sizeof whole);
            idx_free(&idx);
        } else {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, path));
        }
        free(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),       cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_too_long),    cmocka_unit_test(test_compressed_data_cut),
        cmocka_unit_test(test_wrong_magic), cmocka_unit_test(test_impossible_extents),
        cmocka_unit_test(test_missing),     cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
