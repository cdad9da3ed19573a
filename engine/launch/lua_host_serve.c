/*
 * lua_host_serve.c - serves a script's calls: starts runs, follows their events, answers from them.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/base/sink.h"
#include "engine/launch/launch.h"
#include "engine/spec/job.h"
#include "engine/spec/slow_link.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEPS_KEPT = 5000, POLL_MS = 20 };

/* What a run has said so far. */
struct nested {
    char dir[PATH_MAX];
    json_t *steps, *evals, *ranks, *collectives, *cases, *explanations; /* lists of the events of that name */
    json_t *done;
    bool slow;          /* a rank never came back from the learner's code */
    char sentence[800]; /* the last that explains a failure */
};

static void nested_clear(struct nested *n)
{
    json_decref(n->steps), json_decref(n->evals), json_decref(n->ranks);
    json_decref(n->collectives), json_decref(n->cases), json_decref(n->explanations);
    json_decref(n->done);
}

static void take_event(struct lua_host *h, struct nested *n, json_t *event)
{
    /* An instant check leaves no run of its ranks behind, so what is worth drawing goes into its own stream. */
    if (h->instant && event_is(event, "hop"))
        sink_emit(h->sink, json_deep_copy(event), NULL);
    const struct {
        const char *name;
        json_t *list;
    } lists[] = {{"step", n->steps}, {"eval", n->evals},
                 {"rank", n->ranks}, {"collective", n->collectives},
                 {"case", n->cases}, {"explain", n->explanations}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (event_is(event, lists[i].name) && json_array_size(lists[i].list) < STEPS_KEPT)
            json_array_append(lists[i].list, event);
    bool trouble = event_is(event, "fault") ||
                   (event_is(event, "note") && strcmp(event_text(event, "level", ""), "error") == 0);
    if (trouble && *event_text(event, "text", ""))
        snprintf(n->sentence, sizeof n->sentence, "%s", event_text(event, "text", ""));
    if (event_is(event, "job") && !*n->sentence) /* the last one says why it failed */
        snprintf(n->sentence, sizeof n->sentence, "%s", event_text(event, "reason", ""));
    if (event_is(event, "fault") && strcmp(event_text(event, "kind", ""), "stuck") == 0)
        n->slow = true;
    if (event_is(event, "done"))
        n->done = json_incref(event);
}

static bool nested_ok(const struct nested *n)
{
    return n->done && json_is_true(json_object_get(n->done, "ok"));
}

/* The sentence that explains why the run did not end well. */
static const char *explain(struct nested *n)
{
    struct run_status status;
    if (!*n->sentence && run_status_read(n->dir, &status, NULL))
        snprintf(n->sentence, sizeof n->sentence, "%s", status.reason);
    return *n->sentence ? n->sentence : "the run ended without saying why";
}

/* told: the script's own error says what was wrong. */
static void announce_as(struct lua_host *h, struct nested *n, const struct job *job, const char *state,
                        bool told)
{
    if (h->instant)
        return;
    json_t *event = sink_event(h->sink, "nested");
    event_set_text(event, "run", rundir_id(n->dir));
    event_set_text(event, "kind", job_kind_name(job->kind));
    event_set_text(event, "label", job->label);
    event_set_integer(event, "ranks", job->ranks);
    event_set_text(event, "state", state);
    struct slow_link link;
    char slowed[SLOW_LINK_TEXT];
    if (job_slow_link(job, &link)) {
        slow_link_text(&link, slowed, sizeof slowed);
        event_set_text(event, "slowed", slowed);
    }
    if (n->done)
        json_object_set_new(event, "ok", json_boolean(nested_ok(n)));
    /* Of ranks that a script is run by, the cases say what was wrong. */
    if (!strcmp(state, "ended") && !nested_ok(n) && job->kind != JOB_RANKS && !told)
        event_set_text(event, "reason", explain(n));
    sink_emit(h->sink, event, NULL);
}

static void announce(struct lua_host *h, struct nested *n, const struct job *job, const char *state)
{
    announce_as(h, n, job, state, false);
}

/* Starts the job as a run of its own. */
static bool start(struct lua_host *h, struct job *job, struct nested *n, struct error *e)
{
    *n = (struct nested){.steps = json_array(),
                         .evals = json_array(),
                         .ranks = json_array(),
                         .collectives = json_array(),
                         .cases = json_array(),
                         .explanations = json_array()};
    snprintf(job->parent, sizeof job->parent, "%.127s", h->id);
    if (!*job->label)
        job_default_label(job, job->label, sizeof job->label);
    if (!launch_start(job, n->dir, e))
        return false;
    announce(h, n, job, "started");
    return true;
}

/* Reads the run's events until it has ended. False: stopped, or its directory cannot be read. */
static bool follow(struct lua_host *h, struct nested *n, struct error *e)
{
    struct run_reader *reader = run_reader_open(n->dir, e);
    if (!reader)
        return false;
    bool over = false;
    while (!n->done && !over) {
        json_t *event = run_reader_next(reader);
        if (event) {
            take_event(h, n, event);
            json_decref(event);
            continue;
        }
        if (h->watch.interrupted(h)) {
            launch_stop(n->dir, NULL);
            run_reader_free(reader);
            return error_set(e, ERROR_FAILED, "the script was stopped");
        }
        struct run_status status;
        if (run_status_read(n->dir, &status, NULL) && run_state_ended(status.state)) {
            /* Its last lines may have come since the reader looked. */
            while (!n->done && (event = run_reader_next(reader))) {
                take_event(h, n, event);
                json_decref(event);
            }
            over = true;
            if (!*n->sentence)
                snprintf(n->sentence, sizeof n->sentence, "%s", status.reason);
        } else {
            nanosleep(&(struct timespec){0, POLL_MS * 1000000}, NULL);
        }
    }
    run_reader_free(reader);
    return true;
}

/* The events without what only the stream needs. */
static json_t *plain(json_t *list)
{
    size_t i;
    json_t *event;
    json_array_foreach(list, i, event) json_object_del(event, "ev");
    return json_incref(list);
}

static void set_answer(struct lua_host *h, json_t *answer, struct nested *n)
{
    bool ok = nested_ok(n);
    event_set_text(answer, "run", rundir_id(n->dir));
    json_object_set_new(answer, "ok", json_boolean(ok));
    if (!ok) {
        event_set_text(answer, "error", explain(n));
        h->nested_failed = true;
    }
}

/* A model's file lies where the script does: the host's working directory is the run's. */
static bool find_model(const struct lua_host *h, char model[PATH_MAX], const json_t *layers, struct error *e)
{
    char path[PATH_MAX];
    const char *slash = strrchr(h->learner, '/'), *end = strrchr(model, '.');
    bool file = strchr(model, '/') || (end && !strcmp(end, ".lua"));
    if (layers || !file || *model == '/' || !slash)
        return true;
    int n = snprintf(path, sizeof path, "%.*s", (int)(slash - h->learner), h->learner);
    return n >= 0 && path_join(path, path, model, e) && memcpy(model, path, strlen(path) + 1);
}

static json_t *train(struct lua_host *h, const json_t *args, struct error *e)
{
    static const char *const figures[] = {"accuracy", "loss", "samples_per_s", "wall_s"};
    struct job job;
    struct nested n = {0};
    json_t *answer = NULL;
    bool detach = json_is_true(json_object_get(args, "detach"));
    if (!lua_host_train_job(args, &job, e) || !find_model(h, job.train.model, job.train.layers, e) ||
        !start(h, &job, &n, e))
        goto out;
    if (detach) {
        answer = json_object();
        event_set_text(answer, "run", rundir_id(n.dir));
        goto out;
    }
    if (!follow(h, &n, e))
        goto out;
    announce(h, &n, &job, "ended");
    answer = json_object();
    set_answer(h, answer, &n);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (n.done && json_is_number(json_object_get(n.done, figures[i])))
            json_object_set(answer, figures[i], json_object_get(n.done, figures[i]));
    json_object_set_new(answer, "steps", plain(n.steps));
    json_object_set_new(answer, "evals", plain(n.evals));
    json_object_set_new(answer, "ranks", plain(n.ranks));
out:
    nested_clear(&n);
    job_clear(&job);
    return answer;
}

static json_t *allreduce(struct lua_host *h, const json_t *args, struct error *e)
{
    struct job job;
    struct nested n = {0};
    json_t *answer = NULL;
    if (lua_host_allreduce_job(args, &job, e) && start(h, &job, &n, e) && follow(h, &n, e)) {
        announce(h, &n, &job, "ended");
        answer = json_object();
        set_answer(h, answer, &n);
        json_object_set_new(answer, "results", plain(n.collectives));
    }
    nested_clear(&n);
    job_clear(&job);
    return answer;
}

/* A mistake in the script's line, which is told with it. One in cluster{} has a line of its own, in the same file. */
static void tell_mistake(struct nested *n, const json_t *cluster, struct error *e)
{
    const char *text = explain(n), *file = event_text(cluster, "file", "");
    long long line = event_integer(cluster, "line", 0);
    char place[PATH_MAX + 32];
    int length = snprintf(place, sizeof place, "%s:%lld: ", file, line);
    if (*file && line > 0 && !strncmp(text, place, (size_t)length))
        error_set(e, ERROR_INPUT, "%s (the cluster of line %lld)", text + length, line);
    else
        error_set(e, ERROR_INPUT, "%s", text);
}

/* All figures of the simulated run's last event, beside its steps, buckets and the lines that say why. */
static json_t *simulate(struct lua_host *h, const json_t *args, struct error *e)
{
    struct job job;
    struct nested n = {0};
    json_t *answer = NULL, *value;
    const char *key;
    if (lua_host_sim_job(args, &job, e) && find_model(h, job.sim.model, job.sim.layers, e) &&
        start(h, &job, &n, e) && follow(h, &n, e)) {
        bool mistake = n.done && event_integer(n.done, "exit_code", 0) == ERROR_INPUT;
        announce_as(h, &n, &job, "ended", mistake);
        if (mistake) {
            tell_mistake(&n, job.sim.cluster, e);
            goto out;
        }
        answer = json_object();
        json_object_foreach(n.done, key, value)
        {
            if (strcmp(key, "ev") != 0 && strcmp(key, "t") != 0)
                json_object_set(answer, key, value);
        }
        set_answer(h, answer, &n);
        json_object_set_new(answer, "steps", plain(n.steps));
        json_object_set_new(answer, "collectives", plain(n.collectives));
        json_object_set_new(answer, "explain", plain(n.explanations));
    }
out:
    nested_clear(&n);
    job_clear(&job);
    return answer;
}

/* A run that came to no case at all: the sentence becomes the first case, so that a check has something to show. */
static void add_failed_case(struct nested *n, const struct job *job)
{
    json_t *c = json_object();
    event_set_integer(c, "ranks", job->rank_script.counts[0]);
    event_set_integer(c, "length", job->rank_script.lengths[0]);
    json_object_set_new(c, "ok", json_false());
    event_set_text(c, "error", explain(n));
    event_set_integer(c, "right_ranks", 0);
    event_set_integer(c, "wrong_rank", 0);
    event_set_integer(c, "strangers", 0);
    json_object_set_new(c, "messages", json_array());
    json_object_set_new(c, "bytes", json_array());
    json_array_append_new(n->cases, c);
}

/* Deletes the run once its supervisor has written its last word. */
static void forget(const struct nested *n)
{
    struct run_status status;
    for (int i = 0; i < 100; i++) {
        if (run_status_read(n->dir, &status, NULL) && run_state_ended(status.state)) {
            rundir_delete(n->dir, NULL);
            return;
        }
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

static json_t *rank_script(struct lua_host *h, const json_t *args, struct error *e)
{
    struct job job;
    struct nested n = {0};
    json_t *answer = NULL;
    if (!lua_host_ranks_job(args, &job, e))
        return NULL;
    snprintf(job.rank_script.script, sizeof job.rank_script.script, "%s", h->learner);
    snprintf(job.rank_script.shown, sizeof job.rank_script.shown, "%s", h->shown);
    snprintf(job.label, sizeof job.label, "ranks-%.50s", job.rank_script.entry);
    job.rank_script.coroutines = h->instant;
    for (int attempt = 0; attempt < 2; attempt++) {
        bool started = start(h, &job, &n, e);
        bool followed = started && follow(h, &n, e);
        if (started && !followed)
            break;
        if (followed)
            announce(h, &n, &job, "ended");
        bool judged = followed && json_array_size(n.cases) > 0;
        /* No MPI here, or one that cannot start ranks: the same checks run without it. */
        if (!judged && !n.slow && !job.rank_script.coroutines && (followed || e->kind == ERROR_MISSING)) {
            char text[1200];
            snprintf(text, sizeof text,
                     "real ranks could not be used (%s); the ranks are coroutines in one process",
                     followed ? explain(&n) : e->text);
            sink_note(h->sink, "warn", text, NULL);
            job.rank_script.coroutines = true;
            nested_clear(&n);
            continue;
        }
        if (!followed)
            break;
        if (!judged)
            add_failed_case(&n, &job);
        answer = json_object();
        event_set_text(answer, "mode", job.rank_script.coroutines ? "coroutines" : "mpi");
        event_set_text(answer, "run", rundir_id(n.dir));
        json_object_set_new(answer, "cases", plain(n.cases));
        if (h->instant)
            forget(&n);
        break;
    }
    nested_clear(&n);
    job_clear(&job);
    return answer;
}

json_t *lua_host_serve(struct lua_host *h, const json_t *request, struct error *e)
{
    static const struct {
        const char *name;
        json_t *(*serve)(struct lua_host *h, const json_t *args, struct error *e);
    } calls[] = {{"train", train},
                 {"allreduce", allreduce},
                 {"simulate", simulate},
                 {"rank_script", rank_script},
                 {"run_info", lua_host_run_info},
                 {"attachments", lua_host_attachments}};
    const char *name = event_text(request, "call", "");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(name, calls[i].name))
            return calls[i].serve(h, json_object_get(request, "args"), e);
    error_set(e, ERROR_INPUT, "there is no function '%s'", name);
    return NULL;
}
