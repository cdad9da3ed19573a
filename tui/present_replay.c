/*
 * present_replay.c - starts a replay and lends its view the slide's room.
 */
#include "tui/present_replay.h"

#include "engine/base/rundir.h"
#include "engine/launch/launch.h"
#include "engine/launch/replay.h"
#include "tui/app.h"
#include "tui/keymap.h"
#include "tui/text.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct present_replay {
    char name[128], recording[PATH_MAX];
    char dir[PATH_MAX]; /* of the replay; "": none yet */
    struct replay_pace pace;
    const struct view_class *class;
    void *view; /* NULL: none yet */
};

struct present_replay *present_replay_new(const char *words, struct error *e)
{
    struct present_replay *r = calloc(1, sizeof *r);
    if (!r) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    size_t length = strcspn(words, " ");
    double speed = strtod(words + length, NULL);
    snprintf(r->name, sizeof r->name, "%.*s", (int)length, words);
    r->pace.speed = speed > 0 && speed <= REPLAY_MAX_SPEED ? speed : 1;
    if (!launch_find_recording(r->name, r->recording, e)) {
        free(r);
        return NULL;
    }
    r->class = strstr(words + length, " ring") ? &view_ring : &view_run;
    return r;
}

static bool ended(const struct present_replay *r)
{
    struct run_status status;
    return !*r->dir || !run_status_read(r->dir, &status, NULL) || run_state_ended(status.state);
}

static void let_go(struct present_replay *r)
{
    if (r->view && r->class->close)
        r->class->close(r->view);
    r->view = NULL;
    if (!ended(r))
        launch_stop(r->dir, NULL);
    r->dir[0] = '\0';
}

void present_replay_free(struct present_replay *r)
{
    if (!r)
        return;
    let_go(r);
    free(r);
}

bool present_replay_start(struct present_replay *r, struct app *app, struct error *e)
{
    let_go(r);
    r->pace.paused = false;
    if (!launch_replay(r->recording, r->pace.speed, r->dir, e)) {
        r->dir[0] = '\0';
        return false;
    }
    r->view = r->class->open(app, r->dir, e);
    return r->view != NULL;
}

bool present_replay_key(struct present_replay *r, struct app *app, int key)
{
    int action = r->view ? keymap_action(r->class->keys, key) : 0;
    if (action)
        r->class->act(r->view, app, action);
    return action != 0;
}

bool present_replay_speed(struct present_replay *r, struct app *app, int step, struct error *e)
{
    /* The ring shows microseconds for seconds: its own speed is the one that is seen. */
    if (r->class == &view_ring && present_replay_key(r, app, step > 0 ? '+' : '-'))
        return true;
    r->pace.speed = replay_speed_step(r->pace.speed, step);
    return ended(r) || replay_pace_set(r->dir, r->pace, e);
}

bool present_replay_pause(struct present_replay *r, struct error *e)
{
    if (ended(r))
        return true;
    r->pace.paused = !r->pace.paused;
    return replay_pace_set(r->dir, r->pace, e);
}

bool present_replay_tick(struct present_replay *r, struct app *app, double now)
{
    return r->view && r->class->tick && r->class->tick(r->view, app, now);
}

/* "at 8 ×", "as fast as it goes", "paused" */
static void pace_text(const struct present_replay *r, char *text, size_t size)
{
    if (r->pace.paused)
        snprintf(text, size, "%s", _("paused"));
    else if (r->pace.speed > 0)
        snprintf(text, size, _("speed × %g"), r->pace.speed);
    else
        snprintf(text, size, "%s", _("as fast as it goes"));
}

void present_replay_draw(struct present_replay *r, struct app *app, struct canvas *c, struct rect area)
{
    char pace[64];
    pace_text(r, pace, sizeof pace);
    if (r->class == &view_ring && !r->pace.paused)
        pace[0] = '\0';
    struct rect line = rect_cut_rows(&area, 1);
    int col = line.col, end = line.col + line.cols;
    col +=
        canvas_format(c, line.row, col, end - col, ROLE_ACCENT, ATTR_BOLD, "%s ", r->pace.paused ? "‖" : "▶");
    col += canvas_format(c, line.row, col, end - col, ROLE_TEXT, 0, _("Recording %s  %s"), r->name, pace);
    const char *keys = r->view ? _("   + - speed   p pause") : _("   Enter plays it   + - speed");
    canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, keys);
    if (!r->view)
        return;
    rect_cut_rows(&area, 1);
    struct canvas part; /* views draw from the left edge of what they are given */
    if (!canvas_init(&part, area.rows, area.cols, c->utf8))
        return;
    part.pixels = c->pixels;
    r->class->draw(r->view, app, &part, canvas_whole(&part));
    for (int row = 0; row < part.rows; row++)
        for (int at = 0; at < part.cols; at++)
            if (area.row + row < c->rows && area.col + at < c->cols)
                c->cells[(size_t)(area.row + row) * (size_t)c->cols + (size_t)(area.col + at)] =
                    part.cells[(size_t)row * (size_t)part.cols + (size_t)at];
    canvas_free(&part);
}
