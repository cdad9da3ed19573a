/*
 * figure_step.c - a data-parallel step over time, one row a rank: read, forward, backward, allreduce, update.
 *
 *     show: step
 *     ranks: 2          1 to 4
 *     values: 1 4 8 3 1     relative times of the five parts (these unless given); nothing here is measured
 */
#include "tui/figure.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 5, LABEL = 8 };

static const struct part {
    const char *name;
    enum role role;
    uint32_t glyph;
    char ascii;
} parts[PARTS] = {
    {N_("read"), ROLE_MUTED, 0x2591, '.'},       {N_("forward"), ROLE_SERIES1, 0x2588, 'F'},
    {N_("backward"), ROLE_SERIES2, 0x2593, 'B'}, {N_("allreduce"), ROLE_SERIES4, 0x2592, 'A'},
    {N_("update"), ROLE_SERIES3, 0x259a, 'U'},
};

/* Told apart without colour, too. */
static void put_part(struct canvas *c, int row, int col, const struct part *p)
{
    canvas_put(c, row, col, c->utf8 ? p->glyph : (uint32_t)p->ascii, p->role, 0);
}

static bool values_of(const struct block_text *t, double value[PARTS])
{
    static const double usual[PARTS] = {1, 4, 8, 3, 1};
    const char *text = block_text_get(t, "values");
    for (int i = 0; i < PARTS; i++) {
        char *end = NULL;
        value[i] = text ? strtod(text, &end) : usual[i];
        if (text && (end == text || !(value[i] > 0) || value[i] > 1000))
            return false;
        text = text ? end : NULL;
    }
    return true;
}

static bool step_check(const struct block_text *t, struct error *e)
{
    int ranks;
    double value[PARTS];
    if (!values_of(t, value))
        return error_set(e, ERROR_INPUT, "line %d: values: expected five positive numbers",
                         block_text_line(t, "values"));
    return block_text_integer(t, "ranks", 1, 4, 2, &ranks, e);
}

static int ranks_of(const struct block_text *t)
{
    int ranks;
    return block_text_integer(t, "ranks", 1, 4, 2, &ranks, NULL) ? ranks : 2;
}

static int legend_rows(int cols)
{
    return cols < 60 ? 2 : 1;
}

static int step_rows(const struct block_text *t, int cols)
{
    return 2 * ranks_of(t) + 1 + legend_rows(cols);
}

static void step_draw(const struct block_text *t, struct canvas *c, struct rect in, int step)
{
    double value[PARTS], whole = 0;
    int ranks = ranks_of(t), start[PARTS + 1] = {0}, room = in.cols - LABEL;
    (void)step;
    if (!values_of(t, value))
        return;
    for (int i = 0; i < PARTS; i++)
        whole += value[i];
    double before = 0;
    for (int i = 0; i < PARTS; i++) {
        before += value[i];
        start[i + 1] = (int)(before / whole * room + 0.5);
    }
    for (int r = 0; r < ranks; r++) {
        int row = in.row + 2 * r;
        canvas_format(c, row, in.col, LABEL, ROLE_TEXT, ATTR_BOLD, _("rank %d"), r);
        for (int i = 0; i < PARTS; i++)
            for (int k = start[i]; k < start[i + 1]; k++)
                put_part(c, row, in.col + LABEL + k, &parts[i]);
        /* In the allreduce the ranks meet. */
        int middle = in.col + LABEL + (start[3] + start[4]) / 2;
        if (r + 1 < ranks)
            canvas_put(c, row + 1, middle, 0x2195, ROLE_SERIES4, ATTR_BOLD);
    }
    int row = in.row + 2 * ranks, col = in.col + LABEL;
    for (int i = 0; i < PARTS; i++) {
        int width = text_columns(_(parts[i].name)) + 2;
        if (col + width > in.col + in.cols) {
            row++;
            col = in.col + LABEL;
        }
        put_part(c, row, col, &parts[i]);
        canvas_text(c, row, col + 2, width, ROLE_MUTED, 0, _(parts[i].name));
        col += width + 2;
    }
}

const struct figure figure_step = {"step", step_check, step_rows, step_draw, NULL};
