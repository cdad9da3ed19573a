/*
 * figure.c - the figures there are, and the parts they are drawn from.
 */
#include "tui/figure.h"

#include <stdio.h>
#include <string.h>

static const struct figure *const figures[] = {
    &figure_boxes,   &figure_flow, &figure_ring,     &figure_tree,
    &figure_cluster, &figure_step, &figure_pipeline, &figure_memory,
};
enum { FIGURES = sizeof figures / sizeof *figures };

const struct figure *figure_find(const char *name, struct error *e)
{
    char names[160] = "";
    for (int i = 0; i < FIGURES; i++) {
        size_t used = strlen(names);
        if (name && !strcmp(figures[i]->name, name))
            return figures[i];
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", figures[i]->name);
    }
    error_set(e, ERROR_INPUT, "show: there is no figure '%.40s'; there are: %s", name ? name : "", names);
    return NULL;
}

void figure_centred(struct canvas *c, int row, int col, int cols, enum role role, int attributes,
                    const char *text)
{
    int width = text_columns(text);
    int pad = width < cols ? (cols - width) / 2 : 0;
    canvas_text(c, row, col + pad, cols - pad, role, attributes, text);
}

/* The next of "first; second"; false at the end. */
static bool next_line(const char **text, char line[128])
{
    if (!**text)
        return false;
    const char *from = *text + strspn(*text, " ");
    size_t length = strcspn(from, ";");
    snprintf(line, 128, "%.*s", (int)(length < 127 ? length : 127), from);
    *text = from + length + (from[length] == ';');
    return true;
}

int figure_lines(const char *text, int *cols)
{
    char line[128];
    int rows = 0;
    *cols = 0;
    for (; next_line(&text, line); rows++)
        *cols = text_columns(line) > *cols ? text_columns(line) : *cols;
    return rows;
}

void figure_box(struct canvas *c, struct rect r, const char *text, enum role frame, enum role role)
{
    char line[128];
    int cols, rows = figure_lines(text, &cols);
    struct rect in = canvas_box(c, r, NULL, frame);
    int row = in.row + (rows < in.rows ? (in.rows - rows) / 2 : 0);
    for (int i = 0; next_line(&text, line) && row < in.row + in.rows; i++, row++)
        figure_centred(c, row, in.col, in.cols, i ? ROLE_MUTED : role, i ? 0 : ATTR_BOLD, line);
}

/* A word in the middle of a horizontal line, with a blank at each side, where it leaves some of the line. */
static void word_on(struct canvas *c, int row, int col, int cols, enum role role, const char *word)
{
    int width = word ? text_columns(word) : 0;
    if (!width || width + 4 > cols)
        return;
    int at = col + (cols - width - 2) / 2;
    canvas_put(c, row, at, ' ', role, 0);
    canvas_text(c, row, at + 1, width, role, 0, word);
    canvas_put(c, row, at + 1 + width, ' ', role, 0);
}

void figure_right(struct canvas *c, int row, int col, int cols, enum role role, const char *word)
{
    canvas_hline(c, row, col, cols - 1, role);
    canvas_put(c, row, col + cols - 1, 0x25ba, role, 0);
    word_on(c, row, col, cols - 1, role, word);
}

void figure_left(struct canvas *c, int row, int col, int cols, enum role role, const char *word)
{
    canvas_hline(c, row, col + 1, cols - 1, role);
    canvas_put(c, row, col, 0x25c4, role, 0);
    word_on(c, row, col + 1, cols - 1, role, word);
}

void figure_down(struct canvas *c, int row, int col, int rows, enum role role, const char *word)
{
    canvas_vline(c, row, col, rows - 1, role);
    canvas_put(c, row + rows - 1, col, 0x25bc, role, 0);
    if (word)
        canvas_text(c, row + (rows - 1) / 2, col + 2, c->cols - col - 2, role, 0, word);
}

void figure_up(struct canvas *c, int row, int col, int rows, enum role role, const char *word)
{
    canvas_vline(c, row + 1, col, rows - 1, role);
    canvas_put(c, row, col, 0x25b2, role, 0);
    if (word)
        canvas_text(c, row + rows / 2, col + 2, c->cols - col - 2, role, 0, word);
}
