#include "engine/base/trace_write.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    GAP_NS = 2000, /* a shorter gap is no idle time */
    DEPTH = 32,    /* of spans within spans */
};

struct trace_file {
    FILE *file;
    char path[PATH_MAX], fresh[PATH_MAX]; /* its name, and the one it has until it is whole */
    const struct trace_about *about;
    bool begun;               /* an event is there */
    char *names[TRACE_NAMES]; /* of the rank being written, quoted */
};

/* --- what it says of itself --- */

static json_t *other_data(const struct trace_about *a)
{
    json_t *o = json_object(), *offsets = json_array(), *bounds = json_array(), *hosts = json_array();
    event_set_text(o, "program", "ringside");
    event_set_text(o, "job", a->job);
    if (a->slowed)
        event_set_text(o, "slowed", a->slowed);
    event_set_number(o, "started", a->started);
    event_set_integer(o, "ranks", a->ranks);
    event_set_integer(o, "first_step", a->first_step);
    event_set_integer(o, "last_step", a->last_step);
    event_set_integer(o, "dropped", a->dropped);
    event_set_text(
        o, "clock",
        "rank 0's; a rank's clock was ahead of it by offset_s, give or take bound_s, at the end of "
        "the trace");
    for (int r = 0; r < a->ranks; r++) {
        json_array_append_new(offsets, json_real(a->clocks[r].offset_s[1]));
        json_array_append_new(bounds, json_real(a->clocks[r].bound_s));
        json_array_append_new(hosts, json_string(a->hosts[r]));
    }
    json_object_set_new(o, "offset_s", offsets);
    json_object_set_new(o, "bound_s", bounds);
    json_object_set_new(o, "hosts", hosts);
    if (a->rank_0_only)
        event_set_text(o, "incomplete", "the run failed: only what rank 0 saw is here");
    return o;
}

struct trace_file *trace_file_new(const char *dir, const struct trace_about *about, struct error *e)
{
    struct trace_file *f = calloc(1, sizeof *f);
    char name[64];
    if (!f) {
        error_set(e, ERROR_FAILED, "not enough memory to write the trace");
        return NULL;
    }
    f->about = about;
    snprintf(name, sizeof name, "." TRACE_FILE ".%ld", (long)getpid());
    if (!path_join(f->path, dir, TRACE_FILE, e) || !path_join(f->fresh, dir, name, e)) {
        free(f);
        return NULL;
    }
    f->file = fopen(f->fresh, "we");
    json_t *other = other_data(about);
    char *text = json_dumps(other, JSON_COMPACT);
    json_decref(other);
    if (!f->file || !text) {
        error_errno(e, ERROR_FAILED, "%s cannot be written", f->path);
        free(text);
        trace_file_drop(f);
        return NULL;
    }
    fprintf(f->file, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":%s,\n\"traceEvents\":[\n", text);
    free(text);
    return f;
}

static void free_names(struct trace_file *f)
{
    for (int i = 0; i < TRACE_NAMES; i++) {
        free(f->names[i]);
        f->names[i] = NULL;
    }
}

void trace_file_drop(struct trace_file *f)
{
    if (!f)
        return;
    free_names(f);
    if (f->file) {
        fclose(f->file);
        unlink(f->fresh);
    }
    free(f);
}

bool trace_file_close(struct trace_file *f, long *bytes, struct error *e)
{
    struct stat about = {0};
    fputs("\n]}\n", f->file);
    bool ok = fflush(f->file) == 0 && !ferror(f->file) && fsync(fileno(f->file)) == 0 &&
              fstat(fileno(f->file), &about) == 0 && rename(f->fresh, f->path) == 0;
    if (!ok)
        error_errno(e, ERROR_FAILED, "%s cannot be written", f->path);
    *bytes = (long)about.st_size;
    if (ok) {
        fclose(f->file);
        f->file = NULL;
    }
    trace_file_drop(f);
    return ok;
}

/* --- events --- */

static void next_line(struct trace_file *f)
{
    if (f->begun)
        fputs(",\n", f->file);
    f->begun = true;
}

static void put_time(FILE *to, const char *key, int64_t ns)
{
    int64_t size = ns < 0 ? -ns : ns;
    fprintf(to, ",\"%s\":%s%lld.%03lld", key, ns < 0 ? "-" : "", (long long)(size / 1000),
            (long long)(size % 1000));
}

static void put_span(struct trace_file *f, int rank, int row, const struct trace_span *s)
{
    FILE *to = f->file;
    next_line(f);
    if (s->kind == TRACE_HOP)
        fprintf(to, "{\"name\":\"%s %d\"", s->sent ? "send to" : "receive from", s->peer);
    else if (s->name >= 0 && s->name < TRACE_NAMES && f->names[s->name])
        fprintf(to, "{\"name\":%s", f->names[s->name]);
    else
        fprintf(to, "{\"name\":\"%s\"", trace_kind_title((enum trace_kind)s->kind));
    fprintf(to, ",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d",
            trace_kind_name((enum trace_kind)s->kind), rank, row);
    put_time(to, "ts", s->t0);
    put_time(to, "dur", s->t1 - s->t0);
    fprintf(to, ",\"args\":{\"step\":%d", s->step);
    if (s->kind == TRACE_HOP)
        fprintf(to, ",\"round\":%d,\"chunk\":%d", s->bucket, s->chunk);
    else if (s->bucket >= 0)
        fprintf(to, ",\"bucket\":%d", s->bucket);
    if (s->bytes >= 0)
        fprintf(to, ",\"bytes\":%lld", (long long)s->bytes);
    if (s->algo >= 0 && s->algo < TRACE_NAMES && f->names[s->algo])
        fprintf(to, ",\"algo\":%s", f->names[s->algo]);
    fputs("}}", to);
}

static void put_row_name(struct trace_file *f, int rank, int row, const char *name)
{
    next_line(f);
    fprintf(
        f->file,
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n"
        "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"sort_index\":%d}}",
        rank, row, name, rank, row, row);
}

static void put_rank_name(struct trace_file *f, int rank)
{
    next_line(f);
    fprintf(
        f->file,
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"rank %d\"}},\n"
        "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}",
        rank, rank, rank, rank);
}

/* --- one rank --- */

/* By rank 0's clock. The clocks drift by far less than one part in two, so order is kept. */
static int64_t aligned(const struct trace_clock *c, int64_t t)
{
    double span = (double)(c->at[1] - c->at[0]), drift = c->offset_s[1] - c->offset_s[0], share = 1;
    if (span > 0 && fabs(drift) * 1e9 < span / 2)
        share = fmin(1, fmax(0, (double)(t - c->at[0]) / span));
    return t - llround(1e9 * (c->offset_s[0] + share * drift));
}

/* By row, then in time, the outer one of two that begin together first. Hops come last. */
static int in_order(const void *a, const void *b)
{
    const struct trace_span *x = a, *y = b;
    int row_x = x->kind == TRACE_HOP ? TRACE_LANES : x->lane,
        row_y = y->kind == TRACE_HOP ? TRACE_LANES : y->lane;
    if (row_x != row_y)
        return row_x - row_y;
    if (x->t0 != y->t0)
        return x->t0 < y->t0 ? -1 : 1;
    if (x->t1 != y->t1)
        return x->t1 > y->t1 ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind); /* the kinds are named from the outside in */
}

static void put_idle(struct trace_file *f, int rank, int row, int64_t from, int64_t to, int step)
{
    struct trace_span idle = {.t0 = from,
                              .t1 = to,
                              .kind = TRACE_IDLE,
                              .name = -1,
                              .algo = -1,
                              .bytes = -1,
                              .bucket = -1,
                              .step = step};
    if (to - from > GAP_NS)
        put_span(f, rank, row, &idle);
}

/* A thread's spans, in order. An inner one ends with the one around it at the latest. begin, end: of the trace. */
static void put_lane(struct trace_file *f, int rank, int row, struct trace_span *spans, int n, int64_t begin,
                     int64_t end)
{
    int64_t ends[DEPTH], cursor = begin;
    int depth = 0, step = n ? spans[0].step : 0;
    for (int i = 0; i < n; i++) {
        struct trace_span *s = &spans[i];
        while (depth > 0 && ends[depth - 1] <= s->t0)
            depth--;
        if (depth == 0)
            put_idle(f, rank, row, cursor, s->t0, step);
        else if (s->t1 > ends[depth - 1])
            s->t1 = ends[depth - 1];
        put_span(f, rank, row, s);
        step = s->step;
        if (depth < DEPTH)
            ends[depth++] = s->t1;
        if (s->t1 > cursor)
            cursor = s->t1;
    }
    put_idle(f, rank, row, cursor, end, step);
}

/* Each into the first row that is free. */
static void put_hops(struct trace_file *f, int rank, const struct trace_span *hops, int n)
{
    int64_t free_at[TRACE_HOP_ROWS];
    int rows = 0;
    for (int i = 0; i < n; i++) {
        int row = 0;
        while (row < rows && free_at[row] > hops[i].t0)
            row++;
        if (row == TRACE_HOP_ROWS)
            continue;
        if (row == rows) {
            char name[32];
            snprintf(name, sizeof name, "transfers %d", ++rows);
            put_row_name(f, rank, TRACE_LANES + row, name);
        }
        put_span(f, rank, TRACE_LANES + row, &hops[i]);
        free_at[row] = hops[i].t1;
    }
}

/* Where the steps begin and end; without any, the spans. */
static void window(const struct trace_span *spans, int n, int64_t *begin, int64_t *end)
{
    bool steps = false;
    *begin = n ? spans[0].t0 : 0;
    *end = *begin;
    for (int i = 0; i < n; i++) {
        bool step = spans[i].kind == TRACE_STEP;
        if (step && !steps)
            *begin = spans[i].t0, *end = spans[i].t1;
        steps |= step;
        if (steps && !step)
            continue;
        *begin = spans[i].t0 < *begin ? spans[i].t0 : *begin;
        *end = spans[i].t1 > *end ? spans[i].t1 : *end;
    }
}

static void quote_names(struct trace_file *f, const struct trace_head *head, const char (*names)[TRACE_NAME])
{
    free_names(f);
    for (int i = 0; i < head->names && i < TRACE_NAMES; i++) {
        json_t *text = json_stringn(names[i], strnlen(names[i], TRACE_NAME - 1));
        f->names[i] = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL; /* no UTF-8: the kind's title */
        json_decref(text);
    }
}

bool trace_file_add(struct trace_file *f, int rank, const struct trace_head *head,
                    const char (*names)[TRACE_NAME], struct trace_span *spans, struct error *e)
{
    int n = 0;
    int64_t begin, end;
    for (int i = 0; i < head->spans; i++) { /* steps that every rank has */
        spans[n] = spans[i];
        if (spans[i].step < f->about->first_step || spans[i].step > f->about->last_step)
            continue;
        spans[n].t0 = aligned(&f->about->clocks[rank], spans[n].t0);
        spans[n].t1 = aligned(&f->about->clocks[rank], spans[n].t1);
        n++;
    }
    qsort(spans, (size_t)n, sizeof *spans, in_order);
    window(spans, n, &begin, &end);
    quote_names(f, head, names);
    put_rank_name(f, rank);
    int at = 0;
    for (int lane = 0; lane < TRACE_LANES; lane++) {
        int first = at;
        while (at < n && spans[at].kind != TRACE_HOP && spans[at].lane == lane)
            at++;
        if (at == first)
            continue;
        put_row_name(f, rank, lane, head->lanes[lane]);
        put_lane(f, rank, lane, spans + first, at - first, begin, end);
    }
    put_hops(f, rank, spans + at, n - at);
    return !ferror(f->file) || error_errno(e, ERROR_FAILED, "%s cannot be written", f->path);
}
