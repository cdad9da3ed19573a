/*
 * exercise_view.c - the exercise view: read the task, edit the file, see what the checks say.
 *
 * Editing hands the terminal to the learner's editor. Saving, there or in another window, is noticed by polling
 * the file's time and starts the instant check: a run like any other, in processes of its own, so the screen
 * never waits for what a learner wrote.
 */
#include "tui/exercise_view.h"

#include "engine/launch/launch.h"
#include "engine/launch/lua_host.h"
#include "tui/app.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_S 0.4

enum {
    ACT_EDIT = 1,
    ACT_CHECK,
    ACT_CANCEL,
    ACT_HINT,
    ACT_TASK,
    ACT_RUN,
    ACT_FULL,
    ACT_WATCH,
    ACT_DIFF,
    ACT_RESET,
    ACT_RESET_YES,
    ACT_PANE,
    ACT_PANE_BACK,
    ACT_UP,
    ACT_DOWN,
    ACT_PAGE_UP,
    ACT_PAGE_DOWN,
    ACT_TOP,
    ACT_BOTTOM,
    ACT_LEAVE
};

static const struct key_binding exercise_keys[] = {
    {'e', ACT_EDIT, N_("edit"),
     N_("edit your file in $VISUAL or $EDITOR; saving checks it at once, in one process")},
    {'c', ACT_CHECK, N_("check"), N_("check your file with real ranks")},
    {'x', ACT_CANCEL, NULL, N_("stop the check that is running (Esc does, too)")},
    {'h', ACT_HINT, N_("hint"), N_("the next hint")},
    {'t', ACT_TASK, NULL, N_("the task again, after a hint")},
    {'r', ACT_RUN, N_("run"), N_("run your file and watch it: beside it in a wide window")},
    {KEY_CODE_ENTER, ACT_FULL, NULL, N_("the whole view of the run beside it")},
    {'w', ACT_WATCH, N_("ring"), N_("watch the messages of the last check on the ring")},
    {'d', ACT_DIFF, NULL, N_("how your file differs from the solution, once it has passed")},
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), N_("the next pane: task, your file, checks")},
    {KEY_CODE_BACKTAB, ACT_PANE_BACK, NULL, N_("the pane before")},
    {KEY_CODE_UP, ACT_UP, NULL, N_("scroll the pane")},
    {KEY_CODE_DOWN, ACT_DOWN, NULL, N_("scroll the pane")},
    {KEY_CODE_PAGE_UP, ACT_PAGE_UP, NULL, N_("scroll the pane by ten lines")},
    {KEY_CODE_PAGE_DOWN, ACT_PAGE_DOWN, NULL, N_("scroll the pane by ten lines")},
    {KEY_CODE_HOME, ACT_TOP, NULL, N_("to the pane's beginning or end")},
    {KEY_CODE_END, ACT_BOTTOM, NULL, N_("to the pane's beginning or end")},
    {'R', ACT_RESET, NULL, N_("begin anew with the starter; your file is kept as a backup (asks first)")},
    {KEY_CODE_ESCAPE, ACT_LEAVE, NULL,
     N_("stop a running check, put the run or the solution away, else go back")},
    {0, 0, NULL, NULL},
};

/* With a passed exercise the footer names its reward. */
static const struct key_binding passed_keys[] = {
    {'e', ACT_EDIT, N_("edit"), NULL},
    {'c', ACT_CHECK, N_("check"), NULL},
    {'d', ACT_DIFF, N_("solution"), NULL},
    {'r', ACT_RUN, N_("run"), NULL},
    {'w', ACT_WATCH, N_("ring"), NULL},
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), NULL},
    {0, 0, NULL, NULL},
};

static const struct key_binding beside_keys[] = {
    {'e', ACT_EDIT, N_("edit"), NULL},
    {'c', ACT_CHECK, N_("check"), NULL},
    {'r', ACT_RUN, N_("run"), NULL},
    {KEY_CODE_ENTER, ACT_FULL, N_("whole run"), NULL},
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), NULL},
    {KEY_CODE_ESCAPE, ACT_LEAVE, N_("put away"), NULL},
    {0, 0, NULL, NULL},
};

static bool same_time(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_size == b->st_size && a->st_ino == b->st_ino;
}

/* Reads the learner's file where it has changed; true: it has. */
static bool look_at_file(struct exercise_view *v)
{
    struct stat st = {0};
    if (stat(v->files.file, &st) != 0)
        memset(&st, 0, sizeof st);
    if (same_time(&st, &v->code_stat))
        return false;
    exercise_diff_free(v);
    free(v->code);
    v->code = markdown_read(v->files.file, NULL);
    v->code_stat = st;
    return true;
}

static void *exercise_open(struct app *app, const char *argument, struct error *e)
{
    struct exercise_view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    if (!exercise_files_open(&v->files, argument, e)) {
        free(v);
        return NULL;
    }
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/task.md", v->files.folder);
    v->task = markdown_read(path, NULL);
    v->hint_count = exercise_files_hints(&v->files, v->hints);
    v->hints_shown = progress_hints(app_progress(app), v->files.name);
    if (v->hints_shown > v->hint_count)
        v->hints_shown = v->hint_count;
    v->passed = progress_passed(app_progress(app), v->files.name);
    v->now = app_now(app);
    look_at_file(v);
    return v;
}

static void exercise_close(void *view)
{
    struct exercise_view *v = view;
    exercise_check_stop(v);
    exercise_beside_close(v);
    exercise_diff_free(v);
    free(v->solution);
    if (v->check.started && v->check.instant && !v->check.running)
        rundir_delete(v->check.m.dir, NULL);
    exercise_check_free(&v->check);
    markdown_free(&v->doc);
    free(v->task);
    free(v->code);
    for (int i = 0; i < v->hint_count; i++)
        free(v->hints[i]);
    free(v);
}

static void start_check(struct exercise_view *v, struct app *app, bool instant)
{
    struct error e = {0};
    if (v->check.running)
        exercise_check_stop(v);
    v->scroll[PANE_CHECKS] = 0;
    if (!exercise_check_start(v, instant, &e))
        app_message(app, ROLE_BAD, "%s", e.text);
}

static bool exercise_tick(void *view, struct app *app, double now)
{
    struct exercise_view *v = view;
    bool changed = false;
    v->now = now;
    if (now - v->looked >= LOOK_S || now < v->looked) {
        v->looked = now;
        if (look_at_file(v)) {
            changed = v->edited = true;
            /* A check with real ranks is not disturbed: the learner asked for it. */
            if (!v->check.running || v->check.instant)
                start_check(v, app, true);
        }
    }
    changed |= exercise_check_poll(v);
    changed |= exercise_beside_tick(v, app, now);
    struct exercise_check *k = &v->check;
    if (k->started && !k->running && !k->noted) {
        k->noted = true;
        changed = true;
        if (!k->instant && k->m.check_count && !k->stopping) {
            progress_note_check(app_progress(app), v->files.name, exercise_check_passed(k));
            v->passed = progress_passed(app_progress(app), v->files.name);
        }
        int line = exercise_check_line(k);
        if (line > 0)
            v->scroll[PANE_CODE] = line > 4 ? line - 4 : 0;
        if (v->edited && !k->instant)
            start_check(v, app, true); /* it was saved meanwhile */
    }
    if (k->running && (long)run_model_elapsed(&k->m, now) != v->second) {
        v->second = (long)run_model_elapsed(&k->m, now);
        changed = true;
    }
    return changed;
}

static void edit(struct exercise_view *v, struct app *app)
{
    struct error e = {0};
    if (!app_edit(app, v->files.file, &e)) {
        app_message(app, ROLE_BAD, "%s", e.text);
        return;
    }
    v->looked = 0;
}

static void hint(struct exercise_view *v, struct app *app)
{
    if (!v->hint_count) {
        app_message(app, ROLE_MUTED, "%s", _("This exercise has no hints."));
        return;
    }
    /* The first press shows where one had got to; each further one goes a step on. */
    if (v->show_hint || v->hints_shown == 0) {
        if (v->hints_shown < v->hint_count)
            v->hints_shown++;
        else
            app_message(app, ROLE_MUTED,
                        _("That was the last hint. 'ringside exercise solution %s' prints a solution."),
                        v->files.name);
    }
    progress_note_hint(app_progress(app), v->files.name, v->hints_shown);
    v->show_hint = true;
    v->pane = PANE_TASK;
    v->scroll[PANE_TASK] = 0;
}

/*
 * Whether a line of the file begins to define allreduce(comm, x). `ringside run` runs the file to find out
 * (lua_host_probe), which may take a second of the learner's endless loop: too long for a screen.
 */
static bool is_rank_script(const char *code)
{
    static const char definition[] = "function allreduce";
    for (const char *at = code; at && *at; at = strchr(at, '\n'), at += at ? 1 : 0)
        if (!strncmp(at, definition, sizeof definition - 1))
            return true;
    return false;
}

/* As `ringside run FILE` does: a file that defines allreduce(comm, x) runs in every one of four ranks. */
static void run_file(struct exercise_view *v, struct app *app)
{
    struct job job;
    struct error e = {0};
    char dir[PATH_MAX];
    bool ranks = is_rank_script(v->code);
    job_defaults(&job, ranks ? JOB_RANKS : JOB_SCRIPT);
    snprintf(job.label, sizeof job.label, "%s", v->files.name);
    if (ranks) {
        struct job_ranks *r = &job.rank_script;
        memcpy(r->script, v->files.file, sizeof r->script);
        snprintf(r->shown, sizeof r->shown, "%s", lua_host_shown(v->files.file));
        r->counts[0] = job.ranks = 4;
        r->lengths[0] = 16;
        r->count_total = r->length_total = 1;
    } else {
        memcpy(job.script.file, v->files.file, sizeof job.script.file);
    }
    bool started = launch_start(&job, dir, &e);
    if (!started && ranks && e.kind == ERROR_MISSING) {
        job.rank_script.coroutines = true; /* no MPI here: in one process, and labelled so */
        started = launch_start(&job, dir, &e);
    }
    if (started && !exercise_beside_open(v, app, ranks ? &view_ring : &view_run, dir))
        app_open(app, ranks ? &view_ring : &view_run, dir);
    else if (!started)
        app_message(app, ROLE_BAD, "%s", e.text);
    job_clear(&job);
}

static void watch(struct exercise_view *v, struct app *app)
{
    char dir[PATH_MAX];
    if (exercise_check_ring(&v->check, dir))
        app_open(app, &view_ring, dir);
    else
        app_message(app, ROLE_MUTED, "%s",
                    v->check.started
                        ? _("The last check recorded no messages.")
                        : _("No check yet: c checks with real ranks, then w shows their messages."));
}

static void reset(struct exercise_view *v, struct app *app)
{
    struct error e = {0};
    char backup[PATH_MAX];
    if (exercise_files_reset(&v->files, backup, &e))
        app_message(app, ROLE_GOOD, _("The starter is back; what you had is in %s."), backup);
    else
        app_message(app, ROLE_BAD, "%s", e.text);
    look_at_file(v);
    v->edited = false;
    v->scroll[PANE_CODE] = 0;
    if (!v->check.running)
        exercise_check_free(&v->check);
}

static void diff(struct exercise_view *v, struct app *app)
{
    struct error e = {0};
    if (!exercise_diff_toggle(v, &e)) {
        app_message(app, e.kind == ERROR_FAILED ? ROLE_MUTED : ROLE_BAD, "%s", e.text);
        return;
    }
    v->pane = PANE_CODE;
    v->scroll[PANE_CODE] = 0;
}

static void exercise_act(void *view, struct app *app, int action)
{
    struct exercise_view *v = view;
    int *scroll = &v->scroll[v->pane];
    switch (action) {
    case ACT_EDIT: edit(v, app); break;
    case ACT_CHECK:
        if (v->check.running && !v->check.instant)
            app_message(app, ROLE_MUTED, "%s", _("A check is running; x stops it."));
        else
            start_check(v, app, false);
        break;
    case ACT_CANCEL:
        if (v->check.running)
            exercise_check_stop(v);
        else
            app_message(app, ROLE_MUTED, "%s", _("No check is running."));
        break;
    case ACT_LEAVE:
        if (v->check.running && !v->check.stopping)
            exercise_check_stop(v);
        else if (exercise_beside_shown(v))
            exercise_beside_close(v);
        else if (v->show_diff)
            diff(v, app);
        else
            app_back(app);
        break;
    case ACT_HINT: hint(v, app); break;
    case ACT_TASK:
        v->show_hint = false;
        v->pane = PANE_TASK;
        break;
    case ACT_RUN: run_file(v, app); break;
    case ACT_WATCH: watch(v, app); break;
    case ACT_FULL:
        if (exercise_beside_shown(v))
            app_open(app, v->beside, v->beside_run);
        break;
    case ACT_DIFF: diff(v, app); break;
    case ACT_RESET: app_ask(app, ACT_RESET_YES, "%s", _("Begin anew? Your file is kept as a backup.")); break;
    case ACT_RESET_YES: reset(v, app); break;
    case ACT_PANE: v->pane = (enum exercise_pane)((v->pane + 1) % EXERCISE_PANES); break;
    case ACT_PANE_BACK:
        v->pane = (enum exercise_pane)((v->pane + EXERCISE_PANES - 1) % EXERCISE_PANES);
        break;
    case ACT_UP: --*scroll; break;
    case ACT_DOWN: ++*scroll; break;
    case ACT_PAGE_UP: *scroll -= 10; break;
    case ACT_PAGE_DOWN: *scroll += 10; break;
    case ACT_TOP: *scroll = 0; break;
    case ACT_BOTTOM: *scroll = INT_MAX / 2; break;
    }
    if (*scroll < 0)
        *scroll = 0;
}

/* q goes back by one: from the solution to the file. */
static bool exercise_key(void *view, struct app *app, int key)
{
    struct exercise_view *v = view;
    if (key != 'q' || !v->show_diff)
        return false;
    diff(v, app);
    return true;
}

static void exercise_view_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    exercise_draw(view, app, c, area);
}

static const struct key_binding *exercise_footer(void *view)
{
    const struct exercise_view *v = view;
    return exercise_beside_shown(v) ? beside_keys : v->passed ? passed_keys : exercise_keys;
}

static void exercise_title(void *view, char *text, size_t size)
{
    struct exercise_view *v = view;
    snprintf(text, size, _("Exercise %s"), v->files.name);
}

static enum role exercise_status(void *view, char *text, size_t size)
{
    struct exercise_view *v = view;
    if (v->check.running) {
        snprintf(text, size, "%s", _("checking"));
        return ROLE_ACCENT;
    }
    snprintf(text, size, "%s", v->passed ? _("passed") : _("not passed yet"));
    return v->passed ? ROLE_GOOD : ROLE_MUTED;
}

const struct view_class view_exercise = {
    .name = "exercise",
    .keys = exercise_keys,
    .key = exercise_key,
    .footer = exercise_footer,
    .open = exercise_open,
    .act = exercise_act,
    .tick = exercise_tick,
    .draw = exercise_view_draw,
    .title = exercise_title,
    .status = exercise_status,
    .close = exercise_close,
};
