/*
 * block_figure.c - the block that shows a figure (figure.h), with a title above and a note below; step by step where
 * the figure has steps.
 */
#include "tui/block_kind.h"
#include "tui/figure.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>

enum action { BACK = 1, ON, FIRST, LAST };

struct figure_block {
    const struct figure *figure;
    int step, steps;
};

static const struct key_binding figure_keys[] = {
    {KEY_CODE_LEFT, BACK, N_("step"), N_("a step of the figure back or on")},
    {KEY_CODE_RIGHT, ON, N_("step"), N_("a step of the figure back or on")},
    {KEY_CODE_ENTER, ON, NULL, NULL},
    {KEY_CODE_HOME, FIRST, NULL, N_("the figure's first or last step")},
    {KEY_CODE_END, LAST, NULL, N_("the figure's first or last step")},
    {0, 0, NULL, NULL},
};

static bool figure_open(struct block *b, struct error *e)
{
    struct figure_block *f = b->state = calloc(1, sizeof *f);
    struct error inner = {0};
    if (!f)
        return error_set(e, ERROR_FAILED, "out of memory");
    f->figure = figure_find(block_text_get(&b->text, "show"), &inner);
    if (!f->figure)
        return error_set(e, ERROR_INPUT, "line %d: %s", block_text_line(&b->text, "show"), inner.text);
    if (f->figure->check && !f->figure->check(&b->text, e))
        return false;
    f->steps = f->figure->steps ? f->figure->steps(&b->text) : 0;
    if (f->steps)
        b->class = &block_stepped_figure_class;
    return true;
}

static void figure_close(struct block *b)
{
    free(b->state);
}

static int figure_rows(struct block *b, int cols)
{
    const struct figure_block *f = b->state;
    const char *note = block_text_get(&b->text, "note");
    return f->figure->rows(&b->text, cols) + (note ? wrap_rows(note, cols) : 0);
}

static void figure_draw(struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct figure_block *f = b->state;
    const char *note = block_text_get(&b->text, "note");
    int rows = f->figure->rows(&b->text, in.cols);
    if (focused) {
        c->cursor_row = in.row;
        c->cursor_col = in.col;
    }
    f->figure->draw(&b->text, c, rect_cut_rows(&in, rows), f->step);
    if (note)
        block_sentence(c, &in, ROLE_MUTED, ATTR_ITALIC, note);
}

/* A figure in steps stands at its last one: its result. */
static int figure_plain(struct block *b, struct canvas *c, struct rect in)
{
    const struct figure_block *f = b->state;
    const char *title = block_text_get(&b->text, "title"), *note = block_text_get(&b->text, "note");
    int before = in.rows;
    if (title)
        block_sentence(c, &in, ROLE_ACCENT, ATTR_BOLD, title);
    struct rect figure = rect_cut_rows(&in, f->figure->rows(&b->text, in.cols));
    f->figure->draw(&b->text, c, figure, f->steps ? f->steps - 1 : 0);
    if (note)
        block_sentence(c, &in, ROLE_MUTED, 0, note);
    return before - in.rows;
}

static bool figure_act(struct block *b, struct app *app, int action)
{
    struct figure_block *f = b->state;
    (void)app;
    int step = action == BACK ? f->step - 1 : action == ON ? f->step + 1 : action == FIRST ? 0 : f->steps - 1;
    f->step = step < 0 ? 0 : step >= f->steps ? f->steps - 1 : step;
    return true;
}

static bool figure_click(struct block *b, struct app *app, int row, int col, int cols)
{
    (void)row;
    return figure_act(b, app, col < cols / 2 ? BACK : ON);
}

static enum role figure_status(const struct block *b, char *text, size_t size)
{
    const struct figure_block *f = b->state;
    snprintf(text, size, _("step %d of %d"), f->step + 1, f->steps);
    return ROLE_MUTED;
}

const struct block_class block_figure_class = {
    .label = N_("Figure"),
    .open = figure_open,
    .close = figure_close,
    .rows = figure_rows,
    .draw = figure_draw,
    .plain = figure_plain,
};

const struct block_class block_stepped_figure_class = {
    .label = N_("Figure"),
    .open = figure_open,
    .close = figure_close,
    .rows = figure_rows,
    .draw = figure_draw,
    .plain = figure_plain,
    .keys = figure_keys,
    .act = figure_act,
    .click = figure_click,
    .status = figure_status,
};
