/*
 * Axes, dots and plots: round ticks by hand, dots by the table of Unicode's braille block, small plots as text.
 */
#include "tui/axis.h"
#include "tui/braille.h"
#include "tui/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ticks_are_round(void **state)
{
    (void)state;
    struct axis a = {.lo = 0, .hi = 2.5};
    double t[AXIS_MAX_TICKS];
    assert_int_equal(axis_ticks(&a, 6, t), 6);
    assert_float_equal(t[1], 0.5, 1e-12);
    assert_float_equal(t[5], 2.5, 1e-12);
    assert_int_equal(axis_ticks(&a, 3, t), 3); /* 0, 1, 2 */
    assert_float_equal(t[2], 2, 1e-12);
    struct axis b = {.lo = 1024, .hi = 1 << 20, .unit = AXIS_BYTES, .log = true};
    int count = axis_ticks(&b, 6, t);
    assert_true(count >= 2 && count <= 6);
    for (int i = 0; i < count; i++) {
        double power = log2(t[i]);
        assert_float_equal(power, round(power), 1e-9);
    }
}

static void labels_have_units(void **state)
{
    (void)state;
    char text[AXIS_LABEL];
    struct axis a = {.unit = AXIS_BYTES};
    axis_label(&a, 65536, text);
    assert_string_equal(text, "64 KiB");
    a.unit = AXIS_RATE;
    axis_label(&a, 7.7e9, text);
    assert_string_equal(text, "7.7 GB/s");
    a.unit = AXIS_PERCENT;
    axis_label(&a, 0.985, text);
    assert_string_equal(text, "98.5%");
    a.unit = AXIS_SECONDS;
    axis_label(&a, 2e-5, text);
    assert_string_equal(text, "20 µs");
    a.unit = AXIS_NUMBER;
    axis_label(&a, 9.6e22, text); /* of a training that diverges: beyond P a power of ten */
    assert_string_equal(text, "9.6e+22");
    axis_label(&a, -1e18, text);
    assert_string_equal(text, "-1e+18");
    axis_label(&a, 5e17, text);
    assert_string_equal(text, "500P");
    format_loss(9.6018609e22, text, sizeof text);
    assert_string_equal(text, "9.6e+22");
    format_loss(0.01541, text, sizeof text);
    assert_string_equal(text, "0.0154");
    axis_label(&a, 12000, text);
    assert_string_equal(text, "12k");
    axis_label(&a, 0.5, text);
    assert_string_equal(text, "0.5");
}

static void numbers_keep_three_digits(void **state)
{
    (void)state;
    char text[32];
    format_bytes(1572864, text, sizeof text);
    assert_string_equal(text, "1.50 MiB");
    format_rate(7.7e9, text, sizeof text);
    assert_string_equal(text, "7.70 GB/s");
    format_seconds(184e-6, text, sizeof text);
    assert_string_equal(text, "184 µs");
    format_seconds(0.0032, text, sizeof text);
    assert_string_equal(text, "3.20 ms");
    format_si(3211, text, sizeof text);
    assert_string_equal(text, "3.21 k");
    format_clock(3723.9, text, sizeof text);
    assert_string_equal(text, "1:02:03");
    format_clock(34, text, sizeof text);
    assert_string_equal(text, "0:34");
    format_seconds(NAN, text, sizeof text);
    assert_string_equal(text, "-");
}

static void range_has_a_memory(void **state)
{
    (void)state;
    struct axis a = {.zero = true};
    axis_fit(&a, 0.1, 2.3);
    double hi = a.hi;
    assert_true(a.lo == 0 && hi >= 2.3 && hi <= 3);
    axis_fit(&a, 0.1, 1.9); /* fits: nothing moves */
    assert_true(a.hi == hi);
    axis_fit(&a, 0.1, 2.9); /* does not fit: at once */
    assert_true(a.hi >= 2.9);
    axis_fit(&a, 0.1, 0.5); /* most is unused: narrows */
    assert_true(a.hi < 1 && a.hi >= 0.5);
    struct axis share = {.unit = AXIS_PERCENT, .lo_limit = 0, .hi_limit = 1};
    axis_fit(&share, 0.97, 1);
    assert_true(share.hi <= 1 && share.lo <= 0.97 && share.lo > 0.9);
    axis_fit(&share, NAN, INFINITY);
    assert_true(share.hi <= 1);
}

static void filling_doubles(void **state)
{
    (void)state;
    struct axis a = {0};
    int changes = 0;
    double hi = 0;
    for (int step = 1; step <= 10000; step++) {
        axis_fit_filling(&a, 64, step);
        assert_true(a.lo == 0 && a.hi >= step);
        changes += a.hi != hi;
        hi = a.hi;
    }
    /* 64, 128, ..., 16384: a rescaling for each doubling and none between. */
    assert_int_equal(changes, 9);
    assert_float_equal(a.hi, 16384, 0);
}

static void dots_follow_unicode(void **state)
{
    (void)state;
    /* U+2800 + bits; dots 1 to 8 lie (row, column) as below, bit i for dot i + 1 (Unicode, block 2800). */
    static const int DOT[8][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}, {3, 1}};
    struct dots d;
    for (int i = 0; i < 8; i++) {
        assert_true(dots_init(&d, 1, 1, true));
        dots_set(&d, DOT[i][1], DOT[i][0], 0);
        assert_int_equal(d.bits[0], 1 << i);
        dots_set(&d, 2, 0, 0); /* outside: ignored */
        dots_set(&d, -1, 4, 0);
        assert_int_equal(d.bits[0], 1 << i);
        dots_free(&d);
    }
}

static void lines_are_whole_and_dashed(void **state)
{
    (void)state;
    struct dots d;
    int phase = 0, set = 0;
    assert_true(dots_init(&d, 1, 8, true));
    dots_line(&d, 0, 0, 15, 0, 0, (struct dash){1, 0}, &phase);
    for (int i = 0; i < 8; i++)
        set += __builtin_popcount(d.bits[i]);
    assert_int_equal(set, 16);
    dots_free(&d);
    phase = set = 0;
    assert_true(dots_init(&d, 1, 8, true));
    dots_line(&d, 0, 0, 15, 0, 0, (struct dash){2, 2}, &phase);
    for (int i = 0; i < 8; i++)
        set += __builtin_popcount(d.bits[i]);
    assert_int_equal(set, 8);
    dots_free(&d);
}

static void row_text(const struct canvas *c, int row, char *text)
{
    for (int k = 0; k < c->cols; k++) {
        uint32_t glyph = c->cells[row * c->cols + k].glyph;
        if (glyph)
            text += utf8_put(text, glyph);
    }
    *text = '\0';
}

static const double XS[] = {0, 1, 2, 3, 4}, UP[] = {0, 1, 2, 3, 4}, DOWN[] = {4, 3, 2, 1, 0};

/* A diagonal in a plot of 5 x 5 cells without Unicode: one mark a cell, from corner to corner. */
static void ascii_plot_by_hand(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 6, 12, false));
    struct axis x = {.lo = 0, .hi = 4}, y = {.lo = 0, .hi = 4};
    struct plot_series s = {.name = "a", .x = XS, .y = UP, .count = 5};
    struct plot p = {.series = &s, .count = 1, .x = &x, .y = &y};
    plot_draw(&c, canvas_whole(&c), &p);
    char text[256];
    /* 4 columns of labels, the axis, 7 columns of plot; 5 rows and the row of the x axis. */
    row_text(&c, 0, text);
    assert_string_equal(text, "   4+.   . *");
    row_text(&c, 4, text);
    assert_string_equal(text, "   0+*   .  ");
    for (int k = 1; k < 4; k++) {
        row_text(&c, 4 - k, text);
        assert_int_equal(text[5 + (int)lround(k * 6 / 4.0)], '*');
    }
    canvas_free(&c);
}

/* Series can be told apart without colour: by markers and by dashes. */
static void series_differ_without_colour(void **state)
{
    (void)state;
    for (int utf8 = 0; utf8 < 2; utf8++)
        for (int i = 0; i < PLOT_MAX_SERIES; i++)
            for (int k = 0; k < i; k++)
                assert_int_not_equal(plot_marker(i, utf8), plot_marker(k, utf8));
    struct canvas c;
    assert_true(canvas_init(&c, 12, 60, true));
    struct axis x = {.lo = 0, .hi = 4}, y = {.lo = 0, .hi = 4};
    struct plot_series s[2] = {{"up", XS, UP, 5, .points = true}, {"down", XS, DOWN, 5, .points = true}};
    struct plot p = {.series = s, .count = 2, .x = &x, .y = &y};
    plot_draw(&c, canvas_whole(&c), &p);
    int markers[2] = {0};
    for (int i = 0; i < c.rows * c.cols; i++)
        for (int k = 0; k < 2; k++)
            markers[k] += c.cells[i].glyph == plot_marker(k, true);
    /* Five samples and one in the legend, but for the one in the middle, which the other covers. */
    assert_int_equal(markers[0] + markers[1], 11);
    assert_true(markers[0] >= 5 && markers[1] >= 5);
    canvas_free(&c);
}

/* Whatever the height: where a line is level, its markers and the tick of its value lie in its row. */
static void markers_and_ticks_lie_on_the_line(void **state)
{
    (void)state;
    for (int rows = 4; rows <= 24; rows++)
        for (int value = 0; value <= 5; value++) {
            struct canvas c;
            assert_true(canvas_init(&c, rows, 60, true));
            double x[] = {0, 10, 20}, y[] = {value, value, value};
            struct axis ax = {.lo = 0, .hi = 20}, ay = {.lo = 0, .hi = 5};
            struct plot_series s = {.x = x, .y = y, .count = 3, .points = true};
            plot_draw(&c, canvas_whole(&c), &(struct plot){.series = &s, .count = 1, .x = &ax, .y = &ay});
            for (int row = 0; row < rows - 1; row++) {
                const struct cell *cells = &c.cells[row * c.cols];
                bool line = false, marker = false;
                for (int k = 5; k < c.cols; k++) {
                    line |= cells[k].glyph > 0x2800 && cells[k].glyph < 0x2900;
                    marker |= cells[k].glyph == plot_marker(0, true);
                }
                assert_int_equal(line, marker);
                if (cells[3].glyph == (uint32_t)'0' + (uint32_t)value)
                    assert_true(line);
            }
            canvas_free(&c);
        }
}

/* Whether there is a dot or a mark in a row of the inside of a plot (its axis is at column 4). */
static bool row_has_dots(const struct canvas *c, int row, int from, int to)
{
    for (int k = from; k <= to; k++) {
        uint32_t glyph = c->cells[row * c->cols + k].glyph;
        if ((glyph > 0x2800 && glyph < 0x2900) || glyph == '*')
            return true;
    }
    return false;
}

/* One sample of ten thousand is at the top and one at the bottom: both are seen, and only they. */
static void peaks_stay_visible(void **state)
{
    (void)state;
    enum { SAMPLES = 10000, COLS = 45, INSIDE = 40 };
    static double x[SAMPLES], y[SAMPLES], lo[SAMPLES / 10], hi[SAMPLES / 10], few_x[SAMPLES / 10],
        few_y[SAMPLES / 10];
    for (int i = 0; i < SAMPLES; i++) {
        x[i] = i;
        y[i] = i == 2500 ? 10 : i == 7500 ? 0 : 5;
    }
    for (int i = 0; i < SAMPLES / 10; i++) { /* the same in buckets of ten */
        few_x[i] = 10 * i + 4.5;
        lo[i] = i == 750 ? 0 : 5;
        hi[i] = i == 250 ? 10 : 5;
        few_y[i] = i == 250 ? 5.5 : i == 750 ? 4.5 : 5;
    }
    struct axis ax = {.lo = 0, .hi = SAMPLES}, ay = {.lo = 0, .hi = 10};
    const struct plot_series all = {.x = x, .y = y, .count = SAMPLES},
                             buckets = {.x = few_x, .y = few_y, .count = SAMPLES / 10, .lo = lo, .hi = hi};
    for (int utf8 = 0; utf8 < 2; utf8++) {
        struct canvas a, b;
        assert_true(canvas_init(&a, 12, COLS, utf8) && canvas_init(&b, 12, COLS, utf8));
        plot_draw(&a, canvas_whole(&a), &(struct plot){.series = &all, .count = 1, .x = &ax, .y = &ay});
        plot_draw(&b, canvas_whole(&b), &(struct plot){.series = &buckets, .count = 1, .x = &ax, .y = &ay});
        int left = COLS - INSIDE, quarter = left + INSIDE / 4;
        assert_true(row_has_dots(&a, 0, quarter - 1, quarter + 1));
        assert_false(row_has_dots(&a, 0, quarter + 3, COLS - 1));
        assert_true(row_has_dots(&a, 10, left + 3 * INSIDE / 4 - 1, left + 3 * INSIDE / 4 + 1));
        assert_false(row_has_dots(&a, 10, left, left + 3 * INSIDE / 4 - 3));
        for (int row = 0; row < 11; row += 10)
            for (int k = 0; k < COLS; k++)
                assert_int_equal(row_has_dots(&a, row, k, k), row_has_dots(&b, row, k, k));
        canvas_free(&a);
        canvas_free(&b);
    }
}

/* The cursor is a line through all rows, with a mark where the curve is; and plot_inside says where that lies. */
static void cursor_marks_the_value(void **state)
{
    (void)state;
    struct canvas c;
    double at = 2;
    assert_true(canvas_init(&c, 6, 12, false));
    struct axis x = {.lo = 0, .hi = 4}, y = {.lo = 0, .hi = 4};
    struct plot_series s = {.x = XS, .y = UP, .count = 5};
    struct plot p = {.series = &s, .count = 1, .x = &x, .y = &y, .cursor = &at};
    struct rect inside = plot_inside(canvas_whole(&c), &p);
    assert_true(inside.row == 0 && inside.rows == 5 && inside.col == 5 && inside.cols == 7);
    plot_draw(&c, canvas_whole(&c), &p);
    for (int row = 0; row < 5; row++)
        assert_int_equal(c.cells[row * c.cols + 8].glyph, row == 2 ? '*' : '|');
    assert_int_equal(plot_inside((struct rect){0, 0, 2, 5}, &p).cols, 0);
    canvas_free(&c);
}

/* What a terminal has to be sent when a sample comes: cells that differ between two drawings. */
static int changed_cells(const struct canvas *a, const struct canvas *b)
{
    int changed = 0;
    for (int i = 0; i < a->rows * a->cols; i++)
        changed += a->cells[i].glyph != b->cells[i].glyph || a->cells[i].role != b->cells[i].role;
    return changed;
}

static void a_sample_changes_few_cells(void **state)
{
    (void)state;
    enum { SAMPLES = 3000 };
    double *x = malloc(SAMPLES * sizeof *x), *y = malloc(SAMPLES * sizeof *y);
    struct canvas before, after;
    assert_true(x && y && canvas_init(&before, 12, 60, true) && canvas_init(&after, 12, 60, true));
    struct axis ax = {0}, ay = {.zero = true};
    long changed = 0;
    int rescaled = 0;
    for (int i = 0; i < SAMPLES; i++) {
        x[i] = i + 1;
        y[i] = 2.3 * exp(-i / 300.0) + 0.1 + 0.02 * sin(i * 1.3);
        double hi = ax.hi;
        axis_fit_filling(&ax, 64, x[i]);
        axis_fit(&ay, 0, 2.4);
        struct plot_series s = {.name = "loss", .x = x, .y = y, .count = i + 1};
        struct plot p = {.series = &s, .count = 1, .x = &ax, .y = &ay};
        canvas_clear(&after);
        plot_draw(&after, canvas_whole(&after), &p);
        if (i && ax.hi == hi)
            changed += changed_cells(&before, &after);
        else
            rescaled++;
        memcpy(before.cells, after.cells, (size_t)before.rows * (size_t)before.cols * sizeof *before.cells);
    }
    assert_true(rescaled <= 8);
    assert_true(changed < SAMPLES); /* on average less than a cell a sample */
    canvas_free(&before);
    canvas_free(&after);
    free(x);
    free(y);
}

static void nothing_breaks_it(void **state)
{
    (void)state;
    static const double BAD[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
    struct canvas c;
    assert_true(canvas_init(&c, 10, 40, true));
    struct axis x = {.lo = 0, .hi = 4}, y = {.lo = 0, .hi = 4}, none = {0};
    struct plot_series s = {.name = "bad", .x = XS, .y = BAD, .count = 5, .points = true, .last = true};
    struct plot p = {.series = &s, .count = 1, .x = &x, .y = &y};
    for (int rows = -1; rows < 10; rows++)
        for (int cols = -1; cols < 40; cols++)
            plot_draw(&c, (struct rect){0, 0, rows, cols}, &p);
    p.y = &none;
    plot_draw(&c, canvas_whole(&c), &p);
    p.count = 0;
    p.empty = "nothing yet";
    plot_draw(&c, canvas_whole(&c), &p);
    struct bar_part parts[2] = {{0.7, ROLE_SERIES1, 0x2588, '#'}, {NAN, ROLE_SERIES2, 0x2593, '+'}};
    bar_draw(&c, 0, 0, 40, parts, 2);
    gauge_draw(&c, 1, 0, 40, NAN, ROLE_ACCENT);
    gauge_draw(&c, 2, 0, 40, 7, ROLE_ACCENT);
    assert_int_equal(c.cells[2 * c.cols + 39].glyph, 0x2588);
    canvas_free(&c);
}

static void bars_add_up(void **state)
{
    (void)state;
    struct canvas c;
    assert_true(canvas_init(&c, 2, 10, false));
    struct bar_part parts[3] = {
        {0.5, ROLE_SERIES1, 0x2588, '#'}, {0.3, ROLE_SERIES2, 0x2593, '+'}, {0.2, ROLE_SERIES3, 0x2592, ':'}};
    bar_draw(&c, 0, 0, 10, parts, 3);
    gauge_draw(&c, 1, 0, 10, 0.5, ROLE_ACCENT);
    char text[64];
    row_text(&c, 0, text);
    assert_string_equal(text, "#####+++::");
    row_text(&c, 1, text);
    assert_string_equal(text, "#####.....");
    canvas_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(labels_have_units),
        cmocka_unit_test(numbers_keep_three_digits),
        cmocka_unit_test(range_has_a_memory),
        cmocka_unit_test(filling_doubles),
        cmocka_unit_test(dots_follow_unicode),
        cmocka_unit_test(lines_are_whole_and_dashed),
        cmocka_unit_test(ascii_plot_by_hand),
        cmocka_unit_test(series_differ_without_colour),
        cmocka_unit_test(markers_and_ticks_lie_on_the_line),
        cmocka_unit_test(a_sample_changes_few_cells),
        cmocka_unit_test(peaks_stay_visible),
        cmocka_unit_test(cursor_marks_the_value),
        cmocka_unit_test(nothing_breaks_it),
        cmocka_unit_test(bars_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
