/*
 * doctor_view.c - what works on this machine, what does not, why, and what to do about it.
 *
 * The findings come from `ringside doctor --json`, started as a program of its own because it really starts ranks and
 * may take seconds. Opened on a file, it shows the report that somebody else has written there by that command.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "tui/app.h"
#include "tui/child.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { UP = 1, DOWN, FIRST, LAST, AGAIN };
enum { FINDINGS_MAX = 40, WIDE_FROM = 110 };

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, N_("select"), N_("the finding above or below")},
    {KEY_CODE_DOWN, DOWN, N_("select"), N_("the finding above or below")},
    {'k', UP, NULL, N_("the finding above or below")},
    {'j', DOWN, NULL, N_("the finding above or below")},
    {KEY_CODE_HOME, FIRST, NULL, N_("the first or the last finding")},
    {KEY_CODE_END, LAST, NULL, N_("the first or the last finding")},
    {'r', AGAIN, N_("again"), N_("look once more, after you have mended something")},
    {0, 0, NULL, NULL},
};

enum result { FOUND, WARNING, MISSING };

struct doctor {
    struct child child;
    json_t *findings[FINDINGS_MAX];
    int count, selected, first;
    bool looking;
    char file[PATH_MAX]; /* "" where this machine is looked at */
};

static const char *part(const struct doctor *d, int n, const char *key)
{
    return n < d->count ? event_text(d->findings[n], key, "") : "";
}

static enum result result_of(const struct doctor *d, int n)
{
    const char *text = part(d, n, "result");
    return !strcmp(text, "found") ? FOUND : !strcmp(text, "warning") ? WARNING : MISSING;
}

static bool needed(const struct doctor *d, int n)
{
    return json_is_true(json_object_get(d->findings[n], "needed"));
}

static void forget(struct doctor *d)
{
    while (d->count > 0)
        json_decref(d->findings[--d->count]);
}

static void take(struct doctor *d, const char *line, size_t length)
{
    json_t *event = event_parse(line, length);
    if (event && d->count < FINDINGS_MAX && !strcmp(event_text(event, "ev", ""), "finding"))
        d->findings[d->count++] = event;
    else
        json_decref(event);
}

static bool read_report(struct doctor *d, struct error *e)
{
    FILE *in = fopen(d->file, "re");
    char *line = NULL;
    size_t room = 0;
    if (!in)
        return error_errno(e, ERROR_INPUT, "the report %s cannot be read", d->file);
    for (ssize_t n; (n = getline(&line, &room, in)) > 0;)
        take(d, line, (size_t)n);
    free(line);
    fclose(in);
    return d->count > 0 ||
           error_set(e, ERROR_INPUT,
                     "there are no findings in %s; 'ringside doctor --json' writes such a report", d->file);
}

static bool look(struct doctor *d, struct error *e)
{
    char program[PATH_MAX];
    if (*d->file)
        return read_report(d, e);
    char *argv[] = {program, (char *)"doctor", (char *)"--json", NULL};
    child_stop(&d->child);
    d->looking = path_program("ringside", program, e) && child_start(&d->child, argv, e);
    return d->looking;
}

static void doctor_close(void *view)
{
    struct doctor *d = view;
    child_stop(&d->child);
    forget(d);
    free(d);
}

static void *doctor_open(struct app *app, const char *argument, struct error *e)
{
    (void)app;
    struct doctor *d = calloc(1, sizeof *d);
    if (!d) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    d->child.pipe = -1;
    snprintf(d->file, sizeof d->file, "%s", argument ? argument : "");
    if (look(d, e))
        return d;
    doctor_close(d);
    return NULL;
}

static void doctor_act(void *view, struct app *app, int action)
{
    struct doctor *d = view;
    struct error e = {0};
    switch ((enum action)action) {
    case UP: d->selected--; break;
    case DOWN: d->selected++; break;
    case FIRST: d->selected = 0; break;
    case LAST: d->selected = d->count - 1; break;
    case AGAIN:
        forget(d);
        if (!look(d, &e))
            app_message(app, ROLE_BAD, "%s", e.text);
        break;
    }
    if (d->selected >= d->count)
        d->selected = d->count - 1;
    if (d->selected < 0)
        d->selected = 0;
}

static bool doctor_tick(void *view, struct app *app, double now)
{
    struct doctor *d = view;
    (void)now;
    if (!d->looking)
        return false;
    int before = d->count;
    const char *line;
    while ((line = child_line(&d->child)))
        take(d, line, strlen(line));
    if (child_ended(&d->child)) {
        d->looking = false;
        if (!d->count)
            app_message(app, ROLE_BAD,
                        _("the examination ended without an answer; try 'ringside doctor' at the shell"));
    }
    return d->count != before || !d->looking;
}

/* --- drawing --- */

/* What each finding is about, for those who meet the word for the first time. */
static const struct {
    const char *what, *text;
} purposes[] = {
    {"terminal", N_("The window you look at: what it is, its colours, its characters and its size decide how "
                    "plots are drawn.")},
    {"home", N_("The folder in which your runs, your progress and your own scripts are kept.")},
    {"course", N_("Lessons and exercises, as they were installed with the program.")},
    {"mpirun", N_("Starts the ranks of a job, on this machine or over several, and ends them together.")},
    {"ranks", N_("Ranks are the processes of a parallel job. Two were really started, and each sent the "
                 "other a message.")},
    {"oneDNN",
     N_("Intel's library for neural networks on CPUs; it computes the convolutions and matrix products.")},
    {"CUDA plugin",
     N_("Lets jobs compute on NVIDIA GPUs. Without it everything in the course runs on CPUs.")},
    {"/dev/shm", N_("Memory that processes of one machine share: how ranks side by side exchange data "
                    "without a network.")},
    {"ranks at once",
     N_("A login node belongs to everybody: jobs of all its users together start no more ranks than this.")},
    {"scheduler",
     N_("A cluster's batch system: it lets jobs wait until nodes are free, and starts them there.")},
};

static const char *purpose_of(const char *what)
{
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++)
        if (!strcmp(purposes[i].what, what))
            return _(purposes[i].text);
    return "";
}

static const struct {
    const char *mark, *word;
    enum role role;
} looks[] = {
    [FOUND] = {"✓", N_("fine"), ROLE_GOOD},
    [WARNING] = {"!", N_("warning"), ROLE_WARN},
    [MISSING] = {"✗", N_("missing"), ROLE_BAD},
};

/* What is missing but not needed is no reason to worry. */
static enum role role_of(const struct doctor *d, int n)
{
    enum result result = result_of(d, n);
    return result == MISSING && !needed(d, n) ? ROLE_MUTED : looks[result].role;
}

static void draw_finding(const struct doctor *d, struct canvas *c, struct rect r, int n)
{
    bool selected = n == d->selected;
    enum result result = result_of(d, n);
    enum role role = selected ? ROLE_SELECTED : role_of(d, n);
    enum role text = selected ? ROLE_SELECTED : ROLE_TEXT, muted = selected ? ROLE_SELECTED : ROLE_MUTED;
    const char *mark = result == MISSING && !needed(d, n) ? "–" : looks[result].mark;
    const char *said = *part(d, n, "text") ? part(d, n, "text") : part(d, n, "cause");
    if (selected) {
        canvas_fill(c, r, ' ', ROLE_SELECTED, 0);
        c->cursor_row = r.row;
        c->cursor_col = r.col;
    }
    canvas_text(c, r.row, r.col, 2, text, 0, selected ? "▸" : " ");
    canvas_text(c, r.row, r.col + 2, 2, role, ATTR_BOLD, mark);
    canvas_text(c, r.row, r.col + 4, 14, text, selected ? ATTR_BOLD : 0, part(d, n, "what"));
    int col = r.col + 19;
    if (r.cols >= 56) {
        canvas_text(c, r.row, col, 8, role, 0,
                    result == MISSING && !needed(d, n) ? _("not here") : _(looks[result].word));
        col += 10;
    }
    canvas_text(c, r.row, col, r.col + r.cols - col - 1, muted, 0, said);
}

/* A heading and a text below it; in a small area the heading and the text in one. */
static void paragraph(struct canvas *c, struct rect *r, const char *heading, const char *text, enum role role)
{
    if (!*text || r->rows < 1)
        return;
    if (r->rows < 8) {
        char both[1024];
        snprintf(both, sizeof both, "%s: %s", heading, text);
        int rows = wrap_text(c, *r, role, 0, both);
        rect_cut_rows(r, rows);
        return;
    }
    canvas_text(c, r->row, r->col, r->cols, ROLE_ACCENT, ATTR_BOLD, heading);
    rect_cut_rows(r, 1);
    int used = wrap_text(c, *r, role, 0, text);
    rect_cut_rows(r, used);
    rect_cut_rows(r, r->rows > 6);
}

static void draw_detail(const struct doctor *d, struct canvas *c, struct rect r)
{
    if (!d->count)
        return;
    int n = d->selected;
    if (r.rows >= 8) {
        canvas_text(c, r.row, r.col, r.cols, ROLE_TITLE, ATTR_BOLD, part(d, n, "what"));
        rect_cut_rows(&r, 1);
        rect_cut_rows(&r, wrap_text(c, r, ROLE_MUTED, 0, purpose_of(part(d, n, "what"))));
        rect_cut_rows(&r, 1);
        paragraph(c, &r, _("Found"), part(d, n, "text"), ROLE_TEXT);
    }
    paragraph(c, &r, _("Why"), part(d, n, "cause"), ROLE_TEXT);
    paragraph(c, &r, _("Cure"), part(d, n, "cure"), ROLE_TEXT);
    if (result_of(d, n) == FOUND && r.rows > 0)
        canvas_text(c, r.row, r.col, r.cols, ROLE_MUTED, 0, _("Nothing to mend here."));
}

/* With room each finding has a line or more below it (what it is about, or what to do) and a blank one below that. */
static void draw_list(struct doctor *d, struct canvas *c, struct rect r)
{
    enum { EACH_LEAST = 3, EACH_MOST = 4 };
    int entries = d->count + d->looking, each = entries ? r.rows / entries : EACH_MOST;
    each = each > EACH_MOST ? EACH_MOST : each < EACH_LEAST ? 1 : each;
    int shown = r.rows / each;
    if (d->selected < d->first)
        d->first = d->selected;
    if (d->selected >= d->first + shown)
        d->first = d->selected - shown + 1;
    for (int i = 0; i < shown && d->first + i < d->count; i++) {
        int n = d->first + i, row = r.row + i * each;
        bool well = result_of(d, n) == FOUND || !*part(d, n, "cure");
        draw_finding(d, c, (struct rect){row, r.col, 1, r.cols}, n);
        if (each > 1)
            wrap_text(c, (struct rect){row + 1, r.col + 4, each - 2, r.cols - 5},
                      well ? ROLE_MUTED : ROLE_TEXT, 0,
                      well ? purpose_of(part(d, n, "what")) : part(d, n, "cure"));
    }
    if (d->looking && d->count - d->first < shown)
        canvas_text(c, r.row + (d->count - d->first) * each, r.col + 2, r.cols - 2, ROLE_MUTED, 0,
                    _("looking closer: two ranks are really started …"));
}

static void doctor_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct doctor *d = view;
    (void)app;
    struct rect r = rect_inset(area, 0, 1);
    rect_cut_rows(&r, r.rows > 14);
    if (area.cols >= WIDE_FROM) {
        struct rect list = rect_cut_cols(&r, area.cols * 11 / 20);
        rect_cut_cols(&list, -1);
        canvas_vline(c, area.row, r.col, area.rows, ROLE_BORDER);
        draw_list(d, c, list);
        rect_cut_cols(&r, 3);
        draw_detail(d, c, r);
        return;
    }
    int most = r.rows - (r.rows >= 16 ? 9 : 6), wanted = d->count + d->looking;
    struct rect list = rect_cut_rows(&r, wanted < most ? wanted : most);
    canvas_hline(c, r.row, r.col, r.cols, ROLE_BORDER);
    rect_cut_rows(&r, 1);
    draw_list(d, c, list);
    draw_detail(d, c, rect_inset(r, 0, 2));
}

static void doctor_title(void *view, char *text, size_t size)
{
    const struct doctor *d = view;
    const char *name = strrchr(d->file, '/');
    if (*d->file)
        snprintf(text, size, _("Doctor: the report %s"), name ? name + 1 : d->file);
    else
        snprintf(text, size, "%s", _("Doctor: what works on this machine"));
}

static enum role doctor_status(void *view, char *text, size_t size)
{
    const struct doctor *d = view;
    int trouble = 0, absent = 0;
    for (int i = 0; i < d->count; i++) {
        enum result result = result_of(d, i);
        trouble += result == WARNING || (result == MISSING && needed(d, i));
        absent += result == MISSING && !needed(d, i);
    }
    if (d->looking)
        snprintf(text, size, "%s", _("looking …"));
    else if (trouble)
        snprintf(text, size, text_plural("%d thing to mend", "%d things to mend", trouble), trouble);
    else if (absent)
        snprintf(text, size, _("nothing to mend; %d not here"), absent);
    else
        snprintf(text, size, "%s", _("nothing to mend"));
    return trouble ? ROLE_WARN : ROLE_GOOD;
}

const struct view_class view_doctor = {
    .name = "doctor",
    .keys = keys,
    .open = doctor_open,
    .act = doctor_act,
    .tick = doctor_tick,
    .draw = doctor_draw,
    .title = doctor_title,
    .status = doctor_status,
    .close = doctor_close,
};
