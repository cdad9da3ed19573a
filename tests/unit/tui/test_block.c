/* Live blocks as a set: answers, what waits for what, simulations, formulas, figures at every width, mistakes. */
#include "tui/block.h"
#include "tui/formula.h"
#include "tui/plain.h"
#include "tui/progress.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct block_set *set_of(const char *text)
{
    struct error e = {0};
    struct block_set *set = block_set_new("01-test", text, NULL, &e);
    assert_non_null(set);
    return set;
}

static char *drawn(struct block_set *set, int i, int cols, bool focused)
{
    struct canvas c = {0};
    char *text;
    size_t size;
    int rows = block_rows(set, i, cols);
    assert_true(canvas_init(&c, rows, cols, true));
    block_draw(set, i, &c, canvas_whole(&c), 0, focused);
    FILE *out = open_memstream(&text, &size);
    plain_print_canvas(&c, out);
    fclose(out);
    canvas_free(&c);
    return text;
}

static void shows(struct block_set *set, int i, const char *expected)
{
    char *text = drawn(set, i, 78, false);
    if (!strstr(text, expected))
        fail_msg("'%s' is not in\n%s", expected, text);
    free(text);
}

static void shows_not(struct block_set *set, int i, const char *other)
{
    char *text = drawn(set, i, 78, false);
    assert_null(strstr(text, other));
    free(text);
}

#define QUIZ "```quiz q\nHow many?\n- 7\n+ 14\n> Two halves.\n```\n"

static void test_a_quiz_explains_once_answered(void **state)
{
    (void)state;
    struct block_set *set = set_of("text\n\n" QUIZ);
    assert_int_equal(block_count(set), 1);
    assert_int_equal(block_line(set, 0), 3);
    assert_true(block_live(set, 0));
    assert_int_equal(block_choices(set, 0), 2);
    assert_int_equal(block_chosen(set, 0), -1);
    shows_not(set, 0, "Two halves.");
    int before = block_rows(set, 0, 78);
    assert_true(block_key(set, 0, NULL, KEY_CODE_DOWN));
    assert_true(block_key(set, 0, NULL, KEY_CODE_ENTER));
    assert_int_equal(block_chosen(set, 0), 1);
    assert_true(block_rows(set, 0, 78) > before);
    shows(set, 0, "Right.");
    shows(set, 0, "Two halves.");
    block_choose(set, 0, 0); /* once made it stays */
    assert_int_equal(block_chosen(set, 0), 1);
    assert_false(block_key(set, 0, NULL, KEY_CODE_DOWN)); /* the keys scroll again */
    block_set_free(set);
    set = set_of(QUIZ);
    block_choose(set, 0, 0);
    char *result = block_result(set, 0);
    assert_string_equal(result, "Not quite: it is “14”. Two halves.");
    free(result);
    block_set_free(set);
}

#define WAYS                                                                                                 \
    "```predict times\nHow many times?\nscale: 1 2 4\nunit: times\nmeasure: ways everyone/ring\n> "          \
    "Why.\n```\n"                                                                                            \
    "```sim ways\nalgos: ring, everyone\nranks: 4\nbytes: 1000000\nbandwidth: 1GB/s\nlatency: 10us\nafter: " \
    "times\n```\n"

/* By hand: links of 10 µs and 1 GB/s each way through a switch. ring 6 (20 + 250) = 1620 µs, everyone 20 + 3000 µs. */
static void test_a_simulation_waits_for_its_prediction(void **state)
{
    (void)state;
    struct error e = {0};
    int wanted;
    struct block_set *set = set_of(WAYS);
    assert_true(block_waits(set, 1, &wanted));
    assert_int_equal(wanted, 0);
    assert_false(block_start(set, 1, &e));
    assert_non_null(strstr(e.text, "prediction"));
    block_choose(set, 0, 1);
    shows(set, 0, "The simulation below works it out.");
    shows_not(set, 0, "Why.");
    assert_true(block_start(set, 1, &e));
    while (block_tick(set, 1))
        ;
    char *result = block_result(set, 1);
    assert_string_equal(result, "ring 1.62 ms, everyone 3.02 ms");
    free(result);
    /* 3020 / 1620 = 1.86: nearest to 2, which was said. */
    shows(set, 0, "Simulated: 1.86 times. You saw it coming.");
    shows(set, 0, "Why.");
    shows(set, 1, "simulated");
    block_set_free(set);
}

static void test_not_to_know_is_an_answer(void **state)
{
    (void)state;
    struct block_set *set = set_of("```predict p\nHow much?\nscale: 1 2 4\nanswer: 1.9\n```\n");
    assert_int_equal(block_choices(set, 0), 4);
    assert_string_equal(block_choice(set, 0, 3), "don't know");
    block_choose(set, 0, 3);
    shows(set, 0, "It is 1.9.");
    block_set_free(set);
}

static void test_answers_are_kept(void **state)
{
    (void)state;
    char home[] = "/tmp/ringside-block-XXXXXX";
    assert_non_null(mkdtemp(home));
    setenv("RINGSIDE_HOME", home, 1);
    struct progress *p = progress_load(NULL);
    assert_non_null(p);
    struct block_set *set = block_set_new("01-test", QUIZ, p, NULL);
    block_choose(set, 0, 0);
    block_set_free(set);
    assert_string_equal(progress_block(p, "01-test", "q"), "7");
    /* By its words: in another order it is still the one. */
    set = block_set_new("01-test", "```quiz q\nHow many?\n- 56\n+ 14\n- 7\n> x\n```\n", p, NULL);
    assert_int_equal(block_chosen(set, 0), 2);
    block_set_free(set);
    set = block_set_new("01-other", QUIZ, p, NULL);
    assert_int_equal(block_chosen(set, 0), -1);
    block_set_free(set);
    int marks[PROGRESS_MAX_MARKS];
    assert_true(progress_toggle_mark(p, "01-test", 40));
    assert_true(progress_toggle_mark(p, "01-test", 12));
    assert_true(progress_toggle_mark(p, "01-test", 60));
    assert_false(progress_toggle_mark(p, "01-test", 40));
    assert_int_equal(progress_marks(p, "01-test", marks), 2);
    assert_int_equal(marks[0], 12);
    assert_int_equal(marks[1], 60);
    progress_free(p);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", home);
    assert_int_equal(system(command), 0);
}

static void wrong_with(const char *text, const char *expected)
{
    struct block_set *set = set_of(text);
    const char *error = block_error(set, block_count(set) - 1);
    if (!error || !strstr(error, expected))
        fail_msg("'%s' is not in '%s'", expected, error ? error : "(no error)");
    assert_false(block_live(set, block_count(set) - 1));
    block_set_free(set);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    wrong_with("```run r\ncommand: train --ranks nobody\n```\n",
               "line 2: command: --ranks: expected a whole number");
    wrong_with("```run r\ncommand: rm -rf\n```\n",
               "line 2: command: a command is 'train ...' or 'allreduce ...'");
    wrong_with("```run r\ntitle: x\n```\n",
               "line 1: a run block has either a command or, after a blank line, a script");
    wrong_with("```run\ncommand: train\n```\n", "line 1: a run block needs a name");
    wrong_with("```run r\ntitle: x\n\nlocal x = = 1\n```\n", "line 4: ");
    wrong_with("```run r\ncommand: train\nafter: nobody\n```\n",
               "line 3: after: no predict block is called 'nobody'");
    wrong_with("```predict p\nHow?\nscale: 1 2\nmeasure: r loss\n```\n",
               "line 4: measure: expected the name of a run");
    wrong_with("```run r\ncommand: train\n```\n```predict p\nHow?\nscale: 1 2\nmeasure: r los\n```\n",
               "line 7: measure: that block measures no 'los'");
    wrong_with(WAYS "```predict p\nHow?\nscale: 1 2\nmeasure: ways ring/tree\n```\n",
               "measures no 'ring/tree'");
    wrong_with(WAYS "```predict p\nHow?\n- a\n- b\nmeasure: ways ring\n```\n", "so the block needs a scale");
    wrong_with(QUIZ QUIZ, "a second block is called 'q'");
    wrong_with("```predict p\nHow?\nscale: 2 1\n```\n", "line 3: scale: expected at most 12 rising numbers");
    wrong_with("```predict p\nHow?\n```\n", "needs either a scale of two numbers or more, or two choices");
    wrong_with("```sim s\nranks: 4\nbytes: 1M\n```\n", "bandwidth: expected a rate");
    wrong_with("```sim s\nalgos: rang\nranks: 4\nbytes: 1M\ncluster: gigabit\n```\n", "line 2: algos: ");
    wrong_with("```sim s\nranks: 4 8\nbytes: 1K 1M\nbandwidth: 1GB/s\nlatency: 1us\n```\n",
               "either several ranks");
    wrong_with("```plot\nx: N\nfrom: 2\nto: 64\ny: 2*(N-1\n```\n", "line 5: y: '2*(N-1' is no formula of N");
    wrong_with("```plot\nx: N\nfrom: 64\nto: 2\ny: N\n```\n", "line 4: 'to' has to be above 'from'");
    wrong_with("```figure\nshow: rong\n```\n", "line 2: show: there is no figure 'rong'; there are: boxes");
    wrong_with("```figure\nshow: ring\nranks: 7\n```\n",
               "line 3: ranks: expected a whole number from 2 to 4");
}

static void test_formulas(void **state)
{
    (void)state;
    struct formula *f = formula_new("2*(N-1)/N", "N", NULL);
    assert_non_null(f);
    assert_true(formula_at(f, 4) == 1.5);
    assert_true(isnan(formula_at(f, 0)) || isinf(formula_at(f, 0)));
    formula_free(f);
    f = formula_new("max(sqrt(x), log(x, 2))", "x", NULL);
    assert_non_null(f);
    assert_true(fabs(formula_at(f, 64) - 8) < 1e-12);
    formula_free(f);
    assert_null(formula_new("os.exit(1)", "x", NULL));
    assert_null(formula_new("x +", "x", NULL));
    assert_null(formula_new("(function() while true do end end)()", "x", NULL));
    assert_null(formula_new("'text'", "x", NULL));
}

/* The numbers of the ring after each round, as the lesson works them by hand for three ranks. */
static void test_the_ring_has_the_numbers_of_the_example(void **state)
{
    (void)state;
    static const char *const rows[] = {"1      2      3", "[  303]", "[  222]   303", "[  111]   222",
                                       "111   [  222]"};
    struct block_set *set = set_of("```figure\nshow: ring\nranks: 3\n```\n");
    for (int step = 0; step < 5; step++) {
        char *text = drawn(set, 0, 40, true); /* as a table: too narrow for the ring */
        const char *rank = strstr(text, "rank 0");
        assert_non_null(rank);
        if (step == 1 || step == 2)
            assert_non_null(strstr(rank, rows[step]));
        free(text);
        shows(set, 0, step == 0 ? "At the beginning" : step < 3 ? "reduce-scatter" : "allgather");
        assert_true(block_key(set, 0, NULL, KEY_CODE_RIGHT));
    }
    /* At the end every rank has every sum. */
    char *text = drawn(set, 0, 40, false);
    for (int r = 0; r < 3; r++) {
        char name[24];
        snprintf(name, sizeof name, "rank %d", r);
        const char *line = strstr(text, name);
        assert_non_null(line);
        char *row = strndup(line, strcspn(line, "\n"));
        assert_non_null(strstr(row, "111"));
        assert_non_null(strstr(row, "222"));
        assert_non_null(strstr(row, "333"));
        free(row);
    }
    free(text);
    block_set_free(set);
}

/* Whatever the width, a block stays within its columns and rows, in Unicode and in ASCII. */
static void test_every_figure_at_every_width(void **state)
{
    (void)state;
    static const char text[] =
        "```figure\nshow: cluster\nnodes: 4\ngpus: 2\n```\n"
        "```figure\nshow: step\nranks: 3\n```\n"
        "```figure\nshow: pipeline\nstages: 4\nmicrobatches: 8\n```\n"
        "```figure\nshow: memory\n```\n"
        "```figure\nshow: tree\nranks: 8\n```\n"
        "```figure\nshow: ring\nranks: 4\n```\n"
        "```figure\nshow: flow\nflow: one; a -> two; b -> three -> four words here -> five\n```\n"
        "```figure\nshow: boxes\nrow: one; a | two | three; c; d\nlink: word\nrow: four\n```\n"
        "```plot\nx: N\nfrom: 2\nto: 64\ny: N = line\nlog: both\n```\n" WAYS;
    struct block_set *set = set_of(text);
    for (int i = 0; i < block_count(set); i++)
        assert_null(block_error(set, i));
    for (int cols = 36; cols <= 130; cols += cols < 84 ? 1 : 11)
        for (int i = 0; i < block_count(set); i++)
            for (int utf8 = 0; utf8 < 2; utf8++) {
                struct canvas c = {0};
                int rows = block_rows(set, i, cols);
                assert_in_range(rows, 1, 60);
                assert_true(canvas_init(&c, rows + 2, cols, utf8));
                block_draw(set, i, &c, (struct rect){1, 0, rows, cols}, 0, cols % 2);
                for (int k = 0; k < cols; k++) {
                    assert_int_equal(c.cells[k].glyph, ' ');
                    assert_int_equal(c.cells[(size_t)(rows + 1) * (size_t)cols + (size_t)k].glyph, ' ');
                }
                /* Nothing is drawn upon the blanks beside the frame. */
                for (int r = 2; r < rows; r++) {
                    const struct cell *line = c.cells + (size_t)r * (size_t)cols;
                    if (line[1].glyph != ' ' || line[cols - 2].glyph != ' ')
                        fail_msg("block %d at %d columns is wider than its panel in row %d", i, cols, r);
                }
                for (int k = 0; !utf8 && k < (rows + 2) * cols; k++)
                    assert_in_range(c.cells[k].glyph, ' ', 126);
                canvas_free(&c);
            }
    block_set_free(set);
}

/* Damaged text is refused with a sentence or shown; nothing worse. */
static void test_damaged_blocks(void **state)
{
    (void)state;
    static const char whole[] = QUIZ WAYS
        "```plot\nx: N\nfrom: 2\nto: 64\ny: 2*(N-1)/N = ring\npoints: 2 1, 4 1.5 = counted\nlog: both\n```\n"
        "```figure\nshow: ring\nranks: 3\n```\n```figure\nshow: boxes\nrow: a; b | c\nlink: d\nrow: e\n```\n"
        "```run r\ncommand: train --ranks 2 --steps 5\n```\n```run s\ntitle: t\n\nlocal x = "
        "1\nprint(x)\n```\n";
    srand(11);
    for (int round = 0; round < 400; round++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (int n = 1 + rand() % 4; n > 0; n--) {
            size_t length = strlen(text), at = (size_t)rand() % length, cut = (size_t)rand() % 12;
            static const char odd[] = "\n:|-> 9x`;";
            if (rand() % 2 && at + cut < length)
                memmove(text + at, text + at + cut, length - at - cut + 1);
            else
                text[at] = odd[(size_t)rand() % (sizeof odd - 1)];
        }
        struct block_set *set = set_of(text);
        for (int i = 0; i < block_count(set); i++) {
            const char *error = block_error(set, i);
            if (error)
                assert_memory_equal(error, "line ", 5);
            char *shown = drawn(set, i, 60, true);
            assert_true(*shown != '\0');
            free(shown);
        }
        block_set_free(set);
    }
}

/* Without its first rows: what is left is what a whole drawing has there. */
static void test_a_block_is_clipped(void **state)
{
    (void)state;
    struct block_set *set = set_of(QUIZ);
    struct canvas whole = {0}, part = {0};
    int rows = block_rows(set, 0, 60);
    assert_true(canvas_init(&whole, rows, 60, true));
    assert_true(canvas_init(&part, rows, 60, true));
    block_draw(set, 0, &whole, canvas_whole(&whole), 0, false);
    block_draw(set, 0, &part, (struct rect){0, 0, 2, 60}, 2, false);
    assert_memory_equal(part.cells, whole.cells + (size_t)2 * 60, (size_t)2 * 60 * sizeof *part.cells);
    assert_int_equal(part.cells[(size_t)2 * 60].glyph, ' ');
    canvas_free(&whole);
    canvas_free(&part);
    block_set_free(set);
}

static void test_plain_text_holds_no_answer(void **state)
{
    (void)state;
    struct block_set *set =
        set_of(QUIZ WAYS "```plot\ntitle: T\nx: N\nfrom: 2\nto: 12\ny: 2*N = twice\n```\n");
    struct md_live live = block_plain_for(set, true);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < block_count(set); i++) {
        struct canvas c = {0};
        assert_true(live.draw(live.self, i, 70, true, &c));
        plain_print_canvas(&c, out);
        canvas_free(&c);
    }
    fclose(out);
    assert_non_null(strstr(text, "Question: How many?"));
    assert_non_null(strstr(text, " 2) 14"));
    assert_null(strstr(text, "Two halves."));
    assert_non_null(strstr(text, " 4) don't know"));
    assert_non_null(strstr(text, "Plot: T"));
    /* 2 N at N = 12 */
    assert_non_null(strstr(text, "24"));
    free(text);
    block_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quiz_explains_once_answered),
        cmocka_unit_test(test_a_simulation_waits_for_its_prediction),
        cmocka_unit_test(test_not_to_know_is_an_answer),
        cmocka_unit_test(test_answers_are_kept),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_the_ring_has_the_numbers_of_the_example),
        cmocka_unit_test(test_every_figure_at_every_width),
        cmocka_unit_test(test_damaged_blocks),
        cmocka_unit_test(test_a_block_is_clipped),
        cmocka_unit_test(test_plain_text_holds_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
