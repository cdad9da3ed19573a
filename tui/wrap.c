#include "tui/wrap.h"

#include <string.h>

/* Bytes of the text that fit in `cols` columns, up to a newline, broken at a blank where there is one. */
static size_t take(const char *text, int cols, const char **rest)
{
    const char *at = text, *blank = text, *end = text;
    int used = 0;
    for (;;) {
        const char *before = at;
        uint32_t glyph = utf8_next(&at);
        end = before;
        if (!glyph || glyph == '\n') {
            *rest = glyph ? at : before;
            return (size_t)(end - text);
        }
        if (glyph == ' ')
            blank = before;
        used += glyph_columns(glyph);
        if (used > cols)
            break;
    }
    if (blank != text)
        end = blank;
    else if (end == text)
        end = at; /* not even one character fits: go on all the same */
    *rest = end;
    while (**rest == ' ')
        ++*rest;
    return (size_t)(end - text);
}

int wrap_rows(const char *text, int cols)
{
    int rows = 0;
    while (*text && cols > 0) {
        take(text, cols, &text);
        rows++;
    }
    return rows;
}

int wrap_text(struct canvas *c, struct rect area, enum role role, int attributes, const char *text)
{
    int row = 0;
    while (*text && row < area.rows && area.cols > 0) {
        const char *rest;
        size_t bytes = take(text, area.cols, &rest);
        if (row + 1 == area.rows && *rest)
            canvas_text(c, area.row + row, area.col, area.cols, role, attributes, text);
        else
            canvas_format(c, area.row + row, area.col, area.cols, role, attributes, "%.*s", (int)bytes, text);
        text = rest;
        row++;
    }
    return row;
}
