#include "tui/cli_compare.h"

#include "engine/base/event.h"
#include "tui/cli.h"
#include "tui/compare_table.h"
#include "tui/follow.h"
#include "tui/run_export.h"
#include "tui/text_plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a run to its end and takes it in; one that is there already is not a second measurement. */
static bool add_run(struct comparison *c, const char *dir, struct error *e)
{
    struct run_model m;
    for (int i = 0; i < c->run_count; i++)
        if (!strcmp(c->runs[i].id, rundir_id(dir)))
            return true;
    if (!run_model_open(&m, dir, e))
        return false;
    m.attached = true; /* it is looked at, not watched */
    run_model_poll(&m, 0);
    bool ok = compare_add(c, &m);
    run_model_free(&m);
    return ok || error_set(e, ERROR_FAILED, "out of memory");
}

/* Every run that trained, really or simulated. */
static bool add_all(struct comparison *c, struct error *e)
{
    char **dirs;
    int count;
    if (!rundir_list(&dirs, &count, e))
        return false;
    bool ok = true;
    for (int i = count - 1; ok && i >= 0; i--) {
        json_t *job = rundir_read_json(dirs[i], "job.json", NULL);
        const char *kind = event_text(job, "kind", "");
        if (!strcmp(kind, "train") || !strcmp(kind, "sim"))
            ok = add_run(c, dirs[i], e);
        json_decref(job);
    }
    rundir_list_free(dirs, count);
    return ok;
}

int cli_compare(char *const *names, int count, bool all, bool json)
{
    struct comparison c = {0};
    struct error e = {0};
    bool ok = all ? add_all(&c, &e) : true;
    for (int i = 0; ok && i < count; i++) {
        char dir[PATH_MAX];
        ok = rundir_find(names[i], dir, &e) && add_run(&c, dir, &e);
    }
    if (ok && c.run_count < 2)
        ok = error_set(&e, ERROR_INPUT,
                       "runs compare: expected two runs or more, such as 'runs compare RUN RUN' or --all; "
                       "'ringside runs' lists them");
    if (ok && !compare_finish(&c))
        ok = error_set(&e, ERROR_FAILED, "out of memory");
    if (ok && json)
        ok = compare_emit(&c, &e);
    else if (ok)
        compare_write(stdout, &c, follow_columns(), text_is_utf8());
    fflush(stdout);
    compare_free(&c);
    return ok ? 0 : cli_fail(&e);
}

/* The events as they are. */
static int emit_events(const char *dir, struct error *e)
{
    struct run_reader *reader = run_reader_open(dir, e);
    const char *line;
    size_t length;
    if (!reader)
        return cli_fail(e);
    while (run_reader_next_line(reader, &line, &length))
        puts(line);
    fflush(stdout);
    run_reader_free(reader);
    return 0;
}

int cli_export(const char *name, const char *format, const char *out, bool json)
{
    struct error e = {0};
    char dir[PATH_MAX], text[PATH_MAX + 32];
    double share;
    bool as_text = !strcmp(format, "text");
    if (!as_text && *format && strcmp(format, "csv") != 0) {
        error_set(&e, ERROR_INPUT, "runs export --format: expected csv or text, got '%s'", format);
        return cli_fail(&e);
    }
    if (!rundir_find(name, dir, &e))
        return cli_fail(&e);
    if (json && !out)
        return emit_events(dir, &e);
    struct run_export *x = run_export_begin(dir, as_text ? EXPORT_TEXT : EXPORT_CSV, out, text_is_utf8(), &e);
    if (!x)
        return cli_fail(&e);
    while (run_export_step(x, &share))
        ;
    if (!run_export_end(x, &e))
        return cli_fail(&e);
    if (!out)
        return 0;
    snprintf(text, sizeof text, "written to %s", out);
    if (!json) {
        puts(text);
        return 0;
    }
    json_t *note = event_new("note", -1);
    event_set_text(note, "level", "info");
    event_set_text(note, "text", text);
    event_set_text(note, "file", out);
    event_write(STDOUT_FILENO, note, NULL);
    return 0;
}
