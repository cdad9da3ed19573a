/*
 * cli_runs.c - `ringside runs`: list, watch, steer, stop, replay, compare, export, delete and prune runs.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/launch.h"
#include "engine/launch/replay.h"
#include "tui/cli.h"
#include "tui/cli_compare.h"
#include "tui/follow.h"
#include "tui/options.h"
#include "tui/run_tail.h"
#include "tui/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEEP_DEFAULT = 20 };

struct runs_options {
    bool json, all, detach, dry_run;
    int keep;
    double speed;
    long step;
    char format[16], out[PATH_MAX];
    char **names;
    int count;
};

/* --- list --- */

static void list_one(const char *dir, bool json, int id_width)
{
    struct run_status status;
    struct run_tail tail;
    bool known = run_status_read(dir, &status, NULL);
    json_t *job = rundir_read_json(dir, "job.json", NULL);
    run_tail_read(dir, &tail);
    const char *state = known ? run_state_name(status.state) : "unknown";
    const json_t *section = json_object_get(job, event_text(job, "kind", ""));
    bool slowed = *event_text(section, "link", "") || *event_text(section, "link_latency", "");
    if (json) {
        json_t *line = event_new("run", -1);
        event_set_text(line, "id", rundir_id(dir));
        event_set_text(line, "state", state);
        event_set_text(line, "kind", event_text(job, "kind", ""));
        event_set_text(line, "label", event_text(job, "label", ""));
        event_set_text(line, "parent", event_text(job, "parent", ""));
        event_set_integer(line, "ranks", job_json_ranks(job));
        event_set_text(line, "dir", dir);
        event_set_text(line, "reason", status.reason);
        event_set_number(line, "started", status.started);
        event_set_integer(line, "step", tail.step);
        event_set_number(line, "accuracy", tail.accuracy);
        event_set_number(line, "loss", tail.loss);
        event_set_number(line, "wall_s", tail.wall_s);
        json_object_set_new(line, "slowed", json_boolean(slowed));
        event_write(STDOUT_FILENO, line, NULL);
    } else {
        char started[32] = "-", result[64] = "", wall[24] = "-", ranks[24] = "?";
        time_t when = (time_t)status.started;
        struct tm tm;
        if (known && localtime_r(&when, &tm))
            strftime(started, sizeof started, "%d %b %H:%M", &tm);
        if (job_json_ranks(job) <= JOB_SIM_MAX_RANKS)
            snprintf(ranks, sizeof ranks, "%lld", job_json_ranks(job));
        if (isfinite(tail.wall_s))
            snprintf(wall, sizeof wall, "%.1f s", tail.wall_s);
        if (isfinite(tail.accuracy))
            snprintf(result, sizeof result, "%.2f %%", 100 * tail.accuracy);
        else if (tail.step >= 0)
            snprintf(result, sizeof result, "step %ld", tail.step);
        printf("%-*s  %-9s  %-9s %5s  %-12s %9s  %s%s%s\n", id_width, rundir_id(dir), state,
               event_text(job, "kind", "?"), ranks, started, wall, result, slowed && *result ? ", " : "",
               slowed ? "slowed on purpose" : "");
    }
    json_decref(job);
}

static int runs_list(const struct runs_options *o, struct error *e)
{
    char **dirs;
    int count, width = 2;
    if (!rundir_list(&dirs, &count, e))
        return cli_fail(e);
    for (int i = 0; i < count; i++)
        if ((int)strlen(rundir_id(dirs[i])) > width)
            width = (int)strlen(rundir_id(dirs[i]));
    if (count == 0 && !o->json)
        puts("no runs yet; 'ringside train' starts one");
    else if (!o->json)
        printf("%-*s  %-9s  %-9s %5s  %-12s %9s  %s\n", width, "run", "state", "kind", "ranks", "started",
               "took", "accuracy");
    fflush(stdout);
    for (int i = 0; i < count; i++)
        list_one(dirs[i], o->json, width);
    rundir_list_free(dirs, count);
    return 0;
}

/* --- one run --- */

static int runs_watch(const struct runs_options *o, struct error *e)
{
    char dir[PATH_MAX];
    if (!rundir_find(o->count ? o->names[0] : "last", dir, e))
        return cli_fail(e);
    return follow_run(dir, &(struct follow){.json = o->json, .watch = true});
}

static int runs_trace(const struct runs_options *o, struct error *e)
{
    char dir[PATH_MAX];
    struct trace_data d;
    if (!rundir_find(o->count ? o->names[0] : "last", dir, e) || !trace_data_read(dir, &d, e))
        return cli_fail(e);
    long step = o->step ? o->step : timeline_typical_step(&d);
    bool ok = o->json ? timeline_emit(&d, e) : timeline_print(&d, step, follow_columns(), stdout, e);
    fflush(stdout);
    trace_data_free(&d);
    return ok ? 0 : cli_fail(e);
}

static int runs_replay(const struct runs_options *o, struct error *e)
{
    char recording[PATH_MAX], dir[PATH_MAX];
    if (!launch_find_recording(o->count ? o->names[0] : "last", recording, e) ||
        !launch_replay(recording, o->speed, dir, e))
        return cli_fail(e);
    if (o->detach) {
        puts(rundir_id(dir));
        return 0;
    }
    return follow_run(dir, &(struct follow){.json = o->json});
}

/* Says what was done with a run, as text or as an event. */
static void say_done(const struct runs_options *o, const char *dir, const char *what)
{
    char text[PATH_MAX + 64];
    snprintf(text, sizeof text, "%s: %s", rundir_id(dir), what);
    if (!o->json) {
        puts(text);
        return;
    }
    json_t *note = event_new("note", -1);
    event_set_text(note, "level", "info");
    event_set_text(note, "text", text);
    event_write(STDOUT_FILENO, note, NULL);
}

static bool stop_one(const struct runs_options *o, const char *dir, struct error *e)
{
    struct run_status status;
    if (!run_status_read(dir, &status, e))
        return false;
    if (run_state_ended(status.state)) {
        char text[64];
        snprintf(text, sizeof text, "has ended already (%s)", run_state_name(status.state));
        say_done(o, dir, text);
        return true;
    }
    bool again = rundir_stop_requested(dir);
    if (!launch_stop(dir, e))
        return false;
    say_done(o, dir, again ? "asked once more to stop, with TERM" : "asked to stop");
    return true;
}

/* runs bucket RUN BYTES */
static int runs_bucket(const struct runs_options *o, struct error *e)
{
    char dir[PATH_MAX], text[96];
    size_t bytes = 0;
    if (o->count != 2 || !option_size(o->names[1], &bytes) || bytes > LONG_MAX)
        error_set(e, ERROR_INPUT,
                  "runs bucket: expected a run and a size in bytes, such as 'runs bucket last 1M' (0: one "
                  "allreduce after "
                  "backward)");
    else if (rundir_find(o->names[0], dir, e) && launch_set_bucket(dir, (long)bytes, e)) {
        snprintf(text, sizeof text, "asked for buckets of %zu bytes", bytes);
        say_done(o, dir, text);
        return 0;
    }
    return cli_fail(e);
}

/* runs speed RUN X|pause|go */
static int runs_speed(const struct runs_options *o, struct error *e)
{
    char dir[PATH_MAX], text[96], *end = NULL;
    struct replay_pace pace = {0};
    if (o->count != 2) {
        error_set(
            e, ERROR_INPUT,
            "runs speed: expected a replay and what to do, such as 'runs speed last 4' (4 times as fast; "
            "0: as fast as it goes), 'runs speed last pause' or 'runs speed last go'");
        return cli_fail(e);
    }
    if (!rundir_find(o->names[0], dir, e) || !replay_pace_read(dir, &pace, e))
        return cli_fail(e);
    const char *word = o->names[1];
    bool pause = !strcmp(word, "pause"), go = !strcmp(word, "go");
    if (!pause && !go)
        pace.speed = strtod(word, &end);
    if (end && (end == word || *end)) {
        error_set(e, ERROR_INPUT, "runs speed: expected a number, pause or go, got '%s'", word);
        return cli_fail(e);
    }
    pace.paused = pause;
    if (!replay_pace_set(dir, pace, e))
        return cli_fail(e);
    if (pause)
        snprintf(text, sizeof text, "paused");
    else
        snprintf(text, sizeof text, "plays %g times as fast", pace.speed);
    say_done(o, dir, pace.speed > 0 || pause ? text : "plays as fast as it goes");
    return 0;
}

static bool delete_one(const struct runs_options *o, const char *dir, struct error *e)
{
    struct run_status status;
    if (run_status_read(dir, &status, NULL) && !run_state_ended(status.state))
        return error_set(e, ERROR_INPUT, "%s is still %s; stop it first ('ringside runs stop')",
                         rundir_id(dir), run_state_name(status.state));
    char id[NAME_MAX + 1];
    snprintf(id, sizeof id, "%s", rundir_id(dir));
    if (!rundir_delete(dir, e))
        return false;
    say_done(o, id, "deleted");
    return true;
}

/* Each of the runs that were named, or with --all every one of them. */
static int each(const struct runs_options *o, const char *verb,
                bool (*act)(const struct runs_options *o, const char *dir, struct error *e),
                bool running_only, struct error *e)
{
    if (!o->all && o->count == 0) {
        error_set(e, ERROR_INPUT,
                  "runs %s: which run? 'ringside runs' lists the ids; 'last' and --all work too", verb);
        return cli_fail(e);
    }
    int code = 0;
    for (int i = 0; i < o->count; i++) {
        char dir[PATH_MAX];
        if (!rundir_find(o->names[i], dir, e) || !act(o, dir, e))
            code = cli_fail(e);
    }
    if (!o->all)
        return code;
    char **dirs;
    int count;
    if (!rundir_list(&dirs, &count, e))
        return cli_fail(e);
    for (int i = 0; i < count; i++) {
        struct run_status status;
        bool runs = run_status_read(dirs[i], &status, NULL) && !run_state_ended(status.state);
        if (runs == running_only && !act(o, dirs[i], e))
            code = cli_fail(e);
    }
    rundir_list_free(dirs, count);
    return code;
}

static bool prune_one(const struct runs_options *o, const char *dir, struct error *e)
{
    if (!o->dry_run)
        return delete_one(o, dir, e);
    say_done(o, dir, "would be deleted");
    return true;
}

/* The newest are kept, of replays only as many as the others leave room for: they can be played again. */
static int runs_prune(const struct runs_options *o, struct error *e)
{
    char **dirs;
    int count, kept = 0, code = 0;
    if (!rundir_list(&dirs, &count, e))
        return cli_fail(e);
    for (int replays = 0; replays < 2; replays++)
        for (int i = 0; i < count; i++) {
            struct run_status status;
            struct replay_pace pace;
            bool runs = run_status_read(dirs[i], &status, NULL) && !run_state_ended(status.state);
            if (runs || replay_pace_read(dirs[i], &pace, NULL) != (replays == 1) || kept++ < o->keep)
                continue;
            if (!prune_one(o, dirs[i], e))
                code = cli_fail(e);
        }
    rundir_list_free(dirs, count);
    return code;
}

static int runs_stop(const struct runs_options *o, struct error *e)
{
    return each(o, "stop", stop_one, true, e);
}

static int runs_delete(const struct runs_options *o, struct error *e)
{
    return each(o, "delete", delete_one, false, e);
}

static int runs_compare(const struct runs_options *o, struct error *e)
{
    (void)e;
    return cli_compare(o->names, o->count, o->all, o->json);
}

static int runs_export(const struct runs_options *o, struct error *e)
{
    (void)e;
    return cli_export(o->count ? o->names[0] : "last", o->format, *o->out ? o->out : NULL, o->json);
}

int cli_runs(int argc, char **argv)
{
    struct runs_options o = {.keep = KEEP_DEFAULT, .speed = 1};
    struct error e = {0};
    const struct option options[] = {
        {"json", NULL, OPTION_FLAG, &o.json, 0, 0, 0, "one JSON object a line", NULL, NULL},
        {"all", NULL, OPTION_FLAG, &o.all, 0, 0, 0,
         "stop: every run that runs; delete: every one that has ended; compare: every one that trained", NULL,
         NULL},
        {"speed", "X", OPTION_REAL, &o.speed, 0, 0, 1e6, "replay: X times as fast; 0: as fast as it goes (1)",
         NULL, NULL},
        {"detach", NULL, OPTION_FLAG, &o.detach, 0, 0, 0,
         "replay: print the new run's id and leave it running", NULL, NULL},
        {"step", "S", OPTION_LONG, &o.step, 0, 1, 1e12, "trace: the step to draw (one of typical length)",
         NULL, NULL},
        {"format", "F", OPTION_TEXT, o.format, sizeof o.format, 0, 0,
         "export: csv, a row an event, or text, the report (csv)", NULL, NULL},
        {"out", "FILE", OPTION_TEXT, o.out, sizeof o.out, 0, 0, "export: to a file (standard output)", NULL,
         NULL},
        {"keep", "N", OPTION_INT, &o.keep, 0, 0, 1000000,
         "prune: how many ended runs to keep, replays last (20)", NULL, NULL},
        {"dry-run", NULL, OPTION_FLAG, &o.dry_run, 0, 0, 0, "prune: only say what would be deleted", NULL,
         NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage =
            "ringside runs [list | watch RUN | trace RUN | bucket RUN BYTES | stop RUN... | replay RUN |\n"
            "              speed RUN X|pause|go | compare RUN RUN... | export RUN | delete RUN... | prune] "
            "[options]",
        .summary =
            "RUN is an id, a label, a part of one, a path, or 'last'. replay also takes the name of a "
            "recording that comes\n"
            "with the course. Ctrl-C ends a watch; the run goes on. trace tells where the time of the "
            "first steps "
            "went (the\n"
            "run's trace.json, which Perfetto opens, too). bucket changes the size of a training's "
            "buckets while "
            "it goes on\n"
            "(train --bucket). speed changes a replay's while it plays. compare sets runs side by side:\n"
            "what differs first, then time, speed-up, accuracy; runs of one configuration as mean and 95 % "
            "interval.",
        .options = options,
    };
    char *rest[OPTION_MAX_WORDS];
    int rest_count;
    int code;
    if (!cli_options(&command, argc, argv, rest, &rest_count, &code))
        return code;
    const char *verb = rest_count ? rest[0] : "list";
    o.names = rest + 1, o.count = rest_count ? rest_count - 1 : 0;
    static const struct {
        const char *verb;
        int most; /* runs it takes; with 0: none */
        int (*act)(const struct runs_options *o, struct error *e);
    } VERBS[] = {
        {"list", 0, runs_list},
        {"watch", 1, runs_watch},
        {"trace", 1, runs_trace},
        {"replay", 1, runs_replay},
        {"export", 1, runs_export},
        {"compare", OPTION_MAX_WORDS, runs_compare},
        {"bucket", OPTION_MAX_WORDS, runs_bucket},
        {"speed", OPTION_MAX_WORDS, runs_speed},
        {"stop", OPTION_MAX_WORDS, runs_stop},
        {"delete", OPTION_MAX_WORDS, runs_delete},
        {"prune", 0, runs_prune},
    };
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) {
        if (strcmp(verb, VERBS[i].verb) != 0)
            continue;
        if (o.count <= VERBS[i].most)
            return VERBS[i].act(&o, &e);
        error_set(&e, ERROR_INPUT, "runs %s: expected %s, got '%s'", verb,
                  VERBS[i].most ? "one run" : "options only", o.names[VERBS[i].most]);
        return cli_fail(&e);
    }
    error_set(
        &e, ERROR_INPUT,
        "runs: expected list, watch, trace, bucket, stop, replay, speed, compare, export, delete or prune, "
        "got '%s'",
        verb);
    return cli_fail(&e);
}
