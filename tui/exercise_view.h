/*
 * exercise_view.h - what the parts of the exercise view share.
 *
 * exercise_view.c is the view (keys, editing, polling the learner's file); exercise_check.c starts and follows
 * checks as runs; exercise_diff.c compares the learner's file with the solution and keeps the run it started in sight
 * beside it; exercise_draw.c draws task, hints, code and results.
 */
#ifndef RINGSIDE_TUI_EXERCISE_VIEW_H
#define RINGSIDE_TUI_EXERCISE_VIEW_H

#include "tui/exercise_files.h"
#include "tui/line_diff.h"
#include "tui/markdown.h"
#include "tui/run_model.h"
#include "tui/view.h"

#include <sys/stat.h>

enum exercise_pane { PANE_TASK, PANE_CODE, PANE_CHECKS, EXERCISE_PANES };

/* A check that runs or has ended: a run, followed like any other. */
struct exercise_check {
    bool started; /* there has been one */
    bool running;
    bool instant; /* after saving: coroutines, no training */
    bool noted;   /* its result is in the learner's progress */
    bool stopping;
    struct run_model m;
};

struct exercise_view {
    struct exercise_files files;
    struct exercise_check check;
    char stale[PATH_MAX]; /* an instant check that a newer one has overtaken: deleted once it has ended */
    char *task;           /* Markdown; may be NULL */
    char *hints[EXERCISE_MAX_HINTS];
    int hint_count, hints_shown;
    bool show_hint; /* in place of the task */
    struct md_doc doc;
    int doc_width; /* the width and text doc was made for */
    const char *doc_text;
    char *code;
    struct stat code_stat; /* when it was read */
    bool edited;           /* since the last check began */
    enum exercise_pane pane;
    enum exercise_pane top; /* of task and code, the one shown where there is room for one */
    int scroll[EXERCISE_PANES];
    char *solution;        /* read once it may be seen */
    struct line_diff diff; /* of code and solution */
    const char *diff_code; /* the code it was made for */
    bool show_diff;        /* in place of the code */
    const struct view_class
        *beside; /* the view of the run that was started, shown at the right; NULL: none */
    void *beside_view;
    char beside_run[PATH_MAX];
    int cols;      /* of the last drawing */
    double looked; /* at the learner's file */
    double now;
    long second;
    bool passed;
};

bool exercise_check_start(struct exercise_view *v, bool instant, struct error *e);
void exercise_check_stop(struct exercise_view *v);
/* Follows it; true: something has changed. */
bool exercise_check_poll(struct exercise_view *v);
void exercise_check_free(struct exercise_check *check);
/* Checks that ended so; -1 for all. */
int exercise_check_count(const struct exercise_check *check, int result);
/* Whether it has ended and all is passed. */
bool exercise_check_passed(const struct exercise_check *check);
/* The directory of a run with hops that belongs to the check: its own or one it has started. */
bool exercise_check_ring(const struct exercise_check *check, char dir[PATH_MAX]);
/* The line of the learner's file that a failed check names, or 0. */
int exercise_check_line(const struct exercise_check *check);

/* --- exercise_diff.c -------------------------------------------------------------------------------------------- */

/* Shows the difference in place of the code, or the code again; false: it may not be seen yet, or cannot be read. */
bool exercise_diff_toggle(struct exercise_view *v, struct error *e);
void exercise_diff_draw(struct exercise_view *v, struct canvas *c, struct rect in);
/* Rows of the difference: what both have is left out but for some lines around each change. */
int exercise_diff_rows(struct exercise_view *v);
void exercise_diff_free(struct exercise_view *v);

/* From this width on a run that the exercise starts is shown beside it. */
enum { EXERCISE_BESIDE_FROM = 120 };
/* Opens the run's view beside the exercise, in place of another one; false: it is opened on its own instead. */
bool exercise_beside_open(struct exercise_view *v, struct app *app, const struct view_class *view,
                          const char *run);
bool exercise_beside_shown(const struct exercise_view *v);
bool exercise_beside_tick(struct exercise_view *v, struct app *app, double now);
void exercise_beside_draw(struct exercise_view *v, struct app *app, struct canvas *c, struct rect area);
void exercise_beside_close(struct exercise_view *v);

void exercise_draw(struct exercise_view *v, struct app *app, struct canvas *c, struct rect area);

#endif
