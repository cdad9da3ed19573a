/*
 * plain.c - prints a canvas as text.
 */
#include "tui/plain.h"

#include "tui/block.h"
#include "tui/markdown.h"

#include <ctype.h>

enum { BLOCK_COLS = 78 };

void plain_print_cells(const struct cell *cells, int count, bool utf8, FILE *out)
{
    while (count > 0 && cells[count - 1].glyph == ' ')
        count--;
    for (int i = 0; i < count; i++) {
        char text[8];
        uint32_t glyph = cells[i].glyph;
        if (!glyph && !utf8)
            glyph = ' ';
        if (!glyph)
            continue;
        fwrite(text, 1, (size_t)utf8_put(text, utf8 ? glyph : glyph_ascii(glyph)), out);
        if (cells[i].combining && utf8)
            fwrite(text, 1, (size_t)utf8_put(text, cells[i].combining), out);
    }
    fputc('\n', out);
}

void plain_print_text(const char *text, int columns, bool utf8, FILE *out)
{
    int used = 0;
    for (uint32_t glyph; (glyph = utf8_next(&text));) {
        char bytes[8];
        used += glyph_columns(glyph);
        if (glyph < 32 || (glyph >= 127 && glyph < 160))
            glyph = '?';
        if (!utf8 && glyph_columns(glyph) == 0)
            continue;
        fwrite(bytes, 1, (size_t)utf8_put(bytes, utf8 ? glyph : glyph_ascii(glyph)), out);
    }
    fprintf(out, "%*s", used < columns ? columns - used : 0, "");
}

static bool is_line_drawing(uint32_t glyph)
{
    return glyph >= 0x2500 && glyph <= 0x259f;
}

/* Whether a line is but a rule under a heading or within a table. */
static bool is_rule(const struct md_line *line)
{
    int drawn = 0;
    for (int i = 0; i < line->count; i++) {
        drawn += line->cells[i].glyph == 0x2500;
        if (line->cells[i].glyph != ' ' && line->cells[i].glyph != 0x2500)
            return false;
    }
    return drawn > 0;
}

/* The bars before code and quotes are for the eye: blanks here. */
static void unbar(const struct md_line *line)
{
    for (int i = 0; i < line->count && (line->cells[i].glyph == ' ' || is_line_drawing(line->cells[i].glyph));
         i++)
        if (line->cells[i].role == ROLE_BORDER || line->cells[i].glyph == 0x258c)
            line->cells[i].glyph = ' ';
}

void plain_print_doc(const struct md_doc *doc, bool utf8, FILE *out)
{
    int h = 0;
    for (int i = 0; i < doc->count; i++) {
        if (is_rule(&doc->lines[i]))
            continue;
        unbar(&doc->lines[i]);
        plain_print_cells(doc->lines[i].cells, doc->lines[i].count, utf8, out);
        while (h < doc->heading_count && doc->headings[h].line < i)
            h++;
        if (h < doc->heading_count && doc->headings[h].line == i && doc->headings[h].level == 2) {
            for (int k = 0; k < doc->lines[i].count; k++)
                fputc('-', out);
            fputc('\n', out);
        }
    }
}

void plain_print_block(struct block_set *set, int i, bool utf8, FILE *out)
{
    const struct md_live live = block_plain_for(set, utf8);
    struct canvas c;
    if (!live.draw(live.self, i, BLOCK_COLS, utf8, &c))
        return;
    plain_print_canvas(&c, out);
    canvas_free(&c);
}

void plain_print_canvas(const struct canvas *c, FILE *out)
{
    for (int row = 0; row < c->rows; row++)
        plain_print_cells(c->cells + (size_t)row * (size_t)c->cols, c->cols, c->utf8, out);
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
