/* Samples taken in from events: sizes that lie, bytes that are none, texts that would steer a terminal. */
#include "engine/base/event.h"
#include "tui/sample_view.h"
#include "tui/theme.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool parse(struct sample *s, const char *line)
{
    json_t *event = event_parse(line, strlen(line));
    assert_non_null(event);
    bool ok = sample_parse(s, event, 77);
    json_decref(event);
    return ok;
}

static void an_image_keeps_its_bytes(void **state)
{
    (void)state;
    struct sample s;
    assert_true(parse(&s,
                      "{\"ev\":\"sample\",\"kind\":\"image\",\"rows\":2,\"cols\":3,\"data\":\"00ff10Ab0102\","
                      "\"label\":3,\"predicted\":\"5\",\"probability\":0.25}"));
    const unsigned char bytes[] = {0, 255, 16, 171, 1, 2};
    assert_non_null(s.bytes);
    assert_memory_equal(s.bytes, bytes, sizeof bytes);
    assert_int_equal(s.step, 77);
    assert_true(sample_judged(&s));
    assert_false(sample_right(&s));
    assert_string_equal(s.label, "3");
    sample_free(&s);
}

static void sizes_that_do_not_fit_show_nothing(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"ev\":\"sample\",\"rows\":2,\"cols\":2,\"data\":\"00ff\"}",
        "{\"ev\":\"sample\",\"rows\":1,\"cols\":2,\"data\":\"0Zff\"}",
        "{\"ev\":\"sample\",\"rows\":-1,\"cols\":-4,\"data\":\"00ff0000\"}",
        "{\"ev\":\"sample\",\"rows\":1000000,\"cols\":1000000,\"data\":\"00\"}",
        "{\"ev\":\"sample\",\"channels\":2,\"rows\":1,\"cols\":1,\"data\":\"0000\"}",
        "{\"ev\":\"sample\",\"kind\":\"feature_map\",\"channels\":65536,\"rows\":65536,\"cols\":1,\"data\":"
        "\"00\"}",
        "{\"ev\":\"sample\",\"kind\":\"gate\",\"units\":1,\"steps\":1,\"gates\":[1,2,3,4,5,6,7,8,9],\"data\":"
        "\"00\"}",
        "{\"ev\":\"sample\",\"kind\":\"gate\",\"units\":1,\"steps\":1,\"gates\":\"i\",\"data\":\"00\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct sample s;
        assert_true(parse(&s, lines[i]));
        assert_null(s.bytes);
        /* And whatever it is, it can be drawn. */
        struct canvas c;
        assert_true(canvas_init(&c, 24, 80, true));
        samples_draw(&c, canvas_whole(&c), &s, 1, &(struct sample_choice){0});
        canvas_free(&c);
        sample_free(&s);
    }
    struct sample s;
    assert_false(parse(&s, "{\"ev\":\"sample\",\"kind\":\"smell\"}"));
}

static void gates_have_their_scales(void **state)
{
    (void)state;
    struct sample s;
    assert_true(parse(
        &s, "{\"ev\":\"sample\",\"kind\":\"gate\",\"units\":2,\"of\":8,\"steps\":3,\"token\":\"character\","
            "\"tokens\":\"a\\u001bc\",\"gates\":[{\"name\":\"input\",\"lo\":0,\"hi\":1},"
            "{\"name\":\"cell\",\"lo\":-2,\"hi\":2}],\"data\":\"000102030405060708090a0b\"}"));
    assert_non_null(s.bytes);
    assert_int_equal(s.channels, 2);
    assert_int_equal(s.bytes[6], 6);
    assert_true(s.lo[1] == -2 && s.hi[1] == 2);
    assert_true(s.characters);
    assert_string_equal(s.text, "a\xef\xbf\xbd"
                                "c");
    sample_free(&s);
}

/* Whatever bytes a text has, none of what comes out steers: no C0, DEL, C1, no mark of direction. */
static void nothing_steers_the_terminal(void **state)
{
    (void)state;
    char text[4096];
    size_t used = 0;
    for (int byte = 1; byte < 256; byte++)
        text[used++] = (char)byte;
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "\x1b[2J\x1b]0;x\x07\xc2\x9b"
                             "31m\xe2\x80\xae \xe2\x81\xa6\xef\xbb\xbf");
    char *clean = sample_clean(text, sizeof text, true);
    assert_non_null(clean);
    const char *at = clean;
    for (uint32_t glyph; (glyph = utf8_next(&at));) {
        assert_true(glyph == '\n' || glyph >= 32);
        assert_false(glyph >= 127 && glyph < 160);
        assert_false(glyph >= 0x200b && glyph <= 0x200f);
        assert_false(glyph >= 0x2028 && glyph <= 0x202e);
        assert_false(glyph >= 0x2060 && glyph <= 0x206f);
    }
    free(clean);
    clean = sample_clean("a\nb\tc", 100, false);
    assert_string_equal(clean, "a b c");
    free(clean);
    clean = sample_clean("\xe2\x82\xac\xe2\x82\xac", 3, true); /* cut between characters, never within one */
    assert_string_equal(clean, "\xe2\x82\xac");
    free(clean);
}

static void groups_are_by_kind_and_step(void **state)
{
    (void)state;
    struct sample list[] = {
        {.kind = SAMPLE_IMAGE, .step = 1}, {.kind = SAMPLE_IMAGE, .step = 1},
        {.kind = SAMPLE_TEXT, .step = 1},  {.kind = SAMPLE_IMAGE, .step = 2},
        {.kind = SAMPLE_TEXT, .step = 2},  {.kind = SAMPLE_IMAGE, .step = 2},
        {.kind = SAMPLE_IMAGE, .step = 2},
    };
    enum { COUNT = sizeof list / sizeof *list };
    struct sample_group g = sample_group(list, COUNT, SAMPLE_IMAGE, 0);
    assert_int_equal(g.count, 3);
    assert_int_equal(g.step, 2);
    assert_int_equal(g.evaluation, 2);
    assert_int_equal(g.evaluations, 2);
    free(g.list);
    g = sample_group(list, COUNT, SAMPLE_IMAGE, 99);
    assert_int_equal(g.count, 2);
    assert_int_equal(g.step, 1);
    free(g.list);
    g = sample_group(list, COUNT, SAMPLE_GATES, 0);
    assert_int_equal(g.count, 0);
    assert_null(g.list);
    struct sample_choice choice = {.kind = SAMPLE_GATES};
    sample_choose_kind(&choice, list, COUNT, 1); /* what is shown is images: the next are texts */
    assert_int_equal(choice.kind, SAMPLE_TEXT);
    sample_choose_kind(&choice, list, COUNT, 1);
    assert_int_equal(choice.kind, SAMPLE_IMAGE);
    sample_choose_evaluation(&choice, list, COUNT, -1);
    sample_choose_evaluation(&choice, list, COUNT, -1);
    assert_int_equal(choice.back, 1);
}

/* A picture of 4 × 4 in four half blocks is itself; shades and dots follow how light it is. */
static void pictures_show_their_pixels(void **state)
{
    (void)state;
    unsigned char bytes[16] = {0};
    bytes[0] = 255; /* the upper left pixel */
    struct picture p = {bytes, 1, 4, 4, PALETTE_GREY};
    struct canvas c;
    assert_true(canvas_init(&c, 2, 4, true));
    c.pixels = true;
    picture_draw(&c, canvas_whole(&c), &p, PICTURE_BEST);
    assert_int_equal(c.cells[0].glyph, 0x2584);
    assert_int_equal(c.cells[0].bg, CELL_COLOUR | 0xffffff); /* the upper half shows the background */
    assert_int_equal(c.cells[0].fg, CELL_COLOUR | 0x000000);
    assert_int_equal(c.cells[1].bg, CELL_COLOUR);
    picture_draw(&c, canvas_whole(&c), &p, PICTURE_DOTS);
    assert_int_equal(c.cells[0].glyph, 0x2800 + 0x1b); /* a pixel is 2 × 2 dots */
    assert_int_equal(c.cells[1].glyph, ' ');
    memset(bytes, 255, sizeof bytes);
    picture_draw(&c, canvas_whole(&c), &p, PICTURE_SHADES);
    assert_int_equal(c.cells[5].glyph, 0x2588);
    c.utf8 = false;
    picture_draw(&c, canvas_whole(&c), &p, PICTURE_SHADES);
    assert_int_equal(c.cells[5].glyph, '@');
    canvas_free(&c);
}

/* Of the 256 colours' fixed part: cube 16 + 36 r + 6 g + b, ramp 232 + i of grey 8 + 10 i. */
static void colours_are_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(theme_colour(0x000000, DEPTH_256), 16);
    assert_int_equal(theme_colour(0xffffff, DEPTH_256), 231);
    assert_int_equal(theme_colour(0xff0000, DEPTH_256), 196);
    assert_int_equal(theme_colour(0x121212, DEPTH_256), 233);
    assert_int_equal(theme_colour(0x808080, DEPTH_256), 244);
    assert_int_equal(theme_colour(0x123456, DEPTH_TRUE), 0x123456);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_keeps_its_bytes),    cmocka_unit_test(sizes_that_do_not_fit_show_nothing),
        cmocka_unit_test(gates_have_their_scales),     cmocka_unit_test(nothing_steers_the_terminal),
        cmocka_unit_test(groups_are_by_kind_and_step), cmocka_unit_test(pictures_show_their_pixels),
        cmocka_unit_test(colours_are_the_nearest),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
