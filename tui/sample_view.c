#include "tui/sample_view.h"

#include "tui/plain.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smaller areas show nothing. */
enum { LEAST_ROWS = 3, LEAST_COLS = 24 };

/* --- which samples --- */

static bool is_of(const struct sample *s, enum sample_kind kind)
{
    return s->kind == kind;
}

struct sample_group sample_group(const struct sample *samples, int count, enum sample_kind kind, int back)
{
    struct sample_group g = {0};
    int last = -1, left;
    for (int i = 0; i < count; i++)
        if (is_of(&samples[i], kind)) {
            if (last < 0 || samples[i].step != samples[last].step)
                g.evaluations++;
            last = i;
        }
    if (!g.evaluations || !(g.list = calloc((size_t)count, sizeof(struct sample *))))
        return (struct sample_group){0};
    left = back < 0 ? 0 : back < g.evaluations ? back : g.evaluations - 1;
    g.evaluation = g.evaluations - left;
    for (int i = 0, evaluation = 0, before = -1; i < count && evaluation <= g.evaluation; i++) {
        if (!is_of(&samples[i], kind))
            continue;
        evaluation += before < 0 || samples[i].step != samples[before].step;
        before = i;
        if (evaluation == g.evaluation) {
            g.list[g.count++] = &samples[i];
            g.step = samples[i].step;
        }
    }
    return g;
}

static bool have(const struct sample *samples, int count, enum sample_kind kind)
{
    for (int i = 0; i < count; i++)
        if (is_of(&samples[i], kind))
            return true;
    return false;
}

/* The chosen kind, or the first there is where there are none of that. */
static enum sample_kind shown_kind(const struct sample_choice *choice, const struct sample *samples,
                                   int count)
{
    for (int n = 0; n < SAMPLE_KINDS; n++) {
        enum sample_kind kind = (enum sample_kind)(((int)choice->kind + n) % SAMPLE_KINDS);
        if (have(samples, count, kind))
            return kind;
    }
    return choice->kind;
}

void sample_choose_kind(struct sample_choice *choice, const struct sample *samples, int count, int by)
{
    choice->kind = shown_kind(choice, samples, count);
    for (int n = 1; n < SAMPLE_KINDS; n++) {
        int kind = ((int)choice->kind + by * n + SAMPLE_KINDS * SAMPLE_KINDS) % SAMPLE_KINDS;
        if (have(samples, count, (enum sample_kind)kind)) {
            choice->kind = (enum sample_kind)kind;
            choice->back = 0;
            return;
        }
    }
}

void sample_choose_evaluation(struct sample_choice *choice, const struct sample *samples, int count, int by)
{
    choice->kind = shown_kind(choice, samples, count);
    struct sample_group g = sample_group(samples, count, choice->kind, choice->back);
    int back = choice->back - by;
    choice->back = back < 0 || !g.evaluations ? 0 : back < g.evaluations ? back : g.evaluations - 1;
    free(g.list);
}

/* --- pictures side by side --- */

struct tile {
    struct picture picture;
    char caption[48];
    enum role role;
};

enum { TILE_LEAST = 8, WIDE_AREA = 100 };

static int tile_gap(struct rect area)
{
    return area.cols >= WIDE_AREA ? 2 : 1;
}

static int tiles_across(struct rect area, int width)
{
    int across = (area.cols + tile_gap(area)) / (width + tile_gap(area));
    return across < 1 ? 1 : across;
}

/* Fewer columns than half its pixels say too little of a picture: rather fewer pictures. */
static int tile_least(const struct picture *p)
{
    return p->cols / 2 > TILE_LEAST ? p->cols / 2 : TILE_LEAST;
}

/* The width at which all tiles fit, as large as can be but no larger than pays; one row of them whatever happens. */
static int tile_width(const struct tile *tiles, int count, struct rect area)
{
    const struct picture *p = &tiles[0].picture;
    int most = 3 * p->cols < area.cols ? 3 * p->cols : area.cols, least = tile_least(p);
    for (int width = most; width > least; width--)
        if (tiles_across(area, width) * (area.rows / (picture_rows(p, width) + 1)) >= count)
            return width;
    while (least > 2 && picture_rows(p, least) + 1 > area.rows)
        least--;
    return least;
}

/* Pictures with a line below it each, in rows; what has no room is counted. */
static void tiles_draw(struct canvas *c, struct rect area, const struct tile *tiles, int count,
                       enum picture_style style)
{
    if (count < 1)
        return;
    int width = tile_width(tiles, count, area), high = picture_rows(&tiles[0].picture, width);
    int across = tiles_across(area, width), down = area.rows / (high + 1), gap = tile_gap(area);
    for (int i = 0; i < count && i / across < down; i++) {
        const struct tile *t = &tiles[i];
        struct rect r = {area.row + i / across * (high + 1), area.col + i % across * (width + gap), high,
                         width};
        picture_draw(c, r, &t->picture, style);
        int text = text_columns(t->caption), left = text < width ? (width - text) / 2 : 0;
        canvas_text(c, r.row + high, r.col + left, width - left, t->role, ATTR_BOLD, t->caption);
    }
    int used = down * (high + 1);
    if (count > across * down && area.rows > used)
        canvas_format(c, area.row + used, area.col, area.cols, ROLE_MUTED, 0,
                      _("%d of %d: a larger window shows more"), across * down, count);
}

static struct picture picture_of(const struct sample *s)
{
    return (struct picture){s->bytes, s->channels, s->rows, s->cols, PALETTE_GREY};
}

/* "✓ 7", "✗ 7, is 1": what the model says, and what is true where that is something else. */
static enum role judgement(const struct sample *s, bool utf8, bool wide, char *text, size_t size)
{
    char share[16] = "";
    if (wide && isfinite(s->probability))
        snprintf(share, sizeof share, "  %.0f %%", 100 * s->probability);
    if (!sample_judged(s)) {
        snprintf(text, size, "%s", *s->label ? s->label : s->predicted);
        return ROLE_TEXT;
    }
    if (sample_right(s)) {
        snprintf(text, size, "%s %s%s", utf8 ? "✓" : "ok", s->predicted, share);
        return ROLE_GOOD;
    }
    snprintf(text, size, _("%s %s, is %s%s"), utf8 ? "✗" : "x", s->predicted, s->label, share);
    return ROLE_BAD;
}

static int image_tiles(struct tile *tiles, const struct sample *const *list, int count, bool utf8, bool wide)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        const struct sample *s = list[i];
        if (!s->bytes)
            continue;
        struct tile *t = &tiles[n++];
        *t = (struct tile){.picture = picture_of(s), .role = ROLE_MUTED};
        if (!s->generated)
            t->role = judgement(s, utf8, wide, t->caption, sizeof t->caption);
        else if (isfinite(s->probability))
            snprintf(t->caption, sizeof t->caption, _("D: %.0f %% real"), 100 * s->probability);
    }
    return n;
}

/* The first image of each evaluation: how what one noise becomes changes as the generator learns. */
static void draw_history(struct canvas *c, struct rect area, const struct sample *samples, int count,
                         int evaluations, enum picture_style style)
{
    struct tile *tiles = calloc((size_t)evaluations, sizeof *tiles);
    int n = 0;
    for (int back = evaluations - 1; tiles && back >= 0; back--) {
        struct sample_group g = sample_group(samples, count, SAMPLE_IMAGE, back);
        if (g.count && g.list[0]->bytes) {
            tiles[n].picture = picture_of(g.list[0]);
            tiles[n].role = ROLE_MUTED;
            snprintf(tiles[n++].caption, sizeof tiles->caption, "%ld", g.step);
        }
        free(g.list);
    }
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD,
                _("One and the same noise, by the steps trained"));
    rect_cut_rows(&area, 1);
    if (n) {
        /* As many as fit in one row, from the first to the last. */
        int width = 2 * (area.rows - 1) * tiles[0].picture.cols / tiles[0].picture.rows;
        int fit = tiles_across(area, width < TILE_LEAST ? TILE_LEAST : width);
        int shown = n < fit ? n : fit;
        for (int i = 0; i < shown; i++)
            tiles[i] = tiles[shown > 1 ? i * (n - 1) / (shown - 1) : n - 1];
        tiles_draw(c, area, tiles, shown, style);
    }
    free(tiles);
}

static void draw_images(struct canvas *c, struct rect area, const struct sample *samples, int count,
                        const struct sample_group *g, enum picture_style style)
{
    enum { HISTORY_ROWS = 10, IMAGES_ROWS = 20 };
    struct tile *tiles = calloc((size_t)g->count, sizeof *tiles);
    if (g->list[0]->generated && g->evaluations > 1 && area.cols >= WIDE_AREA &&
        area.rows >= HISTORY_ROWS + IMAGES_ROWS) {
        struct rect history = rect_cut_rows(&area, -HISTORY_ROWS);
        draw_history(c, history, samples, count, g->evaluations, style);
        rect_cut_rows(&area, -1);
    }
    if (tiles) {
        int n = image_tiles(tiles, g->list, g->count, c->utf8, false);
        bool wide = n && tile_width(tiles, n, area) >= 20;
        n = image_tiles(tiles, g->list, g->count, c->utf8, wide);
        tiles_draw(c, area, tiles, n, style);
    }
    free(tiles);
}

/* --- feature maps --- */

static void draw_maps(struct canvas *c, struct rect area, const struct sample *samples, int count,
                      const struct sample *s, enum picture_style style)
{
    if (!s->bytes) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0,
                    _("The feature maps did not come with the event."));
        return;
    }
    struct rect line = rect_cut_rows(&area, -1);
    struct tile *tiles = calloc((size_t)s->channels + 1, sizeof *tiles);
    int n = 0;
    for (int i = 0; tiles && i < count; i++)
        if (samples[i].kind == SAMPLE_IMAGE && samples[i].step == s->step && samples[i].row == s->row &&
            s->row >= 0 && samples[i].bytes && !n) {
            tiles[n] = (struct tile){.picture = picture_of(&samples[i]), .role = ROLE_ACCENT};
            snprintf(tiles[n++].caption, sizeof tiles->caption, "%s", _("input"));
        }
    size_t plane = (size_t)s->rows * (size_t)s->cols;
    for (int k = 0; tiles && k < s->channels; k++) {
        tiles[n].picture = (struct picture){s->bytes + (size_t)k * plane, 1, s->rows, s->cols, PALETTE_HEAT};
        tiles[n].role = ROLE_MUTED;
        snprintf(tiles[n++].caption, sizeof tiles->caption, "%d", k + 1);
    }
    if (tiles)
        tiles_draw(c, area, tiles, n, style);
    free(tiles);
    int col = line.col, end = line.col + line.cols;
    col += canvas_format(c, line.row, col, end - col, ROLE_TEXT, 0, "%.3g ", s->lo[0]);
    if (end - col < 24)
        return;
    picture_scale(c, line.row, col, 16, PALETTE_HEAT, c->pixels ? style : PICTURE_SHADES);
    col += 16;
    col += canvas_format(c, line.row, col, end - col, ROLE_TEXT, 0, " %.3g", s->hi[0]);
    canvas_format(c, line.row, col, end - col, ROLE_MUTED, 0, _("   %d of %d channels, %s"), s->channels,
                  s->of, s->name);
}

/* --- texts --- */

static void draw_texts(struct canvas *c, struct rect area, const struct sample_group *g)
{
    for (int i = 0; i < g->count && area.rows > 1; i++) {
        const struct sample *s = g->list[i];
        int share = area.rows / (g->count - i);
        if (share < 3)
            share = area.rows < 3 ? area.rows : 3;
        struct rect part = rect_cut_rows(&area, share), head = rect_cut_rows(&part, 1);
        char text[384];
        enum role role = ROLE_ACCENT;
        if (s->generated && isfinite(s->temperature))
            snprintf(text, sizeof text,
                     *s->prompt ? _("temperature %.2g, after “%s”") : _("temperature %.2g"), s->temperature,
                     s->prompt);
        else
            role = judgement(s, c->utf8, true, text, sizeof text);
        canvas_text(c, head.row, head.col, head.cols, role, ATTR_BOLD, text);
        struct rect body = {part.row, part.col + 2, part.rows > 1 && area.rows ? part.rows - 1 : part.rows,
                            part.cols - 2};
        int used = wrap_text(c, body, ROLE_TEXT, 0, s->text);
        /* What a short text does not need goes to those after it. */
        int spare = part.rows - used - 1;
        if (spare > 0) {
            area.row -= spare;
            area.rows += spare;
        }
    }
}

/* --- the whole --- */

static void draw_group(struct canvas *c, struct rect area, const struct sample *samples, int count,
                       const struct sample_group *g, enum picture_style style)
{
    const struct sample *first = g->list[0];
    switch (first->kind) {
    case SAMPLE_IMAGE: draw_images(c, area, samples, count, g, style); break;
    case SAMPLE_TEXT: draw_texts(c, area, g); break;
    case SAMPLE_MAPS: draw_maps(c, area, samples, count, first, style); break;
    case SAMPLE_GATES: sample_gates_draw(c, area, first, style); break;
    case SAMPLE_KINDS: break;
    }
}

static void draw_choices(struct canvas *c, struct rect line, const struct sample *samples, int count,
                         enum sample_kind chosen, const struct sample_group *g)
{
    int col = line.col, end = line.col + line.cols;
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        struct sample_group any = sample_group(samples, count, (enum sample_kind)kind, 0);
        if (any.count) {
            bool on = kind == (int)chosen;
            if (on)
                c->cursor_row = line.row, c->cursor_col = col;
            col += canvas_format(c, line.row, col, end - col, on ? ROLE_SELECTED : ROLE_MUTED,
                                 on ? ATTR_BOLD : 0, on ? "[%s]" : " %s ", sample_kind_name(any.list[0]));
            col++;
        }
        free(any.list);
    }
    char text[64];
    if (g->step < 0) /* not told */
        snprintf(text, sizeof text, _("evaluation %d of %d"), g->evaluation, g->evaluations);
    else
        snprintf(text, sizeof text, _("step %ld, evaluation %d of %d"), g->step, g->evaluation,
                 g->evaluations);
    int columns = text_columns(text);
    if (end - col > columns)
        canvas_text(c, line.row, end - columns, columns, ROLE_TEXT, 0, text);
    else if (g->step >= 0)
        canvas_format(c, line.row, col, end - col, ROLE_TEXT, 0, _("step %ld"), g->step);
}

void samples_draw(struct canvas *c, struct rect area, const struct sample *samples, int count,
                  const struct sample_choice *choice)
{
    if (area.rows < LEAST_ROWS || area.cols < LEAST_COLS)
        return;
    struct sample_choice now = *choice;
    now.kind = shown_kind(choice, samples, count);
    struct sample_group g = sample_group(samples, count, now.kind, now.back);
    if (!g.count) {
        wrap_text(c, area, ROLE_MUTED, 0,
                  _("No samples yet: they come with each evaluation, after an epoch and at the end."));
        return;
    }
    struct rect line = rect_cut_rows(&area, 1);
    draw_choices(c, line, samples, count, now.kind, &g);
    if (area.rows > 16)
        rect_cut_rows(&area, 1);
    draw_group(c, area, samples, count, &g, now.style);
    free(g.list);
}

/* A generator's work or a classifier's images say more than what goes on inside. */
static bool few_group(const struct sample *samples, int count, struct sample_group *g)
{
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        *g = sample_group(samples, count, (enum sample_kind)kind, 0);
        if (g->count)
            return true;
    }
    return false;
}

const char *samples_title(const struct sample *samples, int count, const struct sample_choice *choice)
{
    enum sample_kind kind = shown_kind(choice, samples, count);
    struct sample_group g = sample_group(samples, count, kind, choice->back);
    bool judged = g.count && sample_judged(g.list[0]);
    free(g.list);
    return judged ? _("Samples: the first right ones and the first mistakes") : _("Samples");
}

const char *samples_few_title(const struct sample *samples, int count)
{
    struct sample_group g;
    if (!few_group(samples, count, &g))
        return "";
    const struct sample *s = g.list[0];
    const char *title = s->kind == SAMPLE_IMAGE && !s->generated
                            ? _("Test images: the first right, the first mistakes")
                        : s->kind == SAMPLE_IMAGE                ? _("What the generator makes of noise")
                        : s->kind == SAMPLE_TEXT && s->generated ? _("What the model writes")
                        : s->kind == SAMPLE_TEXT ? _("Test texts: the first right, the first mistakes")
                        : s->kind == SAMPLE_MAPS ? _("Feature maps")
                                                 : _("Gates of the LSTM");
    free(g.list);
    return title;
}

void samples_draw_few(struct canvas *c, struct rect area, const struct sample *samples, int count,
                      enum picture_style style)
{
    struct sample_group g;
    if (area.rows < LEAST_ROWS || area.cols < LEAST_COLS || !few_group(samples, count, &g))
        return;
    /* Of pictures one row; the last of them: they hold those that the model takes for something else. */
    if (g.list[0]->kind == SAMPLE_IMAGE && g.list[0]->rows > 0) {
        int width = 2 * (area.rows - 1) * g.list[0]->cols / g.list[0]->rows;
        int fit = tiles_across(area, width < TILE_LEAST ? TILE_LEAST : width);
        if (g.count > fit) {
            int skip = g.list[0]->generated ? 0 : g.count - fit;
            memmove(g.list, g.list + skip, (size_t)fit * sizeof(struct sample *));
            g.count = fit;
        }
    }
    draw_group(c, area, samples, count, &g, style);
    free(g.list);
}

/* --- without a screen --- */

/* Rows that a group takes in a pipe: pictures as small as they are worth looking at, but all of them. */
static int print_rows(const struct sample_group *g, int cols)
{
    enum { TEXT_ROWS = 24 };
    const struct sample *first = g->list[0];
    bool maps = first->kind == SAMPLE_MAPS;
    if ((first->kind != SAMPLE_IMAGE && !maps) || !first->bytes)
        return TEXT_ROWS;
    struct picture p = picture_of(first);
    int width = tile_least(&p), count = maps ? first->channels + 1 : g->count;
    int across = tiles_across((struct rect){.cols = cols}, width);
    return (count + across - 1) / across * (picture_rows(&p, width) + 1) + maps;
}

void samples_print(FILE *to, const struct sample *samples, int count, bool utf8)
{
    enum { COLS = 80 };
    for (int kind = 0; kind < SAMPLE_KINDS; kind++) {
        struct sample_group g = sample_group(samples, count, (enum sample_kind)kind, 0);
        struct canvas c;
        if (g.count && canvas_init(&c, print_rows(&g, COLS), COLS, utf8)) {
            draw_group(&c, canvas_whole(&c), samples, count, &g, PICTURE_SHADES);
            int used = c.rows;
            for (bool blank = true; used > 0; used--) {
                for (int col = 0; blank && col < COLS; col++)
                    blank = c.cells[(used - 1) * COLS + col].glyph == ' ';
                if (!blank)
                    break;
            }
            fprintf(to, "\n%s after step %ld:\n", sample_kind_name(g.list[0]), g.step);
            for (int row = 0; row < used; row++)
                plain_print_cells(c.cells + (size_t)row * COLS, COLS, utf8, to);
            canvas_free(&c);
        }
        free(g.list);
    }
}
