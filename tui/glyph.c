/*
 * glyph.c - UTF-8, the columns a character takes, and its nearest ASCII look.
 *
 * The width table is our own and small (the ranges of Unicode's EastAsianWidth W and F that terminals agree
 * on), so that a screen is the same whatever locale and C library draw it.
 */
#include "tui/canvas.h"

#include <stddef.h>

uint32_t utf8_next(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    if (!*s)
        return 0;
    if (*s < 0x80) {
        (*text)++;
        return *s;
    }
    int more = *s >= 0xf0 && *s < 0xf5 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc2 ? 1 : 0;
    if (!more || *s >= 0xf5) {
        (*text)++;
        return 0xfffd;
    }
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint32_t glyph = *s & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *text += i;
            return 0xfffd;
        }
        glyph = glyph << 6 | (s[i] & 0x3fu);
    }
    *text += more + 1;
    if (glyph < least[more] || glyph > 0x10ffff || (glyph >= 0xd800 && glyph < 0xe000))
        return 0xfffd;
    return glyph;
}

int utf8_put(char *out, uint32_t glyph)
{
    if (glyph < 0x80) {
        out[0] = (char)glyph;
        return 1;
    }
    if (glyph < 0x800) {
        out[0] = (char)(0xc0 | glyph >> 6);
        out[1] = (char)(0x80 | (glyph & 0x3f));
        return 2;
    }
    if (glyph < 0x10000) {
        out[0] = (char)(0xe0 | glyph >> 12);
        out[1] = (char)(0x80 | (glyph >> 6 & 0x3f));
        out[2] = (char)(0x80 | (glyph & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | glyph >> 18);
    out[1] = (char)(0x80 | (glyph >> 12 & 0x3f));
    out[2] = (char)(0x80 | (glyph >> 6 & 0x3f));
    out[3] = (char)(0x80 | (glyph & 0x3f));
    return 4;
}

struct range {
    uint32_t first, last;
};

static bool within(const struct range *ranges, size_t count, uint32_t glyph)
{
    for (size_t i = 0; i < count; i++)
        if (glyph >= ranges[i].first && glyph <= ranges[i].last)
            return true;
    return false;
}

int glyph_columns(uint32_t glyph)
{
    static const struct range none[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},     {0x610, 0x61a},   {0x64b, 0x65f},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2064},   {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
        {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec}, {0x25fd, 0x25fe},   {0x2614, 0x2615},
        {0x2648, 0x2653},   {0x26aa, 0x26ab},   {0x26bd, 0x26be}, {0x2705, 0x2705},   {0x270a, 0x270b},
        {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755}, {0x2e80, 0x303e},   {0x3041, 0x33ff},
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    if (glyph < 0x300)
        return 1;
    if (within(none, sizeof none / sizeof *none, glyph))
        return 0;
    return glyph >= 0x1100 && within(wide, sizeof wide / sizeof *wide, glyph) ? 2 : 1;
}

int text_columns(const char *utf8)
{
    int columns = 0;
    uint32_t glyph;
    while (utf8 && (glyph = utf8_next(&utf8)))
        columns += glyph_columns(glyph);
    return columns;
}

/* Latin-1's letters from U+00C0 on, without their marks. */
static const char latin[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty";

uint32_t glyph_ascii(uint32_t glyph)
{
    static const struct {
        uint32_t glyph;
        char ascii;
    } table[] = {
        {0xa0, ' '},   {0xa7, 'S'},   {0xab, '<'},   {0xac, '!'},   {0xad, '-'},   {0xb0, 'o'},
        {0xb1, '~'},   {0xb2, '2'},   {0xb3, '3'},   {0xb5, 'u'},   {0xb7, '-'},   {0xb9, '1'},
        {0xbb, '>'},   {0x3b1, 'a'},  {0x3b2, 'b'},  {0x3b8, 't'},  {0x3bc, 'u'},  {0x2190, '<'},
        {0x2191, '^'}, {0x2192, '>'}, {0x2193, 'v'}, {0x2194, '-'}, {0x2195, '|'}, {0x21b5, '<'},
        {0x21d2, '>'}, {0x2208, 'e'}, {0x2211, 'S'}, {0x2212, '-'}, {0x221a, 'V'}, {0x221e, '8'},
        {0x2248, '~'}, {0x2260, '#'}, {0x2264, '<'}, {0x2265, '>'}, {0x22c5, '*'}, {0x25a0, '#'},
        {0x25a1, 'o'}, {0x25aa, '*'}, {0x25b2, '^'}, {0x25b6, '>'}, {0x25b8, '>'}, {0x25ba, '>'},
        {0x25bc, 'v'}, {0x25be, 'v'}, {0x25c0, '<'}, {0x25c2, '<'}, {0x25c6, '*'}, {0x25c7, 'o'},
        {0x25c9, '@'}, {0x25cb, 'o'}, {0x25cc, 'o'}, {0x25cf, '*'}, {0x25d0, 'o'}, {0x25e6, 'o'},
        {0x2605, '*'}, {0x2606, '*'}, {0x2713, '+'}, {0x2714, '+'}, {0x2715, 'x'}, {0x2717, 'x'},
        {0x2718, 'x'}, {0x276f, '>'}, {0x2771, '>'},
    };
    if (glyph < 127)
        return glyph;
    if (glyph >= 0xc0 && glyph <= 0xff)
        return (uint32_t)latin[glyph - 0xc0];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].glyph == glyph)
            return (uint32_t)table[i].ascii;
    if (glyph >= 0x2010 && glyph <= 0x2015)
        return '-';
    if (glyph >= 0x2018 && glyph <= 0x201b)
        return '\'';
    if (glyph >= 0x201c && glyph <= 0x201f)
        return '"';
    if (glyph == 0x2022)
        return '*';
    if (glyph == 0x2026) /* where a text is cut: a dot would end a sentence */
        return '~';
    if (glyph >= 0x2500 && glyph <= 0x257f) {
        if (glyph == 0x2500 || glyph == 0x2501 || glyph == 0x2504 || glyph == 0x2505 || glyph == 0x2508 ||
            glyph == 0x2574 || glyph == 0x2576 || glyph == 0x254c || glyph == 0x2578 || glyph == 0x257a)
            return '-';
        if (glyph == 0x2502 || glyph == 0x2503 || glyph == 0x2506 || glyph == 0x250a || glyph == 0x254e ||
            glyph == 0x2575 || glyph == 0x2577)
            return '|';
        if (glyph == 0x2550)
            return '=';
        return '+';
    }
    if (glyph >= 0x2580 && glyph <= 0x259f)
        return glyph == 0x2591 ? '.' : glyph == 0x2592 ? ':' : '#';
    if (glyph == 0x2800)
        return ' ';
    if (glyph > 0x2800 && glyph <= 0x28ff) {
        /* A braille cell: which half of it is inked. Dots 1 2 4 5 are the upper rows, 3 6 7 8 the lower. */
        bool upper = glyph & 0x1b, lower = glyph & 0xe4;
        return upper && lower ? ':' : upper ? '\'' : '.';
    }
    return '?';
}
