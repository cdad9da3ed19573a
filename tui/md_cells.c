/*
 * md_cells.c - rows of cells.
 */
#include "tui/md_cells.h"

#include <stdlib.h>
#include <string.h>

static void push(struct md_cells *c, struct cell cell)
{
    if (c->count == c->capacity) {
        int capacity = c->capacity ? c->capacity * 2 : 64;
        struct cell *cells = realloc(c->cells, (size_t)capacity * sizeof *cells);
        if (!cells) {
            c->failed = true;
            return;
        }
        c->cells = cells;
        c->capacity = capacity;
    }
    c->cells[c->count++] = cell;
}

void md_cells_add(struct md_cells *c, uint32_t glyph, enum role role, int attributes)
{
    struct cell cell = {.glyph = glyph, .role = (uint8_t)role, .attributes = (uint8_t)attributes};
    int columns = glyph == '\n' ? 1 : glyph_columns(glyph);
    if (columns == 0) {
        int last = c->count - 1;
        if (last > 0 && !c->cells[last].glyph)
            last--;
        if (last >= 0 && !c->cells[last].combining)
            c->cells[last].combining = glyph;
        return;
    }
    push(c, cell);
    cell.glyph = 0;
    if (columns == 2)
        push(c, cell);
}

void md_cells_text_n(struct md_cells *c, const char *text, int length, enum role role, int attributes)
{
    const char *end = text + length;
    uint32_t glyph;
    while (text < end && (glyph = utf8_next(&text))) {
        if (glyph == '\t')
            for (int i = 0; i < 4; i++)
                md_cells_add(c, ' ', role, attributes);
        else
            md_cells_add(c, glyph < 32 || (glyph >= 127 && glyph < 160) ? '?' : glyph, role, attributes);
    }
}

void md_cells_text(struct md_cells *c, const char *text, enum role role, int attributes)
{
    md_cells_text_n(c, text, (int)strlen(text), role, attributes);
}

void md_cells_free(struct md_cells *c)
{
    free(c->cells);
    *c = (struct md_cells){0};
}

char *md_cells_utf8(const struct md_cells *c)
{
    char *text = malloc((size_t)c->count * 8 + 1);
    size_t n = 0;
    for (int i = 0; text && i < c->count; i++) {
        if (c->cells[i].glyph)
            n += (size_t)utf8_put(text + n, c->cells[i].glyph);
        if (c->cells[i].glyph && c->cells[i].combining)
            n += (size_t)utf8_put(text + n, c->cells[i].combining);
    }
    if (text)
        text[n] = '\0';
    return text;
}

bool md_wrap(const struct md_cells *c, int width, int *at, int *from, int *count)
{
    int i = *at;
    while (i < c->count && c->cells[i].glyph == ' ')
        i++;
    if (i >= c->count)
        return false;
    int end = i, space = -1;
    while (end < c->count && end - i < width && c->cells[end].glyph != '\n') {
        if (c->cells[end].glyph == ' ')
            space = end;
        end++;
    }
    *from = i;
    if (end < c->count && c->cells[end].glyph == '\n') {
        *at = end + 1;
    } else if (end == c->count || c->cells[end].glyph == ' ') {
        *at = end;
    } else if (space > i) {
        *at = end = space;
    } else {
        if (!c->cells[end].glyph && end - 1 > i)
            end--; /* never through a wide character */
        *at = end;
    }
    while (end > i && c->cells[end - 1].glyph == ' ')
        end--;
    *count = end - i;
    return true;
}
