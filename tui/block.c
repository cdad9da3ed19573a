/*
 * block.c - the blocks of a lesson as a set: found in its text, framed, clipped, kept in the learner's progress.
 */
#include "engine/base/units.h"
#include "tui/block_kind.h"
#include "tui/progress.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <cmark.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct block_class *const classes[BLOCK_KINDS] = {
    [BLOCK_RUN] = &block_run_class,   [BLOCK_SIM] = &block_sim_class, [BLOCK_PLOT] = &block_plot_class,
    [BLOCK_PREDICT] = &block_predict, [BLOCK_QUIZ] = &block_quiz,     [BLOCK_FIGURE] = &block_figure_class,
};

enum { MARGIN = 2, LEAST_COLS = 24 };

/* --- a set --------------------------------------------------------------------------------------------------- */

static bool add(struct block_set *set, const char *info, const char *text, int line)
{
    struct block *more = realloc(set->blocks, (size_t)(set->count + 1) * sizeof *more);
    if (!more)
        return false;
    set->blocks = more;
    more[set->count] = (struct block){.chosen = -1};
    block_text_parse(&more[set->count].text, info, text, line, &more[set->count].error);
    if (*more[set->count].error.text) {
        block_info(info, &more[set->count].text.kind);
        more[set->count].text.line = line;
    }
    set->count++;
    return true;
}

static bool collect(struct block_set *set, const char *markdown)
{
    cmark_node *root =
        cmark_parse_document(markdown, strlen(markdown), CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8);
    cmark_iter *walk = root ? cmark_iter_new(root) : NULL;
    bool ok = walk != NULL;
    for (cmark_event_type event; ok && (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE;) {
        cmark_node *node = cmark_iter_get_node(walk);
        if (event != CMARK_EVENT_ENTER || cmark_node_get_type(node) != CMARK_NODE_CODE_BLOCK)
            continue;
        const char *info = cmark_node_get_fence_info(node);
        if (block_info(info, NULL))
            ok = add(set, info, cmark_node_get_literal(node), cmark_node_get_start_line(node));
    }
    if (walk)
        cmark_iter_free(walk);
    if (root)
        cmark_node_free(root);
    return ok;
}

static void wrong(struct block *b, int line, const char *format, const char *name)
{
    struct error inner = {0};
    error_set(&inner, ERROR_INPUT, format, name);
    error_set(&b->error, ERROR_INPUT, "line %d: %s", line, inner.text);
}

/* What can only be checked once all are there: names are taken once, and those that are meant exist. */
static void link_up(struct block_set *set)
{
    for (int i = 0; i < set->count; i++) {
        struct block *b = &set->blocks[i];
        const char *after = block_text_get(&b->text, "after"), *measure = block_text_get(&b->text, "measure");
        const struct block *other;
        if (*b->error.text)
            continue;
        if (*b->text.name && block_named(set, b->text.name) != b)
            wrong(b, b->text.line, "a second block is called '%s'", b->text.name);
        else if (after && (!(other = block_named(set, after)) || other->text.kind != BLOCK_PREDICT))
            wrong(b, block_text_line(&b->text, "after"), "after: no predict block is called '%s'", after);
        else if (measure) {
            char name[BLOCK_NAME];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(measure, " "), measure);
            other = block_named(set, name);
            const char *what = strchr(measure, ' ');
            if (!other || !other->class->measure || !what)
                wrong(b, block_text_line(&b->text, "measure"),
                      "measure: expected the name of a run or sim block and what it measures, got '%s'",
                      measure);
            else if (!*other->error.text && other->class->measures &&
                     !other->class->measures(other, what + 1))
                wrong(b, block_text_line(&b->text, "measure"), "measure: that block measures no '%s'",
                      what + 1);
        }
    }
}

struct block_set *block_set_new(const char *lesson, const char *text, struct progress *progress,
                                struct error *e)
{
    struct block_set *set = calloc(1, sizeof *set);
    if (!set || !collect(set, text)) {
        block_set_free(set);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    set->lesson = lesson;
    set->progress = progress;
    for (int i = 0; i < set->count; i++) {
        struct block *b = &set->blocks[i];
        b->set = set;
        b->index = i;
        b->class = classes[b->text.kind];
        if (b->text.kind == BLOCK_SIM && b->text.body && *b->text.body)
            b->class = &block_script_sim_class; /* it describes the simulation in Lua: a worker's matter */
        if (!*b->error.text)
            b->class->open(b, &b->error);
    }
    link_up(set);
    return set;
}

void block_set_free(struct block_set *set)
{
    if (!set)
        return;
    for (int i = 0; i < set->count; i++) {
        struct block *b = &set->blocks[i];
        if (b->state && b->class->close)
            b->class->close(b);
        block_text_free(&b->text);
    }
    free(set->blocks);
    free(set);
}

int block_count(const struct block_set *set)
{
    return set->count;
}

enum block_kind block_kind_of(const struct block_set *set, int i)
{
    return set->blocks[i].text.kind;
}

const char *block_heading(const struct block_set *set, int i)
{
    const struct block_text *text = &set->blocks[i].text;
    const char *title = block_text_get(text, "title");
    return title ? title : text->question && *text->question ? text->question : "";
}

int block_line(const struct block_set *set, int i)
{
    return set->blocks[i].text.line;
}

const char *block_error(const struct block_set *set, int i)
{
    return *set->blocks[i].error.text ? set->blocks[i].error.text : NULL;
}

bool block_live(const struct block_set *set, int i)
{
    return i >= 0 && i < set->count && !block_error(set, i) && set->blocks[i].class->keys;
}

/* --- what is kept, and what hangs together -------------------------------------------------------------------- */

void block_keep(struct block *b, const char *what)
{
    if (b->set->progress && *b->text.name)
        progress_note_block(b->set->progress, b->set->lesson, b->text.name, what);
}

const char *block_kept(const struct block *b)
{
    return b->set->progress && *b->text.name ? progress_block(b->set->progress, b->set->lesson, b->text.name)
                                             : NULL;
}

struct block *block_named(struct block_set *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (!strcmp(set->blocks[i].text.name, name) && *name)
            return &set->blocks[i];
    return NULL;
}

double block_measured(struct block_set *set, const char *measure)
{
    char name[BLOCK_NAME];
    const char *what = measure ? strchr(measure, ' ') : NULL;
    if (!what)
        return NAN;
    snprintf(name, sizeof name, "%.*s", (int)(what - measure), measure);
    struct block *other = block_named(set, name);
    if (!other || *other->error.text || !other->class->measure)
        return NAN;
    return other->class->measure(other, what + 1);
}

bool block_waits(const struct block_set *set, int i, int *wanted)
{
    const char *after = block_text_get(&set->blocks[i].text, "after");
    for (int k = 0; after && k < set->count; k++)
        if (!strcmp(set->blocks[k].text.name, after) && set->blocks[k].chosen < 0) {
            *wanted = k;
            return true;
        }
    return false;
}

/* --- on a screen ---------------------------------------------------------------------------------------------- */

static int frame_cols(const struct block *b)
{
    return b->class->label || *b->error.text ? MARGIN + 2 : 0;
}

static int inner_rows(struct block *b, int cols)
{
    int inner = (cols > LEAST_COLS ? cols : LEAST_COLS) - frame_cols(b);
    return *b->error.text ? wrap_rows(b->error.text, inner) : b->class->rows(b, inner);
}

int block_rows(struct block_set *set, int i, int cols)
{
    struct block *b = &set->blocks[i];
    return inner_rows(b, cols) + (frame_cols(b) ? 2 : 0);
}

void block_seconds(double s, char *text, size_t size)
{
    units_show_seconds(s, text, size);
    size_t n = strlen(text);
    if (n > 3 && !strcmp(text + n - 3, " us"))
        snprintf(text + n - 3, size - n + 3, " µs");
}

void block_sentence(struct canvas *c, struct rect *in, enum role role, int attributes, const char *text)
{
    if (*text)
        rect_cut_rows(in, wrap_text(c, *in, role, attributes, text));
}

/* The panel's frame: its kind, its heading, how it stands. */
static void frame(struct block *b, struct canvas *c, struct rect area, bool focused)
{
    char title[256], status[64] = "";
    const char *heading = block_text_get(&b->text, "title");
    const char *label = *b->error.text ? N_("A block that cannot be shown") : b->class->label;
    enum role role = ROLE_MUTED;
    /* The focus is seen without colours, too. */
    snprintf(title, sizeof title, heading ? "%s%s · %s" : "%s%s", focused ? "▸ " : "", _(label), heading);
    canvas_box(c, area, title, focused ? ROLE_ACCENT : ROLE_BORDER);
    if (!*b->error.text && b->class->status)
        role = b->class->status(b, status, sizeof status);
    int columns = text_columns(status);
    if (*status && text_columns(title) + columns + 10 < area.cols)
        canvas_format(c, area.row, area.col + area.cols - columns - 4, columns + 2, role, 0, " %s ", status);
}

/* The inside first: whatever finds no room, the frame stays whole. */
static void draw_whole(struct block *b, struct canvas *c, bool focused)
{
    struct rect area = canvas_whole(c), in = area;
    bool framed = frame_cols(b) > 0;
    if (framed)
        in = rect_inset(area, 1, 1 + MARGIN / 2);
    if (*b->error.text)
        wrap_text(c, in, ROLE_BAD, 0, b->error.text);
    else
        b->class->draw(b, c, in, focused);
    if (framed)
        frame(b, c, area, focused);
}

/* Rows `skip` ... of one canvas onto another. */
static void copy_rows(const struct canvas *from, int skip, struct canvas *to, struct rect area)
{
    for (int i = 0; i < area.rows && skip + i < from->rows; i++)
        for (int k = 0; k < area.cols && k < from->cols; k++) {
            int row = area.row + i, col = area.col + k;
            if (row >= 0 && row < to->rows && col >= 0 && col < to->cols)
                to->cells[(size_t)row * (size_t)to->cols + (size_t)col] =
                    from->cells[(size_t)(skip + i) * (size_t)from->cols + (size_t)k];
        }
    int row = from->cursor_row - skip;
    if (from->cursor_row >= 0 && row >= 0 && row < area.rows) {
        to->cursor_row = area.row + row;
        to->cursor_col = area.col + from->cursor_col;
    }
}

void block_draw(struct block_set *set, int i, struct canvas *c, struct rect area, int skip, bool focused)
{
    struct block *b = &set->blocks[i];
    struct canvas whole;
    int cols = area.cols > LEAST_COLS ? area.cols : LEAST_COLS;
    if (area.rows <= 0 || !canvas_init(&whole, block_rows(set, i, cols), cols, c->utf8))
        return;
    whole.pixels = c->pixels;
    draw_whole(b, &whole, focused);
    copy_rows(&whole, skip, c, area);
    canvas_free(&whole);
}

const struct key_binding *block_keys(const struct block_set *set, int i)
{
    static const struct key_binding none[] = {{0, 0, NULL, NULL}};
    return block_live(set, i) ? set->blocks[i].class->keys : none;
}

bool block_key(struct block_set *set, int i, struct app *app, int key)
{
    if (!block_live(set, i))
        return false;
    struct block *b = &set->blocks[i];
    for (const struct key_binding *k = b->class->keys; k->action; k++)
        if (k->key == key)
            return b->class->act(b, app, k->action);
    return false;
}

bool block_click(struct block_set *set, int i, struct app *app, int row, int col, int cols)
{
    if (!block_live(set, i))
        return false;
    struct block *b = &set->blocks[i];
    int border = frame_cols(b) / 2;
    return b->class->click && b->class->click(b, app, row - (border > 0), col - border, cols - 2 * border);
}

bool block_tick(struct block_set *set, double now)
{
    bool changed = false;
    set->now = now;
    for (int i = 0; i < set->count; i++) {
        struct block *b = &set->blocks[i];
        if (!*b->error.text && b->class->tick)
            changed |= b->class->tick(b, now);
    }
    return changed;
}

/* --- by hand --------------------------------------------------------------------------------------------------- */

char *block_result(struct block_set *set, int i)
{
    struct block *b = &set->blocks[i];
    return *b->error.text || !b->class->result ? strdup("") : b->class->result(b);
}

bool block_start(struct block_set *set, int i, struct error *e)
{
    struct block *b = &set->blocks[i];
    int wanted;
    if (*b->error.text)
        return error_set(e, ERROR_INPUT, "%s", b->error.text);
    if (!b->class->start)
        return error_set(e, ERROR_INPUT, _("this block has nothing to start"));
    if (block_waits(set, i, &wanted))
        return error_set(e, ERROR_FAILED, _("first commit to a prediction: %s"), block_heading(set, wanted));
    return b->class->start(b, e);
}

const char *block_run(const struct block_set *set, int i)
{
    const struct block *b = &set->blocks[i];
    return !*b->error.text && b->class->run ? b->class->run(b) : NULL;
}

/* --- for markdown.h ---------------------------------------------------------------------------------------------- */

static bool live_canvas(void *self, int n, int cols, bool utf8, struct canvas *out)
{
    struct block_set *set = self;
    if (n >= set->count)
        return canvas_init(out, 0, cols, utf8);
    cols = cols > LEAST_COLS ? cols : LEAST_COLS;
    if (!canvas_init(out, block_rows(set, n, cols), cols, utf8))
        return false;
    draw_whole(&set->blocks[n], out, false);
    return true;
}

static bool plain_canvas(void *self, int n, int cols, bool utf8, struct canvas *out)
{
    enum { MOST_ROWS = 100 };
    struct block_set *set = self;
    if (n >= set->count)
        return canvas_init(out, 0, cols, utf8);
    struct block *b = &set->blocks[n];
    cols = cols > LEAST_COLS ? cols : LEAST_COLS;
    if (*b->error.text || !b->class->plain)
        return live_canvas(self, n, cols, utf8, out);
    if (!canvas_init(out, MOST_ROWS, cols, utf8))
        return false;
    int rows = b->class->plain(b, out, canvas_whole(out));
    out->rows = rows > 1 ? rows < MOST_ROWS ? rows : MOST_ROWS : 1;
    return true;
}

struct md_live block_live_for(struct block_set *set, bool utf8)
{
    return (struct md_live){.self = set, .draw = live_canvas, .utf8 = utf8};
}

struct md_live block_plain_for(struct block_set *set, bool utf8)
{
    return (struct md_live){.self = set, .draw = plain_canvas, .utf8 = utf8};
}
