/*
 * home.h - what the parts of the home screen share: home.c acts, home_draw.c draws, home_card.c says what is known of a lesson.
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

/* Where one goes on: the lesson read last, unless it is done; then the next that is not, around the end. */
int home_continue_at(struct app *app);
/* What to do next in a lesson, in one sentence. */
void home_next(struct app *app, const struct course_lesson *lesson, char *text, size_t size);
/* How the course works here: "simulated", "cpu", "cluster". */
const char *home_tier(const struct machine *machine);
/* Whether a lesson works in full with that tier or a lower one. */
bool home_in_full(const struct course_lesson *lesson, const char *tier);
/* What is known of a lesson, above its preview; returns the rows used. */
int home_card(const struct home *h, struct app *app, struct canvas *c, struct rect area, int index);

void home_draw(void *view, struct app *app, struct canvas *c, struct rect area);

#endif
