/*
 * banner.c - the font, and its drawing.
 */
#include "tui/banner.h"

#include <stddef.h>
#include <string.h>

enum { HEIGHT = 5, BLANK = 1 }; /* pixels; between two letters */

struct letter {
    uint32_t glyph;
    const char *rows[HEIGHT];
};

static const struct letter font[] = {
    {'A', {" ## ", "#  #", "####", "#  #", "#  #"}},
    {'B', {"### ", "#  #", "### ", "#  #", "### "}},
    {'C', {" ###", "#   ", "#   ", "#   ", " ###"}},
    {'D', {"### ", "#  #", "#  #", "#  #", "### "}},
    {'E', {"####", "#   ", "### ", "#   ", "####"}},
    {'F', {"####", "#   ", "### ", "#   ", "#   "}},
    {'G', {" ###", "#   ", "# ##", "#  #", " ###"}},
    {'H', {"#  #", "#  #", "####", "#  #", "#  #"}},
    {'I', {"###", " # ", " # ", " # ", "###"}},
    {'J', {"  ##", "   #", "   #", "#  #", " ## "}},
    {'K', {"#  #", "# # ", "##  ", "# # ", "#  #"}},
    {'L', {"#   ", "#   ", "#   ", "#   ", "####"}},
    {'M', {"#   #", "## ##", "# # #", "#   #", "#   #"}},
    {'N', {"#   #", "##  #", "# # #", "#  ##", "#   #"}},
    {'O', {" ## ", "#  #", "#  #", "#  #", " ## "}},
    {'P', {"### ", "#  #", "### ", "#   ", "#   "}},
    {'Q', {" ## ", "#  #", "#  #", "# # ", " # #"}},
    {'R', {"### ", "#  #", "### ", "# # ", "#  #"}},
    {'S', {" ###", "#   ", " ## ", "   #", "### "}},
    {'T', {"#####", "  #  ", "  #  ", "  #  ", "  #  "}},
    {'U', {"#  #", "#  #", "#  #", "#  #", " ## "}},
    {'V', {"#   #", "#   #", "#   #", " # # ", "  #  "}},
    {'W', {"#   #", "#   #", "# # #", "## ##", "#   #"}},
    {'X', {"#   #", " # # ", "  #  ", " # # ", "#   #"}},
    {'Y', {"#   #", " # # ", "  #  ", "  #  ", "  #  "}},
    {'Z', {"####", "  # ", " #  ", "#   ", "####"}},
    {'0', {" ## ", "# ##", "## #", "#  #", " ## "}},
    {'1', {" # ", "## ", " # ", " # ", "###"}},
    {'2', {"### ", "   #", " ## ", "#   ", "####"}},
    {'3', {"### ", "   #", " ## ", "   #", "### "}},
    {'4', {"#  #", "#  #", "####", "   #", "   #"}},
    {'5', {"####", "#   ", "### ", "   #", "### "}},
    {'6', {" ## ", "#   ", "### ", "#  #", " ## "}},
    {'7', {"####", "   #", "  # ", " #  ", " #  "}},
    {'8', {" ## ", "#  #", " ## ", "#  #", " ## "}},
    {'9', {" ## ", "#  #", " ###", "   #", " ## "}},
    {' ', {"  ", "  ", "  ", "  ", "  "}},
    {'.', {" ", " ", " ", " ", "#"}},
    {',', {"  ", "  ", "  ", " #", "# "}},
    {':', {" ", "#", " ", "#", " "}},
    {';', {"  ", " #", "  ", " #", "# "}},
    {'!', {"#", "#", "#", " ", "#"}},
    {'?', {"### ", "   #", " ## ", "    ", " #  "}},
    {'\'', {"#", "#", " ", " ", " "}},
    {'"', {"# #", "# #", "   ", "   ", "   "}},
    {'-', {"   ", "   ", "###", "   ", "   "}},
    {'+', {"   ", " # ", "###", " # ", "   "}},
    {'=', {"   ", "###", "   ", "###", "   "}},
    {'/', {"    #", "   # ", "  #  ", " #   ", "#    "}},
    {'(', {" #", "# ", "# ", "# ", " #"}},
    {')', {"# ", " #", " #", " #", "# "}},
    {'&', {" ## ", "#   ", " ## ", "# # ", " ###"}},
    {'%', {"#   #", "   # ", "  #  ", " #   ", "#   #"}},
    {'*', {"   ", "# #", " # ", "# #", "   "}},
    {'<', {"  #", " # ", "#  ", " # ", "  #"}},
    {'>', {"#  ", " # ", "  #", " # ", "#  "}},
    {'_', {"    ", "    ", "    ", "    ", "####"}},
    {'#', {" # # ", "#####", " # # ", "#####", " # # "}},
    {'[', {"##", "# ", "# ", "# ", "##"}},
    {']', {"##", " #", " #", " #", "##"}},
    {'@', {" ### ", "# # #", "# ## ", "#    ", " ### "}},
    {0xc4, {"#  #", " ## ", "#  #", "####", "#  #"}},
    {0xd6, {"#  #", " ## ", "#  #", "#  #", " ## "}},
    {0xdc, {"#  #", "    ", "#  #", "#  #", " ## "}},
    {0xdf, {" ## ", "#  #", "# # ", "#  #", "# # "}},
    {0xb7, {" ", " ", "#", " ", " "}},
    {0xd7, {"   ", "# #", " # ", "# #", "   "}},
    {0x2192, {"   # ", "    #", "#####", "    #", "   # "}},
    {0x2013, {"   ", "   ", "###", "   ", "   "}},
    {0x2212, {"   ", "   ", "###", "   ", "   "}},
    {0x2019, {"#", "#", " ", " ", " "}},
    {0x3b1, {"     ", "     ", " ## #", "#  # ", " ## #"}},
    {0x3b2, {"### ", "#  #", "### ", "#  #", "### "}},
};

static const struct letter *letter_of(uint32_t glyph)
{
    if (glyph >= 'a' && glyph <= 'z')
        glyph -= 'a' - 'A';
    else if (glyph == 0xe4 || glyph == 0xf6 || glyph == 0xfc) /* ä ö ü */
        glyph -= 0x20;
    for (size_t i = 0; i < sizeof font / sizeof *font; i++)
        if (font[i].glyph == glyph)
            return &font[i];
    return NULL;
}

/* Pixels that `length` bytes take; -1: a character is missing. */
static int width_of(const char *text, const char *end)
{
    int width = 0;
    while (text < end) {
        const struct letter *letter = letter_of(utf8_next(&text));
        if (!letter)
            return -1;
        width += (int)strlen(letter->rows[0]) + (width ? BLANK : 0);
    }
    return width;
}

/* The next line of at most `width` pixels: [*from, *to). False: the end, or (*to NULL) it cannot be drawn. */
static bool next_line(const char **at, int width, const char **from, const char **to)
{
    *at += strspn(*at, " ");
    *from = *at;
    *to = NULL;
    if (!**at)
        return false;
    for (const char *end = *at; *end;) {
        end += strspn(end, " ");
        end += strcspn(end, " ");
        int pixels = width_of(*from, end);
        if (pixels < 0 || (pixels > width && !*to)) {
            *to = NULL;
            return false;
        }
        if (pixels > width)
            break;
        *to = *at = end;
    }
    return true;
}

static int pixels_of(int cols, enum banner_scale scale)
{
    return scale == BANNER_LARGE ? cols / 2 : cols;
}

int banner_lines(const char *text, enum banner_scale scale, int cols)
{
    const char *from, *to;
    int lines = 0;
    while (next_line(&text, pixels_of(cols, scale), &from, &to))
        lines++;
    return *text ? 0 : lines;
}

static int line_rows(enum banner_scale scale, bool utf8)
{
    return scale == BANNER_SMALL && utf8 ? (HEIGHT + 1) / 2 : HEIGHT;
}

int banner_rows(int lines, enum banner_scale scale, bool utf8)
{
    return lines > 0 ? lines * (line_rows(scale, utf8) + 1) - 1 : 0;
}

static bool inked(const struct letter *letter, int row, int col)
{
    return row < HEIGHT && letter->rows[row][col] == '#';
}

static void draw_letter(struct canvas *c, int row, int col, const struct letter *letter,
                        enum banner_scale scale, enum role role)
{
    int width = (int)strlen(letter->rows[0]), per = scale == BANNER_LARGE ? 2 : 1;
    uint32_t block = c->utf8 ? 0x2588 : '#';
    bool halves = scale == BANNER_SMALL && c->utf8;
    for (int y = 0; y < line_rows(scale, c->utf8); y++)
        for (int x = 0; x < width * per; x++) {
            bool upper = inked(letter, halves ? 2 * y : y, x / per);
            bool lower = halves ? inked(letter, 2 * y + 1, x / per) : upper;
            if (upper || lower)
                canvas_put(c, row + y, col + x,
                           upper && lower ? block
                           : upper        ? 0x2580
                                          : 0x2584,
                           role, ATTR_BOLD);
        }
}

/* The fewest columns in which the text takes no more lines: no word is left alone in the last. */
static int balanced(const char *text, enum banner_scale scale, int cols)
{
    int lines = banner_lines(text, scale, cols);
    while (lines > 1 && cols > 1 && banner_lines(text, scale, cols - 1) == lines)
        cols--;
    return cols;
}

int banner_draw(struct canvas *c, struct rect area, enum banner_scale scale, bool centred, enum role role,
                const char *text)
{
    const char *from, *to;
    int lines = 0, per = scale == BANNER_LARGE ? 2 : 1;
    int cols = balanced(text, scale, area.cols);
    while (next_line(&text, pixels_of(cols, scale), &from, &to)) {
        int row = area.row + (lines ? banner_rows(lines, scale, c->utf8) + 1 : 0);
        int col = area.col + (centred ? (area.cols - width_of(from, to) * per) / 2 : 0);
        while (from < to) {
            const struct letter *letter = letter_of(utf8_next(&from));
            if (!letter) /* banner_lines has said so */
                break;
            draw_letter(c, row, col, letter, scale, role);
            col += ((int)strlen(letter->rows[0]) + BLANK) * per;
        }
        lines++;
    }
    return banner_rows(lines, scale, c->utf8);
}
