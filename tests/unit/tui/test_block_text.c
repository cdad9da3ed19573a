/* The text of live blocks, taken apart: what is found, and which line is named where it is wrong. */
#include "tui/block_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_kinds(void **state)
{
    (void)state;
    enum block_kind kind;
    assert_true(block_info("quiz", &kind));
    assert_int_equal(kind, BLOCK_QUIZ);
    assert_true(block_info("run two-ranks", &kind));
    assert_int_equal(kind, BLOCK_RUN);
    assert_false(block_info("running", NULL));
    assert_false(block_info("lua", NULL));
    assert_false(block_info("", NULL));
    assert_false(block_info(NULL, NULL));
    for (int i = 0; i < BLOCK_KINDS; i++)
        assert_true(block_info(block_kind_name((enum block_kind)i), NULL));
}

static void test_quiz(void **state)
{
    (void)state;
    struct block_text b;
    assert_true(block_text_parse(&b, "quiz one",
                                 "How many\nare there: two?\n- 1\n+ 2\n  or a pair\n\n> Counted.\n  Twice.\n",
                                 10, NULL));
    assert_string_equal(b.name, "one");
    assert_string_equal(b.question, "How many are there: two?");
    assert_int_equal(b.choice_count, 2);
    assert_int_equal(b.right, 1);
    assert_string_equal(b.choices[0], "1");
    assert_string_equal(b.choices[1], "2 or a pair");
    assert_string_equal(b.because, "Counted. Twice.");
    assert_int_equal(b.line, 10);
    block_text_free(&b);
}

static void test_fields_and_body(void **state)
{
    (void)state;
    struct block_text b;
    int value;
    assert_true(block_text_parse(&b, "run a-1",
                                 "title: A title: with colon\nafter: other\n\n-- x\n\nprint(1)\n", 3, NULL));
    assert_string_equal(block_text_get(&b, "title"), "A title: with colon");
    assert_string_equal(block_text_get(&b, "after"), "other");
    assert_null(block_text_get(&b, "command"));
    assert_int_equal(block_text_line(&b, "after"), 5);
    assert_int_equal(block_text_line(&b, "command"), 3);
    assert_string_equal(b.body, "-- x\n\nprint(1)\n");
    assert_int_equal(b.body_line, 7);
    block_text_free(&b);
    assert_true(block_text_parse(&b, "figure", "show: ring\nranks: 3\n", 1, NULL));
    assert_true(block_text_integer(&b, "ranks", 2, 6, 4, &value, NULL));
    assert_int_equal(value, 3);
    assert_true(block_text_integer(&b, "stages", 2, 6, 4, &value, NULL));
    assert_int_equal(value, 4);
    assert_false(block_text_integer(&b, "ranks", 4, 6, 4, &value, NULL));
    block_text_free(&b);
}

static void fails_with(const char *info, const char *text, const char *expected)
{
    struct block_text b;
    struct error e = {0};
    assert_false(block_text_parse(&b, info, text, 20, &e));
    assert_non_null(strstr(e.text, expected));
    assert_null(b.question); /* empty: nothing to free */
}

static void test_mistakes_name_their_line(void **state)
{
    (void)state;
    fails_with("quiz x", "Q?\n- a\n- b\n> why\n", "line 20: a quiz block needs two choices");
    fails_with("quiz x", "Q?\n- a\n+ b\n", "line 20: a quiz block needs");
    fails_with("quiz x", "Q?\n+ a\n+ b\n> why\n", "line 23: a second choice is marked as right");
    fails_with("quiz", "Q?\n- a\n+ b\n> why\n", "line 20: a quiz block needs a name");
    fails_with("quiz X!", "Q?\n- a\n+ b\n> why\n", "line 20: a block's name is one word");
    fails_with("predict x", "scale: 1 2\n", "line 20: a predict block needs a question");
    fails_with("run x", "tittle: a\n",
               "line 21: 'tittle: a' is no line of a run block; it has: title, command");
    fails_with("figure", "show: ring\n- 1\n", "line 22: '- 1' is no line of a figure block");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_quiz),
        cmocka_unit_test(test_fields_and_body),
        cmocka_unit_test(test_mistakes_name_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
