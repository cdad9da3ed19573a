/* Raw pictures: hand-written PGM and PPM files, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/pnm.h"
#include "tests/unit/data/scratch.h"

static void open_text(const char *text, size_t bytes, struct pnm *p)
{
    struct error e = {0};
    if (!pnm_read(scratch_write("picture.ppm", text, bytes), p, &e))
        fail_msg("%s", e.text);
}
#define OPEN(text, p) open_text(text, sizeof text - 1, p)

static void test_whole(void **state)
{
    (void)state;
    struct pnm p;
    OPEN("P5\n# made by hand\n3 2\n# another\n255\n\x00\x01\x02\x7f\xfe\xff", &p);
    assert_int_equal(p.channels, 1);
    assert_int_equal(p.height, 2);
    assert_int_equal(p.width, 3);
    assert_memory_equal(p.pixels, "\x00\x01\x02\x7f\xfe\xff", 6);
    pnm_free(&p);
    OPEN("P6 2 1 255\nRGBrgb", &p); /* planes: reds, greens, blues */
    assert_int_equal(p.channels, 3);
    assert_memory_equal(p.pixels, "RrGgBb", 6);
    pnm_free(&p);
    OPEN("P5 4 1 15\n\x00\x07\x0f\x10", &p); /* scaled; above the largest is white */
    assert_memory_equal(p.pixels, "\x00\x77\xff\xff", 4);
    pnm_free(&p);
    OPEN("P5 1 1 255\n\n", &p); /* one blank ends the header, so this is a pixel */
    assert_int_equal(p.pixels[0], '\n');
    pnm_free(&p);
}

static void refuse(const char *text, size_t bytes, const char *words)
{
    struct pnm p;
    struct error e = {0};
    const char *path = scratch_write("picture.ppm", text, bytes);
    assert_false(pnm_read(path, &p, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_null(p.pixels);
    assert_non_null(strstr(e.text, path));
    if (!strstr(e.text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, e.text);
}
#define REFUSE(text, words) refuse(text, sizeof text - 1, words)

static void test_bad(void **state)
{
    (void)state;
    REFUSE("", "no raw PGM or PPM");
    REFUSE("P2 1 1 255\n0", "no raw PGM or PPM");
    REFUSE("\xff\xd8\xff\xe0", "no raw PGM or PPM");
    REFUSE("P5\n", "a width and a height");
    REFUSE("P5 0 1 255\n", "a width and a height");
    REFUSE("P5 -1 1 255\n", "a width and a height");
    REFUSE("P5 99999999999999999999 1 255\n", "a width and a height");
    REFUSE("P5 1 1 65535\n\x00\x01", "16-bit");
    REFUSE("P5 1 1 0\n\x00", "largest value");
    REFUSE("P5 1 1 255", "one blank");
    REFUSE("P6 1 1 255\nRG", "cut short");
    REFUSE("P6 1 1 255\nRGBR", "too long");
    REFUSE("P6 16384 16384 255\nRGB", "cut short"); /* without asking for 800 MB */
    REFUSE("P5 # a comment without an end", "a width and a height");
    struct pnm p;
    struct error e = {0};
    assert_false(pnm_read("/nowhere/at/all.ppm", &p, &e));
    assert_non_null(strstr(e.text, "/nowhere/at/all.ppm"));
}

static void test_damaged(void **state)
{
    (void)state;
    unsigned char whole[64] = "P6\n# c\n5 3\n255\n";
    size_t n = strlen((char *)whole) + 45;
    struct random r = random_stream(3, 1, 1);
    for (int i = 0; i < 5000; i++) {
        size_t bytes;
        unsigned char *bad = damaged(whole, n, &r, &bytes);
        struct pnm p;
        struct error e = {0};
        const char *path = scratch_write("picture.ppm", bad, bytes);
        if (pnm_read(path, &p, &e)) {
            assert_in_range(p.height * p.width * p.channels, 1, 90);
            pnm_free(&p);
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
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
