/*
 * lesson_draw.c - a lesson on the screen: the text with its live blocks, and beside it on a wide screen its contents.
 */
#include "tui/lesson.h"
#include "tui/text.h"

#include <stdio.h>
#include <string.h>

enum { MEASURE = 78, CONTENTS = 34, CONTENTS_FROM = 120 };

static bool marked(const struct lesson *l, int source)
{
    int lines[PROGRESS_MAX_MARKS], count = progress_marks(app_progress(l->app), l->name, lines);
    for (int i = 0; i < count; i++)
        if (lines[i] == source)
            return true;
    return false;
}

static void draw_contents(const struct lesson *l, struct canvas *c, struct rect r)
{
    int current = -1, row = r.row;
    for (int i = 0; i < l->doc.heading_count; i++)
        if (l->doc.headings[i].level <= 2 && l->doc.headings[i].line <= l->top + l->rows / 3)
            current = i;
    for (int i = 0; i < l->doc.heading_count && row < r.row + r.rows; i++) {
        const struct md_heading *h = &l->doc.headings[i];
        if (h->level > 2)
            continue;
        bool here = i == current;
        canvas_text(c, row, r.col, 2, ROLE_ACCENT, 0, here ? "▸" : " ");
        canvas_text(c, row, r.col + 2, r.cols - 2, here ? ROLE_TITLE : ROLE_MUTED, here ? ATTR_BOLD : 0,
                    h->text);
        row += h->level == 1 ? 2 : 1;
    }
    /* What there is to do in this lesson, and what is done. */
    int answered = 0, asked = 0, started = 0, runs = 0;
    for (int b = 0; b < block_count(l->blocks); b++) {
        enum block_kind kind = block_kind_of(l->blocks, b);
        asked += block_choices(l->blocks, b) > 0;
        answered += block_chosen(l->blocks, b) >= 0;
        runs += kind == BLOCK_RUN;
        started += kind == BLOCK_RUN && block_run(l->blocks, b);
    }
    row += 1;
    if (asked && row < r.row + r.rows)
        canvas_format(c, row++, r.col + 2, r.cols - 2, answered == asked ? ROLE_GOOD : ROLE_MUTED, 0,
                      _("%d of %d questions answered"), answered, asked);
    if (runs && row < r.row + r.rows)
        canvas_format(c, row, r.col + 2, r.cols - 2, started == runs ? ROLE_GOOD : ROLE_MUTED, 0,
                      _("%d of %d runs started"), started, runs);
}

static void draw_matches(const struct lesson *l, struct canvas *c, int row, int col, int width,
                         const struct md_line *line)
{
    int length = text_columns(l->pattern);
    for (int at = 0; *l->pattern && length > 0 && (at = markdown_find(line, l->pattern, at)) >= 0;
         at += length)
        for (int i = at; i < at + length && i < width && col + i < c->cols; i++)
            c->cells[(size_t)row * (size_t)c->cols + (size_t)(col + i)].attributes ^= ATTR_REVERSE;
}

static void draw_prompt(const struct lesson *l, struct canvas *c, struct rect area)
{
    int row = area.row + area.rows - 1;
    canvas_fill(c, (struct rect){row, area.col, 1, area.cols}, ' ', ROLE_TEXT, 0);
    int col = area.col + 1 + canvas_text(c, row, area.col + 1, 2, ROLE_KEY, ATTR_BOLD, "/");
    col += canvas_text(c, row, col, area.cols - 4, ROLE_TEXT, 0, l->edit);
    canvas_put(c, row, col, ' ', ROLE_TEXT, ATTR_REVERSE);
    c->cursor_row = row;
    c->cursor_col = col;
}

/* The jump list upon the text: headings by their level, bookmarks among them. */
static void draw_stops(struct lesson *l, struct canvas *c, struct rect area)
{
    int cols = area.cols - 4 < 64 ? area.cols - 4 : 64, rows = l->stop_count + 2;
    rows = rows < area.rows ? rows : area.rows;
    struct rect box = {area.row + (area.rows - rows) / 3, area.col + (area.cols - cols) / 2, rows, cols};
    canvas_fill(c, box, ' ', ROLE_TEXT, 0);
    struct rect in = rect_inset(canvas_box(c, box, _("Contents and bookmarks"), ROLE_ACCENT), 0, 1);
    if (l->stop < l->first_stop)
        l->first_stop = l->stop;
    if (l->stop >= l->first_stop + in.rows)
        l->first_stop = l->stop - in.rows + 1;
    for (int i = 0; i < in.rows && l->first_stop + i < l->stop_count; i++) {
        const struct lesson_stop *s = &l->stops[l->first_stop + i];
        bool here = l->first_stop + i == l->stop;
        int row = in.row + i, indent = s->level > 1 ? 2 * (s->level - 1) : 0;
        enum role role = here            ? ROLE_SELECTED
                         : s->level == 0 ? ROLE_ACCENT
                         : s->level > 2  ? ROLE_MUTED
                                         : ROLE_TEXT;
        if (here) {
            canvas_fill(c, (struct rect){row, in.col, 1, in.cols}, ' ', ROLE_SELECTED, 0);
            c->cursor_row = row;
            c->cursor_col = in.col;
        }
        if (s->level == 0)
            canvas_text(c, row, in.col, 2, role, ATTR_BOLD, "◆");
        canvas_text(c, row, in.col + 2 + indent, in.cols - 2 - indent, role, here ? ATTR_BOLD : 0, s->text);
    }
}

/* The lines of the text that are in sight; blocks are drawn as they are now. */
static void draw_text(struct lesson *l, struct canvas *c, struct rect text, int margin, int width)
{
    l->text_row = text.row;
    l->text_col = text.col + margin;
    for (int i = 0; i < text.rows && l->top + i < l->doc.count; i++) {
        const struct md_line *line = &l->doc.lines[l->top + i];
        int source = line->source, at = l->top + i;
        if (line->live >= 0 && (i == 0 || l->doc.lines[at - 1].live != line->live)) {
            struct rect area = {text.row + i, l->text_col, text.rows - i, width};
            block_draw(l->blocks, line->live, c, area, line->row, line->live == l->focus);
        } else if (line->live < 0) {
            markdown_draw(c, text.row + i, l->text_col, width, line);
            draw_matches(l, c, text.row + i, l->text_col, width, line);
        }
        /* The blank line in front of a block of text belongs to it. */
        int before = at > 0 && !l->doc.lines[at - 1].count ? at - 2 : at - 1;
        bool first = before < 0 || l->doc.lines[before].source != source;
        if (first && source > 0 && line->count && marked(l, source))
            canvas_text(c, text.row + i, l->text_col - 2, 1, ROLE_ACCENT, ATTR_BOLD, "◆");
    }
}

void lesson_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct lesson *l = view;
    struct rect text = area;
    (void)app;
    rect_cut_rows(&text, 1);
    rect_cut_rows(&text, text.rows >= 16 ? -1 : 0);
    bool contents = area.cols >= CONTENTS_FROM;
    int margin = 2, width = area.cols - 2 * margin;
    struct rect pane = {0};
    if (contents) {
        pane = rect_cut_cols(&text, CONTENTS + 4);
        width = MEASURE;
        margin = (text.cols - MEASURE) / 3;
        if (margin < 3)
            margin = 3;
    } else if (width > MEASURE) {
        margin += (width - MEASURE) / 2;
        width = MEASURE;
    }
    lesson_layout(l, width, c->utf8, false);
    l->rows = text.rows;
    lesson_settle(l);
    if (contents) {
        draw_contents(l, c, rect_inset(pane, 0, 2));
        canvas_vline(c, area.row, pane.col + pane.cols - 1, area.rows, ROLE_BORDER);
    }
    draw_text(l, c, text, margin, width);
    /* A bar at the right edge says how far one is, where there is something to scroll. */
    if (l->doc.count > l->rows && text.rows > 3) {
        int size = text.rows * l->rows / l->doc.count;
        size = size > 1 ? size : 1;
        int at = lesson_last_top(l) ? (text.rows - size) * l->top / lesson_last_top(l) : 0;
        for (int i = 0; i < size; i++)
            canvas_put(c, text.row + at + i, area.col + area.cols - 1, 0x2590, ROLE_BORDER, 0);
    }
    if (l->jumping)
        draw_stops(l, c, area);
    if (l->typing)
        draw_prompt(l, c, area);
}
