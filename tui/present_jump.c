/*
 * present_jump.c - filters the headings and draws them.
 */
#include "tui/present_jump.h"

#include "tui/text.h"
#include "tui/view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 68, MARGIN = 2 };

void present_jump_open(struct present_jump *j, int slide)
{
    *j = (struct present_jump){.open = true, .selected = slide};
}

static bool holds(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (!strncasecmp(text, part, length))
            return true;
    return length == 0;
}

/* A number means the slide of that number and those whose number begins so; else a part of the heading. */
static bool matches(const struct present_jump *j, const struct slides *slides, int i)
{
    char number[16];
    if (!*j->pattern || strspn(j->pattern, "0123456789") != strlen(j->pattern))
        return holds(slides->slides[i].heading, j->pattern);
    snprintf(number, sizeof number, "%d", i + 1);
    return !strncmp(number, j->pattern, strlen(j->pattern));
}

/* The nearest slide that matches, from `from` on in steps of `step`; -1: none. */
static int next_match(const struct present_jump *j, const struct slides *slides, int from, int step)
{
    for (int i = from; i >= 0 && i < slides->count; i += step)
        if (matches(j, slides, i))
            return i;
    return -1;
}

/* Selects the nearest that matches from `from` on; where none does, the selection stays. */
static void move(struct present_jump *j, const struct slides *slides, int from, int step)
{
    int to = next_match(j, slides, from, step);
    if (to >= 0)
        j->selected = to;
}

static void retype(struct present_jump *j, const struct slides *slides)
{
    if (j->selected < slides->count && matches(j, slides, j->selected))
        return;
    move(j, slides, 0, 1);
}

int present_jump_key(struct present_jump *j, const struct slides *slides, int key)
{
    size_t length = strlen(j->pattern);
    int chosen = -1;
    if (key == KEY_CODE_UP) {
        move(j, slides, j->selected - 1, -1);
    } else if (key == KEY_CODE_DOWN) {
        move(j, slides, j->selected + 1, 1);
    } else if (key == KEY_CODE_HOME) {
        move(j, slides, 0, 1);
    } else if (key == KEY_CODE_END) {
        move(j, slides, slides->count - 1, -1);
    } else if (key == KEY_CODE_ENTER) {
        j->open = false;
        /* "7" is the seventh slide, though 70 begins so too. */
        int number = atoi(j->pattern);
        if (number >= 1 && number <= slides->count && matches(j, slides, number - 1) &&
            !matches(j, slides, j->selected))
            chosen = number - 1;
        else if (j->selected < slides->count && matches(j, slides, j->selected))
            chosen = j->selected;
    } else if (key == KEY_CODE_BACKSPACE) {
        while (length > 0 && ((unsigned char)j->pattern[--length] & 0xc0) == 0x80)
            ;
        j->pattern[length] = '\0';
        retype(j, slides);
    } else if (key >= ' ' && key < KEY_CODE_BASE && length + 5 < sizeof j->pattern) {
        length += (size_t)utf8_put(j->pattern + length, (uint32_t)key);
        j->pattern[length] = '\0';
        retype(j, slides);
    } else if (key != KEY_CODE_RESIZE) {
        j->open = false;
    }
    return chosen;
}

static void draw_line(const struct slides *slides, int i, bool selected, struct canvas *c, struct rect row)
{
    const struct slide *slide = &slides->slides[i];
    enum role role = selected ? ROLE_SELECTED : ROLE_TEXT;
    canvas_fill(c, row, ' ', role, 0);
    canvas_text(c, row.row, row.col, 1, role, ATTR_BOLD, selected ? "▸" : " ");
    canvas_format(c, row.row, row.col + 1, 4, selected ? role : ROLE_MUTED, 0, "%3d", i + 1);
    int end = row.col + row.cols - 1, col = row.col + 6;
    col += canvas_text(c, row.row, col, end - col, role, 0, slide->heading);
    if (slide->parts > 1 && end - col > 7)
        canvas_format(c, row.row, col + 2, end - col - 2, selected ? role : ROLE_MUTED, 0, "%d/%d",
                      slide->part, slide->parts);
    if (selected) {
        c->cursor_row = row.row;
        c->cursor_col = row.col;
    }
}

void present_jump_draw(const struct present_jump *j, const struct slides *slides, struct canvas *c,
                       struct rect area)
{
    int shown = 0, before = 0;
    for (int i = 0; i < slides->count; i++) {
        shown += matches(j, slides, i);
        before += i < j->selected && matches(j, slides, i);
    }
    struct rect box = {0, 0, slides->count + 4,
                       area.cols - 2 * MARGIN < WIDTH ? area.cols - 2 * MARGIN : WIDTH};
    if (box.rows > area.rows - 2)
        box.rows = area.rows - 2;
    box.row = area.row + (area.rows - box.rows) / 2;
    box.col = area.col + (area.cols - box.cols) / 2;
    canvas_fill(c, box, ' ', ROLE_TEXT, 0);
    struct rect in = canvas_box(c, box, _("Go to a slide"), ROLE_BORDER);
    struct rect prompt = rect_cut_rows(&in, 1);
    int col = prompt.col + 1 + canvas_text(c, prompt.row, prompt.col + 1, 2, ROLE_KEY, ATTR_BOLD, "/");
    col += canvas_text(c, prompt.row, col, prompt.cols - 4, ROLE_TEXT, 0, j->pattern);
    canvas_put(c, prompt.row, col, ' ', ROLE_TEXT, ATTR_REVERSE);
    if (!*j->pattern)
        canvas_text(c, prompt.row, col + 2, prompt.cols - 6, ROLE_MUTED, 0,
                    _("a number, or a part of a heading"));
    canvas_hline(c, in.row, in.col, in.cols, ROLE_BORDER);
    rect_cut_rows(&in, 1);
    if (!shown)
        canvas_text(c, in.row, in.col + 1, in.cols - 2, ROLE_MUTED, 0,
                    _("No slide has that in its heading."));
    int first = before >= in.rows ? before - in.rows + 1 : 0;
    for (int i = 0, n = 0; i < slides->count; i++) {
        if (!matches(j, slides, i))
            continue;
        if (n >= first && n - first < in.rows)
            draw_line(slides, i, i == j->selected, c, (struct rect){in.row + n - first, in.col, 1, in.cols});
        n++;
    }
}
