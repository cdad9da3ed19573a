/*
 * The cursor and the part of a run that is shown: zooming around the cursor, moving on, and the mouse.
 */
#include "tui/run_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A run of 1000 steps that has done 800 of them. */
static void make(struct run_view *v)
{
    *v = (struct run_view){0};
    run_model_init(&v->m);
    char line[96];
    for (int i = 1; i <= 800; i++) {
        snprintf(line, sizeof line, "{\"t\":%d,\"ev\":\"step\",\"step\":%d,\"loss\":%d}", i, i, i);
        assert_true(run_model_apply_line(&v->m, line, strlen(line)));
    }
    v->m.total_steps = 1000;
}

static void zoom_goes_around_the_cursor(void **state)
{
    (void)state;
    struct run_view v;
    make(&v);
    v.has_cursor = true;
    v.cursor = 400;
    run_zoom(&v, 0.5);
    assert_true(v.zoomed);
    assert_float_equal(v.from, 200, 1e-9); /* 400 stays at two fifths */
    assert_float_equal(v.to, 700, 1e-9);
    run_zoom(&v, 0.5);
    assert_float_equal(v.from, 300, 1e-9);
    assert_float_equal(v.to, 550, 1e-9);
    for (int i = 0; i < 20; i++)
        run_zoom(&v, 0.5);
    assert_float_equal((v.to - v.from), 8, 1e-9); /* no closer than this */
    assert_true(v.from <= 400 && v.to >= 400);
    for (int i = 0; i < 20; i++)
        run_zoom(&v, 2);
    assert_false(v.zoomed);
    run_model_free(&v.m);
}

static void panning_stays_inside(void **state)
{
    (void)state;
    struct run_view v;
    make(&v);
    run_pan(&v, 1); /* nothing is zoomed: nothing moves */
    assert_false(v.zoomed);
    v.has_cursor = true;
    v.cursor = 500;
    run_zoom(&v, 0.1); /* 450..550 */
    assert_float_equal(v.from, 450, 1e-9);
    run_pan(&v, 0.5);
    assert_float_equal(v.from, 500, 1e-9);
    run_pan(&v, -100);
    assert_float_equal(v.from, 0, 1e-9);
    run_pan(&v, 100);
    assert_float_equal(v.to, 1000, 1e-9);
    run_model_free(&v.m);
}

static void the_cursor_takes_the_part_along(void **state)
{
    (void)state;
    struct run_view v;
    make(&v);
    run_move_cursor(&v, -0.01); /* the first key puts it on the newest step */
    assert_float_equal(v.cursor, 800, 0);
    run_move_cursor(&v, -0.01);
    assert_float_equal(v.cursor, 790, 0);
    run_zoom(&v, 0.1);
    double width = v.to - v.from;
    for (int i = 0; i < 200; i++)
        run_move_cursor(&v, -0.1);
    assert_true(v.cursor >= v.from && v.cursor <= v.to);
    assert_float_equal(v.cursor, 1, 0); /* no step before the first */
    for (int i = 0; i < 200; i++)
        run_move_cursor(&v, 0.1);
    assert_float_equal(v.cursor, 800, 0); /* nor behind the newest */
    assert_float_equal((v.to - v.from), width, 1e-9);
    run_model_free(&v.m);
}

static void the_mouse_finds_its_step(void **state)
{
    (void)state;
    struct run_view v;
    make(&v);
    assert_false(run_click(&v, 5, 20, 0)); /* nothing has been drawn */
    v.plots[0] = (struct rect){2, 10, 10, 101};
    v.plot_count = 1;
    run_fit_steps(&v);
    assert_false(run_click(&v, 1, 20, 0));
    assert_true(run_click(&v, 2, 20, 0));
    assert_float_equal(v.cursor, 100, 0); /* a tenth of 0..1000 */
    assert_true(run_click(&v, 11, 110, 0));
    assert_float_equal(v.cursor, 800, 0); /* nothing is there yet: the newest */
    assert_true(run_click(&v, 2, 60, 0.5));
    assert_true(v.zoomed && v.cursor == 500 && v.from == 250 && v.to == 750);
    run_model_free(&v.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoom_goes_around_the_cursor),
        cmocka_unit_test(panning_stays_inside),
        cmocka_unit_test(the_cursor_takes_the_part_along),
        cmocka_unit_test(the_mouse_finds_its_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
