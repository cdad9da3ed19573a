/*
 * Option tables: values, ranges, sentences about mistakes; and the text plot.
 */
#include "tui/follow.h"
#include "tui/options.h"
#include "tui/text_plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
    bool flag, given;
    char text[8];
    int ranks;
    long steps;
    uint64_t seed;
    double lr;
    struct option_sizes sizes;
};

static bool parse(struct values *v, struct error *e, char **rest, int *count, bool *help, int argc,
                  const char **words)
{
    const struct option options[] = {
        {"flag", NULL, OPTION_FLAG, &v->flag, 0, 0, 0, "a flag", NULL, NULL},
        {"text", "T", OPTION_TEXT, v->text, sizeof v->text, 0, 0, "a text", NULL, NULL},
        {"ranks", "N", OPTION_INT, &v->ranks, 0, 1, 4096, "ranks", &v->given, NULL},
        {"steps", "S", OPTION_LONG, &v->steps, 0, 1, 1e12, "steps", NULL, NULL},
        {"seed", "K", OPTION_SEED, &v->seed, 0, 0, 9e18, "seed", NULL, NULL},
        {"lr", "X", OPTION_REAL, &v->lr, 0, 1e-12, 100, "rate", NULL, NULL},
        {"bytes", "S", OPTION_SIZES, &v->sizes, 0, 4, 1e12, "sizes", NULL, NULL},
        {"tensor", "P", OPTION_INT, NULL, 0, 0, 0, NULL, NULL, "not here"},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {"ringside x [options]", "Does x.", NULL, options};
    *v = (struct values){0};
    *e = (struct error){0};
    return options_parse(&command, argc, (char **)words, rest, count, help, e);
}

#define PARSE(...)                                                                                           \
    (words = (const char *[]){"x", __VA_ARGS__},                                                             \
     parse(&v, &e, rest, &count, &help, (int)(sizeof((const char *[]){"x", __VA_ARGS__}) / sizeof *words),   \
           words))

static void test_values(void **state)
{
    (void)state;
    struct values v;
    struct error e;
    char *rest[OPTION_MAX_WORDS];
    const char **words;
    int count;
    bool help;
    assert_true(PARSE("--flag", "--text=abc", "one", "--ranks", "4", "--steps=1000000000000", "--lr", "1e-3",
                      "--seed", "9000000000000000000", "--bytes", "4,1K,64MiB,2g", "two", "--", "--flag",
                      "-x"));
    assert_true(v.flag && v.given);
    assert_string_equal(v.text, "abc");
    assert_int_equal(v.ranks, 4);
    assert_int_equal(v.steps, 1000000000000);
    assert_true(v.seed == 9000000000000000000u);
    assert_true(v.lr == 1e-3);
    assert_int_equal(v.sizes.count, 4);
    assert_int_equal(v.sizes.value[1], 1024);
    assert_int_equal(v.sizes.value[2], 64 << 20);
    assert_int_equal(v.sizes.value[3], 2ull << 30);
    assert_int_equal(count, 4);
    assert_string_equal(rest[0], "one");
    assert_string_equal(rest[1], "two");
    assert_string_equal(rest[2], "--flag");
    assert_string_equal(rest[3], "-x");
    assert_true(PARSE("--bytes", "8..80,4")); /* doubling */
    assert_int_equal(v.sizes.count, 5);
    assert_int_equal(v.sizes.value[3], 64);
    assert_int_equal(v.sizes.value[4], 4);
    assert_true(PARSE("--ranks", "x", "--help")); /* help goes before mistakes */
    assert_true(help);
    assert_true(PARSE("--lr", "-1") == false); /* a value may begin with a dash; this one is out of range */
}

static void test_sentences(void **state)
{
    (void)state;
    struct values v;
    struct error e;
    char *rest[OPTION_MAX_WORDS];
    const char **words;
    int count;
    bool help;
#define WRONG(sentence, ...)                                                                                 \
    assert_false(PARSE(__VA_ARGS__));                                                                        \
    assert_int_equal(e.kind, ERROR_INPUT);                                                                   \
    assert_string_equal(e.text, sentence)
    WRONG("--ranks: expected a whole number from 1 to 4096, got 'x'", "--ranks", "x");
    WRONG("--ranks: expected a whole number from 1 to 4096, got '0'", "--ranks=0");
    WRONG("--ranks: expected a whole number from 1 to 4096, got '2.5'", "--ranks", "2.5");
    WRONG("--ranks: expected a whole number from 1 to 4096, got ''", "--ranks=");
    WRONG("--ranks: expected a whole number from 1 to 4096, got '99999999999999999999'", "--ranks",
          "99999999999999999999");
    WRONG("--lr: expected a number from 1e-12 to 100, got 'nan'", "--lr", "nan");
    WRONG("--lr: expected a number from 1e-12 to 100, got '1e-3x'", "--lr", "1e-3x");
    WRONG("--ranks: expected N after it", "--ranks");
}

static void test_more_sentences(void **state)
{
    (void)state;
    struct values v;
    struct error e;
    char *rest[OPTION_MAX_WORDS];
    const char **words;
    int count;
    bool help;
    WRONG("unknown option --rank; did you mean --ranks?", "--rank", "2");
    WRONG("unknown option --frobnicate; --help lists the options", "--frobnicate");
    WRONG("--tensor: not here", "--tensor", "2");
    WRONG("--flag takes no value, got 'yes'", "--flag=yes");
    WRONG("--text: at most 7 characters, got '12345678...'; it is a text", "--text", "12345678");
    WRONG("--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '1Q'", "--bytes", "1K,1Q");
    WRONG("--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got ''", "--bytes", "1K,");
    WRONG("--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '-4'", "--bytes", "-4");
    WRONG("--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '8..4'", "--bytes", "8..4");
    WRONG("--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '..4'", "--bytes", "..4");
    WRONG("unknown option -n; options are written --name, and --help lists them", "-n", "2");
}

static char *plot_text(const double *x, const double *y, int n, bool utf8)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    text_plot(f, "title", "step", x, y, n, utf8);
    fclose(f);
    return text;
}

/* A falling line: the first row's mark is at the left, the last row's at the right. */
static void test_plot(void **state)
{
    (void)state;
    double x[100], y[100];
    for (int i = 0; i < 100; i++)
        x[i] = i, y[i] = 2 - 0.02 * i;
    char *text = plot_text(x, y, 100, false);
    int rows = 0, left[TEXT_PLOT_ROWS] = {0};
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strchr(line, '|') && rows < TEXT_PLOT_ROWS)
            left[rows++] = (int)strcspn(strchr(line, '|'), "*");
    assert_int_equal(rows, TEXT_PLOT_ROWS);
    assert_int_equal(left[0], 1);
    for (int i = 1; i < rows; i++)
        assert_true(left[i] > left[i - 1]);
    free(text);
    text = plot_text(x, y, 100, true);
    assert_non_null(strstr(text, "\xe2\xa0")); /* some braille */
    assert_null(strchr(text, '*'));
    free(text);
}

static void test_odd_plots(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4}, level[] = {5, 5, 5, 5}, holes[] = {NAN, 1, INFINITY, 2},
           none[] = {NAN, NAN, NAN, NAN};
    char *text = plot_text(x, level, 4, false);
    assert_non_null(strchr(text, '*'));
    free(text);
    text = plot_text(x, holes, 4, false);
    assert_non_null(strchr(text, '*'));
    free(text);
    text = plot_text(x, none, 4, true);
    assert_string_equal(text, "");
    free(text);
    text = plot_text(x, level, 1, true);
    assert_string_equal(text, "");
    free(text);
}

static void test_grouped(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},         {999, "999"}, {1000, "1 000"}, {93322, "93 322"}, {1234567.4, "1 234 567"},
                 {-1000, "-1 000"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_grouped(text, sizeof text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
    text_grouped(text, sizeof text, NAN);
    assert_string_equal(text, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_more_sentences), cmocka_unit_test(test_plot),
        cmocka_unit_test(test_odd_plots),      cmocka_unit_test(test_grouped),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
