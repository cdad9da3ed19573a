/*
 * theme.c - the palette.
 *
 * The 256-colour values are of the fixed colour cube and grey ramp (16..255), which every terminal shows
 * alike; the true-colour ones are the same hues, tuned. Backgrounds are used for the bar and the selection
 * only, and for the page where the theme paints one. Text has a contrast of at least 4.5 : 1 to its background, 7 : 1
 * in the high-contrast theme, whose borders have that too (W3C, Web Content Accessibility Guidelines 2.2, 1.4.3 and
 * 1.4.6); tests/unit/tui/test_theme.c computes it.
 */
#include "tui/theme.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 3 }; /* dark, light, high contrast */

struct tint {
    short index[LOOKS]; /* of 256 */
    int rgb[LOOKS];
};

/* The page's background; its text is ROLE_TEXT's. */
static const struct tint page = {{234, 231, 16}, {0x161a1f, 0xffffff, 0x000000}};

static const struct tint inks[ROLE_COUNT] = {
    [ROLE_TEXT] = {{253, 234, 231}, {0xdde1e5, 0x1d2329, 0xffffff}},
    [ROLE_MUTED] = {{247, 241, 253}, {0x9aa4ae, 0x5f6770, 0xd8dde2}},
    [ROLE_TITLE] = {{230, 18, 231}, {0xf5ecd2, 0x1d3461, 0xffffff}},
    [ROLE_ACCENT] = {{80, 24, 123}, {0x5ccfd6, 0x0b6f7a, 0x7df3ff}},
    [ROLE_GOOD] = {{114, 22, 120}, {0x86d889, 0x1c6f2a, 0x8dff8d}},
    [ROLE_WARN] = {{221, 94, 227}, {0xf5cf62, 0x8a5200, 0xffee55}},
    [ROLE_BAD] = {{210, 124, 217}, {0xff8080, 0xb71c1c, 0xffb0b0}},
    [ROLE_CODE] = {{187, 58, 229}, {0xdfd0a5, 0x6d4210, 0xfff3b8}},
    [ROLE_KEY] = {{80, 24, 123}, {0x5ccfd6, 0x0b6f7a, 0x7df3ff}},
    [ROLE_SELECTED] = {{255, 16, 16}, {0xffffff, 0x000000, 0x000000}},
    [ROLE_BORDER] = {{240, 249, 250}, {0x56606b, 0xaab2ba, 0xbcc4cc}},
    [ROLE_BAR] = {{253, 235, 16}, {0xe2e6ea, 0x22282e, 0x000000}},
    [ROLE_SERIES1] = {{80, 24, 51}, {0x5ccfd6, 0x0b6f7a, 0x40f0ff}},
    [ROLE_SERIES2] = {{215, 130, 214}, {0xffb05c, 0xb04a00, 0xffb347}},
    [ROLE_SERIES3] = {{111, 26, 153}, {0x8ab4ff, 0x2257c4, 0xa9cdff}},
    [ROLE_SERIES4] = {{176, 90, 219}, {0xdd8edd, 0x8e258e, 0xffa6ff}},
    [ROLE_SERIES5] = {{150, 58, 120}, {0xb3d98a, 0x46730f, 0xa8ff7a}},
    [ROLE_SERIES6] = {{224, 52, 231}, {0xf7d3d0, 0x6e1f1a, 0xffffff}},
};

static const struct tint selection = {{24, 153, 227}, {0x1f4e6e, 0xb5d8f0, 0xffee55}};
static const struct tint bar = {{237, 254, 231}, {0x2b333c, 0xe3e7eb, 0xffffff}};

/* Eight colours: their shades are the terminal's, so only some of them can be trusted upon each background. */
struct plain {
    signed char fg, bg, attributes;
};
static const struct plain eight_dark[ROLE_COUNT] = {
    [ROLE_TEXT] = {-1, -1, 0},
    [ROLE_MUTED] = {-1, -1, 0},
    [ROLE_TITLE] = {-1, -1, ATTR_BOLD},
    [ROLE_ACCENT] = {6, -1, 0},
    [ROLE_GOOD] = {2, -1, 0},
    [ROLE_WARN] = {3, -1, 0},
    [ROLE_BAD] = {1, -1, ATTR_BOLD},
    [ROLE_CODE] = {3, -1, 0},
    [ROLE_KEY] = {6, -1, 0},
    [ROLE_SELECTED] = {-1, -1, ATTR_REVERSE},
    [ROLE_BORDER] = {-1, -1, 0},
    [ROLE_BAR] = {-1, -1, ATTR_REVERSE},
    [ROLE_SERIES1] = {6, -1, 0},
    [ROLE_SERIES2] = {3, -1, 0},
    [ROLE_SERIES3] = {4, -1, ATTR_BOLD},
    [ROLE_SERIES4] = {5, -1, 0},
    [ROLE_SERIES5] = {2, -1, 0},
    [ROLE_SERIES6] = {7, -1, 0},
};
static const struct plain eight_light[ROLE_COUNT] = {
    [ROLE_TEXT] = {-1, -1, 0},         [ROLE_MUTED] = {-1, -1, 0},
    [ROLE_TITLE] = {4, -1, ATTR_BOLD}, [ROLE_ACCENT] = {4, -1, 0},
    [ROLE_GOOD] = {-1, -1, 0},         [ROLE_WARN] = {5, -1, 0},
    [ROLE_BAD] = {1, -1, ATTR_BOLD},   [ROLE_CODE] = {4, -1, 0},
    [ROLE_KEY] = {4, -1, 0},           [ROLE_SELECTED] = {-1, -1, ATTR_REVERSE},
    [ROLE_BORDER] = {-1, -1, 0},       [ROLE_BAR] = {-1, -1, ATTR_REVERSE},
    [ROLE_SERIES1] = {4, -1, 0},       [ROLE_SERIES2] = {1, -1, 0},
    [ROLE_SERIES3] = {5, -1, 0},       [ROLE_SERIES4] = {-1, -1, ATTR_BOLD},
    [ROLE_SERIES5] = {2, -1, 0},       [ROLE_SERIES6] = {0, -1, 0},
};
/* White on black, brightened; what is bad is white on red. */
static const struct plain eight_contrast[ROLE_COUNT] = {
    [ROLE_TEXT] = {7, 0, ATTR_BOLD},    [ROLE_MUTED] = {7, 0, 0},
    [ROLE_TITLE] = {7, 0, ATTR_BOLD},   [ROLE_ACCENT] = {6, 0, ATTR_BOLD},
    [ROLE_GOOD] = {2, 0, ATTR_BOLD},    [ROLE_WARN] = {3, 0, ATTR_BOLD},
    [ROLE_BAD] = {7, 1, ATTR_BOLD},     [ROLE_CODE] = {3, 0, ATTR_BOLD},
    [ROLE_KEY] = {6, 0, ATTR_BOLD},     [ROLE_SELECTED] = {0, 3, 0},
    [ROLE_BORDER] = {7, 0, 0},          [ROLE_BAR] = {0, 7, 0},
    [ROLE_SERIES1] = {6, 0, ATTR_BOLD}, [ROLE_SERIES2] = {3, 0, ATTR_BOLD},
    [ROLE_SERIES3] = {6, 0, 0},         [ROLE_SERIES4] = {5, 0, ATTR_BOLD},
    [ROLE_SERIES5] = {2, 0, ATTR_BOLD}, [ROLE_SERIES6] = {7, 0, ATTR_BOLD},
};

/* No colour at all: what matters most is bold or reversed. */
static int attributes_alone(enum role role)
{
    switch (role) {
    case ROLE_TITLE:
    case ROLE_ACCENT:
    case ROLE_WARN:
    case ROLE_BAD:
    case ROLE_KEY: return ATTR_BOLD;
    case ROLE_SELECTED:
    case ROLE_BAR: return ATTR_REVERSE;
    default: return 0;
    }
}

static struct style style_of_eight(enum role role, struct look look)
{
    const struct plain *p = look.theme == THEME_CONTRAST ? &eight_contrast[role]
                            : look.theme == THEME_LIGHT  ? &eight_light[role]
                                                         : &eight_dark[role];
    struct style style = {p->fg, p->bg, p->attributes};
    bool light = look.theme == THEME_LIGHT;
    if (look.painted && style.fg < 0)
        style.fg = light ? 0 : 7;
    if (look.painted && style.bg < 0)
        style.bg = light ? 7 : 0;
    return style;
}

struct style theme_style(enum role role, enum depth depth, struct look look)
{
    if (depth == DEPTH_NONE)
        return (struct style){-1, -1, attributes_alone(role)};
    if (depth == DEPTH_8)
        return style_of_eight(role, look);
    int n = look.theme == THEME_CONTRAST ? 2 : look.theme == THEME_LIGHT;
    const struct tint *behind = role == ROLE_SELECTED ? &selection
                                : role == ROLE_BAR    ? &bar
                                : look.painted        ? &page
                                                      : NULL;
    const struct tint *ink = role == ROLE_TEXT && !look.painted ? NULL : &inks[role];
    bool exact = depth == DEPTH_TRUE;
    return (struct style){.fg = !ink    ? -1
                                : exact ? ink->rgb[n]
                                        : ink->index[n],
                          .bg = !behind ? -1
                                : exact ? behind->rgb[n]
                                        : behind->index[n]};
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

static bool background_light(void)
{
    const char *colours = getenv("COLORFGBG");
    const char *background = colours ? strrchr(colours, ';') : NULL;
    return background && (!strcmp(background, ";7") || !strcmp(background, ";15"));
}

struct look theme_look(enum theme chosen)
{
    const char *theme = getenv("RINGSIDE_THEME");
    if (theme && *theme)
        chosen = !strcmp(theme, "light")      ? THEME_LIGHT
                 : !strcmp(theme, "dark")     ? THEME_DARK
                 : !strcmp(theme, "contrast") ? THEME_CONTRAST
                                              : chosen;
    if (chosen != THEME_AUTO)
        return (struct look){chosen, true};
    return (struct look){background_light() ? THEME_LIGHT : THEME_DARK, false};
}
