/*
 * cli_exercise.c - `ringside exercise`: list, start, check, hint, solution and reset, without the screen.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/launch.h"
#include "tui/cli.h"
#include "tui/exercise.h"
#include "tui/line_diff.h"
#include "tui/markdown.h"
#include "tui/options.h"
#include "tui/plain.h"
#include "tui/progress.h"
#include "tui/text_plot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 30, MEASURE = 78 };

struct call {
    bool json, instant, diff;
    char file[PATH_MAX]; /* --file, or "" */
    const char *name;    /* as typed; NULL: none */
    const char *second;  /* a further word; NULL: none */
};

/* Set by SIGINT. */
static volatile sig_atomic_t interrupts;

static void count_interrupt(int signal)
{
    (void)signal;
    interrupts++;
}

/* --- list, start, solution, reset ---------------------------------------------------------------------------- */

static int list(const struct call *call, struct error *e)
{
    char **names;
    int count;
    if (!exercise_list(&names, &count, e))
        return cli_fail(e);
    struct progress *progress = progress_load(e);
    for (int i = 0; i < count; i++) {
        char title[120], file[PATH_MAX] = "";
        bool passed = progress_passed(progress, names[i]);
        exercise_title(names[i], title, sizeof title);
        bool begun = exercise_learner_file(names[i], file, NULL) && access(file, F_OK) == 0;
        if (call->json) {
            json_t *line = event_new("exercise", -1);
            event_set_text(line, "name", names[i]);
            event_set_text(line, "title", title);
            json_object_set_new(line, "started", json_boolean(begun));
            json_object_set_new(line, "passed", json_boolean(passed));
            event_set_text(line, "file", begun ? file : "");
            event_write(STDOUT_FILENO, line, NULL);
        } else {
            printf("%-22s %-44s %s\n", names[i], title, passed ? "passed" : begun ? "begun" : "");
        }
        free(names[i]);
    }
    free(names);
    progress_free(progress);
    return 0;
}

/* One line about a file, or one event. */
static void say_file(const struct call *call, const char *what, const char *name, const char *file,
                     const char *text)
{
    if (call->json) {
        json_t *line = event_new(what, -1);
        event_set_text(line, "name", name);
        event_set_text(line, "file", file);
        event_write(STDOUT_FILENO, line, NULL);
    } else {
        puts(text);
    }
}

static int start(const struct call *call, const struct exercise_files *x, struct error *e)
{
    char text[PATH_MAX + 160];
    bool made;
    if (!exercise_make_file(x, &made, e))
        return cli_fail(e);
    if (!made)
        fprintf(stderr,
                "ringside: the file is there already and stays as it is ('ringside exercise reset %s' begins "
                "anew)\n",
                x->name);
    snprintf(text, sizeof text, "%s", x->file);
    say_file(call, "start", x->name, x->file, text);
    return 0;
}

/* The learner's file beside the solution, line by line, as `diff -U` has it; 1 where they differ. */
static int difference(const struct exercise_files *x, const char *solution, struct error *e)
{
    static const char marks[] = {[DIFF_SAME] = ' ', [DIFF_FIRST] = '-', [DIFF_SECOND] = '+'};
    struct line_diff d;
    char *own = markdown_read(x->file, e);
    if (!own || !line_diff_make(&d, own, solution, e)) {
        free(own);
        return cli_fail(e);
    }
    for (int i = 0; i < d.count; i++)
        printf("%c %.*s\n", marks[d.lines[i].kind], d.lines[i].length, d.lines[i].text);
    int code = d.only_first || d.only_second;
    line_diff_free(&d);
    free(own);
    return code;
}

static int solution(const struct call *call, const struct exercise_files *x, struct error *e)
{
    char path[PATH_MAX];
    char *text = path_join(path, x->folder, "solution.lua", e) ? markdown_read(path, e) : NULL;
    if (!text)
        return cli_fail(e);
    if (call->diff && !call->json) {
        int code = difference(x, text, e);
        free(text);
        return code;
    }
    if (call->json) {
        json_t *line = event_new("solution", -1);
        event_set_text(line, "name", x->name);
        event_set_text(line, "text", text);
        event_write(STDOUT_FILENO, line, NULL);
    } else {
        fputs(text, stdout);
    }
    free(text);
    return 0;
}

static int reset(const struct call *call, const struct exercise_files *x, struct error *e)
{
    char backup[PATH_MAX], text[2 * PATH_MAX + 80];
    if (access(x->file, F_OK) != 0) {
        bool made;
        if (!exercise_make_file(x, &made, e))
            return cli_fail(e);
        snprintf(text, sizeof text, "%s", x->file);
        say_file(call, "reset", x->name, x->file, text);
        return 0;
    }
    if (!exercise_files_reset(x, backup, e))
        return cli_fail(e);
    snprintf(text, sizeof text, "%s is the starter again; yours is kept as %s", x->file, backup);
    say_file(call, "reset", x->name, x->file, text);
    return 0;
}

/* --- hint ------------------------------------------------------------------------------------------------------ */

static void print_hint(const struct call *call, const char *name, const char *markdown, int number, int count)
{
    struct md_doc doc = {0};
    if (call->json) {
        json_t *line = event_new("hint", -1);
        event_set_text(line, "name", name);
        event_set_integer(line, "number", number);
        event_set_integer(line, "count", count);
        event_set_text(line, "text", markdown);
        event_write(STDOUT_FILENO, line, NULL);
        return;
    }
    printf("Hint %d of %d\n\n", number, count);
    if (markdown_render(&doc, markdown, MEASURE, NULL))
        plain_print_doc(&doc, text_is_utf8(), stdout);
    else
        fputs(markdown, stdout);
    markdown_free(&doc);
}

/* The next hint that was not shown yet; `hint NAME N` shows the Nth. */
static int hint(const struct call *call, const struct exercise_files *x, struct error *e)
{
    char *hints[EXERCISE_MAX_HINTS];
    int count = exercise_files_hints(x, hints), number, code = 0;
    struct progress *progress = progress_load(e);
    number = progress_hints(progress, x->name) + 1;
    if (number > count)
        number = count;
    if (call->second) {
        char *end;
        long n = strtol(call->second, &end, 10);
        number = *end || n < 1 || n > count ? 0 : (int)n;
    }
    if (count == 0) {
        error_set(e, ERROR_INPUT, "there are no hints for %s", x->name);
        code = cli_fail(e);
    } else if (number == 0) {
        error_set(e, ERROR_INPUT, "hint: expected a number from 1 to %d, got '%s'", count, call->second);
        code = cli_fail(e);
    } else {
        print_hint(call, x->name, hints[number - 1], number, count);
        progress_note_hint(progress, x->name, number);
        if (progress_warning(progress))
            fputs("ringside: the hints shown cannot be noted: the home cannot be written\n", stderr);
    }
    for (int i = 0; i < count; i++)
        free(hints[i]);
    progress_free(progress);
    return code;
}

/* --- check ----------------------------------------------------------------------------------------------------- */

/* "    measured   ..." with what does not fit on a line indented below. */
static void print_wrapped(const char *label, const char *text)
{
    enum { INDENT = 14 };
    int room = MEASURE - INDENT;
    printf("    %-*s", INDENT - 4, label);
    while ((int)strlen(text) > room) {
        int cut = room;
        while (cut > 0 && text[cut] != ' ')
            cut--;
        if (cut == 0)
            cut = (int)strcspn(text, " ");
        printf("%.*s\n%*s", cut, text, INDENT, "");
        text += cut;
        text += strspn(text, " ");
    }
    puts(text);
}

static void print_check(const json_t *event)
{
    const char *result = event_text(event, "result", "inconclusive"), *next = event_text(event, "next", "");
    bool pass = strcmp(result, "pass") == 0;
    printf("%-5s %s\n",
           pass                          ? "pass"
           : strcmp(result, "fail") == 0 ? "FAIL"
                                         : "?",
           event_text(event, "name", "check"));
    print_wrapped("measured", event_text(event, "measured", "-"));
    if (pass)
        return;
    print_wrapped("accepted", event_text(event, "accepted", "-"));
    if (*next)
        print_wrapped("next", next);
}

static void print_event(const json_t *event, bool terminal)
{
    const char *level = event_text(event, "level", "");
    if (event_is(event, "check"))
        print_check(event);
    else if (event_is(event, "note") && (strcmp(level, "error") == 0 || strncmp(level, "warn", 4) == 0))
        fprintf(stderr, "ringside: %s\n", event_text(event, "text", ""));
    else if (terminal && event_is(event, "nested") && strcmp(event_text(event, "state", ""), "started") == 0)
        printf("      (%s: run %s)\n", event_text(event, "kind", "run"), event_text(event, "run", ""));
    fflush(stdout);
}

/* Follows the check's run to its end. Returns whether it ended well. */
static bool follow(const struct call *call, const char *dir, struct error *e)
{
    struct run_reader *reader = run_reader_open(dir, e);
    struct run_status status;
    bool done = false, ok = false, last_look = false, terminal = isatty(STDOUT_FILENO);
    int stopped = 0;
    while (reader && !done) {
        json_t *event = run_reader_next(reader);
        if (event) {
            if (call->json) {
                char *line = event_line(event);
                fputs(line ? line : "", stdout);
                fflush(stdout);
                free(line);
            } else {
                print_event(event, terminal);
            }
            done = event_is(event, "done");
            ok = done && json_is_true(json_object_get(event, "ok"));
            json_decref(event);
            continue;
        }
        if (last_look)
            break;
        if (interrupts > stopped) {
            stopped = interrupts;
            fputs("ringside: stopping the check\n", stderr);
            launch_stop(dir, NULL);
        }
        last_look = run_status_read(dir, &status, NULL) && run_state_ended(status.state);
        if (last_look && *status.reason)
            fprintf(stderr, "ringside: %s\n", status.reason);
        nanosleep(&(struct timespec){0, POLL_MS * 1000000}, NULL);
    }
    run_reader_free(reader);
    return ok;
}

static int check(const struct call *call, const struct exercise_files *x, struct error *e)
{
    struct job job;
    char dir[PATH_MAX];
    if (access(x->file, R_OK) != 0) {
        if (*call->file)
            error_errno(e, ERROR_INPUT, "%s cannot be read", x->file);
        else
            error_set(e, ERROR_INPUT, "%s is not there yet; 'ringside exercise start %s' makes it", x->file,
                      x->name);
        return cli_fail(e);
    }
    job_defaults(&job, JOB_CHECK);
    job.script.instant = call->instant;
    snprintf(job.label, sizeof job.label, "%s-%.48s", call->instant ? "instant" : "check", x->name);
    snprintf(job.script.exercise, sizeof job.script.exercise, "%s", x->name);
    snprintf(job.script.file, sizeof job.script.file, "%s", x->file);
    snprintf(job.script.directory, sizeof job.script.directory, "%s", x->folder);
    bool started = launch_start(&job, dir, e);
    job_clear(&job);
    if (!started)
        return cli_fail(e);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = count_interrupt}, NULL);
    bool passed = follow(call, dir, e);
    if (!call->json)
        printf("\n%s: %s\n", x->name, passed ? "passed" : "not passed yet");
    if (!call->instant) {
        struct progress *progress = progress_load(e);
        progress_note_check(progress, x->name, passed);
        progress_free(progress);
    }
    return passed ? 0 : 1;
}

/* --- the command ----------------------------------------------------------------------------------------------- */

static const struct action {
    const char *name;
    int (*run)(const struct call *call, const struct exercise_files *x, struct error *e);
    int words; /* how many may follow */
} actions[] = {{"start", start, 1},
               {"check", check, 1},
               {"hint", hint, 2},
               {"solution", solution, 1},
               {"reset", reset, 1}};

static int dispatch(struct call *call, const char *verb, int words, struct error *e)
{
    struct exercise_files x;
    if (strcmp(verb, "list") == 0 && words == 0)
        return list(call, e);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(verb, actions[i].name) != 0)
            continue;
        if (words < 1 || words > actions[i].words) {
            error_set(e, ERROR_INPUT,
                      "exercise %s takes the name of an exercise; 'ringside exercise list' shows them", verb);
            return cli_fail(e);
        }
        if (!exercise_find(&x, call->name, call->file, e))
            return cli_fail(e);
        return actions[i].run(call, &x, e);
    }
    error_set(e, ERROR_INPUT, "exercise: expected list, start, check, hint, solution or reset, got '%s'",
              verb);
    return cli_fail(e);
}

int cli_exercise(int argc, char **argv)
{
    struct call call = {0};
    struct error e = {0};
    char *rest[OPTION_MAX_WORDS];
    int rest_count;
    const struct option options[] = {
        {"file", "F", OPTION_TEXT, call.file, sizeof call.file, 0, 0,
         "the learner's file, instead of $RINGSIDE_HOME/work/NAME.lua", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &call.json, 0, 0, 0, "print events, one JSON object a line", NULL, NULL},
        {"diff", NULL, OPTION_FLAG, &call.diff, 0, 0, 0, "of solution: how your file differs from it", NULL,
         NULL},
        {"instant", NULL, OPTION_FLAG, &call.instant, 0, 0, 0, NULL, NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage =
            "ringside exercise list | start NAME | check NAME | hint NAME [N] | solution NAME | reset NAME",
        .summary = "The exercises of the course. NAME may be shortened: 04, ring.\n"
                   "  start     makes your file from the starter and prints where it is; never overwrites\n"
                   "  check     judges your file\n"
                   "  hint      shows the next hint\n"
                   "  solution  prints ours; --diff: how yours differs from it\n"
                   "  reset     puts the starter back and keeps yours beside it",
        .more = "Exit codes: 0 done, or the check passed; 1 the check did not pass; 2 unknown exercise or "
                "unreadable file;\n"
                "3 something is missing here.\n",
        .options = options,
    };
    int code;
    if (!cli_options(&command, argc, argv, rest, &rest_count, &code))
        return code;
    if (rest_count == 0) {
        error_set(&e, ERROR_INPUT,
                  "exercise: expected list, start, check, hint, solution or reset; --help says more");
        return cli_fail(&e);
    }
    call.name = rest_count > 1 ? rest[1] : NULL;
    call.second = rest_count > 2 ? rest[2] : NULL;
    return dispatch(&call, rest[0], rest_count - 1, &e);
}
