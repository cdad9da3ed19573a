/*
 * theme.c - the palette.
 *
 * The 256-colour values are of the fixed colour cube and grey ramp (16..255), which every terminal shows
 * alike; the true-colour ones are the same hues, tuned. Backgrounds are used for the bar and the selection
 * only.
 */
#include "tui/theme.h"

#include <stdlib.h>
#include <string.h>

struct look {
    struct style dark, light; /* 256 colours */
    int dark_rgb, dark_rgb_bg, light_rgb, light_rgb_bg;
    struct style eight, none;
};

static const struct look looks[ROLE_COUNT] = {
    [ROLE_TEXT] = {{-1, -1, 0}, {-1, -1, 0}, -1, -1, -1, -1, {-1, -1, 0}, {-1, -1, 0}},
    [ROLE_MUTED] = {{247, -1, 0}, {241, -1, 0}, 0x9aa4ae, -1, 0x5f6770, -1, {-1, -1, 0}, {-1, -1, 0}},
    [ROLE_TITLE] =
        {{230, -1, 0}, {18, -1, 0}, 0xf5ecd2, -1, 0x1d3461, -1, {-1, -1, ATTR_BOLD}, {-1, -1, ATTR_BOLD}},
    [ROLE_ACCENT] = {{80, -1, 0}, {30, -1, 0}, 0x5ccfd6, -1, 0x0b7a85, -1, {6, -1, 0}, {-1, -1, ATTR_BOLD}},
    [ROLE_GOOD] = {{114, -1, 0}, {28, -1, 0}, 0x86d889, -1, 0x1f7a2e, -1, {2, -1, 0}, {-1, -1, 0}},
    [ROLE_WARN] = {{221, -1, 0}, {130, -1, 0}, 0xf5cf62, -1, 0x9a5b00, -1, {3, -1, 0}, {-1, -1, ATTR_BOLD}},
    [ROLE_BAD] =
        {{210, -1, 0}, {160, -1, 0}, 0xff8080, -1, 0xc62828, -1, {1, -1, ATTR_BOLD}, {-1, -1, ATTR_BOLD}},
    [ROLE_CODE] = {{187, -1, 0}, {94, -1, 0}, 0xdfd0a5, -1, 0x7a4a12, -1, {3, -1, 0}, {-1, -1, 0}},
    [ROLE_KEY] = {{80, -1, 0}, {30, -1, 0}, 0x5ccfd6, -1, 0x0b7a85, -1, {6, -1, 0}, {-1, -1, ATTR_BOLD}},
    [ROLE_SELECTED] = {{255, 24, 0},
                       {16, 153, 0},
                       0xffffff,
                       0x1f4e6e,
                       0x000000,
                       0xb5d8f0,
                       {-1, -1, ATTR_REVERSE},
                       {-1, -1, ATTR_REVERSE}},
    [ROLE_BORDER] = {{240, -1, 0}, {249, -1, 0}, 0x56606b, -1, 0xaab2ba, -1, {-1, -1, 0}, {-1, -1, 0}},
    [ROLE_BAR] = {{253, 237, 0},
                  {235, 254, 0},
                  0xe2e6ea,
                  0x2b333c,
                  0x22282e,
                  0xe3e7eb,
                  {-1, -1, ATTR_REVERSE},
                  {-1, -1, ATTR_REVERSE}},
    [ROLE_SERIES1] = {{80, -1, 0}, {30, -1, 0}, 0x5ccfd6, -1, 0x0b7a85, -1, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_SERIES2] = {{215, -1, 0}, {166, -1, 0}, 0xffb05c, -1, 0xc25400, -1, {3, -1, 0}, {-1, -1, 0}},
    [ROLE_SERIES3] = {{111, -1, 0}, {26, -1, 0}, 0x8ab4ff, -1, 0x2257c4, -1, {4, -1, ATTR_BOLD}, {-1, -1, 0}},
    [ROLE_SERIES4] = {{176, -1, 0}, {127, -1, 0}, 0xdd8edd, -1, 0x9c2a9c, -1, {5, -1, 0}, {-1, -1, 0}},
    [ROLE_SERIES5] = {{150, -1, 0}, {64, -1, 0}, 0xb3d98a, -1, 0x4a7a12, -1, {2, -1, 0}, {-1, -1, 0}},
    [ROLE_SERIES6] = {{224, -1, 0}, {52, -1, 0}, 0xf7d3d0, -1, 0x6e1f1a, -1, {7, -1, 0}, {-1, -1, 0}},
};

struct style theme_style(enum role role, enum depth depth, bool light)
{
    const struct look *look = &looks[role];
    if (depth == DEPTH_NONE)
        return look->none;
    if (depth == DEPTH_8)
        return look->eight;
    struct style style = light ? look->light : look->dark;
    if (depth == DEPTH_TRUE) {
        style.fg = light ? look->light_rgb : look->dark_rgb;
        style.bg = light ? look->light_rgb_bg : look->dark_rgb_bg;
    }
    return style;
}

static int distance(uint32_t rgb, int r, int g, int b)
{
    int dr = (int)(rgb >> 16 & 255) - r, dg = (int)(rgb >> 8 & 255) - g, db = (int)(rgb & 255) - b;
    return dr * dr + dg * dg + db * db;
}

int theme_colour(uint32_t rgb, enum depth depth)
{
    static const int levels[6] = {0, 95, 135, 175, 215, 255};
    if (depth == DEPTH_TRUE)
        return (int)(rgb & 0xffffff);
    int at[3];
    for (int i = 0; i < 3; i++) {
        int value = rgb >> (16 - 8 * i) & 255;
        at[i] = 0;
        for (int k = 1; k < 6; k++)
            if (abs(levels[k] - value) < abs(levels[at[i]] - value))
                at[i] = k;
    }
    int mean = (int)((rgb >> 16 & 255) + (rgb >> 8 & 255) + (rgb & 255)) / 3;
    int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    int ramp = 8 + 10 * grey;
    if (distance(rgb, ramp, ramp, ramp) < distance(rgb, levels[at[0]], levels[at[1]], levels[at[2]]))
        return 232 + grey;
    return 16 + 36 * at[0] + 6 * at[1] + at[2];
}

bool theme_light(void)
{
    const char *theme = getenv("RINGSIDE_THEME"), *colours = getenv("COLORFGBG");
    if (theme && *theme)
        return !strcmp(theme, "light");
    const char *background = colours ? strrchr(colours, ';') : NULL;
    return background && (!strcmp(background, ";7") || !strcmp(background, ";15"));
}
