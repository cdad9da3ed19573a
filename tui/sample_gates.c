/*
 * sample_gates.c - the gates and states of an LSTM along a sequence: one strip each, units as rows, steps as columns.
 */
#include "tui/sample_view.h"

#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLS = 10, RANGE_COLS = 12, SCALE_COLS = 12 };

/* Where the strips stand and how much of the sequence they show. */
struct strips {
    int col, cols; /* of the strips */
    int each;      /* columns a step */
    int steps;     /* shown */
    int rows;      /* of a strip */
};

static void strip_draw(struct canvas *c, const struct strips *at, int row, const struct sample *s, int gate,
                       enum picture_style style)
{
    size_t steps = (size_t)at->steps, units = (size_t)s->rows;
    unsigned char *part = malloc(units * steps);
    if (!part)
        return;
    for (size_t u = 0; u < units; u++)
        memcpy(part + u * steps, s->bytes + ((size_t)gate * units + u) * (size_t)s->cols, steps);
    struct picture p = {part, 1, s->rows, at->steps, s->lo[gate] < 0 ? PALETTE_DIVERGING : PALETTE_HEAT};
    struct rect area = {row, at->col, at->rows, at->steps * at->each};
    picture_draw(c, area, &p, c->pixels ? style : PICTURE_SHADES);
    free(part);
}

/* Below the strips: the characters read, or the steps counted and the words after them. */
static void draw_tokens(struct canvas *c, const struct strips *at, struct rect area, const struct sample *s)
{
    if (area.rows < 1)
        return;
    canvas_text(c, area.row, area.col, NAME_COLS - 1, ROLE_MUTED, 0, s->characters ? "reads" : "step");
    if (s->characters) {
        const char *text = s->text;
        for (int i = 0; i < at->steps; i++) {
            uint32_t glyph = utf8_next(&text);
            if (!glyph)
                break;
            canvas_put(c, area.row, at->col + i * at->each, glyph == ' ' ? (c->utf8 ? 0xb7 : '_') : glyph,
                       ROLE_TEXT, 0);
        }
        return;
    }
    for (int i = 0; i<at->steps; i += at->each> 1 ? 5 : 10)
        canvas_format(c, area.row, at->col + i * at->each, 5, ROLE_MUTED, 0, "%d", i + 1);
    struct rect words = {area.row + 1, at->col, area.rows - 1, at->cols};
    if (words.rows > 0) {
        canvas_text(c, words.row, area.col, NAME_COLS - 1, ROLE_MUTED, 0, "reads");
        wrap_text(c, words, ROLE_TEXT, 0, s->text);
    }
}

/* A scale with its words, where there is room for all of it; returns the columns used. */
static int draw_scale(struct canvas *c, int row, int col, int end, const char *low, enum palette palette,
                      const char *high, enum picture_style style)
{
    int before = text_columns(low), after = text_columns(high), used = before + SCALE_COLS + after;
    if (end - col < used)
        return 0;
    canvas_text(c, row, col, before, ROLE_MUTED, 0, low);
    picture_scale(c, row, col + before, SCALE_COLS, palette, c->pixels ? style : PICTURE_SHADES);
    canvas_text(c, row, col + before + SCALE_COLS, after, ROLE_MUTED, 0, high);
    return used;
}

void sample_gates_draw(struct canvas *c, struct rect area, const struct sample *s, enum picture_style style)
{
    if (!s->bytes) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0,
                    _("The gates did not come with the event."));
        return;
    }
    struct strips at = {.col = area.col + NAME_COLS, .cols = area.cols - NAME_COLS - RANGE_COLS};
    at.each = at.cols / s->cols < 1 ? 1 : at.cols / s->cols > 3 ? 3 : at.cols / s->cols;
    at.steps = at.cols / at.each < s->cols ? at.cols / at.each : s->cols;
    int below = area.rows > 20 ? 4 : 2;
    at.rows = (area.rows - below) / s->channels;
    bool apart = at.rows > 2;
    at.rows -= apart;
    /* More rows than units only where a unit then has whole rows. */
    if (at.rows > s->rows)
        at.rows = at.rows / s->rows * s->rows;
    if (at.rows > 2 * s->rows)
        at.rows = 2 * s->rows;
    if (at.steps < 1 || at.rows < 1)
        return;
    int row = area.row;
    for (int gate = 0; gate < s->channels; gate++, row += at.rows + apart) {
        bool signs = s->lo[gate] < 0;
        canvas_text(c, row, area.col, NAME_COLS - 1, ROLE_TEXT, ATTR_BOLD, s->gates[gate]);
        strip_draw(c, &at, row, s, gate, style);
        int beside = at.col + at.steps * at.each + 1;
        if (signs)
            canvas_format(c, row, beside, RANGE_COLS - 1, ROLE_MUTED, 0, "%s%.2g", c->utf8 ? "±" : "+-",
                          s->hi[gate]);
        else
            canvas_format(c, row, beside, RANGE_COLS - 1, ROLE_MUTED, 0, "%.2g..%.2g", s->lo[gate],
                          s->hi[gate]);
    }
    int left = area.row + area.rows - row;
    struct rect tokens = {row, area.col, left - 1, area.cols};
    draw_tokens(c, &at, tokens, s);
    row = area.row + area.rows - 1;
    int col = area.col, end = area.col + area.cols;
    col += draw_scale(c, row, col, end, "low ", PALETTE_HEAT, " high   ", style);
    col += draw_scale(c, row, col, end, "below 0 ", PALETTE_DIVERGING, " above   ", style);
    canvas_format(c, row, col, end - col, ROLE_MUTED, 0, _("units 1-%d of %d, %s"), s->rows, s->of, s->name);
}
