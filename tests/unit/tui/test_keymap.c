/* Keys: names, the footer and the overlay from one table. */
#include "tui/keymap.h"
#include "tui/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct key_binding keys[] = {
    {KEY_CODE_UP, 1, "select", "a line up or down"},
    {KEY_CODE_DOWN, 2, "select", "a line up or down"},
    {'k', 1, NULL, NULL},
    {KEY_CODE_ENTER, 3, "open", "open it"},
    {'x', 4, NULL, "hidden from the footer"},
    {0, 0, NULL, NULL},
};

static void footer_is(int cols, bool utf8, const char *expected)
{
    struct canvas c;
    char *text;
    size_t size;
    assert_true(canvas_init(&c, 1, cols, utf8));
    keymap_footer(&c, canvas_whole(&c), keys, keymap_global);
    FILE *out = open_memstream(&text, &size);
    plain_print_canvas(&c, out);
    fclose(out);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
    canvas_free(&c);
}

static void test_footer_joins_neighbours_and_keeps_help_and_back(void **state)
{
    (void)state;
    footer_is(46, true, " ↑↓ select  Enter open        ? help  q back");
    footer_is(48, false, " Up/Down select  Enter open     ? help  q back");
    /* What does not fit is left out; how to get help and how to get out never is. */
    footer_is(30, true, " ↑↓ select    ? help  q back");
    footer_is(18, true, "  ? help  q back");
}

static void test_a_click_on_the_footer_is_its_key(void **state)
{
    (void)state;
    struct rect row = {0, 0, 1, 46};
    /* " ↑↓ select  Enter open        ? help  q back" */
    static const struct {
        int col, key;
    } cases[] = {
        {0, 0},
        {1, KEY_CODE_UP},
        {2, KEY_CODE_DOWN},
        {3, KEY_CODE_UP},
        {9, KEY_CODE_UP},
        {10, 0},
        {11, 0},
        {12, KEY_CODE_ENTER},
        {21, KEY_CODE_ENTER},
        {25, 0},
        {30, '?'},
        {35, '?'},
        {36, 0},
        {43, 'q'},
        {44, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (keymap_footer_key(row, true, keys, keymap_global, cases[i].col) != cases[i].key)
            fail_msg("column %d: %d", cases[i].col,
                     keymap_footer_key(row, true, keys, keymap_global, cases[i].col));
    /* "Up/Down": each name is its own key; what does not fit is not there. */
    assert_int_equal(keymap_footer_key((struct rect){0, 0, 1, 48}, false, keys, keymap_global, 2),
                     KEY_CODE_UP);
    assert_int_equal(keymap_footer_key((struct rect){0, 0, 1, 48}, false, keys, keymap_global, 5),
                     KEY_CODE_DOWN);
    for (int col = 0; col < 14; col++)
        assert_int_not_equal(keymap_footer_key((struct rect){0, 0, 1, 30}, true, keys, keymap_global, col),
                             KEY_CODE_ENTER);
}

static void test_the_mouse_goes_into_a_key_and_out_again(void **state)
{
    (void)state;
    for (int what = MOUSE_PRESS; what <= MOUSE_WHEEL_DOWN; what++) {
        int row, col, key = mouse_key((enum mouse)what, 59, 999);
        assert_true(key & KEY_CODE_MOUSE);
        assert_int_equal(mouse_parse(key, &row, &col), what);
        assert_int_equal(row, 59);
        assert_int_equal(col, 999);
        mouse_parse(mouse_key((enum mouse)what, -5, 1 << 20), &row, &col);
        assert_int_equal(row, 0);
        assert_int_equal(col, 4095);
    }
}

static void test_overlay_lists_every_key_once(void **state)
{
    (void)state;
    struct key_help lines[16];
    assert_int_equal(keymap_help(keys, true, lines, 16), 3);
    assert_string_equal(lines[0].names, "↑ ↓");
    assert_string_equal(lines[0].text, "a line up or down");
    assert_string_equal(lines[1].names, "Enter");
    assert_string_equal(lines[2].names, "x");
    assert_int_equal(keymap_help(keymap_global, true, lines, 16), 5);
    assert_string_equal(lines[1].names, "q Esc");
    assert_int_equal(keymap_help(keymap_global, true, lines, 2), 2);
}

static void test_actions(void **state)
{
    (void)state;
    assert_int_equal(keymap_action(keys, 'k'), 1);
    assert_int_equal(keymap_action(keys, KEY_CODE_DOWN), 2);
    assert_int_equal(keymap_action(keys, 'z'), 0);
    assert_int_equal(keymap_action(NULL, 'z'), 0);
}

static void test_names_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int key = KEY_CODE_UP; key < KEY_CODE_RESIZE; key++) {
        char name[KEY_NAME_SIZE];
        key_name(key, false, name);
        assert_int_equal(key_parse(name), key);
    }
    assert_int_equal(key_parse("C-l"), 12);
    assert_int_equal(key_parse("Escape"), KEY_CODE_ESCAPE);
    assert_int_equal(key_parse("é"), 0xe9);
    assert_int_equal(key_parse("Nonsense"), 0);
    assert_int_equal(key_parse(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footer_joins_neighbours_and_keeps_help_and_back),
        cmocka_unit_test(test_a_click_on_the_footer_is_its_key),
        cmocka_unit_test(test_the_mouse_goes_into_a_key_and_out_again),
        cmocka_unit_test(test_overlay_lists_every_key_once),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_names_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
