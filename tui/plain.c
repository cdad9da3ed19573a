/*
 * plain.c - prints a canvas as text.
 */
#include "tui/plain.h"

#include <ctype.h>

static int row_end(const struct canvas *c, int row)
{
    const struct cell *line = c->cells + (size_t)row * (size_t)c->cols;
    int end = c->cols;
    while (end > 0 && (line[end - 1].glyph == ' ' || (line[end - 1].glyph == 0 && end == 1)))
        end--;
    return end;
}

void plain_print_canvas(const struct canvas *c, FILE *out)
{
    for (int row = 0; row < c->rows; row++) {
        const struct cell *line = c->cells + (size_t)row * (size_t)c->cols;
        int end = row_end(c, row);
        for (int col = 0; col < end; col++) {
            char text[8];
            if (line[col].glyph)
                fwrite(text, 1, (size_t)utf8_put(text, line[col].glyph), out);
            if (line[col].glyph && line[col].combining)
                fwrite(text, 1, (size_t)utf8_put(text, line[col].combining), out);
        }
        fputc('\n', out);
    }
}

void plain_print_roles(const struct canvas *c, FILE *out)
{
    static const char letters[ROLE_COUNT + 1] = ".mtagwbcks-=123456";
    for (int row = 0; row < c->rows; row++) {
        const struct cell *line = c->cells + (size_t)row * (size_t)c->cols;
        int end = c->cols;
        while (end > 0 && line[end - 1].glyph == ' ' && line[end - 1].role == ROLE_TEXT)
            end--;
        for (int col = 0; col < end; col++) {
            const struct cell *cell = &line[col];
            bool gap = cell->glyph == ' ' && cell->role == ROLE_TEXT && !cell->attributes;
            int letter = (unsigned char)letters[cell->role];
            fputc(gap ? ' ' : cell->attributes & ATTR_BOLD ? toupper(letter) : letter, out);
        }
        fputc('\n', out);
    }
}
