/*
 * home.h - what the two halves of the home screen share: home.c acts, home_draw.c draws.
 */
#ifndef RINGSIDE_TUI_HOME_H
#define RINGSIDE_TUI_HOME_H

#include "tui/app.h"
#include "tui/course.h"
#include "tui/machine.h"
#include "tui/preview.h"
#include "tui/recent.h"

struct home {
    const char *title;           /* the course's */
    int selected;                /* lessons first, then runs */
    int first_lesson, first_run; /* shown first, where a list is longer than its room */
    struct recent recent;
    struct machine machine;
    struct preview *preview;
    bool previewing; /* there was room for it at the last drawing */
    double refreshed;
};

int home_lessons(const struct app *app);
/* Runs that no other run's script started. */
int home_runs(const struct home *h);
const struct recent_run *home_run(const struct home *h, int n);
bool home_lesson_done(struct app *app, const struct course_lesson *lesson);

void home_draw(void *view, struct app *app, struct canvas *c, struct rect area);

#endif
