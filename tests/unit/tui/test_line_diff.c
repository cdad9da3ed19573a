/* Differences of two texts: worked by hand, and against what they have to satisfy on random texts. */
#include "tui/line_diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* " a\n-b\n+c\n" */
static void differs_as(const char *first, const char *second, const char *expected)
{
    struct line_diff d;
    char text[1000] = "";
    assert_true(line_diff_make(&d, first, second, NULL));
    for (int i = 0; i < d.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%c%.*s\n", " -+"[d.lines[i].kind],
                 d.lines[i].length, d.lines[i].text);
    assert_string_equal(text, expected);
    line_diff_free(&d);
}

static void test_by_hand(void **state)
{
    (void)state;
    differs_as("", "", "");
    differs_as("a\n", "a\n", " a\n");
    differs_as("a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c\n");
    differs_as("a\nc\n", "a\nb\nc\n", " a\n+b\n c\n");
    differs_as("a\nb\nc\n", "c\n", "-a\n-b\n c\n");
    differs_as("", "a\nb", "+a\n+b\n");
    /* The longest common subsequence of abcabba and cbabac has four lines (Myers's example). */
    struct line_diff d;
    assert_true(line_diff_make(&d, "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", NULL));
    assert_int_equal(d.count - d.only_first - d.only_second, 4);
    assert_int_equal(d.only_first, 3);
    assert_int_equal(d.only_second, 2);
    line_diff_free(&d);
}

static void test_blanks_at_the_end_do_not_count(void **state)
{
    (void)state;
    differs_as("a  \nb\r\n", "a\nb\n", " a\n b\n");
    differs_as(" a\n", "a\n", "- a\n+a\n");
}

/* Whatever the texts: without the second's own lines it is the first, without the first's own the second. */
static void test_random_texts(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        char text[2][400] = {"", ""}, again[2][400] = {"", ""};
        for (int t = 0; t < 2; t++)
            for (int i = rand() % 40; i > 0; i--)
                snprintf(text[t] + strlen(text[t]), sizeof text[t] - strlen(text[t]), "%c\n",
                         'a' + rand() % 4);
        struct line_diff d;
        assert_true(line_diff_make(&d, text[0], text[1], NULL));
        int numbers[2] = {0, 0};
        for (int i = 0; i < d.count; i++) {
            const struct diff_line *l = &d.lines[i];
            for (int t = 0; t < 2; t++) {
                if (l->kind == (t ? DIFF_FIRST : DIFF_SECOND))
                    continue;
                snprintf(again[t] + strlen(again[t]), sizeof again[t] - strlen(again[t]), "%.*s\n", l->length,
                         l->text);
                assert_int_equal(t ? l->second : l->first, ++numbers[t]);
            }
        }
        assert_string_equal(again[0], text[0]);
        assert_string_equal(again[1], text[1]);
        line_diff_free(&d);
    }
}

static void test_texts_that_are_too_long_differ_entirely(void **state)
{
    (void)state;
    enum { LINES = DIFF_MAX_LINES + 10 };
    char *first = malloc(3 * LINES + 1), *second = malloc(3 * LINES + 1);
    assert_non_null(first);
    assert_non_null(second);
    first[0] = second[0] = '\0';
    for (int i = 0; i < LINES; i++) {
        memcpy(first + 2 * i, "a\n", 3);
        memcpy(second + 2 * i, "b\n", 3);
    }
    struct line_diff d;
    assert_true(line_diff_make(&d, first, second, NULL));
    assert_int_equal(d.only_first, LINES);
    assert_int_equal(d.only_second, LINES);
    line_diff_free(&d);
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_blanks_at_the_end_do_not_count),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_texts_that_are_too_long_differ_entirely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
