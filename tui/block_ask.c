/*
 * block_ask.c - the blocks that ask: predict (committed before its answer can be seen) and quiz (explained at once).
 *
 * An answer is given once and kept as the words of the choice, so that it survives a change of their order. A predict
 * has a scale of numbers, on which the answer and what was measured are marked, or choices in words; the last thing
 * one can choose is always "don't know", which is an answer too.
 */
#include "tui/app.h"
#include "tui/block_kind.h"
#include "tui/progress.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALE_MAX = 12 };
enum action { BEFORE = 1, AFTER, COMMIT, PICK };

struct ask {
    double scale[SCALE_MAX];
    int stops;     /* of the scale; 0: choices in words */
    double answer; /* on the scale; NaN: it is measured, or there is none */
    char *labels[SCALE_MAX + 1];
    int count, right, cursor;
};

static const struct key_binding ask_keys[] = {
    {KEY_CODE_UP, BEFORE, N_("choose"), N_("the choice before or after")},
    {KEY_CODE_DOWN, AFTER, N_("choose"), N_("the choice before or after")},
    {KEY_CODE_LEFT, BEFORE, NULL, NULL},
    {KEY_CODE_RIGHT, AFTER, NULL, NULL},
    {KEY_CODE_ENTER, COMMIT, N_("commit"), N_("commit to the choice: it stays")},
    {'1', PICK + 0, NULL, N_("choose by number")},
    {'2', PICK + 1, NULL, NULL},
    {'3', PICK + 2, NULL, NULL},
    {'4', PICK + 3, NULL, NULL},
    {'5', PICK + 4, NULL, NULL},
    {'6', PICK + 5, NULL, NULL},
    {'7', PICK + 6, NULL, NULL},
    {'8', PICK + 7, NULL, NULL},
    {'9', PICK + 8, NULL, NULL},
    {0, 0, NULL, NULL},
};

static bool parse_scale(const struct block *b, struct ask *a, const char *text, struct error *e)
{
    while (*text) {
        char *end;
        double value = strtod(text, &end);
        bool more = end != text && (*end == ' ' || !*end) && isfinite(value);
        if (!more || a->stops == SCALE_MAX || (a->stops && value <= a->scale[a->stops - 1]))
            return error_set(
                e, ERROR_INPUT,
                "line %d: scale: expected at most %d rising numbers with blanks between, got '%.40s'",
                block_text_line(&b->text, "scale"), SCALE_MAX, text);
        a->scale[a->stops++] = value;
        text = end + strspn(end, " ");
    }
    return true;
}

static bool add_label(struct ask *a, const char *text)
{
    return (a->labels[a->count++] = strdup(text)) != NULL;
}

static void ask_close(struct block *b)
{
    struct ask *a = b->state;
    for (int i = 0; i < a->count; i++)
        free(a->labels[i]);
    free(a);
}

static bool ask_open(struct block *b, struct error *e)
{
    struct ask *a = b->state = calloc(1, sizeof *a);
    const struct block_text *text = &b->text;
    const char *scale = block_text_get(text, "scale"), *answer = block_text_get(text, "answer"),
               *kept = block_kept(b);
    if (!a)
        return error_set(e, ERROR_FAILED, "out of memory");
    a->right = text->right;
    a->answer = NAN;
    if (scale && !parse_scale(b, a, scale, e))
        return false;
    if (text->kind == BLOCK_PREDICT &&
        (a->stops ? text->choice_count > 0 || a->stops < 2 : text->choice_count < 2))
        return error_set(
            e, ERROR_INPUT,
            "line %d: a predict block needs either a scale of two numbers or more, or two choices",
            text->line);
    if (!a->stops && block_text_get(text, "measure"))
        return error_set(e, ERROR_INPUT, "line %d: measure: a number is measured, so the block needs a scale",
                         block_text_line(text, "measure"));
    if (text->choice_count == BLOCK_MAX_CHOICES)
        return error_set(e, ERROR_INPUT, "line %d: more than %d choices", text->line, BLOCK_MAX_CHOICES - 1);
    if (answer) {
        char *end;
        a->answer = strtod(answer, &end);
        if (!a->stops || *end || !isfinite(a->answer))
            return error_set(e, ERROR_INPUT, "line %d: answer: expected a number on the scale, got '%.40s'",
                             block_text_line(text, "answer"), answer);
    }
    bool ok = true;
    for (int i = 0; i < a->stops && ok; i++) {
        char number[32];
        snprintf(number, sizeof number, "%g", a->scale[i]);
        ok = add_label(a, number);
    }
    for (int i = 0; i < text->choice_count && ok; i++)
        ok = add_label(a, text->choices[i]);
    if (ok && text->kind == BLOCK_PREDICT)
        ok = add_label(a, _("don't know"));
    if (!ok)
        return error_set(e, ERROR_FAILED, "out of memory");
    for (int i = 0; kept && i < a->count; i++)
        if (!strcmp(kept, a->labels[i]))
            b->chosen = a->cursor = i;
    /* "don't know" is kept in English, whatever the language it was given in. */
    if (kept && text->kind == BLOCK_PREDICT && !strcmp(kept, "don't know"))
        b->chosen = a->cursor = a->count - 1;
    return true;
}

static void choose(struct block *b, int choice)
{
    struct ask *a = b->state;
    if (b->chosen >= 0 || choice < 0 || choice >= a->count)
        return;
    b->chosen = a->cursor = choice;
    bool unknown = b->text.kind == BLOCK_PREDICT && choice == a->count - 1;
    block_keep(b, unknown ? "don't know" : a->labels[choice]);
}

int block_choices(const struct block_set *set, int i)
{
    const struct block *b = &set->blocks[i];
    bool asks = b->text.kind == BLOCK_PREDICT || b->text.kind == BLOCK_QUIZ;
    return asks && !*b->error.text ? ((const struct ask *)b->state)->count : 0;
}

const char *block_choice(const struct block_set *set, int i, int choice)
{
    return choice >= 0 && choice < block_choices(set, i)
               ? ((const struct ask *)set->blocks[i].state)->labels[choice]
               : "";
}

int block_chosen(const struct block_set *set, int i)
{
    return set->blocks[i].chosen;
}

void block_choose(struct block_set *set, int i, int choice)
{
    if (block_choices(set, i))
        choose(&set->blocks[i], choice);
}

/* --- what comes out ------------------------------------------------------------------------------------------- */

/* What the block's run has measured, or what is known without one; NaN: nothing (yet). */
static double truth(const struct block *b)
{
    const struct ask *a = b->state;
    const char *measure = block_text_get(&b->text, "measure");
    return measure ? block_measured(b->set, measure) : a->answer;
}

/* Where the truth comes from, which a screen has to say: a run, a simulation, or what is known without either. */
enum source { KNOWN, MEASURED, SIMULATED, SOURCES };

static enum source source_of(const struct block *b)
{
    const char *measure = block_text_get(&b->text, "measure");
    char name[BLOCK_NAME];
    if (!measure)
        return KNOWN;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(measure, " "), measure);
    const struct block *other = block_named(b->set, name);
    return other && other->text.kind == BLOCK_SIM ? SIMULATED : MEASURED;
}

/* The stop of the scale that is nearest to a value, by ratio where all are positive. */
static int nearest(const struct ask *a, double value)
{
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < a->stops; i++) {
        double far =
            a->scale[0] > 0 && value > 0 ? fabs(log(value / a->scale[i])) : fabs(value - a->scale[i]);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

/* One or two sentences after the commitment; "" before. */
static void verdict(const struct block *b, char *text, size_t size)
{
    const struct ask *a = b->state;
    static const struct {
        const char *bare, *right, *other;
    } sentences[SOURCES] = {
        [KNOWN] = {N_("It is %s."), N_("It is %s: as you said."), N_("It is %s. You said %s.")},
        [MEASURED] = {N_("Measured: %s."), N_("Measured: %s. You saw it coming."),
                      N_("Measured: %s. You said %s.")},
        [SIMULATED] = {N_("Simulated: %s."), N_("Simulated: %s. You saw it coming."),
                       N_("Simulated: %s. You said %s.")},
    };
    const char *unit = block_text_get(&b->text, "unit");
    enum source source = source_of(b);
    double value = truth(b);
    char number[64];
    *text = '\0';
    if (b->chosen < 0)
        return;
    snprintf(number, sizeof number, unit ? "%.3g %.40s" : "%.3g", value, unit);
    bool unknown = b->text.kind == BLOCK_PREDICT && b->chosen == a->count - 1;
    if (b->text.kind == BLOCK_QUIZ)
        snprintf(text, size, b->chosen == a->right ? _("Right.") : _("Not quite: it is “%s”."),
                 a->labels[a->right]);
    else if (source != KNOWN && !isfinite(value))
        snprintf(text, size, "%s",
                 source == MEASURED ? _("Committed. The run below measures it.")
                                    : _("Committed. The simulation below works it out."));
    else if (isfinite(value) && unknown)
        snprintf(text, size, _(sentences[source].bare), number);
    else if (isfinite(value) && nearest(a, value) == b->chosen)
        snprintf(text, size, _(sentences[source].right), number);
    else if (isfinite(value))
        snprintf(text, size, _(sentences[source].other), number, a->labels[b->chosen]);
    else if (a->right >= 0 && b->chosen == a->right)
        snprintf(text, size, "%s", _("As you said."));
    else if (a->right >= 0)
        snprintf(text, size, _("It is “%s”."), a->labels[a->right]);
    else
        snprintf(text, size, "%s", _("Committed."));
}

/* The explanation may be shown: where a run measures it, not before that has. */
static bool explained(const struct block *b)
{
    return b->chosen >= 0 && *b->text.because && (!block_text_get(&b->text, "measure") || isfinite(truth(b)));
}

static char *ask_result(struct block *b)
{
    char text[600], *all = NULL;
    verdict(b, text, sizeof text);
    if (asprintf(&all, "%s%s%s", text, explained(b) ? " " : "", explained(b) ? b->text.because : "") < 0)
        return NULL;
    return all;
}

char *block_solution(const struct block_set *set, int i)
{
    const struct block *b = &set->blocks[i];
    const char *unit = block_text_get(&b->text, "unit");
    char number[64] = "", *all = NULL;
    if (!block_choices(set, i) || (b->text.right < 0 && !block_text_get(&b->text, "answer")))
        return strdup("");
    const struct ask *a = b->state;
    if (b->text.right < 0)
        snprintf(number, sizeof number, unit ? "%.3g %.40s" : "%.3g", a->answer, unit);
    if (asprintf(&all, *b->text.because ? "%s. %s" : "%s.", *number ? number : a->labels[a->right],
                 b->text.because) < 0)
        return NULL;
    return all;
}

/* --- drawing ----------------------------------------------------------------------------------------------------- */

/* Columns of one stop of a scale, so that all labels find room; 0: they do not, and are listed. */
static int stop_cols(const struct ask *a, int cols)
{
    int widest = 3, last = text_columns(a->labels[a->count - 1]) + 2;
    for (int i = 0; i < a->stops; i++)
        if (text_columns(a->labels[i]) + 2 > widest)
            widest = text_columns(a->labels[i]) + 2;
    int room = (cols - last - 2) / (a->stops ? a->stops : 1);
    return a->stops && room >= widest ? room > 9 ? 9 : room : 0;
}

static int choices_rows(const struct ask *a, int cols)
{
    if (stop_cols(a, cols))
        return 3;
    int rows = 0;
    for (int i = 0; i < a->count; i++)
        rows += wrap_rows(a->labels[i], cols - 4);
    return rows;
}

static int ask_rows(struct block *b, int cols)
{
    const struct ask *a = b->state;
    char text[600];
    verdict(b, text, sizeof text);
    int rows = wrap_rows(b->text.question, cols) + 1 + choices_rows(a, cols);
    if (*text)
        rows += 1 + wrap_rows(text, cols);
    if (explained(b))
        rows += wrap_rows(b->text.because, cols);
    return rows;
}

/* Columns from the scale's first stop to where a value lies between two of them, by ratio where both are positive. */
static int place(const struct ask *a, double value, int each)
{
    if (value <= a->scale[0])
        return 0;
    for (int i = 1; i < a->stops; i++) {
        double lo = a->scale[i - 1], hi = a->scale[i];
        if (value <= hi) {
            double part = lo > 0 ? log(value / lo) / log(hi / lo) : (value - lo) / (hi - lo);
            return (int)lround((i - 1 + part) * each);
        }
    }
    return (a->stops - 1) * each;
}

/* Where a word begins whose middle is at a column, as far as the row allows. */
static int word_at(struct rect in, int at, int width)
{
    int left = at - width / 2, most = in.col + in.cols - width;
    left = left < most ? left : most;
    return left > in.col ? left : in.col;
}

/* Above the scale, which begins at `col`: what the learner said, and what is true, side by side where they are close. */
static void draw_words(const struct block *b, struct canvas *c, struct rect in, int col, int each)
{
    static const char *const words[SOURCES] = {
        [KNOWN] = N_("true"), [MEASURED] = N_("measured"), [SIMULATED] = N_("simulated")};
    const struct ask *a = b->state;
    const char *you = _("you"), *word = _(words[source_of(b)]);
    int own = text_columns(you), width = text_columns(word), mine = 0;
    bool said = b->chosen >= 0 && b->chosen < a->count - 1;
    double value = b->chosen >= 0 ? truth(b) : NAN;
    if (said) {
        mine = word_at(in, col + b->chosen * each, own);
        canvas_text(c, in.row, mine, own, ROLE_ACCENT, ATTR_BOLD, you);
    }
    if (!isfinite(value))
        return;
    int at = col + place(a, value, each), left = word_at(in, at, width);
    canvas_put(c, in.row + 1, at, 0x25c6, ROLE_GOOD, ATTR_BOLD);
    if (said && left < mine + own + 2 && left + width + 2 > mine) {
        bool before = at < col + b->chosen * each && mine - 2 - width >= in.col;
        left = before ? mine - 2 - width : mine + own + 2;
    }
    canvas_text(c, in.row, left, width, ROLE_GOOD, ATTR_BOLD, word);
}

/* The scale: stops with their labels below, words above. */
static void draw_scale(const struct block *b, struct canvas *c, struct rect in, int each, bool focused)
{
    const struct ask *a = b->state;
    int last = a->count - 1, col = in.col + each / 2, row = in.row + 1, known = in.col + a->stops * each + 2;
    const char *unit = block_text_get(&b->text, "unit");
    canvas_hline(c, row, col, (a->stops - 1) * each + 1, ROLE_BORDER);
    for (int i = 0; i < a->count; i++) {
        bool chosen = i == b->chosen, here = b->chosen < 0 && focused && i == a->cursor;
        enum role role = here ? ROLE_SELECTED : chosen ? ROLE_ACCENT : ROLE_TEXT;
        int at = i < last ? col + i * each : known, width = text_columns(a->labels[i]);
        if (i < last)
            canvas_put(c, row, at,
                       chosen ? 0x25cf
                       : here ? 0x25c9
                              : 0x253c,
                       chosen || here ? ROLE_ACCENT : ROLE_BORDER, 0);
        canvas_text(c, i < last ? in.row + 2 : row, i < last ? at - width / 2 : at + 2, width, role,
                    chosen || here ? ATTR_BOLD : 0, a->labels[i]);
        if (i == last)
            canvas_put(c, row, at,
                       chosen ? 0x25cf
                       : here ? 0x25c9
                              : 0x25cb,
                       chosen || here ? ROLE_ACCENT : ROLE_MUTED, 0);
        if (here) {
            c->cursor_row = row;
            c->cursor_col = at;
        }
    }
    if (unit)
        canvas_text(c, in.row + 2, known, in.cols - (known - in.col), ROLE_MUTED, 0, unit);
    draw_words(b, c, in, col, each);
}

static void draw_choices(const struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct ask *a = b->state;
    for (int i = 0; i < a->count; i++) {
        bool chosen = i == b->chosen, here = b->chosen < 0 && focused && i == a->cursor;
        bool right = b->chosen >= 0 && i == a->right;
        enum role role = here             ? ROLE_SELECTED
                         : right          ? ROLE_GOOD
                         : chosen         ? b->text.kind == BLOCK_QUIZ ? ROLE_BAD : ROLE_ACCENT
                         : b->chosen >= 0 ? ROLE_MUTED
                                          : ROLE_TEXT;
        uint32_t mark = right    ? 0x2713
                        : chosen ? b->text.kind == BLOCK_QUIZ ? 0x2717 : 0x25cf
                        : here   ? 0x25c9
                                 : 0x25cb;
        int rows = wrap_rows(a->labels[i], in.cols - 4);
        if (here) {
            canvas_fill(c, (struct rect){in.row, in.col, rows, in.cols}, ' ', ROLE_SELECTED, 0);
            c->cursor_row = in.row;
            c->cursor_col = in.col + 1;
        }
        canvas_put(c, in.row, in.col + 1, mark,
                   here              ? ROLE_SELECTED
                   : chosen || right ? role
                                     : ROLE_MUTED,
                   ATTR_BOLD);
        struct rect text = {in.row, in.col + 4, rows, in.cols - 4};
        wrap_text(c, text, role, chosen || here ? ATTR_BOLD : 0, a->labels[i]);
        in.row += rows;
    }
}

static void ask_draw(struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct ask *a = b->state;
    char text[600];
    int each = stop_cols(a, in.cols);
    block_sentence(c, &in, ROLE_TEXT, ATTR_BOLD, b->text.question);
    rect_cut_rows(&in, 1);
    struct rect choices = rect_cut_rows(&in, choices_rows(a, in.cols));
    if (each)
        draw_scale(b, c, choices, each, focused);
    else
        draw_choices(b, c, choices, focused);
    verdict(b, text, sizeof text);
    if (!*text)
        return;
    rect_cut_rows(&in, 1);
    bool right = b->text.kind == BLOCK_QUIZ && b->chosen == a->right;
    block_sentence(c, &in,
                   right                        ? ROLE_GOOD
                   : b->text.kind == BLOCK_QUIZ ? ROLE_WARN
                                                : ROLE_ACCENT,
                   ATTR_BOLD, text);
    if (explained(b))
        block_sentence(c, &in, ROLE_TEXT, 0, b->text.because);
}

static int ask_plain(struct block *b, struct canvas *c, struct rect in)
{
    const struct ask *a = b->state;
    int before = in.rows;
    char text[80];
    snprintf(text, sizeof text, b->text.kind == BLOCK_QUIZ ? _("Question: ") : _("Predict: "));
    int used = canvas_text(c, in.row, in.col, in.cols, ROLE_ACCENT, ATTR_BOLD, text);
    struct rect question = {in.row, in.col + used, in.rows, in.cols - used};
    rect_cut_rows(&in, wrap_text(c, question, ROLE_TEXT, ATTR_BOLD, b->text.question));
    const char *unit = block_text_get(&b->text, "unit");
    for (int i = 0; i < a->count; i++) {
        bool number = i < a->stops;
        canvas_format(c, in.row, in.col + 2, 4, ROLE_MUTED, 0, "%2d)", i + 1);
        canvas_format(c, in.row, in.col + 6, in.cols - 6, ROLE_TEXT, 0, number && unit ? "%s %s" : "%s",
                      a->labels[i], unit);
        int rows = number ? 1 : wrap_rows(a->labels[i], in.cols - 6);
        if (rows > 1)
            wrap_text(c, (struct rect){in.row, in.col + 6, rows, in.cols - 6}, ROLE_TEXT, 0, a->labels[i]);
        rect_cut_rows(&in, rows);
    }
    return before - in.rows;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static bool ask_act(struct block *b, struct app *app, int action)
{
    struct ask *a = b->state;
    (void)app;
    if (b->chosen >= 0)
        return false; /* answered: the keys scroll again */
    if (action == COMMIT)
        choose(b, a->cursor);
    else if (action == BEFORE)
        a->cursor = a->cursor > 0 ? a->cursor - 1 : 0;
    else if (action == AFTER)
        a->cursor = a->cursor < a->count - 1 ? a->cursor + 1 : a->cursor;
    else if (action - PICK < a->count)
        a->cursor = action - PICK;
    return true;
}

static bool ask_click(struct block *b, struct app *app, int row, int col, int cols)
{
    struct ask *a = b->state;
    int top = wrap_rows(b->text.question, cols) + 1, each = stop_cols(a, cols);
    (void)app;
    if (b->chosen >= 0 || row < top)
        return false;
    if (each) {
        a->cursor = col >= a->stops * each ? a->count - 1 : col / each;
        return row < top + 3;
    }
    for (int i = 0; i < a->count; i++) {
        top += wrap_rows(a->labels[i], cols - 4);
        if (row < top) {
            a->cursor = i;
            return true;
        }
    }
    return false;
}

static enum role ask_status(const struct block *b, char *text, size_t size)
{
    const struct ask *a = b->state;
    if (b->chosen < 0) {
        *text = '\0';
        return ROLE_MUTED;
    }
    bool right = b->text.kind == BLOCK_QUIZ && b->chosen == a->right;
    bool lost = b->set->progress && !progress_kept(b->set->progress);
    snprintf(text, size, "%s",
             b->text.kind == BLOCK_PREDICT ? lost ? _("not kept") : _("committed")
             : right ? _("right")
                                           : _("answered"));
    return right ? ROLE_GOOD : ROLE_ACCENT;
}

const struct block_class block_predict = {
    .label = N_("Predict"),
    .open = ask_open,
    .close = ask_close,
    .rows = ask_rows,
    .draw = ask_draw,
    .plain = ask_plain,
    .keys = ask_keys,
    .act = ask_act,
    .click = ask_click,
    .result = ask_result,
    .status = ask_status,
};

const struct block_class block_quiz = {
    .label = N_("Quiz"),
    .open = ask_open,
    .close = ask_close,
    .rows = ask_rows,
    .draw = ask_draw,
    .plain = ask_plain,
    .keys = ask_keys,
    .act = ask_act,
    .click = ask_click,
    .result = ask_result,
    .status = ask_status,
};
