/* Packing folders of pictures into shards and training from them; every kind of damage is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/pack.h"
#include "engine/data/shards.h"
#include "tests/unit/data/scratch.h"

#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE }; /* 64 images of 64 × 64 are a shard */

static const char *in_scratch(const char *name)
{
    static char path[2][128];
    static int which;
    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", scratch, name);
    return path[which];
}

static void write_picture(const char *name, int width, int height, int grey)
{
    unsigned char file[32 + PIXELS];
    int n = snprintf((char *)file, 32, "P5 %d %d 255\n", width, height);
    memset(file + n, grey, (size_t)(width * height));
    scratch_write(name, file, (size_t)(n + width * height));
}

static void clear(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s/*", scratch);
    assert_int_equal(system(command), 0);
}

/* `cats` and `dogs`, 100 pictures each; picture k of a class is all of one grey: k, or 100 + k. */
static void make_pictures(void)
{
    static const char *const classes[] = {"dogs", "cats"};
    clear();
    mkdir(in_scratch("pictures"), 0777);
    scratch_write("pictures/README", "not a picture", 13);
    for (int c = 0; c < 2; c++) {
        char name[64];
        snprintf(name, sizeof name, "pictures/%s", classes[c]);
        mkdir(in_scratch(name), 0777);
        for (int k = 0; k < 100; k++) {
            snprintf(name, sizeof name, "pictures/%s/%02d.pgm", classes[c], k);
            write_picture(name, SIDE, SIDE, c ? k : 100 + k);
        }
    }
}

static void pack(struct pack_report *report)
{
    struct error e = {0};
    if (!pack_folder(in_scratch("pictures"), in_scratch("out.shards"), report, &e))
        fail_msg("%s", e.text);
}

static void open_part(enum dataset_part part, struct dataset *d)
{
    struct error e = {0};
    if (!dataset_read(in_scratch("out.shards"), part, d, &e))
        fail_msg("%s", e.text);
}

static void test_pack_and_read(void **state)
{
    (void)state;
    struct pack_report report;
    make_pictures();
    pack(&report);
    assert_int_equal(report.pictures[0], 180);
    assert_int_equal(report.pictures[1], 20);
    assert_int_equal(report.passed_over, 1);
    assert_int_equal(report.classes, 2);
    struct shards_report verified;
    struct error e = {0};
    assert_true(shards_verify(in_scratch("out.shards"), &verified, &e));
    assert_int_equal(verified.shards, 4); /* 64 + 64 + 64 + 8 */
    bool seen[200] = {false};
    double sum = 0, squares = 0;
    for (int part = 0; part < 2; part++) {
        struct dataset d;
        open_part((enum dataset_part)part, &d);
        assert_int_equal(d.rows, part == DATASET_TRAIN ? 180 : 20);
        assert_int_equal(d.classes, 2);
        assert_string_equal(d.class_names[0], "cats");
        assert_string_equal(d.class_names[1], "dogs");
        for (uint32_t row = 0; row < d.rows; row++) {
            uint8_t pixels[PIXELS];
            float x[PIXELS];
            int32_t y;
            assert_true(dataset_pixels(&d, row, pixels, &e));
            assert_true(dataset_batch(&d, &row, 1, x, &y, &e));
            int grey = pixels[0];
            assert_int_equal(y, grey >= 100);
            assert_false(seen[grey]);
            seen[grey] = true;
            if (part == DATASET_TRAIN) {
                sum += grey / 255.0 / 180;
                squares += grey / 255.0 * (grey / 255.0) / 180;
            }
            double deviation = verified.header.deviation[0];
            for (int k = 0; k < PIXELS; k += 77) {
                assert_int_equal(pixels[k], grey);
                assert_true(fabs((double)x[k] - (grey / 255.0 - verified.header.mean[0]) / deviation) < 1e-5);
            }
        }
        dataset_free(&d);
    }
    assert_true(fabs(verified.header.mean[0] - sum) < 1e-9);
    assert_true(fabs(verified.header.deviation[0] - sqrt(squares - sum * sum)) < 1e-9);
}

/* The same folder packs to the same bytes; the bytes are what shards.h says, read here by hand. */
static void test_format(void **state)
{
    (void)state;
    clear();
    mkdir(in_scratch("pictures"), 0777);
    static const char *const folders[] = {"train", "train/b", "train/a", "val", "val/a"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char name[64];
        snprintf(name, sizeof name, "pictures/%s", folders[i]);
        mkdir(in_scratch(name), 0777);
    }
    scratch_write("pictures/train/b/1.ppm", "P6 1 1 255\nRGB", 14);
    scratch_write("pictures/train/a/1.ppm", "P6 1 1 255\nrgb", 14);
    scratch_write("pictures/val/a/1.ppm", "P6 1 1 255\nxyz", 14);
    struct pack_report report;
    pack(&report);
    unsigned char file[256];
    FILE *f = fopen(in_scratch("out.shards"), "rb");
    assert_non_null(f);
    size_t n = fread(file, 1, sizeof file, f);
    fclose(f);
    assert_int_equal(n, 136 + 9 + 4 + 12 + 16);
    assert_memory_equal(file,
                        "RSHARDS\n\1\0\0\0\3\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\x55\x55\1\0" /* 2^18 / 3 a shard */
                        "\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x91\0\0\0\0\0\0\0\x95\0\0\0\0\0\0\0"
                        "\xa1\0\0\0\0\0\0\0\xb1\0\0\0\0\0\0\0",
                        80);
    assert_memory_equal(file + 136, "rgbRGBxyz", 9);
    assert_memory_equal(file + 145, "a\0b", 4);
    assert_memory_equal(file + 149, "\0\0\0\0\1\0\0\0\0\0\0\0", 12);
    assert_memory_equal(file + 161, "\x88\0\0\0\0\0\0\0", 8);
    unsigned long crc = crc32(0, (const Bytef *)"rgbRGBxyz", 9);
    for (int i = 0; i < 4; i++)
        assert_int_equal(file[169 + i], crc >> (8 * i) & 255);
    assert_memory_equal(file + 173, "\3\0\0\0", 4);
}

/* Nothing is left behind, and what was there before stays. */
static void test_refused_folders(void **state)
{
    (void)state;
    struct pack_report report;
    struct error e = {0};
    make_pictures();
    pack(&report);
    write_picture("pictures/dogs/99.pgm", SIDE, SIDE - 1, 1);
    assert_false(pack_folder(in_scratch("pictures"), in_scratch("out.shards"), &report, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "dogs/99.pgm is 1 × 63 × 64"));
    struct shards_report verified;
    assert_true(shards_verify(in_scratch("out.shards"), &verified, &e)); /* the old one */
    char command[128];
    snprintf(command, sizeof command, "ls -a %s | grep -q part", scratch);
    assert_int_not_equal(system(command), 0);
    scratch_write("pictures/dogs/99.pgm", "P5 64 64 255\ntorn", 17);
    assert_false(pack_folder(in_scratch("pictures"), in_scratch("out.shards"), &report, &e));
    assert_non_null(strstr(e.text, "dogs/99.pgm is cut short"));
    mkdir(in_scratch("pictures/empty"), 0777);
    assert_false(pack_folder(in_scratch("pictures"), in_scratch("out.shards"), &report, &e));
    assert_non_null(strstr(e.text, "pictures/empty has 0 pictures"));
    assert_false(pack_folder(in_scratch("pictures"), in_scratch("out.bin"), &report, &e));
    assert_non_null(strstr(e.text, ".shards"));
    assert_false(pack_folder(in_scratch("nowhere"), in_scratch("out.shards"), &report, &e));
    assert_non_null(strstr(e.text, "nowhere"));
    mkdir(in_scratch("none"), 0777);
    assert_false(pack_folder(in_scratch("none"), in_scratch("new.shards"), &report, &e));
    assert_non_null(strstr(e.text, "a folder for each class"));
    assert_int_not_equal(access(in_scratch("new.shards"), F_OK), 0);
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = malloc(*bytes);
    assert_int_equal(fread(data, 1, *bytes, f), *bytes);
    fclose(f);
    return data;
}

/* One changed byte anywhere is noticed by verify; in the pixels, by the batch that needs its shard too, and only by it. */
static void test_every_byte_counts(void **state)
{
    (void)state;
    struct pack_report report;
    struct shards_report verified;
    size_t bytes;
    make_pictures();
    pack(&report);
    unsigned char *file = slurp(in_scratch("out.shards"), &bytes);
    struct random r = random_stream(4, 1, 1);
    for (int i = 0; i < 60; i++) {
        size_t at = i < 20   ? random_below(&r, 136)
                    : i < 40 ? bytes - 1 - random_below(&r, 800)
                             : random_below(&r, bytes);
        file[at] ^= 1;
        struct error e = {0};
        const char *path = scratch_write("out.shards", file, bytes);
        if (shards_verify(path, &verified, &e))
            fail_msg("byte %zu changed, and nobody noticed", at);
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, path));
        file[at] ^= 1;
    }
    struct dataset d;
    struct error e = {0};
    float x[PIXELS];
    int32_t y;
    file[136 + 70 * PIXELS] ^= 1;
    scratch_write("out.shards", file, bytes);
    open_part(DATASET_TRAIN, &d);
    assert_true(dataset_batch(&d, &(uint32_t){63}, 1, x, &y, &e));
    assert_false(dataset_batch(&d, &(uint32_t){64}, 1, x, &y, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "shard 2 of 4 is damaged"));
    assert_true(dataset_batch(&d, &(uint32_t){128}, 1, x, &y, &e));
    dataset_free(&d);
    free(file);
}

/* 3 000 damaged files, a third of them with headers and tables whose CRCs were made right again. */
static void test_damaged(void **state)
{
    (void)state;
    struct pack_report report;
    struct shards_report verified;
    size_t whole_bytes;
    clear();
    mkdir(in_scratch("pictures"), 0777);
    mkdir(in_scratch("pictures/a"), 0777);
    mkdir(in_scratch("pictures/b"), 0777);
    for (int k = 0; k < 8; k++) {
        char name[64];
        snprintf(name, sizeof name, "pictures/%c/%d.pgm", k % 2 ? 'a' : 'b', k);
        write_picture(name, 5, 4, 10 * k);
    }
    pack(&report);
    unsigned char *whole = slurp(in_scratch("out.shards"), &whole_bytes);
    struct random r = random_stream(5, 1, 1);
    for (int i = 0; i < 3000; i++) {
        size_t bytes;
        unsigned char *bad = damaged(whole, whole_bytes, &r, &bytes);
        if (i % 3 == 0 && bytes >= SHARDS_HEADER_BYTES) {
            size_t at = 136 + 8 * 20;
            unsigned long crc = at < bytes ? crc32(0, bad + at, (uInt)(bytes - at)) : 0;
            for (int k = 0; k < 4; k++)
                bad[128 + k] = (unsigned char)(crc >> (8 * k));
            crc = crc32(0, bad, 132);
            for (int k = 0; k < 4; k++)
                bad[132 + k] = (unsigned char)(crc >> (8 * k));
        }
        struct error e = {0};
        const char *path = scratch_write("out.shards", bad, bytes);
        if (!shards_verify(path, &verified, &e)) {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, path));
        }
        struct dataset d;
        if (dataset_read(path, DATASET_TEST, &d, &e)) {
            float *x = malloc(dataset_sample_bytes(&d));
            int32_t y;
            for (uint32_t row = 0; row < d.rows; row++)
                if (dataset_batch(&d, &row, 1, x, &y, &e))
                    assert_in_range(y, 0, d.classes - 1);
            free(x);
            dataset_free(&d);
        }
        free(bad);
    }
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack_and_read),   cmocka_unit_test(test_format),
        cmocka_unit_test(test_refused_folders), cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
