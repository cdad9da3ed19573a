/*
 * present_draw.c - a slide: its heading in large letters where there is room, its few words, its picture, and a last
 * line with the place in the lesson.
 */
#include "tui/banner.h"
#include "tui/present_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_COLS = 92,   /* a line of text is not longer than an eye follows */
    BANNER_FROM = 28, /* rows from which on headings are drawn in large letters */
    BANNER_LINES = 2,
    ROOMY_FROM = 18, /* rows from which on there is a margin at the top */
    REPLAY_ROWS = 12,
    BLOCK_COLS = 100,
    BAR_COLS = 2,
    DRAWING_COLS = 400, /* wider than any drawing */
};

/* --- laying out ------------------------------------------------------------------------------------------------ */

void present_draw_free(struct present *p)
{
    markdown_free(&p->body);
    markdown_free(&p->picture);
    p->laid_slide = -1;
}

/* A drawing stands by itself: without the bar that marks code, and without what all its lines begin with. */
static void unbar(struct md_doc *doc)
{
    int left = 1000;
    for (int i = 0; i < doc->count; i++) {
        int blanks = BAR_COLS;
        while (blanks < doc->lines[i].count && doc->lines[i].cells[blanks].glyph == ' ')
            blanks++;
        if (blanks < doc->lines[i].count && blanks < left)
            left = blanks;
    }
    for (int i = 0; i < doc->count; i++) {
        struct md_line *line = &doc->lines[i];
        int cut = left < line->count ? left : line->count;
        memmove(line->cells, line->cells + cut, (size_t)(line->count - cut) * sizeof *line->cells);
        line->count -= cut;
    }
}

/* What is bold is what a hall shall remember. */
static void colour(struct md_doc *doc)
{
    for (int i = 0; i < doc->count; i++)
        for (int k = 0; k < doc->lines[i].count; k++) {
            struct cell *cell = &doc->lines[i].cells[k];
            if (cell->attributes & ATTR_BOLD && cell->role == ROLE_TEXT)
                cell->role = ROLE_ACCENT;
        }
}

static void lay_out(struct present *p, int cols, int rows)
{
    const struct slide *s = &p->slides.slides[p->state.slide];
    if (p->laid_slide == p->state.slide && p->laid_cols == cols && p->laid_rows == rows)
        return;
    present_draw_free(p);
    markdown_render(&p->body, s->text, cols < TEXT_COLS ? cols : TEXT_COLS, NULL);
    colour(&p->body);
    char *picture = p->replay || p->block >= 0 ? NULL : slide_picture(s);
    bool drawing = s->info && !*s->info; /* wrapped it would be torn: it is cut where it finds no room */
    if (picture)
        markdown_render(&p->picture, picture, drawing ? DRAWING_COLS : cols, NULL);
    free(picture);
    if (drawing)
        unbar(&p->picture);
    p->laid_slide = p->state.slide;
    p->laid_cols = cols;
    p->laid_rows = rows;
}

/* --- the parts ------------------------------------------------------------------------------------------------ */

/* The place in the lesson: a dot a slide, or a bar where there are too many. */
static void draw_dots(const struct present *p, struct canvas *c, int row, int col, int cols)
{
    int count = p->slides.count, at = p->state.slide;
    int step = count * 2 <= cols ? 2 : 1;
    if (count * step > cols) {
        int done = count > 1 ? at * (cols - 1) / (count - 1) : cols - 1;
        for (int i = 0; i < cols; i++)
            canvas_put(c, row, col + i, i == done ? 0x25cf : 0x2500, i <= done ? ROLE_ACCENT : ROLE_BORDER,
                       0);
        return;
    }
    col += (cols - count * step) / 2;
    for (int i = 0; i < count; i++)
        canvas_put(c, row, col + i * step,
                   i == at  ? 0x25c9
                   : i < at ? 0x25cf
                            : 0x25cb,
                   i == at  ? ROLE_ACCENT
                   : i < at ? ROLE_MUTED
                            : ROLE_BORDER,
                   i == at ? ATTR_BOLD : 0);
}

static void draw_bottom(const struct present *p, struct canvas *c, struct rect row)
{
    char number[32];
    int side = row.cols >= 72 ? 20 : 10, margin = row.cols >= 60 ? 2 : 1;
    snprintf(number, sizeof number, "%d/%d", p->state.slide + 1, p->slides.count);
    int width = text_columns(number), first = row.col + margin, last = row.col + row.cols - margin - width;
    if (p->state.slide == 0)
        canvas_text(c, row.row, first, side, ROLE_MUTED, 0, _("? shows the keys"));
    else if (side == 20)
        canvas_text(c, row.row, first, side, ROLE_MUTED, 0, p->title);
    if (p->state.slide > 0 && side < 20)
        first -= side - 1;
    draw_dots(p, c, row.row, first + side + 1,
              row.cols - 2 * (side + margin + 1) + (p->state.slide && side < 20 ? side - 1 : 0));
    canvas_text(c, row.row, last, width, ROLE_TEXT, 0, number);
}

/* Rows of the heading; *large: wanted in large letters, and whether it can be. */
static int heading_rows(const char *heading, const struct canvas *c, int cols, bool *large)
{
    int lines = *large ? banner_lines(heading, BANNER_SMALL, cols) : 0;
    *large = lines > 0 && lines <= BANNER_LINES;
    return *large ? banner_rows(lines, BANNER_SMALL, c->utf8) : wrap_rows(heading, cols) + 1;
}

static void draw_heading(const char *heading, struct canvas *c, struct rect area, bool large)
{
    if (large) {
        banner_draw(c, area, BANNER_SMALL, false, ROLE_TITLE, heading);
        return;
    }
    int rows = wrap_text(c, area, ROLE_TITLE, ATTR_BOLD, heading);
    for (int i = 0, cols = area.cols < 12 ? area.cols : 12; i < cols; i++)
        canvas_put(c, area.row + rows, area.col + i, 0x2501, ROLE_ACCENT, 0);
}

/* A line that is cut ends in "…". */
static void draw_lines(const struct md_doc *doc, struct canvas *c, struct rect area, int skip)
{
    for (int i = 0; i < area.rows && skip + i < doc->count; i++) {
        if (skip + i < 0)
            continue;
        const struct md_line *line = &doc->lines[skip + i];
        markdown_draw(c, area.row + i, area.col, area.cols, line);
        if (line->count > area.cols)
            canvas_put(c, area.row + i, area.col + area.cols - 1, 0x2026, ROLE_MUTED, 0);
    }
}

/* --- the title ------------------------------------------------------------------------------------------------ */

/* "Question? · 40 minutes": where the second part has a line of its own, it needs no dot before it. */
static void undot(struct md_doc *doc)
{
    for (int i = 1; i < doc->count; i++) {
        struct md_line *line = &doc->lines[i];
        if (line->count > 2 && line->cells[0].glyph == 0xb7 && line->cells[1].glyph == ' ') {
            line->count -= 2;
            memmove(line->cells, line->cells + 2, (size_t)line->count * sizeof *line->cells);
        }
    }
}

static void draw_title(struct present *p, struct canvas *c, struct rect area)
{
    const struct slide *s = &p->slides.slides[p->state.slide];
    struct rect in = rect_inset(area, 1, area.cols >= 60 ? 4 : 2);
    enum banner_scale scale = BANNER_LARGE;
    int lines = area.rows >= BANNER_FROM - 8 ? banner_lines(s->heading, scale, in.cols) : 0;
    if (!lines || banner_rows(lines, scale, c->utf8) > in.rows / 2) {
        scale = BANNER_SMALL;
        lines = banner_lines(s->heading, scale, in.cols);
    }
    if (banner_rows(lines, scale, c->utf8) > in.rows / 2)
        lines = 0;
    int heading = lines ? banner_rows(lines, scale, c->utf8) : wrap_rows(s->heading, in.cols) + 1;
    lay_out(p, in.cols, area.rows);
    undot(&p->body);
    int total = heading + 2 + p->body.count, row = in.row + (in.rows > total ? (in.rows - total) * 2 / 5 : 0);
    struct rect place = {row, in.col, in.rows, in.cols};
    if (lines) {
        banner_draw(c, place, scale, true, ROLE_TITLE, s->heading);
    } else {
        int width = text_columns(s->heading) < in.cols ? text_columns(s->heading) : in.cols;
        place.col += (in.cols - width) / 2;
        place.cols = width;
        wrap_text(c, place, ROLE_TITLE, ATTR_BOLD, s->heading);
        for (int i = 0; i < width; i++)
            canvas_put(c, row + heading - 1, place.col + i, 0x2501, ROLE_ACCENT, 0);
    }
    row += heading + 2;
    for (int i = 0; i < p->body.count && row < in.row + in.rows; i++, row++) {
        const struct md_line *line = &p->body.lines[i];
        markdown_draw(c, row, in.col + (in.cols - line->count) / 2, line->count, line);
    }
    p->page = p->below = p->top = 0;
}

/* --- the slide ------------------------------------------------------------------------------------------------ */

/* Rows of the body without its blank lines, which are left out where that makes it fit. */
static void tighten(struct md_doc *doc)
{
    int kept = 0;
    for (int i = 0; i < doc->count; i++) {
        if (doc->lines[i].count)
            doc->lines[kept++] = doc->lines[i];
        else
            free(doc->lines[i].cells);
    }
    doc->count = kept;
}

void present_draw(struct present *p, struct app *app, struct canvas *c, struct rect area)
{
    const struct slide *s = &p->slides.slides[p->state.slide];
    draw_bottom(p, c, rect_cut_rows(&area, -1));
    if (s->level == 1 && s->part == 1 && !s->picture) {
        draw_title(p, c, area);
        return;
    }
    bool roomy = area.rows >= ROOMY_FROM, high = area.rows >= BANNER_FROM, large = high,
         block = p->block >= 0;
    int margin = area.cols / 14 > 2 ? area.cols / 14 : 2;
    struct rect in = rect_inset(area, 0, margin);
    lay_out(p, in.cols, area.rows);
    int cols = in.cols < BLOCK_COLS ? in.cols : BLOCK_COLS;
    int beside = p->replay ? REPLAY_ROWS : block ? block_rows(p->blocks, p->block, cols) : p->picture.count;
    int between = !p->body.count || !beside ? 0 : high ? 2 : 1;
    rect_cut_rows(&in, high ? 2 : roomy);
    int heading = heading_rows(s->heading, c, in.cols, &large), gap = high ? 2 : roomy;
    /* What is to be seen at once comes before the size of its heading. */
    if (large && heading + gap + p->body.count + between + beside + 1 > in.rows)
        large = false, gap = 1, heading = heading_rows(s->heading, c, in.cols, &large);
    draw_heading(s->heading, c, in, large);
    rect_cut_rows(&in, heading + gap);
    rect_cut_rows(&in, roomy ? -1 : 0);
    if (p->body.count + between + beside > in.rows)
        tighten(&p->body);
    if (p->replay)
        beside = in.rows - p->body.count - between > beside ? in.rows - p->body.count - between : beside;
    int total = p->body.count + between + beside, hidden = total > in.rows ? total - in.rows : 0;
    p->top = p->top > hidden ? hidden : p->top < 0 ? 0 : p->top;
    p->page = in.rows;
    p->below = hidden - p->top;
    int row = in.row + (hidden ? 0 : (in.rows - total) / 8) - p->top, end = in.row + in.rows;
    for (int i = 0; i < p->body.count; i++, row++)
        if (row >= in.row && row < end)
            markdown_draw(c, row, in.col, in.cols, &p->body.lines[i]);
    row += between;
    if (p->replay) {
        present_replay_draw(p->replay, app, c, (struct rect){row, in.col, end - row, in.cols});
    } else if (block) {
        int skip = row < in.row ? in.row - row : 0;
        block_draw(p->blocks, p->block, c, (struct rect){row + skip, in.col, end - row - skip, cols}, skip,
                   block_live(p->blocks, p->block));
    } else {
        struct rect place = {row > in.row ? row : in.row, in.col, 0, in.cols};
        place.rows = end - place.row;
        draw_lines(&p->picture, c, place, place.row - row);
    }
    if (p->below > 0 && roomy)
        canvas_text(c, end, in.col, in.cols, ROLE_ACCENT, 0, _("▼ more"));
    else if (p->below > 0)
        canvas_put(c, end - 1, area.col + area.cols - 1, 0x25bc, ROLE_ACCENT, 0);
}
