/*
 * highlight.c - a scanner for the tokens of Lua, as far as colour needs it.
 */
#include "tui/highlight.h"

#include <stddef.h>
#include <string.h>

/* State: 0, or 1 + level of an open long bracket, plus LONG_COMMENT where it is a comment. */
enum { LONG_COMMENT = 1000 };

static bool is_digit(uint32_t g)
{
    return g >= '0' && g <= '9';
}

static bool is_name(uint32_t g)
{
    return (g >= 'a' && g <= 'z') || (g >= 'A' && g <= 'Z') || g == '_' || is_digit(g);
}

static uint32_t at(const struct cell *line, int count, int i)
{
    return i >= 0 && i < count ? line[i].glyph : 0;
}

static void paint(struct cell *line, int from, int to, enum role role, int attributes)
{
    for (int i = from; i < to; i++) {
        line[i].role = (uint8_t)role;
        line[i].attributes = (uint8_t)attributes;
    }
}

/* The level of a long bracket that opens at i ("[[" 0, "[=[" 1), or -1. */
static int long_open(const struct cell *line, int count, int i)
{
    int level = 0;
    if (at(line, count, i) != '[')
        return -1;
    while (at(line, count, i + 1 + level) == '=')
        level++;
    return at(line, count, i + 1 + level) == '[' ? level : -1;
}

/* The position behind "]=]" of the level, or -1 where the line does not close it. */
static int long_close(const struct cell *line, int count, int i, int level)
{
    for (; i < count; i++) {
        int k = 0;
        if (line[i].glyph != ']')
            continue;
        while (k < level && at(line, count, i + 1 + k) == '=')
            k++;
        if (k == level && at(line, count, i + 1 + level) == ']')
            return i + 2 + level;
    }
    return -1;
}

static bool keyword(const struct cell *line, int from, int to)
{
    static const char words[] =
        " and break do else elseif end false for function goto if in local nil not or repeat "
        "return then true until while ";
    char word[12] = " ";
    int n = 1;
    if (to - from > 8)
        return false;
    for (int i = from; i < to; i++)
        word[n++] = (char)line[i].glyph;
    word[n++] = ' ';
    word[n] = '\0';
    return strstr(words, word) != NULL;
}

static int string_end(const struct cell *line, int count, int i)
{
    uint32_t quote = line[i].glyph;
    for (i++; i < count && line[i].glyph != quote; i++)
        if (line[i].glyph == '\\')
            i++;
    return i < count ? i + 1 : count;
}

int highlight_lua(struct cell *line, int count, int state)
{
    int i = 0;
    paint(line, 0, count, ROLE_CODE, 0);
    while (i < count || state) {
        int start = i;
        if (state) {
            bool comment = state >= LONG_COMMENT;
            int level = state - 1 - (comment ? LONG_COMMENT : 0), end = long_close(line, count, i, level);
            paint(line, i, end < 0 ? count : end, comment ? ROLE_MUTED : ROLE_SERIES5, 0);
            if (end < 0)
                return state;
            state = 0;
            i = end;
            continue;
        }
        uint32_t g = line[i].glyph;
        if (g == '-' && at(line, count, i + 1) == '-') {
            int level = long_open(line, count, i + 2);
            if (level < 0) {
                paint(line, i, count, ROLE_MUTED, 0);
                return 0;
            }
            paint(line, i, i + 2, ROLE_MUTED, 0);
            i += 2;
            state = LONG_COMMENT + 1 + level;
        } else if (long_open(line, count, i) >= 0) {
            state = 1 + long_open(line, count, i);
        } else if (g == '"' || g == '\'') {
            i = string_end(line, count, i);
            paint(line, start, i, ROLE_SERIES5, 0);
        } else if (is_digit(g)) {
            while (i < count && (is_name(line[i].glyph) || line[i].glyph == '.'))
                i++;
            paint(line, start, i, ROLE_SERIES2, 0);
        } else if (is_name(g)) {
            while (i < count && is_name(line[i].glyph))
                i++;
            if (keyword(line, start, i))
                paint(line, start, i, ROLE_SERIES3, 0);
        } else {
            i++;
        }
    }
    return 0;
}
