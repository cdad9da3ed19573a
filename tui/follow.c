#include "tui/follow.h"

#include "engine/base/event.h"
#include "engine/launch/launch.h"
#include "tui/axis.h"
#include "tui/bench_table.h"
#include "tui/collective_table.h"
#include "tui/text_plot.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Its supervisor has the last word, also of a folder that was removed: it is given some looks at the status. */
enum { POLL_MS = 50, STATUS_EVERY = 10 /* polls */, GONE_LOOKS = 60 };

struct follower {
    const struct follow *how;
    struct run_model model;
    bool utf8, terminal;
    int line_width;  /* of the progress line that stands on the terminal now */
    int tables;      /* lines of a table that have been printed */
    char series[32]; /* of the bench's point that was printed last */
    struct collective_table collectives;
    char told[512]; /* the trouble that was told last on standard error */
    int exit_code;  /* where the run did not go well: what its last event asks for, else 1 */
    bool ended;     /* its last job event has come, which says: */
    enum run_state state;
    char reason[512];
    long kept_step; /* of the last checkpoint, -1 */
    char lost[512]; /* why there is none after the last step; "": there is one, or none was due */
    bool lost_told;
};

/* Set by SIGINT. */
static volatile sig_atomic_t interrupts;

static void count_interrupt(int signal)
{
    (void)signal;
    interrupts++;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the line of progress --- */

static void clear_progress(struct follower *f)
{
    if (f->line_width > 0)
        printf("\r%*s\r", f->line_width, "");
    f->line_width = 0;
}

static void clear_line(struct follower *f)
{
    clear_progress(f);
    collective_table_break(stdout, &f->collectives);
}

static void show_progress(struct follower *f)
{
    const struct run_model *m = &f->model;
    char line[256], speed[32], loss[24], total[32] = "", left[48] = "";
    if (!f->terminal || f->how->json || f->how->silent || m->done)
        return;
    if (m->step < 0) {
        run_model_state_text(m, line, sizeof line);
    } else {
        double remaining = run_model_remaining(m, wall());
        text_grouped(speed, sizeof speed, m->samples_per_s);
        format_loss(m->last_loss, loss, sizeof loss);
        if (m->total_steps > 0)
            snprintf(total, sizeof total, "/%ld", m->total_steps);
        if (isfinite(remaining))
            snprintf(left, sizeof left, "  %.0f s left", ceil(remaining));
        snprintf(line, sizeof line, "step %ld%s  loss %s  %s samples/s%s", m->step, total, loss, speed, left);
    }
    int columns = follow_columns(), length = (int)strlen(line);
    if (length > columns - 1)
        length = columns > 1 ? columns - 1 : 0;
    int old = f->line_width;
    printf("\r%.*s%*s", length, line, old > length ? old - length : 0, "");
    f->line_width = length;
    fflush(stdout);
}

/* --- events as lines --- */

static void say_run(const struct run_model *m)
{
    if (!m->have_job || m->job.kind != JOB_TRAIN)
        return;
    const struct job_train *t = &m->job.train;
    char parameters[32], times[32] = "";
    text_grouped(parameters, sizeof parameters, m->parameters);
    if (*t->eval) {
        printf("%s on %s: the last checkpoint of %s, %s parameters\n", t->model, t->data, rundir_id(t->eval),
               parameters);
        return;
    }
    if (t->accumulate > 1)
        snprintf(times, sizeof times, " %d times", t->accumulate);
    printf("%s on %s: %d rank%s, batch %d each%s (global batch %ld), %s parameters, %s, allreduce %s\n",
           t->model, t->data, m->ranks, m->ranks == 1 ? "" : "s", t->batch, times,
           job_global_batch(t, m->ranks), parameters, t->optimizer, t->algo);
    if (*m->slowed)
        puts(m->slowed);
}

static void say_cost(const json_t *event)
{
    double far = event_number(event, "far_beta_s_per_byte", NAN);
    printf("%s%s: a message takes %.3g us and %.3g GB/s", event_text(event, "transport", "?"),
           *event_text(event, "slowed", "") ? " (slowed on purpose)" : "",
           1e6 * event_number(event, "alpha_s", NAN), 1e-9 / event_number(event, "beta_s_per_byte", NAN));
    printf(", adding %.2g GB/s\n", 1e-9 / event_number(event, "gamma_s_per_byte", NAN));
    if (isfinite(far))
        printf("  one longer than the cache %.3g GB/s\n", 1e-9 / far);
}

/* A row of the table of `train --eval`. */
static void say_inference(struct follower *f, const json_t *event)
{
    char speed[32];
    text_grouped(speed, sizeof speed, event_number(event, "y", NAN));
    if (f->tables++ == 0)
        printf("%8s %12s %14s\n", "batch", "latency", "samples/s");
    printf("%8lld %9.3f ms %14s\n", event_integer(event, "x", 0), 1e3 * event_number(event, "latency_s", NAN),
           speed);
}

static void say_trouble(struct follower *f, const char *text)
{
    if (!strncmp(f->told, text, sizeof f->told - 1)) /* a fault whose sentence is the error of the run, too */
        return;
    clear_line(f);
    fflush(stdout);
    snprintf(f->told, sizeof f->told, "%.511s", text);
    fprintf(stderr, "ringside: %s\n", text);
}

static void say_fault(struct follower *f, const json_t *event)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", event_text(event, "text", ""));
    if (!*text)
        snprintf(text, sizeof text, "rank %lld on %s: %s", event_integer(event, "rank", -1),
                 event_text(event, "host", "?"), event_text(event, "kind", "fault"));
    say_trouble(f, text);
}

static void say_nested(struct follower *f, const json_t *event)
{
    char text[1024];
    const char *kind = event_text(event, "kind", "run"), *run = event_text(event, "run", "?");
    const char *reason = event_text(event, "reason", "");
    bool ended = !strcmp(event_text(event, "state", ""), "ended");
    bool ok = json_is_true(json_object_get(event, "ok"));
    clear_line(f);
    const char *slowed = event_text(event, "slowed", "");
    printf("%s %s: %s%s%s\n", kind, run,
           !ended ? "started"
           : ok   ? "done"
                  : "failed",
           *slowed ? ", " : "", slowed);
    if (*reason) {
        snprintf(text, sizeof text, "%s %s: %s", kind, run, reason);
        say_trouble(f, text);
    }
}

static void say_test(const json_t *eval)
{
    char loss[24];
    format_loss(event_number(eval, "loss", NAN), loss, sizeof loss);
    printf("epoch %.3g: test accuracy %.2f %%, test loss %s (step %lld, %.1f s)\n",
           event_number(eval, "epoch", NAN), 100 * event_number(eval, "accuracy", NAN), loss,
           event_integer(eval, "step", 0), event_number(eval, "t", 0));
}

static void say(struct follower *f, const json_t *event)
{
    const char *name = event_name(event), *text = event_text(event, "text", "");
    const char *level = event_text(event, "level", "info");
    if (!strcmp(name, "fault") && !strcmp(event_text(event, "kind", ""), "slow")) { /* the run goes on */
        clear_line(f);
        printf("warning: %s\n", text);
    } else if (!strcmp(name, "fault") || (!strcmp(name, "note") && !strcmp(level, "error"))) {
        say_fault(f, event);
    } else if (!strcmp(name, "note")) {
        clear_line(f);
        printf("%s%s\n", strncmp(level, "warn", 4) ? "" : "warning: ", text);
    } else if (!strcmp(name, "run")) {
        clear_line(f);
        say_run(&f->model);
    } else if (!strcmp(name, "eval")) {
        clear_line(f);
        if (isfinite(event_number(event, "d_real", NAN)))
            printf("epoch %.3g: the discriminator takes %.0f %% of the real and %.0f %% of the generated "
                   "images for "
                   "real (step %lld, %.1f s)\n",
                   event_number(event, "epoch", NAN), 100 * event_number(event, "d_real", NAN),
                   100 * event_number(event, "d_fake", NAN), event_integer(event, "step", 0),
                   event_number(event, "t", 0));
        else
            say_test(event);
    } else if (!strcmp(name, "collective")) {
        clear_progress(f);
        bool both = f->model.have_job && f->model.job.kind == JOB_ALLREDUCE &&
                    !strcmp(f->model.job.allreduce.place, "both");
        collective_table_line(stdout, &f->collectives, event, both, f->model.ranks);
    } else if (!strcmp(name, "cost")) {
        clear_line(f);
        say_cost(event);
    } else if (!strcmp(name, "check")) {
        clear_line(f);
        printf("%-12s %s: %s (accepted: %s)\n", event_text(event, "result", "?"),
               event_text(event, "name", "?"), event_text(event, "measured", "-"),
               event_text(event, "accepted", "-"));
    } else if (!strcmp(name, "case")) {
        clear_line(f);
        printf("%lld ranks, %lld elements: the sum is right on %lld ranks\n",
               event_integer(event, "ranks", 0), event_integer(event, "length", 0),
               event_integer(event, "right_ranks", 0));
    } else if (!strcmp(name, "nested")) {
        say_nested(f, event);
    } else if (!strcmp(name, "point") && !strcmp(event_text(event, "series", ""), "inference")) {
        clear_line(f);
        say_inference(f, event);
    } else if (!strcmp(name, "point") && !strcmp(event_text(event, "series", ""), "predicted")) {
        clear_line(f);
        char value[32];
        snprintf(value, sizeof value, "%.6g", event_number(event, "y", NAN));
        printf("predicted: %s: %s\n", event_text(event, "label", "?"), event_text(event, "value", value));
    } else if (!strcmp(name, "point") && f->model.have_job && f->model.job.kind == JOB_BENCH) {
        clear_line(f);
        bench_table_line(stdout, event, f->series);
    } else if (!strcmp(name, "job") && event_integer(event, "position", 0) > 0) {
        clear_line(f);
        printf("waiting for free ranks on this node: number %lld in the queue\n",
               event_integer(event, "position", 0));
    }
}

/* --- the loop --- */

/* What the follower itself remembers of the stream, whatever of it is shown. */
static void remember(struct follower *f, const json_t *event)
{
    if (event_is(event, "done")) {
        f->exit_code = (int)event_integer(event, "exit_code", 1);
    } else if (event_is(event, "job")) {
        const char *state = event_text(event, "state", "");
        for (enum run_state s = RUN_PENDING; s <= RUN_LOST; s++)
            if (run_state_ended(s) && !strcmp(state, run_state_name(s)))
                f->ended = true, f->state = s;
        snprintf(f->reason, sizeof f->reason, "%s", event_text(event, "reason", ""));
    } else if (event_is(event, "checkpoint")) {
        f->kept_step = (long)event_integer(event, "step", -1);
        f->lost[0] = 0;
    } else if (event_is(event, "note") && event_integer(event, "lost_step", -1) >= 0) {
        snprintf(f->lost, sizeof f->lost, "%s", event_text(event, "text", ""));
    }
}

/* The first checkpoint that cannot be written is told on standard error, whatever is shown. */
static bool say_lost(struct follower *f)
{
    if (!*f->lost || f->lost_told)
        return false;
    f->lost_told = true;
    clear_line(f);
    fflush(stdout);
    fprintf(stderr, "ringside: %s\n", f->lost);
    return true;
}

/* An event that may have to be said or remembered. */
static void take_event(struct follower *f, const json_t *event, bool quiet)
{
    run_model_apply(&f->model, event);
    remember(f, event);
    if (!say_lost(f) && !f->how->json && !quiet && !f->how->silent)
        say(f, event);
}

/* Takes in what is there; how many events it was. Of plain steps and reports of ranks nothing is said one by one. */
static int take_events(struct follower *f, bool quiet)
{
    int n = 0;
    const char *line;
    size_t length;
    while (run_reader_next_line(f->model.reader, &line, &length)) {
        json_t *event = NULL;
        if (!run_model_apply_plain(&f->model, line, length) &&
            !(event = run_reader_event(f->model.reader, line, length)))
            continue;
        if (f->how->json)
            puts(line);
        if (event)
            take_event(f, event, quiet);
        json_decref(event);
        n++;
    }
    if (n > 0)
        fflush(stdout);
    return n;
}

/* Whether the following ends here because of Ctrl-C; *code is then what to return. */
static bool handle_interrupts(struct follower *f, const char *dir, int *handled, int *code)
{
    if (interrupts == *handled)
        return false;
    *handled = interrupts;
    clear_line(f);
    fflush(stdout);
    if (f->how->watch) {
        fprintf(stderr, "ringside: no longer watching; the run goes on: %s\n", rundir_id(dir));
        *code = 0;
        return true;
    }
    if (interrupts == 1) {
        struct error e = {0};
        fputs("ringside: stopping the run (Ctrl-C again leaves it to itself)\n", stderr);
        if (!launch_stop(dir, &e))
            fprintf(stderr, "ringside: %s\n", e.text);
        return false;
    }
    fprintf(stderr, "ringside: left to itself; 'ringside runs watch %s' comes back to it\n", rundir_id(dir));
    *code = 1;
    return true;
}

/* Why it did not end well, in one sentence on standard error, unless that has been said. */
static void say_why(struct follower *f, const char *dir)
{
    struct run_model *m = &f->model;
    char text[1024];
    if (f->ended) {
        m->status.state = f->state; /* before status.json says the same */
    } else if (!run_status_look(dir, &m->status)) {
        fprintf(stderr, "ringside: the run's folder %s cannot be read any more\n", dir);
        return;
    } else {
        snprintf(f->reason, sizeof f->reason, "%s", m->status.reason);
    }
    bool told = *f->told && !strncmp(f->told, f->reason, strlen(f->reason));
    if (m->status.state == RUN_LOST)
        fprintf(stderr, "ringside: the run is lost: %s\n", f->reason);
    else if (m->status.state == RUN_CANCELLED)
        fprintf(stderr, "ringside: the run was stopped\n");
    else if (m->status.state == RUN_FAILED && !*f->reason)
        fprintf(stderr, "ringside: the run failed; its log may say more: %s/log\n", dir);
    else if (m->status.state == RUN_FAILED && !told)
        fprintf(stderr, "ringside: %s\n", f->reason);
    else if (m->status.state == RUN_DONE && m->done && !*f->told) { /* a script's own "no" */
        run_model_state_text(m, text, sizeof text);
        fprintf(stderr, "ringside: %s\n", text);
    }
}

/* A training that went well and left nothing, or less than it should. */
static void say_what_is_kept(const struct follower *f)
{
    if (!*f->lost || f->how->json)
        return;
    if (f->kept_step < 0)
        printf("\nnothing was kept: no checkpoint could be written, so the trained parameters are lost\n");
    else
        printf("\nonly step %ld was kept: the last checkpoint could not be written\n", f->kept_step);
}

static int finish(struct follower *f, const char *dir)
{
    struct run_model *m = &f->model;
    bool well = m->done && m->ok;
    char text[400];
    clear_line(f);
    if (!f->how->json)
        follow_report(stdout, m, f->utf8);
    if (well)
        say_what_is_kept(f);
    fflush(stdout);
    m->cut = !m->done && m->status.state == RUN_DONE;
    if (run_model_gaps_text(m, text, sizeof text))
        fprintf(stderr, "ringside: %s\n", text);
    if (m->events == 0 && m->status.state != RUN_LOST)
        fprintf(stderr, "ringside: no event of this run can be read; its log may say more: %s/log\n", dir);
    else if (!well)
        say_why(f, dir);
    return well ? 0 : f->exit_code;
}

static int follow(struct follower *f, const char *dir)
{
    int handled = 0, code = 1, gone = 0;
    /* What a live run said before a watcher came is history: only the report speaks of it. */
    struct run_status status;
    bool live = run_status_look(dir, &status) && !run_state_ended(status.state);
    take_events(f, f->how->watch && live);
    if (f->how->watch && live) {
        rundir_note_attached(dir, f->model.step >= 0 ? f->model.step : 0);
        if (!f->how->json)
            say_run(&f->model);
    }
    for (int i = 0; !f->model.done; i++) {
        if (handle_interrupts(f, dir, &handled, &code))
            return code;
        if (take_events(f, false) == 0) {
            bool look = i % STATUS_EVERY == 0;
            if (look && run_status_look(dir, &f->model.status)) {
                gone = 0;
                if (run_state_ended(f->model.status.state)) {
                    take_events(f, false); /* what came between the two looks */
                    break;
                }
            } else if (look && ++gone > GONE_LOOKS) {
                break;
            }
            pause_ms(POLL_MS);
        }
        show_progress(f);
    }
    return finish(f, dir);
}

int follow_run(const char *dir, const struct follow *how)
{
    struct follower f = {.how = how,
                         .exit_code = 1,
                         .kept_step = -1,
                         .utf8 = text_is_utf8(),
                         .terminal = isatty(STDOUT_FILENO)};
    struct error e = {0};
    if (!run_model_open(&f.model, dir, &e)) {
        fprintf(stderr, "ringside: %s\n", e.text);
        return e.kind ? (int)e.kind : 1;
    }
    struct sigaction action = {.sa_handler = count_interrupt}, before;
    interrupts = 0;
    sigaction(SIGINT, &action, &before);
    int code = follow(&f, dir);
    sigaction(SIGINT, &before, NULL);
    run_model_free(&f.model);
    return code;
}
