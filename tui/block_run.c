/*
 * block_run.c - the blocks that start a real job where they stand: a command's, or a script's in Lua.
 *
 * The job belongs to its supervisor like any other: leaving the lesson stops nothing, and its name is kept in the
 * learner's progress, so the block finds it again. The same for a simulation that a script describes, which a worker
 * computes.
 */
#include "tui/block_run.h"

#include "engine/base/lua_sandbox.h"
#include "engine/base/paths.h"
#include "engine/launch/launch.h"
#include "tui/app.h"
#include "tui/axis.h"
#include "tui/cli.h"
#include "tui/highlight.h"
#include "tui/md_cells.h"
#include "tui/plot.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_A_TICK = 2000, WORDS_MAX = 64, CODE_ROWS = 24 };
enum action { START = 1, AGAIN, STOP };

struct job_block {
    char *words; /* of the command, cut at its blanks; NULL: a script */
    char *argv[WORDS_MAX];
    int argc;
    struct run_model *model; /* of the run it has started; NULL: none */
    long second;             /* drawn last */
    char failed[700];        /* why it could not be started */
};

static const struct key_binding run_keys[] = {
    {KEY_CODE_ENTER, START, N_("start"), N_("start the block; once started: the whole view of its run")},
    {'r', AGAIN, N_("again"), N_("start it once more")},
    {'x', STOP, N_("stop"), N_("stop its run")},
    {0, 0, NULL, NULL},
};

static void forget(struct job_block *j)
{
    if (j->model)
        run_model_free(j->model);
    free(j->model);
    j->model = NULL;
}

static void run_close(struct block *b)
{
    struct job_block *j = b->state;
    forget(j);
    free(j->words);
    free(j);
}

static bool follow(struct job_block *j, const char *run)
{
    forget(j);
    j->model = calloc(1, sizeof *j->model);
    if (j->model && run_model_open(j->model, run, NULL)) {
        j->model->attached = true; /* a glance at it is no watching */
        run_model_poll(j->model, EVENTS_A_TICK);
        return true;
    }
    free(j->model);
    j->model = NULL;
    return false;
}

/* --- the job -------------------------------------------------------------------------------------------------- */

static bool command_job(const struct job_block *j, struct job *job, struct error *e)
{
    char *argv[WORDS_MAX + 1];
    memcpy(argv, j->argv, sizeof j->argv);
    argv[j->argc] = NULL;
    if (!strcmp(argv[0], "train"))
        return cli_train_job(j->argc, argv, job, e);
    if (!strcmp(argv[0], "allreduce"))
        return cli_allreduce_job(j->argc, argv, job, e);
    return error_set(e, ERROR_INPUT, "a command is 'train ...' or 'allreduce ...', not '%.40s'", argv[0]);
}

/* The script, written where its worker can read it: $RINGSIDE_HOME/work/blocks/LESSON-NAME.lua. */
static bool script_job(const struct block *b, struct job *job, struct error *e)
{
    char home[PATH_MAX], work[PATH_MAX], folder[PATH_MAX], name[160];
    snprintf(name, sizeof name, "%.80s-%s.lua", b->set->lesson, b->text.name);
    job_defaults(job, JOB_SCRIPT);
    snprintf(job->label, sizeof job->label, "%.60s", b->text.name);
    if (!ringside_home(home, e) || !path_join(work, home, "work", e) ||
        !path_join(folder, work, "blocks", e) || !path_make(folder, e) ||
        !path_join(job->script.file, folder, name, e))
        return false;
    return rundir_write(folder, name, b->text.body, e);
}

static bool split(struct job_block *j, const char *command, int line, struct error *e)
{
    if (!(j->words = strdup(command)))
        return error_set(e, ERROR_FAILED, "out of memory");
    for (char *rest = j->words, *word; (word = strsep(&rest, " "));) {
        if (!*word)
            continue;
        if (j->argc == WORDS_MAX)
            return error_set(e, ERROR_INPUT, "line %d: command: more than %d words", line, WORDS_MAX);
        j->argv[j->argc++] = word;
    }
    struct job job;
    if (!command_job(j, &job, e))
        return error_wrap(e, "line %d: command", line);
    job_clear(&job);
    return true;
}

static bool compiles(const struct block *b, struct error *e)
{
    struct lua_fault fault = {0};
    struct lua_sandbox *s = lua_sandbox_open(&(struct lua_limits){.memory_bytes = 8 << 20, .seconds = 1}, e);
    if (!s)
        return false;
    bool ok = lua_sandbox_load(s, b->text.body, strlen(b->text.body), "block", &fault);
    lua_sandbox_close(s);
    return ok || error_set(e, ERROR_INPUT, "line %d: %s",
                           b->text.body_line + (fault.line > 0 ? fault.line - 1 : 0), fault.what);
}

static bool run_open(struct block *b, struct error *e)
{
    struct job_block *j = b->state = calloc(1, sizeof *j);
    const char *command = block_text_get(&b->text, "command"), *kept = block_kept(b);
    if (!j)
        return error_set(e, ERROR_FAILED, "out of memory");
    if (!command == !*b->text.body)
        return error_set(e, ERROR_INPUT,
                         "line %d: a %s block has either a command or, after a blank line, a script in Lua",
                         b->text.line, block_kind_name(b->text.kind));
    if (!*b->text.name)
        return error_set(e, ERROR_INPUT,
                         "line %d: a %s block needs a name behind its kind: its run is kept under it",
                         b->text.line, block_kind_name(b->text.kind));
    if (command ? !split(j, command, block_text_line(&b->text, "command"), e) : !compiles(b, e))
        return false;
    const char *shows = block_text_get(&b->text, "shows");
    if (shows && strcmp(shows, "loss") != 0 && strcmp(shows, "accuracy") != 0 &&
        strcmp(shows, "speed") != 0 && strcmp(shows, "nothing") != 0)
        return error_set(e, ERROR_INPUT,
                         "line %d: shows: expected loss, accuracy, speed or nothing, got '%.40s'",
                         block_text_line(&b->text, "shows"), shows);
    if (kept)
        follow(j, kept);
    return true;
}

static bool run_start(struct block *b, struct error *e)
{
    struct job_block *j = b->state;
    struct job job = {0};
    char dir[PATH_MAX];
    if (!(j->argc ? command_job(j, &job, e) : script_job(b, &job, e)))
        return false;
    bool ok = launch_start(&job, dir, e);
    job_clear(&job);
    if (!ok)
        return false;
    block_keep(b, rundir_id(dir));
    return follow(j, dir) || error_set(e, ERROR_FAILED, "the run %s cannot be read", rundir_id(dir));
}

static const char *run_dir(const struct block *b)
{
    const struct job_block *j = b->state;
    return j->model ? j->model->dir : NULL;
}

static bool run_tick(struct block *b, double now)
{
    struct job_block *j = b->state;
    if (!j->model || (j->model->done && run_state_ended(j->model->status.state)))
        return false;
    bool changed = run_model_poll(j->model, EVENTS_A_TICK);
    long second = (long)run_model_elapsed(j->model, now);
    if (second == j->second || run_model_ended(j->model))
        return changed;
    j->second = second;
    return true;
}

static double run_measure(struct block *b, const char *what)
{
    const struct job_block *j = b->state;
    return j->model && run_model_ended(j->model) ? block_run_measure(j->model, what) : NAN;
}

/* What a script measures is what it plots: that shows when it runs. */
static bool run_measures(const struct block *b, const char *what)
{
    static const char *const of_training[] = {
        "loss", "accuracy", "samples_per_s", "wall_s", "steps_per_s", "comm_percent", NULL};
    static const char *const of_collectives[] = {"busbw", "time_us", "wall_s", NULL};
    const struct job_block *j = b->state;
    const char *const *names = j->argc && !strcmp(j->argv[0], "train") ? of_training : of_collectives;
    for (int i = 0; j->argc && names[i]; i++)
        if (strlen(names[i]) == strcspn(what, " ") && !strncmp(names[i], what, strlen(names[i])))
            return true;
    return !j->argc;
}

static char *run_result(struct block *b)
{
    const struct job_block *j = b->state;
    char text[600] = "", figures[300];
    if (!j->model)
        return strdup("");
    block_run_figures(j->model, figures, sizeof figures);
    if (*figures && run_model_ended(j->model))
        return strdup(figures);
    run_model_state_text(j->model, text, sizeof text);
    return strdup(text);
}

/* --- drawing ----------------------------------------------------------------------------------------------------- */

/* The script, coloured; a line that is too long goes on in the next row. Returns the rows; c may be NULL: only counts. */
static int code(const struct block *b, struct canvas *c, struct rect area)
{
    int state = 0, row = 0;
    for (const char *at = b->text.body; *at && row < CODE_ROWS;) {
        struct md_cells cells = {0};
        int length = (int)strcspn(at, "\n"), k = 0;
        md_cells_text_n(&cells, at, length, ROLE_CODE, 0);
        if (cells.count)
            state = highlight_lua(cells.cells, cells.count, state);
        do {
            for (int col = 0; col < area.cols && k < cells.count; col++, k++)
                if (c && cells.cells[k].glyph)
                    canvas_put(c, area.row + row, area.col + col, cells.cells[k].glyph,
                               (enum role)cells.cells[k].role, cells.cells[k].attributes);
            row++;
        } while (k < cells.count && row < CODE_ROWS);
        md_cells_free(&cells);
        at += length;
        at += *at == '\n';
    }
    return row;
}

/* What to do next, or what has gone wrong, below the job. */
static void hint(const struct block *b, char *text, size_t size, enum role *role)
{
    const struct job_block *j = b->state;
    int wanted;
    *role = ROLE_MUTED;
    *text = '\0';
    if (*j->failed) {
        *role = ROLE_BAD;
        snprintf(text, size, "%s", j->failed);
    } else if (!j->model && block_waits(b->set, b->index, &wanted)) {
        snprintf(text, size, "%s", _("It waits for your prediction above."));
    } else if (!j->model) {
        const char *note = block_text_get(&b->text, "note");
        snprintf(text, size, "%s%s%s", note ? note : "", note ? " " : "", _("Enter starts it."));
    }
}

static bool has_plot(const struct block *b)
{
    const struct job_block *j = b->state;
    return j->model && block_run_plot(j->model, block_text_get(&b->text, "shows"), NULL, (struct rect){0});
}

static void state_line(const struct block *b, char *text, size_t size)
{
    const struct run_model *m = ((const struct job_block *)b->state)->model;
    char figures[300], clock[16];
    block_run_figures(m, figures, sizeof figures);
    if (run_model_ended(m) && m->ok && *figures) {
        snprintf(text, size, "%s", figures);
        return;
    }
    if (run_model_ended(m) || m->status.state == RUN_PENDING || !m->started) {
        run_model_state_text(m, text, size);
        return;
    }
    format_clock(run_model_elapsed(m, b->set->now), clock, sizeof clock);
    snprintf(text, size, *figures ? "%s  %s" : "%s", clock, figures);
}

static int run_rows(struct block *b, int cols)
{
    const struct job_block *j = b->state;
    char text[800];
    enum role role;
    int rows = j->argc ? wrap_rows(block_text_get(&b->text, "command"), cols - 11)
                       : code(b, NULL, (struct rect){.cols = cols});
    hint(b, text, sizeof text, &role);
    rows += wrap_rows(text, cols);
    if (!j->model)
        return rows;
    state_line(b, text, sizeof text);
    rows += 1 + wrap_rows(text, cols) + !run_model_ended(j->model);
    return rows + (has_plot(b) ? BLOCK_PLOT_ROWS + 1 : 0);
}

static void draw_job(const struct block *b, struct canvas *c, struct rect *in)
{
    const struct job_block *j = b->state;
    if (!j->argc) {
        rect_cut_rows(in, code(b, c, *in));
        return;
    }
    canvas_text(c, in->row, in->col, 11, ROLE_MUTED, 0, "$ ringside ");
    struct rect command = {in->row, in->col + 11, in->rows, in->cols - 11};
    rect_cut_rows(in, wrap_text(c, command, ROLE_CODE, 0, block_text_get(&b->text, "command")));
}

static void run_draw(struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct job_block *j = b->state;
    char text[800];
    enum role role;
    if (focused) {
        c->cursor_row = in.row;
        c->cursor_col = in.col;
    }
    draw_job(b, c, &in);
    hint(b, text, sizeof text, &role);
    block_sentence(c, &in, role, 0, text);
    if (!j->model)
        return;
    rect_cut_rows(&in, 1);
    const struct run_model *m = j->model;
    state_line(b, text, sizeof text);
    bool bad = run_model_ended(m) && !m->ok;
    block_sentence(c, &in, bad ? ROLE_BAD : run_model_ended(m) ? ROLE_GOOD : ROLE_ACCENT, ATTR_BOLD, text);
    if (!run_model_ended(m)) {
        struct rect row = rect_cut_rows(&in, 1);
        gauge_draw(c, row.row, row.col, row.cols, run_model_progress(m, b->set->now), ROLE_ACCENT);
    }
    if (has_plot(b)) {
        rect_cut_rows(&in, 1);
        block_run_plot(m, block_text_get(&b->text, "shows"), c, in);
    }
}

static int run_plain(struct block *b, struct canvas *c, struct rect in)
{
    int before = in.rows;
    const char *title = block_text_get(&b->text, "title"), *note = block_text_get(&b->text, "note");
    char text[400];
    snprintf(text, sizeof text, b->text.kind == BLOCK_SIM ? _("Simulate: %s") : _("Run: %s"),
             title ? title : "");
    block_sentence(c, &in, ROLE_ACCENT, ATTR_BOLD, text);
    in.col += 2;
    in.cols -= 2;
    draw_job(b, c, &in);
    if (note)
        block_sentence(c, &in, ROLE_MUTED, 0, note);
    return before - in.rows;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void start_here(struct block *b, struct app *app)
{
    struct job_block *j = b->state;
    struct error e = {0};
    *j->failed = '\0';
    if (!block_start(b->set, b->index, &e)) {
        bool waits = e.kind == ERROR_FAILED;
        if (!waits)
            snprintf(j->failed, sizeof j->failed, "%.690s", e.text);
        app_message(app, waits ? ROLE_WARN : ROLE_BAD, "%s", e.text);
    }
}

static bool run_act(struct block *b, struct app *app, int action)
{
    struct job_block *j = b->state;
    bool going = j->model && !run_model_ended(j->model);
    if (action == START && j->model)
        app_open(app, view_find("run"), j->model->dir);
    else if (action == START || (action == AGAIN && !going))
        start_here(b, app);
    else if (action == AGAIN)
        app_message(app, ROLE_MUTED, "%s", _("It is running already; x stops it."));
    else if (action == STOP && going)
        launch_stop(j->model->dir, NULL);
    else
        app_message(app, ROLE_MUTED, "%s", _("Nothing of this block is running."));
    return true;
}

static enum role run_status(const struct block *b, char *text, size_t size)
{
    const struct job_block *j = b->state;
    bool sim = b->text.kind == BLOCK_SIM || (j->model && run_model_simulated(j->model));
    if (!j->model) {
        snprintf(text, size, "%s", sim ? _("simulated") : "");
        return ROLE_WARN;
    }
    enum run_state state = j->model->status.state;
    snprintf(text, size, sim ? "%s, %s" : "%s", _(run_state_name(state)), _("simulated"));
    return state == RUN_DONE ? ROLE_GOOD : state == RUN_FAILED || state == RUN_LOST ? ROLE_BAD : ROLE_ACCENT;
}

const struct block_class block_run_class = {
    .label = N_("Run"),
    .open = run_open,
    .close = run_close,
    .rows = run_rows,
    .draw = run_draw,
    .plain = run_plain,
    .keys = run_keys,
    .act = run_act,
    .tick = run_tick,
    .result = run_result,
    .start = run_start,
    .run = run_dir,
    .measure = run_measure,
    .measures = run_measures,
    .status = run_status,
};

const struct block_class block_script_sim_class = {
    .label = N_("Simulation"),
    .open = run_open,
    .close = run_close,
    .rows = run_rows,
    .draw = run_draw,
    .plain = run_plain,
    .keys = run_keys,
    .act = run_act,
    .tick = run_tick,
    .result = run_result,
    .start = run_start,
    .run = run_dir,
    .measure = run_measure,
    .measures = run_measures,
    .status = run_status,
};
