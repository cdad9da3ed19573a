/*
 * lesson_place.c - a lesson's text as lines, and where the reader is in it.
 */
#include "tui/lesson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lesson_last_top(const struct lesson *l)
{
    int top = l->doc.count - l->rows;
    return top > 0 ? top : 0;
}

int lesson_percent(const struct lesson *l)
{
    int bottom = l->top + l->rows;
    if (!l->doc.count || bottom >= l->doc.count)
        return 100;
    return bottom * 100 / l->doc.count;
}

void lesson_note(struct lesson *l)
{
    int share = lesson_percent(l);
    if (!l->rows || (l->source == l->noted_source && share <= l->noted_percent))
        return;
    l->noted_source = l->source;
    l->noted_percent = share;
    progress_note_reading(app_progress(l->app), l->name, l->source, share);
}

void lesson_settle(struct lesson *l)
{
    if (l->top > lesson_last_top(l))
        l->top = lesson_last_top(l);
    if (l->top < 0)
        l->top = 0;
    if (!l->doc.count)
        return;
    l->source = l->doc.lines[l->top].source;
    l->offset = 0;
    for (int i = l->top - 1; i >= 0 && l->doc.lines[i].source == l->source; i--)
        l->offset++;
}

static void place_restore(struct lesson *l)
{
    l->top = 0;
    while (l->top < l->doc.count && l->doc.lines[l->top].source < l->source)
        l->top++;
    l->top += l->offset;
}

void lesson_layout(struct lesson *l, int width, bool utf8, bool anew)
{
    if (l->width == width && l->utf8 == utf8 && !anew)
        return;
    struct md_doc doc;
    struct md_live live = block_live_for(l->blocks, utf8);
    if (!markdown_render_live(&doc, l->text, width, &live, NULL))
        return;
    bool widened = l->width != width;
    markdown_free(&l->doc);
    l->doc = doc;
    l->width = width;
    l->utf8 = utf8;
    l->match = widened ? -1 : l->match;
    place_restore(l);
}

bool lesson_block_lines(const struct lesson *l, int block, int *first, int *last)
{
    *first = -1;
    for (int i = 0; block >= 0 && i < l->doc.count; i++)
        if (l->doc.lines[i].live == block) {
            *first = *first < 0 ? i : *first;
            *last = i;
        }
    return *first >= 0;
}

bool lesson_outgrown(const struct lesson *l)
{
    int first, last;
    for (int b = 0; b < block_count(l->blocks); b++)
        if (lesson_block_lines(l, b, &first, &last) && last - first + 1 != block_rows(l->blocks, b, l->width))
            return true;
    return false;
}

bool lesson_find(struct lesson *l, int from, int step)
{
    for (int n = 0, i = from; n < l->doc.count; n++, i += step) {
        i = (i % l->doc.count + l->doc.count) % l->doc.count;
        if (markdown_find(&l->doc.lines[i], l->pattern, 0) < 0)
            continue;
        l->match = i;
        if (i < l->top || i >= l->top + l->rows)
            l->top = i - l->rows / 3;
        lesson_settle(l);
        return true;
    }
    return false;
}

void lesson_show(struct lesson *l, int block)
{
    int first, last;
    if (!lesson_block_lines(l, block, &first, &last))
        return;
    if (last >= l->top + l->rows)
        l->top = last - l->rows + 1;
    if (first < l->top)
        l->top = first;
    lesson_settle(l);
}

bool lesson_focus(struct lesson *l, int step)
{
    int count = block_count(l->blocks), from = l->focus, first, last;
    /* Without a focus: the first that ends below the top of the screen, or the last that begins above its end. */
    if (from < 0) {
        from = step > 0 ? count - 1 : 0;
        for (int b = 0; b < count; b++)
            if (lesson_block_lines(l, b, &first, &last) &&
                (step > 0 ? last < l->top : first < l->top + l->rows))
                from = step > 0 ? b : b + 1;
    }
    for (int n = 1; n <= count; n++) {
        int b = ((from + n * step) % count + count) % count;
        if (!block_live(l->blocks, b))
            continue;
        l->focus = b;
        lesson_show(l, b);
        return true;
    }
    return false;
}

void lesson_unfocus_hidden(struct lesson *l)
{
    int first, last;
    if (l->focus >= 0 &&
        (!lesson_block_lines(l, l->focus, &first, &last) || last < l->top || first >= l->top + l->rows))
        l->focus = -1;
}

/* The text of a line without blanks at its ends. */
static void line_text(const struct md_line *line, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < line->count && used + 5 < size; i++)
        if (line->cells[i].glyph && (used || line->cells[i].glyph != ' '))
            used += (size_t)utf8_put(text + used, line->cells[i].glyph);
    text[used] = '\0';
}

static int by_line(const void *a, const void *b)
{
    const struct lesson_stop *p = a, *q = b;
    return p->line != q->line ? p->line - q->line : q->level - p->level;
}

void lesson_stops(struct lesson *l)
{
    int marks[PROGRESS_MAX_MARKS], count = progress_marks(app_progress(l->app), l->name, marks);
    l->stop_count = 0;
    for (int i = 0; i < l->doc.heading_count && l->stop_count < LESSON_STOPS - PROGRESS_MAX_MARKS; i++) {
        struct lesson_stop *s = &l->stops[l->stop_count++];
        snprintf(s->text, sizeof s->text, "%s", l->doc.headings[i].text);
        s->line = l->doc.headings[i].line;
        s->level = l->doc.headings[i].level;
    }
    for (int i = 0; i < count; i++) {
        int line = 0;
        while (line < l->doc.count - 1 && l->doc.lines[line].source < marks[i])
            line++;
        struct lesson_stop *s = &l->stops[l->stop_count++];
        s->line = line;
        s->level = 0;
        for (int k = line; k < l->doc.count && k < line + 3; k++) {
            if (l->doc.lines[k].live >= 0)
                snprintf(s->text, sizeof s->text, "%.90s", block_heading(l->blocks, l->doc.lines[k].live));
            else
                line_text(&l->doc.lines[k], s->text, sizeof s->text);
            if (*s->text)
                break;
        }
    }
    qsort(l->stops, (size_t)l->stop_count, sizeof *l->stops, by_line);
    l->stop = 0;
    for (int i = 0; i < l->stop_count; i++)
        if (l->stops[i].line <= l->top + 1)
            l->stop = i;
}
