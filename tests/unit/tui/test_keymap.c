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
        cmocka_unit_test(test_overlay_lists_every_key_once),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_names_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
