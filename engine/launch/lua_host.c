/*
 * lua_host.c - the parent: looks after the child, its clock, its requests and its last words.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/base/sink.h"
#include "engine/base/timing.h"
#include "engine/launch/lines.h"
#include "engine/spec/job.h"
#include "engine/spec/model_lua.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's own clock has a better sentence: it gets the first word. */
#define GRACE_S 1.5
#define STOP_POLL_MS 250

struct supervision {
    struct lua_host host;
    const struct lua_host_script *script;
    const struct job *job;
    struct fd_sink out;
    pid_t pid;
    int fd;
    double deadline;    /* monotonic */
    json_t *end;        /* the child's last line */
    int passed, failed; /* check events */
    bool stopped, deaf; /* deaf: events cannot be delivered */
};

/* TERM, a stop file, or a child that has gone while its request is served. */
static bool interrupted(struct lua_host *h)
{
    struct pollfd fds[] = {{h->watch.signals, POLLIN, 0}, {h->watch.child, POLLRDHUP, 0}};
    return (poll(fds, 2, 0) > 0 && (fds[0].revents || (fds[1].revents & (POLLHUP | POLLRDHUP)))) ||
           rundir_stop_requested(h->dir);
}

static void emit(struct supervision *s, json_t *event)
{
    event_set_number(event, "t", sink_now(s->host.sink));
    s->deaf |= !sink_emit(s->host.sink, event, NULL);
}

static void take_event(struct supervision *s, json_t *event)
{
    if (event_is(event, "check")) {
        const char *result = event_text(event, "result", "");
        if (strcmp(result, "pass") == 0)
            s->passed++;
        else
            s->failed++;
        event_set_text(event, "exercise", s->job->script.exercise);
    }
    if (event_is(event, "note") && *event_text(event, "from", ""))
        fprintf(stderr, "%s\n", event_text(event, "text", ""));
    emit(s, event);
}

static void serve(struct supervision *s, const json_t *request)
{
    double began = timing_now();
    struct error e = {0};
    json_t *reply = json_object(), *value = lua_host_serve(&s->host, request, &e);
    if (value)
        json_object_set_new(reply, "value", value);
    else
        event_set_text(reply, "error", *e.text ? e.text : "there is no answer");
    event_write(s->fd, reply, NULL); /* where the child is gone, the next read says so */
    s->deadline += timing_now() - began;
}

static void take_line(void *self, char *line, size_t length)
{
    struct supervision *s = self;
    json_t *object = event_parse(line, length);
    if (!object)
        return;
    if (json_object_get(object, "event"))
        take_event(s, json_incref(json_object_get(object, "event")));
    else if (json_object_get(object, "call"))
        serve(s, object);
    else if (json_object_get(object, "end") && !s->end)
        s->end = json_incref(object);
    json_decref(object);
}

/* Until the child has said its last word, is gone, or its time is over. */
static void look_after(struct supervision *s)
{
    struct lines lines = {0};
    bool open = true;
    while (open && !s->end && !s->stopped && !s->deaf) {
        double left = s->deadline - timing_now();
        if (left <= 0)
            break;
        struct pollfd fds[] = {{s->fd, POLLIN, 0}, {s->host.watch.signals, POLLIN, 0}};
        int wait = left * 1000 < STOP_POLL_MS ? (int)(left * 1000) + 1 : STOP_POLL_MS;
        int ready = poll(fds, s->host.watch.signals >= 0 ? 2 : 1, wait);
        if (ready < 0 && errno != EINTR)
            break;
        if (fds[1].revents || (*s->host.dir && rundir_stop_requested(s->host.dir)))
            s->stopped = true;
        else if (ready > 0 && fds[0].revents)
            open = lines_read(&lines, s->fd, take_line, s);
    }
    lines_free(&lines);
}

/* Ends the child. Its status, and whether it was over time. */
static int end_child(struct supervision *s)
{
    int status = 0;
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(s->fd);
    return status;
}

static void say(struct supervision *s, const char *text, const char *todo, const json_t *fault)
{
    static const char *const fields[] = {"file", "line", "source", "what", "todo"};
    json_t *event;
    if (s->job->kind == JOB_CHECK && !fault) { /* the learner's doing, most likely */
        event = event_new("check", -1);
        event_set_text(event, "name", "your file runs");
        event_set_text(event, "result", "fail");
        event_set_text(event, "measured", text);
        event_set_text(event, "accepted", "a script that runs to its end");
        event_set_text(event, "next", todo);
        take_event(s, event);
        return;
    }
    event = event_new("note", -1);
    event_set_text(event, "level", "error");
    event_set_text(event, "text", text);
    for (size_t i = 0; fault && i < sizeof fields / sizeof *fields; i++)
        json_object_set(event, fields[i], json_object_get(fault, fields[i]));
    fprintf(stderr, "%s\n", text);
    emit(s, event);
}

/* A child that has not said its last word. */
static void say_why(struct supervision *s, int status, bool late)
{
    char text[1200];
    const char *shown = s->script->learner_text ? s->script->learner_shown : s->script->shown;
    const char *todo = "look for a loop that never ends, or a text pattern that never finishes";
    if (s->stopped) {
        json_t *event = event_new("note", -1);
        event_set_text(event, "level", "warn");
        event_set_text(event, "text", "the script was stopped on request");
        emit(s, event);
        return;
    }
    if (late)
        snprintf(
            text, sizeof text,
            "%s ran for more than %g s of its own time (waiting for its runs is not counted) and was stopped",
            shown, lua_host_seconds(s->script));
    else
        snprintf(text, sizeof text, "%s: its process was ended by signal %d (%s)", shown, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    if (s->job->kind != JOB_CHECK) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "; %s", todo);
    }
    say(s, text, todo, NULL);
}

/* A file that defines allreduce(comm, x) and calls nothing is run by ranks, so that its hops can be watched. */
static bool run_as_ranks(struct supervision *s)
{
    struct error e = {0};
    json_t *request = json_pack("{s:s, s:{s:s, s:[i], s:[i]}}", "call", "rank_script", "args", "entry",
                                "allreduce", "counts", 4, "lengths", 16);
    json_t *answer = lua_host_serve(&s->host, request, &e);
    json_decref(request);
    if (!answer) {
        say(s, e.text, "", NULL);
        return false;
    }
    bool ok = true;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(answer, "cases"), i, c)
    {
        const char *text = event_text(c, "deadlock", event_text(c, "error", NULL));
        ok = ok && json_is_true(json_object_get(c, "ok"));
        if (text)
            say(s, text, "", NULL);
    }
    json_decref(answer);
    return ok;
}

/* The model that the script describes, where that is all it does; a new reference. NULL: there is none. */
static json_t *described(const struct supervision *s)
{
    json_t *model = json_incref(json_object_get(s->end, "model"));
    if (model)
        model_name_after_file(model, s->script->shown);
    return model;
}

/* Shows it, layer by layer. The exit code. */
static int describe(struct supervision *s, const json_t *model)
{
    struct error e = {0};
    char text[1200];
    if (lua_host_describe(s->host.sink, model, &e))
        return 0;
    snprintf(text, sizeof text, "%s: %s", s->script->shown, e.text);
    say(s, text, "", NULL);
    return e.kind == ERROR_INPUT ? 2 : 1;
}

/* A script that shows nothing looks like one that was never run. */
static void say_idle(struct supervision *s)
{
    char text[PATH_MAX + 160];
    snprintf(
        text, sizeof text,
        "%s ran to its end and shows nothing: it calls neither train{}, allreduce{}, plot{} nor print(), and "
        "describes no model",
        s->script->shown);
    sink_note(s->host.sink, "warn", text, NULL);
}

/* The exit code. */
static int conclude(struct supervision *s)
{
    const json_t *fault = json_object_get(s->end, "fault");
    const char *error = event_text(s->end, "error", NULL);
    bool ok = json_is_true(json_object_get(s->end, "ok"));
    if (fault)
        say(s, event_text(fault, "text", ""), "", fault);
    else if (error)
        say(s, error, "", NULL);
    if (s->job->kind == JOB_CHECK)
        return ok && s->passed > 0 && s->failed == 0 ? 0 : 1;
    if (!ok)
        return s->stopped || error ? 1 : 2;
    if (json_is_true(json_object_get(s->end, "rank_script")))
        return run_as_ranks(s) ? 0 : 1;
    const char *unusable = event_text(s->end, "unusable", NULL);
    if (unusable) {
        char text[1200];
        snprintf(text, sizeof text, "%s: %s", s->script->shown, unusable);
        say(s, text, "", NULL);
        return 2;
    }
    if (json_is_true(json_object_get(s->end, "idle")))
        say_idle(s);
    json_t *model = described(s);
    int code = model ? describe(s, model) : s->host.nested_failed ? 1 : 0;
    json_decref(model);
    return code;
}

static int supervise_child(struct supervision *s, struct error *e)
{
    if (!lua_host_fork(s->script, &s->pid, &s->fd, e))
        return 1;
    s->host.watch.child = s->fd;
    /* A check has two scripts, each with its own time: the learner's and check.lua. */
    s->deadline = timing_now() + lua_host_seconds(s->script) * (s->script->learner_text ? 2 : 1) + GRACE_S;
    look_after(s);
    bool late = timing_now() >= s->deadline;
    int status = end_child(s);
    if (!s->end)
        say_why(s, status, late);
    return conclude(s);
}

/* --- the worker -------------------------------------------------------------------------------------------- */

const char *lua_host_shown(const char *path)
{
    char cwd[PATH_MAX], home[PATH_MAX];
    size_t n = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
    if (n > 1 && !strncmp(path, cwd, n) && path[n] == '/')
        return path + n + 1;
    n = ringside_home(home, NULL) ? strlen(home) : 0;
    if (n > 1 && !strncmp(path, home, n) && !strncmp(path + n, "/work/", 6))
        return path + n + 6;
    return path;
}

/* Reads what is to be run; the caller frees both texts. */
static bool read_scripts(const struct job *job, struct lua_host_script *script, char path[PATH_MAX],
                         char **main_text, char **learner_text, struct error *e)
{
    if (job->kind == JOB_SCRIPT) {
        snprintf(path, PATH_MAX, "%s", job->script.file);
    } else {
        if (!path_join(path, job->script.directory, "check.lua", e))
            return false;
        *learner_text = lua_script_read(job->script.file, &script->learner_length, e);
        if (!*learner_text)
            return false;
        script->learner_text = *learner_text;
        const char *slash = strrchr(job->script.file, '/');
        script->learner_shown =
            slash ? slash + 1 : job->script.file; /* there is one: its name alone will do */
    }
    *main_text = lua_script_read(path, &script->length, e);
    script->text = *main_text;
    script->shown = lua_host_shown(path);
    script->instant = job->script.instant;
    return *main_text != NULL;
}

static void announce_run(struct supervision *s)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    json_t *event = sink_event(s->host.sink, "run");
    event_set_text(event, "origin", "real");
    event_set_text(event, "job", job_kind_name(s->job->kind));
    event_set_integer(event, "ranks", 1);
    json_object_set_new(event, "hosts", json_pack("[s]", host));
    event_set_text(event, "device", "cpu");
    emit(s, event);
}

static int signal_descriptor(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int lua_host_main(int argc, char **argv)
{
    (void)argc;
    struct error e = {0};
    struct job job;
    struct lua_host_script script = {0};
    struct supervision s = {.script = &script, .job = &job};
    char *main_text = NULL, *learner_text = NULL, path[PATH_MAX];
    int code = 1;
    sink_fd_init(&s.out, STDOUT_FILENO);
    s.host.sink = &s.out.sink;
    s.host.watch.interrupted = interrupted;
    s.host.watch.signals = signal_descriptor();
    snprintf(s.host.dir, sizeof s.host.dir, "%s", argv[0]);
    snprintf(s.host.id, sizeof s.host.id, "%.255s", rundir_id(argv[0]));
    job_defaults(&job, JOB_SCRIPT);
    if (job_load(&job, argv[0], &e) && read_scripts(&job, &script, path, &main_text, &learner_text, &e)) {
        s.host.instant = job.script.instant;
        snprintf(s.host.learner, sizeof s.host.learner, "%s", job.script.file);
        snprintf(s.host.shown, sizeof s.host.shown, "%s",
                 script.learner_text ? script.learner_shown : script.shown);
        announce_run(&s);
        code = supervise_child(&s, &e);
    } else if (e.kind == ERROR_INPUT) {
        code = 2;
    }
    if (*e.text) {
        fprintf(stderr, "%s\n", e.text);
        sink_note(s.host.sink, "error", e.text, NULL);
    }
    json_t *done = sink_event(s.host.sink, "done");
    json_object_set_new(done, "ok", json_boolean(code == 0));
    event_set_integer(done, "exit_code", code);
    sink_emit(s.host.sink, done, NULL);
    json_decref(s.end);
    job_clear(&job);
    free(main_text);
    free(learner_text);
    sink_fd_clear(&s.out);
    close(s.host.watch.signals);
    return code ? 1 : 0;
}

/* --- looking at a file ------------------------------------------------------------------------------------- */

static bool nothing_interrupts(struct lua_host *h)
{
    (void)h;
    return false;
}

bool lua_host_probe(const char *file, enum lua_host_kind *kind, struct error *e)
{
    struct job job;
    struct lua_host_script script = {.shown = lua_host_shown(file), .record = true, .seconds = 1};
    struct event_sink none;
    sink_null_init(&none);
    struct supervision s = {.script = &script, .job = &job};
    char *text = lua_script_read(file, &script.length, e);
    *kind = LUA_HOST_SCRIPT;
    if (!text)
        return false;
    script.text = text;
    job_defaults(&job, JOB_SCRIPT);
    s.host.sink = &none;
    s.host.watch.interrupted = nothing_interrupts;
    s.host.watch.signals = -1;
    bool ok = lua_host_fork(&script, &s.pid, &s.fd, e);
    if (ok) {
        s.deadline = timing_now() + script.seconds + GRACE_S;
        look_after(&s);
        end_child(&s);
        if (s.end && !json_is_true(json_object_get(s.end, "loaded")) && json_object_get(s.end, "fault"))
            ok = error_set(e, ERROR_INPUT, "%s", event_text(json_object_get(s.end, "fault"), "text", ""));
        else if (json_is_true(json_object_get(s.end, "rank_script")))
            *kind = LUA_HOST_RANK_SCRIPT;
        const char *unusable = event_text(s.end, "unusable", NULL);
        if (ok && unusable)
            ok = error_set(e, ERROR_INPUT, "%s: %s", script.shown, unusable);
        json_t *model = described(&s);
        if (ok && model && *kind == LUA_HOST_SCRIPT && !model_check(model, e))
            ok = error_wrap(e, "%s", script.shown);
        json_decref(model);
    }
    json_decref(s.end);
    free(text);
    return ok;
}
