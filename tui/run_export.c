#include "tui/run_export.h"

#include "engine/base/event.h"
#include "engine/base/event_scan.h"
#include "engine/base/paths.h"
#include "engine/base/timing.h"
#include "tui/axis.h"
#include "tui/follow.h"
#include "tui/run_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_S 0.005
enum { LINES_A_LOOK = 64 };

struct run_export {
    enum export_format format;
    bool utf8, whole;
    char file[PATH_MAX], part[PATH_MAX + 16]; /* "": standard output */
    FILE *to;
    struct run_model m; /* for the report; of a table only its reader is used */
};

static const char *const EVENTS[] = {"step", "rank", "eval", "collective", "point"};
static const char *const COLUMNS[] = {
    "t",
    "step",
    "epoch",
    "loss",
    "accuracy",
    "samples_per_s",
    "compute_s",
    "comm_s",
    "exposed_comm_s",
    "data_s",
    "bubble_s",
    "straggler_s",
    "lr",
    "grad_norm",
    "loss_d",
    "loss_g",
    "d_real",
    "d_fake",
    "sent_bytes",
    "compress_error",
    "bucket",
    "buckets",
    "rank",
    "host",
    "device",
    "rss_bytes",
    "slow",
    "algo",
    "op",
    "bytes",
    "ranks",
    "time_s",
    "predicted_s",
    "algbw_bytes_per_s",
    "busbw_bytes_per_s",
    "error",
    "buffer",
    "series",
    "x",
    "y",
    "label",
    "hash",
    "slowed",
};
enum { EVENT_COUNT = sizeof EVENTS / sizeof *EVENTS, COLUMN_COUNT = sizeof COLUMNS / sizeof *COLUMNS };

bool run_export_path(const char *dir, enum export_format format, char path[PATH_MAX], struct error *e)
{
    char home[PATH_MAX], folder[PATH_MAX], name[NAME_MAX + 8];
    snprintf(name, sizeof name, "%s.%s", rundir_id(dir), format == EXPORT_CSV ? "csv" : "txt");
    return ringside_home(home, e) && path_join(folder, home, "exports", e) && path_make(folder, e) &&
           path_join(path, folder, name, e);
}

const char *run_export_file(const struct run_export *x)
{
    return x->file;
}

static void free_export(struct run_export *x)
{
    if (x->to && x->to != stdout)
        fclose(x->to);
    if (*x->part)
        unlink(x->part);
    run_model_free(&x->m);
    free(x);
}

static void write_head(FILE *to)
{
    fputs("event", to);
    for (int i = 0; i < COLUMN_COUNT; i++)
        fprintf(to, ",%s", COLUMNS[i]);
    fputc('\n', to);
}

struct run_export *run_export_begin(const char *dir, enum export_format format, const char *file, bool utf8,
                                    struct error *e)
{
    struct run_export *x = calloc(1, sizeof *x);
    if (!x) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    x->format = format;
    x->utf8 = utf8;
    x->to = stdout;
    if (!run_model_open(&x->m, dir, e)) {
        free_export(x);
        return NULL;
    }
    if (file) {
        snprintf(x->file, sizeof x->file, "%s", file);
        snprintf(x->part, sizeof x->part, "%s.part", file);
        x->to = fopen(x->part, "we");
        if (!x->to) {
            error_errno(e, ERROR_INPUT, "the export cannot be written to %s", file);
            *x->part = '\0';
            free_export(x);
            return NULL;
        }
    }
    if (format == EXPORT_CSV)
        write_head(x->to);
    return x;
}

/* A field, in quotes where it must be (RFC 4180). */
static void write_text(FILE *to, const char *text, size_t length)
{
    if (!memchr(text, ',', length) && !memchr(text, '"', length) && !memchr(text, '\n', length) &&
        !memchr(text, '\r', length)) {
        fwrite(text, 1, length, to);
        return;
    }
    fputc('"', to);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            fputc('"', to);
        fputc(text[i], to);
    }
    fputc('"', to);
}

static void write_scanned(FILE *to, const struct event_record *r, const char *key)
{
    size_t length = strlen(key);
    for (int i = 0; i < r->count; i++) {
        const struct event_field *f = &r->fields[i];
        if ((size_t)f->key_length != length || memcmp(f->key, key, length) != 0)
            continue;
        if (f->type <= EVENT_TEXT)
            write_text(to, f->text, (size_t)f->length);
        else if (f->type != EVENT_NULL)
            fputs(f->type == EVENT_TRUE ? "true" : "false", to);
        return;
    }
}

static void write_json(FILE *to, const json_t *value)
{
    if (!value || json_is_null(value))
        return;
    if (json_is_string(value)) {
        write_text(to, json_string_value(value), json_string_length(value));
        return;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (text)
        write_text(to, text, strlen(text));
    free(text);
}

static void write_row(struct run_export *x, const char *line, size_t length)
{
    struct event_record record;
    json_t *json = NULL;
    struct event_any event = {.record = &record};
    if (!event_scan(line, length, &record)) {
        json = run_reader_event(x->m.reader, line, length);
        if (!json)
            return;
        event = (struct event_any){.json = json};
    }
    int name = 0;
    while (name < EVENT_COUNT && !any_is(&event, EVENTS[name]))
        name++;
    if (name < EVENT_COUNT) {
        fputs(EVENTS[name], x->to);
        for (int i = 0; i < COLUMN_COUNT; i++) {
            fputc(',', x->to);
            if (json)
                write_json(x->to, json_object_get(json, COLUMNS[i]));
            else
                write_scanned(x->to, &record, COLUMNS[i]);
        }
        fputc('\n', x->to);
    }
    json_decref(json);
}

static void write_report(struct run_export *x)
{
    const struct run_model *m = &x->m;
    char state[1200];
    run_model_state_text(m, state, sizeof state);
    fprintf(x->to, "run %s\n%s\n", m->id, state);
    if (run_model_gaps_text(m, state, sizeof state))
        fprintf(x->to, "%s\n", state);
    if (*m->slowed)
        fprintf(x->to, "%s\n", m->slowed);
    follow_report(x->to, m, x->utf8);
    const struct run_series *accuracy = &m->eval_accuracy;
    if (accuracy->count)
        fprintf(x->to, "\n%10s %12s\n", "step", "accuracy");
    for (int i = 0; i < accuracy->count; i++)
        fprintf(x->to, "%10.0f %10.2f %%\n", accuracy->x[i], 100 * accuracy->y[i]);
    if (m->note_count)
        fputc('\n', x->to);
    for (int i = 0; i < m->note_count; i++)
        fprintf(x->to, "%8.1f s  %s\n", m->notes[i].t, m->notes[i].text);
}

bool run_export_step(struct run_export *x, double *share)
{
    double deadline = timing_now() + SLICE_S, size = (double)run_reader_size(x->m.reader);
    const char *line;
    size_t length;
    for (int i = 0; i % LINES_A_LOOK != 0 || timing_now() < deadline; i++) {
        if (!run_reader_next_line(x->m.reader, &line, &length)) {
            run_model_poll(&x->m, 0); /* its status */
            if (x->format == EXPORT_TEXT)
                write_report(x);
            x->whole = true;
            *share = 1;
            return false;
        }
        if (x->format == EXPORT_CSV)
            write_row(x, line, length);
        else
            run_model_apply_line(&x->m, line, length);
    }
    *share = size > 0 ? (double)run_reader_offset(x->m.reader) / size : 0;
    return true;
}

bool run_export_end(struct run_export *x, struct error *e)
{
    bool ok = x->whole && !ferror(x->to);
    if (x->to == stdout)
        ok = fflush(stdout) == 0 && ok;
    else
        ok = fclose(x->to) == 0 && ok;
    x->to = NULL;
    if (ok && *x->file)
        ok = rename(x->part, x->file) == 0;
    if (ok)
        *x->part = '\0';
    else
        error_errno(e, ERROR_FAILED, "the export could not be written%s%s", *x->file ? " to " : "", x->file);
    free_export(x);
    return ok;
}
