/*
 * run_picker.h - a list of runs in which several can be marked: to lay over a plot, or to compare.
 *
 * Each line says where a run's figures come from (measured, simulated, replayed), how it went and how old it is. The list
 * stays fresh (recent.h); marks belong to runs, not to lines.
 */
#ifndef RINGSIDE_TUI_RUN_PICKER_H
#define RINGSIDE_TUI_RUN_PICKER_H

#include "tui/canvas.h"
#include "tui/recent.h"

enum { PICKER_MARKS = 32 };

struct run_picker {
    struct recent recent;
    int selected, first;
    char *marks[PICKER_MARKS]; /* directories, in the order they were marked */
    int mark_count, most;      /* most: marks that can be set */
    char *left_out;            /* a run that is not listed; may be NULL */
    bool steps_only;
};

/* most: marks at most; left_out: a directory (may be NULL); steps_only: training, real or simulated. NULL: out of memory. */
struct run_picker *picker_new(int most, const char *left_out, bool steps_only);
void picker_free(struct run_picker *p);
bool picker_refresh(struct run_picker *p); /* true: something has changed */
int picker_count(const struct run_picker *p);
/* The run on line n; NULL: there is none. */
const struct recent_run *picker_run(const struct run_picker *p, int n);
void picker_move(struct run_picker *p, int by);
/* Marks the selected run, or takes the mark away; false: there are as many marks as can be. */
bool picker_toggle(struct run_picker *p);
bool picker_mark(struct run_picker *p, const char *dir);
bool picker_marked(const struct run_picker *p, const char *dir);
void picker_draw(struct run_picker *p, struct canvas *c, struct rect area, double now, bool active);

#endif
