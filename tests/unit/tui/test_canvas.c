/* The canvas: clipping, wide characters, ASCII fallbacks, rectangles, UTF-8. */
#include "tui/canvas.h"
#include "tui/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void row_is(const struct canvas *c, int row, const char *expected)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    plain_print_cells(c->cells + (size_t)row * (size_t)c->cols, c->cols, c->utf8, out);
    fclose(out);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
}

static void test_text_is_clipped_everywhere(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 3, 8, true));
    for (int row = -2; row < 6; row++)
        for (int col = -10; col < 12; col++) {
            canvas_text(&c, row, col, 20, ROLE_TEXT, 0, "wide \u4f60\u597d e\u0301");
            canvas_box(&c, (struct rect){row, col, 5, 9}, "title", ROLE_BORDER);
        }
    canvas_clear(&c);
    canvas_text(&c, 1, -3, 20, ROLE_TEXT, 0, "abcdef");
    row_is(&c, 1, "def");
    canvas_free(&c);
}

static void test_too_long_text_ends_in_an_ellipsis(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 1, 20, true));
    assert_int_equal(canvas_text(&c, 0, 0, 5, ROLE_TEXT, 0, "abcdef"), 5);
    row_is(&c, 0, "abcd…");
    canvas_clear(&c);
    assert_int_equal(canvas_text(&c, 0, 0, 6, ROLE_TEXT, 0, "abcdef"), 6);
    row_is(&c, 0, "abcdef");
    canvas_clear(&c);
    /* A wide character that does not fit whole is left out. */
    assert_int_equal(canvas_text(&c, 0, 0, 4, ROLE_TEXT, 0, "a你好"), 4);
    row_is(&c, 0, "a你…");
    canvas_free(&c);
}

static void test_half_of_a_wide_character_never_stays(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 1, 6, true));
    canvas_text(&c, 0, 0, 6, ROLE_TEXT, 0, "你好");
    canvas_put(&c, 0, 1, 'x', ROLE_TEXT, 0);
    row_is(&c, 0, " x好");
    canvas_put(&c, 0, 2, 'y', ROLE_TEXT, 0);
    row_is(&c, 0, " xy");
    canvas_put(&c, 0, 5, 0x4f60, ROLE_TEXT, 0); /* no room for both halves */
    assert_int_equal(c.cells[5].glyph, ' ');
    canvas_free(&c);
}

static void test_control_characters_and_broken_utf8(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 1, 20, true));
    canvas_text(&c, 0, 0, 20, ROLE_TEXT, 0, "a\033[2Jb\x80\xff\xc3(");
    row_is(&c, 0, "a?[2Jb\uFFFD\uFFFD\uFFFD(");
    canvas_free(&c);
    /* From the table of the Unicode standard, 3.9: overlong forms, surrogates, beyond U+10FFFF. */
    static const char *const broken[] = {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                         "\xf5\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const char *text = broken[i];
        assert_int_equal(utf8_next(&text), 0xfffd);
    }
    const char *text = "\xe2\x82\xac\xf0\x9f\x98\x80";
    assert_int_equal(utf8_next(&text), 0x20ac);
    assert_int_equal(utf8_next(&text), 0x1f600);
    assert_int_equal(utf8_next(&text), 0);
    for (uint32_t glyph = 1; glyph < 0x11000; glyph += 7) {
        if (glyph >= 0xd800 && glyph < 0xe000)
            continue;
        char out[8] = "";
        const char *in = out;
        out[utf8_put(out, glyph)] = '\0';
        assert_int_equal(utf8_next(&in), glyph);
    }
}

static void test_without_unicode_everything_is_ascii(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 4, 30, false));
    canvas_text(&c, 0, 0, 30, ROLE_TEXT, 0, "Ärger → 5 µs · ≤ “ok” …");
    row_is(&c, 0, "Arger > 5 us - < \"ok\" ~");
    canvas_box(&c, (struct rect){1, 0, 3, 8}, NULL, ROLE_BORDER);
    row_is(&c, 1, "+------+");
    row_is(&c, 2, "|      |");
    for (uint32_t glyph = 0x2500; glyph < 0x2900; glyph++)
        canvas_put(&c, 0, 0, glyph, ROLE_TEXT, 0);
    for (int i = 0; i < c.rows * c.cols; i++)
        assert_in_range(c.cells[i].glyph, 32, 126);
    canvas_free(&c);
}

static void test_rectangles_never_become_negative(void **state)
{
    (void)state;
    struct rect r = {2, 3, 4, 10}, top = rect_cut_rows(&r, 1), bottom = rect_cut_rows(&r, -9);
    assert_int_equal(top.row, 2);
    assert_int_equal(top.rows, 1);
    assert_int_equal(bottom.row, 3);
    assert_int_equal(bottom.rows, 3);
    assert_int_equal(r.rows, 0);
    r = (struct rect){0, 0, 5, 20};
    struct rect right = rect_cut_cols(&r, -6);
    assert_int_equal(right.col, 14);
    assert_int_equal(r.cols, 14);
    r = rect_inset((struct rect){0, 0, 3, 3}, 2, 2);
    assert_int_equal(r.rows, 0);
    assert_int_equal(r.cols, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_clipped_everywhere),
        cmocka_unit_test(test_too_long_text_ends_in_an_ellipsis),
        cmocka_unit_test(test_half_of_a_wide_character_never_stays),
        cmocka_unit_test(test_control_characters_and_broken_utf8),
        cmocka_unit_test(test_without_unicode_everything_is_ascii),
        cmocka_unit_test(test_rectangles_never_become_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
