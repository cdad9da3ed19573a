/*
 * Themes: every text is readable on its background. The contrast of two colours is that of the W3C's Web Content
 * Accessibility Guidelines 2.2 ("contrast ratio", "relative luminance"), worked out here; the colours of the 256 are
 * those of xterm's cube and grey ramp.
 */
#include "tui/theme.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static double channel(int value)
{
    double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(int rgb)
{
    return 0.2126 * channel(rgb >> 16 & 255) + 0.7152 * channel(rgb >> 8 & 255) + 0.0722 * channel(rgb & 255);
}

static double contrast(int a, int b)
{
    double la = luminance(a), lb = luminance(b);
    return la > lb ? (la + 0.05) / (lb + 0.05) : (lb + 0.05) / (la + 0.05);
}

static int rgb_of(int colour, enum depth depth)
{
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    if (depth == DEPTH_TRUE)
        return colour;
    assert_in_range(colour, 16, 255); /* the first sixteen are whatever the terminal makes of them */
    if (colour >= 232)
        return (8 + 10 * (colour - 232)) * 0x010101;
    colour -= 16;
    return levels[colour / 36] << 16 | levels[colour / 6 % 6] << 8 | levels[colour % 6];
}

static void test_the_formula_gives_what_the_guidelines_say(void **state)
{
    (void)state;
    assert_true(fabs(contrast(0xffffff, 0x000000) - 21) < 1e-9);
    assert_true(fabs(contrast(0x777777, 0xffffff) - 4.48) < 0.01); /* the well-known grey that just fails */
    assert_true(fabs(contrast(0x767676, 0xffffff) - 4.54) < 0.01); /* and the one that passes */
    assert_int_equal(rgb_of(208, DEPTH_256), 0xff8700);
}

static const char *const role_names[ROLE_COUNT] = {
    "text",   "muted", "title", "accent",  "good",    "warn",    "bad",     "code",    "key",
    "select", "line",  "bar",   "series1", "series2", "series3", "series4", "series5", "series6",
};

static void every_role(enum theme theme, enum depth depth, double least, double border)
{
    struct look look = {theme, true};
    double worst = 21;
    for (int role = 0; role < ROLE_COUNT; role++) {
        struct style style = theme_style((enum role)role, depth, look);
        double ratio = contrast(rgb_of(style.fg, depth), rgb_of(style.bg, depth));
        double wanted = role == ROLE_BORDER ? border : least;
        if (ratio < wanted)
            fail_msg("theme %d, depth %d: %s has a contrast of %.2f, less than %.1f", theme, depth,
                     role_names[role], ratio, wanted);
        if (role != ROLE_BORDER && ratio < worst)
            worst = ratio;
    }
    printf("# theme %d, depth %d: at least %.2f : 1\n", theme, depth, worst);
}

static void test_text_is_readable_in_every_theme(void **state)
{
    (void)state;
    static const enum depth depths[] = {DEPTH_256, DEPTH_TRUE};
    for (size_t i = 0; i < 2; i++) {
        /* Lines around panels only divide; in the high-contrast theme they are as clear as text. */
        every_role(THEME_DARK, depths[i], 4.5, 2);
        every_role(THEME_LIGHT, depths[i], 4.5, 1.5);
        every_role(THEME_CONTRAST, depths[i], 7, 7);
    }
}

/* Where the terminal's own background stays, text must be readable on what usual terminals have there. */
static void test_colours_suit_usual_backgrounds(void **state)
{
    (void)state;
    static const int dark[] = {0x000000, 0x1e1e1e, 0x002b36, 0x282c34}, light[] = {0xffffff, 0xfdf6e3};
    static const enum depth depths[] = {DEPTH_256, DEPTH_TRUE};
    for (size_t d = 0; d < 2; d++)
        for (int role = 0; role < ROLE_COUNT; role++) {
            if (role == ROLE_BORDER || role == ROLE_SELECTED || role == ROLE_BAR || role == ROLE_TEXT)
                continue;
            struct style on_dark = theme_style((enum role)role, depths[d], (struct look){THEME_DARK, false});
            struct style on_light =
                theme_style((enum role)role, depths[d], (struct look){THEME_LIGHT, false});
            assert_int_equal(on_dark.bg, -1);
            assert_int_equal(on_light.bg, -1);
            for (size_t i = 0; i < sizeof dark / sizeof *dark; i++)
                if (contrast(rgb_of(on_dark.fg, depths[d]), dark[i]) < 4.5)
                    fail_msg("%s on #%06x: %.2f", role_names[role], (unsigned)dark[i],
                             contrast(rgb_of(on_dark.fg, depths[d]), dark[i]));
            for (size_t i = 0; i < sizeof light / sizeof *light; i++)
                if (contrast(rgb_of(on_light.fg, depths[d]), light[i]) < 4.3)
                    fail_msg("%s on #%06x: %.2f", role_names[role], (unsigned)light[i],
                             contrast(rgb_of(on_light.fg, depths[d]), light[i]));
        }
}

/* Without colours the selection and the states that matter are still marked. */
static void test_attributes_stand_in_for_colours(void **state)
{
    (void)state;
    static const enum theme themes[] = {THEME_DARK, THEME_LIGHT, THEME_CONTRAST};
    for (size_t i = 0; i < 3; i++)
        for (int painted = 0; painted < 2; painted++) {
            struct look look = {themes[i], painted};
            struct style style = theme_style(ROLE_SELECTED, DEPTH_NONE, look);
            assert_int_equal(style.fg, -1);
            assert_int_equal(style.bg, -1);
            assert_int_equal(style.attributes, ATTR_REVERSE);
            assert_int_equal(theme_style(ROLE_BAD, DEPTH_NONE, look).attributes, ATTR_BOLD);
            for (int role = 0; role < ROLE_COUNT; role++) {
                style = theme_style((enum role)role, DEPTH_8, look);
                assert_in_range(style.fg + 1, painted,
                                8); /* -1: the terminal's own, where nothing is painted */
                assert_in_range(style.bg + 1, painted, 8);
                assert_true(style.fg != style.bg || style.fg < 0);
            }
        }
}

static void test_a_theme_is_chosen_by_the_environment_first(void **state)
{
    (void)state;
    unsetenv("RINGSIDE_THEME");
    unsetenv("COLORFGBG");
    assert_int_equal(theme_look(THEME_AUTO).theme, THEME_DARK);
    assert_false(theme_look(THEME_AUTO).painted);
    setenv("COLORFGBG", "0;15", 1);
    assert_int_equal(theme_look(THEME_AUTO).theme, THEME_LIGHT);
    assert_false(theme_look(THEME_AUTO).painted);
    assert_int_equal(theme_look(THEME_DARK).theme, THEME_DARK);
    assert_true(theme_look(THEME_DARK).painted);
    setenv("RINGSIDE_THEME", "contrast", 1);
    assert_int_equal(theme_look(THEME_LIGHT).theme, THEME_CONTRAST);
    setenv("RINGSIDE_THEME", "nonsense", 1);
    assert_int_equal(theme_look(THEME_LIGHT).theme, THEME_LIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_formula_gives_what_the_guidelines_say),
        cmocka_unit_test(test_text_is_readable_in_every_theme),
        cmocka_unit_test(test_colours_suit_usual_backgrounds),
        cmocka_unit_test(test_attributes_stand_in_for_colours),
        cmocka_unit_test(test_a_theme_is_chosen_by_the_environment_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
