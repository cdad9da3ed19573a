/*
 * home_card.c - what is known of a lesson: what to do next in it, what it wants, where it works in full.
 */
#include "tui/home.h"
#include "tui/plot.h"
#include "tui/progress.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <string.h>

/* Each includes what the ones before it can. */
static const struct tier {
    const char *name, *shown;
} tiers[] = {{"simulated", N_("simulated")}, {"cpu", N_("CPU ranks")}, {"cluster", N_("cluster")}};
enum { TIERS = sizeof tiers / sizeof *tiers };

const char *home_tier(const struct machine *machine)
{
    return tiers[!machine->mpirun ? 0 : machine->scheduler ? 2 : 1].name;
}

static int tier_index(const char *name)
{
    int i = 0;
    while (i < TIERS - 1 && strcmp(tiers[i].name, name) != 0)
        i++;
    return i;
}

static bool lists_tier(const struct course_lesson *lesson, int tier)
{
    for (int i = 0; i < COURSE_LIST_MAX && lesson->tiers[i]; i++)
        if (!strcmp(lesson->tiers[i], tiers[tier].name))
            return true;
    return false;
}

bool home_in_full(const struct course_lesson *lesson, const char *tier)
{
    for (int i = tier_index(tier); i >= 0; i--)
        if (lists_tier(lesson, i))
            return true;
    return !lesson->tiers[0]; /* nothing is said: everywhere */
}

void home_next(struct app *app, const struct course_lesson *lesson, char *text, size_t size)
{
    const struct progress *p = app_progress(app);
    int percent = progress_reading_percent(p, lesson->name), checks = progress_checks(p, lesson->exercise);
    if (home_lesson_done(app, lesson))
        snprintf(text, size, "%s", _("Done."));
    else if (checks > 0)
        snprintf(text, size,
                 text_plural("Go on with its exercise: %d check so far.",
                             "Go on with its exercise: %d checks so far.", checks),
                 checks);
    else if (percent >= 100)
        snprintf(text, size, "%s", _("It is read: do its exercise."));
    else if (percent > 0)
        snprintf(text, size, _("Read on: you are at %d %%."), percent);
    else if (lesson->minutes)
        snprintf(text, size, _("Begin it: about %d minutes."), lesson->minutes);
    else
        snprintf(text, size, "%s", _("Begin it."));
}

/* "label  value", the value wrapped; cuts its rows off. */
static void fact(struct canvas *c, struct rect *r, const char *label, enum role role, const char *value)
{
    enum { LABEL = 14 };
    if (!*value || r->rows < 1)
        return;
    canvas_text(c, r->row, r->col, LABEL - 1, ROLE_MUTED, 0, label);
    struct rect text = {r->row, r->col + LABEL, r->rows, r->cols - LABEL};
    rect_cut_rows(r, wrap_text(c, text, role, 0, value));
}

static void wants(struct app *app, const struct course_lesson *lesson, char *text, size_t size)
{
    const struct course *course = app_course(app);
    *text = '\0';
    for (int i = 0; i < COURSE_LIST_MAX && lesson->requires[i]; i++) {
        int index = course_find(course, lesson->requires[i]);
        size_t used = strlen(text);
        if (index >= 0 && used < size)
            snprintf(text + used, size - used,
                     home_lesson_done(app, &course->lessons[index]) ? "%s%s ✓" : "%s%s", used ? ", " : "",
                     course->lessons[index].title);
    }
}

int home_card(const struct home *h, struct app *app, struct canvas *c, struct rect area, int index)
{
    const struct course_lesson *lesson = &app_course(app)->lessons[index];
    const struct progress *p = app_progress(app);
    int percent = progress_reading_percent(p, lesson->name), before = area.rows;
    bool full = home_in_full(lesson, home_tier(&h->machine)), done = home_lesson_done(app, lesson);
    char text[300];
    canvas_format(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, "%02d  %s",
                  course_number(lesson, index), lesson->title);
    canvas_hline(c, area.row + 1, area.col, area.cols, ROLE_BORDER);
    rect_cut_rows(&area, 2);
    rect_cut_rows(&area, wrap_text(c, area, ROLE_TEXT, ATTR_ITALIC, lesson->question));
    rect_cut_rows(&area, 1);
    home_next(app, lesson, text, sizeof text);
    fact(c, &area, _("next"), done ? ROLE_GOOD : ROLE_ACCENT, text);
    canvas_text(c, area.row, area.col, 13, ROLE_MUTED, 0, _("read"));
    gauge_draw(c, area.row, area.col + 14, 20, percent / 100.0, percent >= 100 ? ROLE_GOOD : ROLE_ACCENT);
    canvas_format(c, area.row, area.col + 35, 6, ROLE_TEXT, 0, "%d %%", percent);
    rect_cut_rows(&area, 1);
    if (*lesson->exercise)
        fact(c, &area, _("exercise"), progress_passed(p, lesson->exercise) ? ROLE_GOOD : ROLE_TEXT,
             progress_passed(p, lesson->exercise)   ? _("passed")
             : progress_checks(p, lesson->exercise) ? _("begun")
                                                    : _("to do"));
    wants(app, lesson, text, sizeof text);
    fact(c, &area, _("builds on"), ROLE_TEXT, text);
    *text = '\0';
    for (int i = 0; i < TIERS; i++)
        if (lists_tier(lesson, i))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                     _(tiers[i].shown));
    fact(c, &area, _("in full with"), ROLE_TEXT, text);
    fact(c, &area, _("here"), full ? ROLE_GOOD : ROLE_WARN,
         full ? _("✓ works in full on this machine")
              : _("simulated in part: this machine has no ranks over MPI"));
    rect_cut_rows(&area, 1);
    return before - area.rows;
}
