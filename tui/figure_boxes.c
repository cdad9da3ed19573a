/*
 * figure_boxes.c - figures from a description: rows of boxes, and a chain.
 *
 *     show: boxes                                       show: flow
 *     row: your laptop; screen | login node; shared     flow: picture; 28 × 28 -> conv 3 × 3; 32 × 26 × 26 -> pool 2
 *     link: ssh                 between this row and the next: arrows down with a word, or none without the field
 *     row: ...
 *
 * Boxes of a row stand side by side where they fit, else below each other.
 */
#include "tui/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES = 16, TEXT = 160, GAP = 3 };

struct parts {
    char text[BOXES][TEXT];
    int count;
};

static void cut(struct parts *p, const char *text, const char *between)
{
    p->count = 0;
    while (*text && p->count < BOXES) {
        const char *end = strstr(text, between);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        while (length && *text == ' ')
            text++, length--;
        while (length && text[length - 1] == ' ')
            length--;
        snprintf(p->text[p->count++], TEXT, "%.*s", (int)(length < TEXT ? length : TEXT - 1), text);
        text = end ? end + strlen(between) : text + strlen(text);
    }
}

static int box_cols(const char *text)
{
    int cols;
    figure_lines(text, &cols);
    return cols + 4;
}

static int box_rows(const char *text)
{
    int cols;
    return figure_lines(text, &cols) + 2;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The columns of a row's boxes side by side with equal widths; 0: they do not fit. */
static int side_by_side(const struct parts *p, int cols)
{
    int widest = 0;
    for (int i = 0; i < p->count; i++)
        widest = box_cols(p->text[i]) > widest ? box_cols(p->text[i]) : widest;
    return p->count && widest * p->count + GAP * (p->count - 1) <= cols ? widest : 0;
}

static int row_rows(const struct parts *p, int cols)
{
    int rows = 0, beside = side_by_side(p, cols);
    for (int i = 0; i < p->count; i++) {
        int own = box_rows(p->text[i]);
        rows = !beside ? rows + own : own > rows ? own : rows;
    }
    return rows;
}

static bool boxes_check(const struct block_text *t, struct error *e)
{
    int rows = 0;
    for (int i = 0; i < t->field_count; i++) {
        if (!strcmp(t->fields[i].key, "link") && !rows)
            return error_set(e, ERROR_INPUT, "line %d: link: stands between two rows", t->fields[i].line);
        rows += !strcmp(t->fields[i].key, "row");
    }
    return rows || error_set(e, ERROR_INPUT, "line %d: boxes need 'row: one | another'", t->line);
}

static int boxes_rows(const struct block_text *t, int cols)
{
    struct parts p;
    int rows = 0;
    for (int i = 0; i < t->field_count; i++) {
        if (!strcmp(t->fields[i].key, "link"))
            rows += 2;
        if (strcmp(t->fields[i].key, "row") != 0)
            continue;
        cut(&p, t->fields[i].value, "|");
        rows += row_rows(&p, cols);
    }
    return rows;
}

static void draw_row(struct canvas *c, struct rect in, const struct parts *p, int cols)
{
    int each = side_by_side(p, cols);
    if (!each) {
        for (int i = 0; i < p->count; i++)
            figure_box(c, rect_cut_rows(&in, box_rows(p->text[i])), p->text[i], ROLE_BORDER, ROLE_TEXT);
        return;
    }
    int used = each * p->count + GAP * (p->count - 1), col = in.col + (cols - used) / 2;
    for (int i = 0; i < p->count; i++, col += each + GAP)
        figure_box(c, (struct rect){in.row, col, in.rows, each}, p->text[i], ROLE_BORDER, ROLE_TEXT);
}

static void boxes_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    struct parts p;
    (void)step;
    for (int i = 0; i < t->field_count; i++) {
        const struct block_field *f = &t->fields[i];
        if (!strcmp(f->key, "link")) {
            struct rect row = rect_cut_rows(&in, 2);
            figure_down(c, row.row, row.col + row.cols / 2, 2, ROLE_ACCENT,
                        strcmp(f->value, "-") ? f->value : NULL);
        }
        if (strcmp(f->key, "row") != 0)
            continue;
        cut(&p, f->value, "|");
        draw_row(c, rect_cut_rows(&in, row_rows(&p, in.cols)), &p, in.cols);
    }
}

const struct figure figure_boxes = {"boxes", boxes_check, boxes_rows, boxes_draw, NULL};

/* --- a chain ------------------------------------------------------------------------------------------------------ */

enum { ARROW = 4 };

static bool flow_check(const struct block_text *t, struct error *e)
{
    const char *flow = block_text_get(t, "flow");
    return (flow && strstr(flow, "->")) ||
           error_set(e, ERROR_INPUT, "line %d: flow: expected 'one -> another -> ...'",
                     block_text_line(t, "flow"));
}

/* Boxes of one line of the chain, beginning with the first-th; rows: of the tallest. */
static int line_of(const struct parts *p, int first, int cols, int *rows)
{
    int used = 0, count = 0;
    *rows = 0;
    for (int i = first; i < p->count; i++, count++) {
        int width = box_cols(p->text[i]) + (i > first ? ARROW : 0);
        if (count && used + width + (i + 1 < p->count ? 2 : 0) > cols)
            break;
        used += width;
        *rows = box_rows(p->text[i]) > *rows ? box_rows(p->text[i]) : *rows;
    }
    return count;
}

static int flow_rows(const struct block_text *t, int cols)
{
    struct parts p;
    int total = 0, rows;
    cut(&p, block_text_get(t, "flow"), "->");
    for (int first = 0; first < p.count; total += rows)
        first += line_of(&p, first, cols, &rows);
    return total;
}

static void flow_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    struct parts p;
    int rows;
    (void)step;
    cut(&p, block_text_get(t, "flow"), "->");
    for (int first = 0; first < p.count;) {
        int count = line_of(&p, first, in.cols, &rows), col = in.col;
        struct rect line = rect_cut_rows(&in, rows);
        for (int i = first; i < first + count; i++) {
            if (i > first) {
                figure_right(c, line.row + rows / 2, col, ARROW, ROLE_ACCENT, NULL);
                col += ARROW;
            }
            figure_box(c, (struct rect){line.row, col, rows, box_cols(p.text[i])}, p.text[i], ROLE_BORDER,
                       ROLE_TEXT);
            col += box_cols(p.text[i]);
        }
        first += count;
        if (first < p.count) /* it goes on in the next line */
            figure_right(c, line.row + rows / 2, col, 2, ROLE_ACCENT, NULL);
    }
}

const struct figure figure_flow = {"flow", flow_check, flow_rows, flow_draw, NULL};
