#include "engine/launch/replay.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"
#include "engine/launch/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Sleeps are cut so that a stop is noticed soon. */
#define SLICE_S 0.2
#define MAX_SPEED 1e6

bool replay_write(const char *dir, const char *recording, double speed, struct error *e)
{
    if (!(speed >= 0 && speed <= MAX_SPEED))
        return error_set(e, ERROR_INPUT, "speed: expected a number from 0 (as fast as it goes) to %g, got %g",
                         MAX_SPEED, speed);
    json_t *object = json_object();
    event_set_text(object, "recording", recording);
    event_set_number(object, "speed", speed);
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    bool ok = text && rundir_write(dir, "replay.json", text, e);
    free(text);
    return ok;
}

static void sleep_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&t, NULL);
}

/* Waits until the recording's time t has come; false: a stop was asked for. */
static bool wait_until(const char *dir, double begun, double t, double speed)
{
    for (;;) {
        double left = speed > 0 ? begun + t / speed - timing_now() : 0;
        if (left <= 0)
            return true;
        if (rundir_stop_requested(dir))
            return false;
        sleep_for(left < SLICE_S ? left : SLICE_S);
    }
}

static bool play(const char *dir, const char *recording, double speed, struct error *e)
{
    struct run_reader *reader = run_reader_open(recording, e);
    if (!reader)
        return false;
    double begun = timing_now();
    long events = 0;
    bool ok = true;
    for (json_t *event; ok && (event = run_reader_next(reader));) {
        events++;
        if (event_is(event, "run"))
            event_set_text(event, "origin", "replay");
        bool ended = !wait_until(dir, begun, event_number(event, "t", 0), speed);
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
    bool ok = object && play(dir, event_text(object, "recording", ""), event_number(object, "speed", 1), &e);
    json_decref(object);
    if (!ok) {
        json_t *note = event_new("note", -1);
        event_set_text(note, "level", "error");
        event_set_text(note, "text", e.text);
        event_write(STDOUT_FILENO, note, NULL);
    }
    return ok ? 0 : 1;
}
