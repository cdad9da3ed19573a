#include "engine/launch/replay.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"
#include "engine/launch/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Sleeps are cut so that a stop and a change of pace are noticed soon. */
#define SLICE_S 0.1
/* Where + and - end. */
#define SPEED_LEAST 0.125
#define SPEED_MOST 256.0

static bool speed_check(double speed, struct error *e)
{
    return (speed >= 0 && speed <= REPLAY_MAX_SPEED) ||
           error_set(e, ERROR_INPUT, "speed: expected a number from 0 (as fast as it goes) to %g, got %g",
                     REPLAY_MAX_SPEED, speed);
}

static bool write_object(const char *dir, const json_t *object, struct error *e)
{
    char *text = json_dumps(object, JSON_INDENT(2));
    bool ok = text ? rundir_write(dir, "replay.json", text, e) : error_set(e, ERROR_FAILED, "out of memory");
    free(text);
    return ok;
}

bool replay_write(const char *dir, const char *recording, double speed, struct error *e)
{
    if (!speed_check(speed, e))
        return false;
    json_t *object = json_object();
    event_set_text(object, "recording", recording);
    event_set_number(object, "speed", speed);
    bool ok = write_object(dir, object, e);
    json_decref(object);
    return ok;
}

static struct replay_pace pace_of(const json_t *object)
{
    return (struct replay_pace){.speed = event_number(object, "speed", 1),
                                .paused = json_is_true(json_object_get(object, "paused"))};
}

bool replay_pace_read(const char *dir, struct replay_pace *pace, struct error *e)
{
    json_t *object = rundir_read_json(dir, "replay.json", NULL);
    if (!object)
        return error_set(e, ERROR_INPUT, "%s is no replay, so it has no speed to change", rundir_id(dir));
    *pace = pace_of(object);
    json_decref(object);
    return true;
}

bool replay_pace_set(const char *dir, struct replay_pace pace, struct error *e)
{
    struct run_status status;
    struct replay_pace before = {0};
    if (!speed_check(pace.speed, e) || !replay_pace_read(dir, &before, e) ||
        !run_status_read(dir, &status, e))
        return false;
    if (run_state_ended(status.state))
        return error_set(e, ERROR_INPUT, "%s has ended already (%s)", rundir_id(dir),
                         run_state_name(status.state));
    json_t *object = rundir_read_json(dir, "replay.json", e);
    if (!object)
        return false;
    event_set_number(object, "speed", pace.speed);
    json_object_set_new(object, "paused", json_boolean(pace.paused));
    bool ok = write_object(dir, object, e);
    json_decref(object);
    return ok;
}

double replay_speed_step(double speed, int step)
{
    if (speed <= 0) /* as fast as it goes */
        return step < 0 ? SPEED_MOST : 0;
    double next = SPEED_LEAST;
    while (step > 0 ? next <= speed && next < SPEED_MOST : next * 2 < speed && next < SPEED_MOST)
        next *= 2;
    return next;
}

/* --- the worker ----------------------------------------------------------------------------------------------- */

struct player {
    const char *dir;
    struct replay_pace pace;
    struct timespec stamp; /* of replay.json when it was read */
    double position;       /* in the recording, seconds */
    double clock;          /* when position was right */
};

static void look_at_pace(struct player *p)
{
    char file[PATH_MAX];
    struct stat st;
    struct replay_pace pace = {0};
    if (!path_join(file, p->dir, "replay.json", NULL) || stat(file, &st) != 0 ||
        (st.st_mtim.tv_sec == p->stamp.tv_sec && st.st_mtim.tv_nsec == p->stamp.tv_nsec))
        return;
    if (!replay_pace_read(p->dir, &pace, NULL))
        return;
    p->pace = pace;
    p->stamp = st.st_mtim;
}

static void sleep_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

/* Waits until the recording's time t has come; false: a stop was asked for. */
static bool wait_until(struct player *p, double t)
{
    for (;;) {
        double now = timing_now();
        if (!p->pace.paused)
            p->position += (now - p->clock) * p->pace.speed;
        p->clock = now;
        if (!p->pace.paused && (p->pace.speed <= 0 || p->position >= t)) {
            if (p->pace.speed <= 0)
                p->position = t;
            return true;
        }
        if (rundir_stop_requested(p->dir))
            return false;
        double left = p->pace.paused ? SLICE_S : (t - p->position) / p->pace.speed;
        sleep_for(left < SLICE_S ? left : SLICE_S);
        look_at_pace(p);
    }
}

static bool play(const char *dir, const char *recording, struct error *e)
{
    struct player player = {.dir = dir, .pace = {.speed = 1}};
    struct run_reader *reader = run_reader_open(recording, e);
    if (!reader)
        return false;
    look_at_pace(&player);
    player.clock = timing_now();
    long events = 0;
    bool ok = true;
    for (json_t *event; ok && (event = run_reader_next(reader));) {
        events++;
        if (event_is(event, "run"))
            event_set_text(event, "origin", "replay");
        bool ended = !wait_until(&player, event_number(event, "t", 0));
        if (ended) {
            json_decref(event);
            break;
        }
        ok = event_write(STDOUT_FILENO, event, e);
    }
    run_reader_free(reader);
    if (ok && events == 0)
        return error_set(e, ERROR_INPUT, "there are no events in %s", recording);
    return ok;
}

int replay_main(int argc, char **argv)
{
    (void)argc;
    const char *dir = argv[0];
    struct error e = {0};
    json_t *object = rundir_read_json(dir, "replay.json", &e);
    bool ok = object && play(dir, event_text(object, "recording", ""), &e);
    json_decref(object);
    if (!ok) {
        json_t *note = event_new("note", -1);
        event_set_text(note, "level", "error");
        event_set_text(note, "text", e.text);
        event_write(STDOUT_FILENO, note, NULL);
    }
    return ok ? 0 : 1;
}
