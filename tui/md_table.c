/*
 * md_table.c - columns as wide as their widest cell, narrowed from the widest where there is too little room.
 */
#include "tui/md_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 12, GAP = 2, LEAST_COLUMN = 5 };

struct row {
    struct md_cells cells[COLUMNS_MAX];
    int count;
};

struct grid {
    struct row *rows;
    int count, columns, widths[COLUMNS_MAX];
    bool numeric[COLUMNS_MAX];
};

/* A cell's text with *emphasis*, **strong** and `code`; roles of the heading row are bold. */
static void cell_text(struct md_cells *out, const char *text, int length, bool heading)
{
    int attributes = heading ? ATTR_BOLD : 0;
    enum role role = heading ? ROLE_ACCENT : ROLE_TEXT;
    bool code = false, strong = false, emphasis = false;
    for (int i = 0; i < length;) {
        char c = text[i];
        if (c == '`') {
            code = !code;
            i++;
        } else if (!code && c == '*' && i + 1 < length && text[i + 1] == '*') {
            strong = !strong;
            i += 2;
        } else if (!code && c == '*' &&
                   (emphasis || (i + 1 < length && !isspace((unsigned char)text[i + 1])))) {
            emphasis = !emphasis;
            i++;
        } else {
            int n = i + 1;
            while (n < length && text[n] != '`' && text[n] != '*')
                n++;
            md_cells_text_n(out, text + i, n - i, code ? ROLE_CODE : role,
                            attributes | (strong ? ATTR_BOLD : 0) | (emphasis ? ATTR_ITALIC : 0));
            i = n;
        }
    }
}

static bool separator(const char *line, int length)
{
    bool dash = false;
    for (int i = 0; i < length; i++) {
        if (!strchr("-=:|+ \t", line[i]))
            return false;
        dash |= line[i] == '-' || line[i] == '=';
    }
    return dash;
}

static bool looks_numeric(const struct md_cells *cell)
{
    int digits = 0;
    for (int i = 0; i < cell->count; i++) {
        uint32_t g = cell->cells[i].glyph;
        if (g >= '0' && g <= '9')
            digits++;
        else if (i == 0 && !strchr("+-.<>~", (int)(g < 128 ? g : 1)) && g != 0x2212 && g != 0x2248)
            return false;
    }
    return digits > 0 && digits * 2 >= cell->count;
}

static void split(struct row *row, const char *line, int length, bool heading)
{
    bool bars = memchr(line, '|', (size_t)length) != NULL;
    int i = 0;
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    while (i < length && isspace((unsigned char)line[i]))
        i++;
    if (bars && i < length && line[i] == '|')
        i++;
    if (bars && length > i && line[length - 1] == '|')
        length--;
    while (i < length && row->count < COLUMNS_MAX) {
        int end = i;
        bool last = row->count == COLUMNS_MAX - 1;
        while (end < length &&
               (last ||
                (bars ? line[end] != '|' : !(line[end] == ' ' && end + 1 < length && line[end + 1] == ' '))))
            end++;
        int from = i, to = end;
        while (from < to && isspace((unsigned char)line[from]))
            from++;
        while (to > from && isspace((unsigned char)line[to - 1]))
            to--;
        cell_text(&row->cells[row->count++], line + from, to - from, heading);
        i = end;
        if (bars)
            i++;
        else
            while (i < length && line[i] == ' ')
                i++;
    }
}

static bool parse(struct grid *g, const char *text)
{
    while (*text) {
        int length = (int)strcspn(text, "\n");
        if ((int)strspn(text, " \t") < length && !separator(text, length)) {
            struct row *rows = realloc(g->rows, (size_t)(g->count + 1) * sizeof *rows);
            if (!rows)
                return false;
            g->rows = rows;
            rows[g->count] = (struct row){0};
            split(&rows[g->count], text, length, g->count == 0);
            if (rows[g->count].count > g->columns)
                g->columns = rows[g->count].count;
            g->count++;
        }
        text += length;
        text += *text == '\n';
    }
    return true;
}

static void measure(struct grid *g, int width)
{
    int total = g->columns ? GAP * (g->columns - 1) : 0;
    for (int k = 0; k < g->columns; k++) {
        g->numeric[k] = g->count > 1;
        for (int i = 0; i < g->count; i++) {
            const struct md_cells *cell = &g->rows[i].cells[k];
            if (cell->count > g->widths[k])
                g->widths[k] = cell->count;
            if (i > 0 && cell->count && !looks_numeric(cell))
                g->numeric[k] = false;
        }
        total += g->widths[k];
    }
    while (total > width) {
        int widest = 0;
        for (int k = 1; k < g->columns; k++)
            if (g->widths[k] > g->widths[widest])
                widest = k;
        if (!g->columns || g->widths[widest] <= LEAST_COLUMN)
            break;
        g->widths[widest]--;
        total--;
    }
}

static struct md_cells *add_line(struct md_table *t)
{
    struct md_cells *lines = realloc(t->lines, (size_t)(t->count + 1) * sizeof *lines);
    if (!lines)
        return NULL;
    t->lines = lines;
    lines[t->count] = (struct md_cells){0};
    return &lines[t->count++];
}

static void blanks(struct md_cells *line, int count)
{
    for (int i = 0; i < count; i++)
        md_cells_add(line, ' ', ROLE_TEXT, 0);
}

/* One row of the table: as many lines as its tallest cell. */
static bool add_row(struct md_table *t, struct grid *g, const struct row *row)
{
    int at[COLUMNS_MAX] = {0};
    for (bool more = true, first = true; more; first = false) {
        struct md_cells line = {0};
        more = false;
        for (int k = 0; k < g->columns; k++) {
            int from = 0, count = 0;
            bool some = md_wrap(&row->cells[k], g->widths[k], &at[k], &from, &count);
            more |= some;
            blanks(&line, g->numeric[k] ? g->widths[k] - count : 0);
            for (int i = 0; i < count; i++) {
                struct cell cell = row->cells[k].cells[from + i];
                if (cell.glyph)
                    md_cells_add(&line, cell.glyph, (enum role)cell.role, cell.attributes);
            }
            blanks(&line, (g->numeric[k] ? 0 : g->widths[k] - count) + (k + 1 < g->columns ? GAP : 0));
        }
        if (!more && !first) {
            md_cells_free(&line);
            return true;
        }
        struct md_cells *out = add_line(t);
        if (!out || line.failed) {
            md_cells_free(&line);
            return false;
        }
        *out = line;
    }
    return true;
}

static bool add_rule(struct md_table *t, const struct grid *g)
{
    struct md_cells *line = add_line(t);
    if (!line)
        return false;
    for (int k = 0; k < g->columns; k++) {
        for (int i = 0; i < g->widths[k]; i++)
            md_cells_add(line, 0x2500, ROLE_BORDER, 0);
        blanks(line, k + 1 < g->columns ? GAP : 0);
    }
    return !line->failed;
}

bool md_table_layout(struct md_table *table, const char *text, int width)
{
    struct grid g = {0};
    *table = (struct md_table){0};
    bool ok = parse(&g, text);
    if (ok)
        measure(&g, width);
    for (int i = 0; ok && i < g.count; i++) {
        ok = add_row(table, &g, &g.rows[i]);
        if (ok && i == 0)
            ok = add_rule(table, &g);
    }
    for (int i = 0; i < g.count; i++)
        for (int k = 0; k < COLUMNS_MAX; k++)
            md_cells_free(&g.rows[i].cells[k]);
    free(g.rows);
    if (!ok)
        md_table_free(table);
    return ok;
}

void md_table_free(struct md_table *table)
{
    for (int i = 0; i < table->count; i++)
        md_cells_free(&table->lines[i]);
    free(table->lines);
    *table = (struct md_table){0};
}
