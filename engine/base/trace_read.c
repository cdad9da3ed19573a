#include "engine/base/trace_read.h"

#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/trace_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_BYTES = 128 << 20, /* a file of ours has some 40 MB at most */
    MAX_ROWS = 32000,
    MAX_TIDS = TRACE_LANES + TRACE_HOP_ROWS,
    MAX_RANKS = 4096,
    DEPTH = 64,
};

#define MAX_US 1e13 /* a run of a hundred days */

/* What is needed while it is read. */
struct reading {
    struct trace_data *d;
    const char *path;
    long line;
    json_t *name_numbers; /* name -> its number */
    int *row_numbers;     /* [rank][tid] -> row, -1: not met yet */
    int event_room;
    struct error *e;
};

static bool refuse(const struct reading *r, const char *what)
{
    return error_set(r->e, ERROR_INPUT,
                     "%s, line %ld: %s: this is no trace that ringside wrote, or it is damaged", r->path,
                     r->line, what);
}

static bool no_memory(const struct reading *r)
{
    return error_set(r->e, ERROR_FAILED, "not enough memory to read %s", r->path);
}

/* --- what it says of itself --- */

static double largest(const json_t *list)
{
    double most = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double x = fabs(json_number_value(json_array_get(list, i)));
        most = isfinite(x) && x > most ? x : most;
    }
    return most;
}

/* Nothing that steers a terminal. */
static void clean_copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    for (char *p = to; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

static bool read_about(struct reading *r, const json_t *about)
{
    struct trace_data *d = r->d;
    long long ranks = event_integer(about, "ranks", 0);
    if (strcmp(event_text(about, "program", ""), "ringside") != 0 || ranks < 1 || ranks > MAX_RANKS)
        return refuse(r, "otherData does not name program and ranks");
    d->ranks = (int)ranks;
    d->first_step = (long)event_integer(about, "first_step", 0);
    d->last_step = (long)event_integer(about, "last_step", 0);
    d->dropped = (long)event_integer(about, "dropped", 0);
    if (d->first_step < 1 || d->last_step < d->first_step || d->last_step > INT32_MAX || d->dropped < 0)
        return refuse(r, "otherData names no steps");
    d->offset_s = largest(json_object_get(about, "offset_s"));
    d->bound_s = largest(json_object_get(about, "bound_s"));
    d->incomplete = json_object_get(about, "incomplete") != NULL;
    clean_copy(d->job, sizeof d->job, event_text(about, "job", ""));
    clean_copy(d->slowed, sizeof d->slowed, event_text(about, "slowed", ""));
    size_t cells = (size_t)d->ranks * MAX_TIDS;
    r->row_numbers = malloc(cells * sizeof *r->row_numbers);
    if (!r->row_numbers)
        return no_memory(r);
    for (size_t i = 0; i < cells; i++)
        r->row_numbers[i] = -1;
    return true;
}

/* --- events --- */

static int kind_named(const char *name)
{
    for (int k = 0; k < TRACE_KINDS; k++)
        if (strcmp(trace_kind_name((enum trace_kind)k), name) == 0)
            return k;
    return -1;
}

/* -1: there is no memory for it. */
static int name_number(struct reading *r, const char *text)
{
    struct trace_data *d = r->d;
    const json_t *known = json_object_get(r->name_numbers, text);
    if (known)
        return (int)json_integer_value(known);
    if (d->name_count % 64 == 0) {
        char **grown = realloc(d->names, (size_t)(d->name_count + 64) * sizeof *grown);
        if (!grown)
            return -1;
        d->names = grown;
    }
    char clean[256];
    clean_copy(clean, sizeof clean, text);
    d->names[d->name_count] = strdup(clean);
    if (!d->names[d->name_count] ||
        json_object_set_new(r->name_numbers, text, json_integer(d->name_count)) != 0)
        return -1;
    return d->name_count++;
}

/* The row of that rank and thread; -1 with the sentence. */
static int row_number(struct reading *r, const json_t *event)
{
    struct trace_data *d = r->d;
    long long rank = event_integer(event, "pid", -1), tid = event_integer(event, "tid", -1);
    if (rank < 0 || rank >= d->ranks || tid < 0 || tid >= MAX_TIDS) {
        refuse(r, "pid and tid are of no rank and thread");
        return -1;
    }
    int *row = &r->row_numbers[rank * MAX_TIDS + tid];
    if (*row >= 0)
        return *row;
    if (d->row_count % 64 == 0) {
        struct trace_row *grown = realloc(d->rows, (size_t)(d->row_count + 64) * sizeof *grown);
        if (!grown || d->row_count >= MAX_ROWS) {
            d->rows = grown ? grown : d->rows;
            no_memory(r);
            return -1;
        }
        d->rows = grown;
    }
    *row = d->row_count++;
    d->rows[*row] = (struct trace_row){.rank = (int)rank, .tid = (int)tid};
    return *row;
}

/* A whole number of [-1, INT32_MAX], -1 where it is not there. */
static int32_t small_number(const json_t *args, const char *key)
{
    long long n = event_integer(args, key, -1);
    return n < 0 || n > INT32_MAX ? -1 : (int32_t)n;
}

static bool add_event(struct reading *r, const json_t *event)
{
    struct trace_data *d = r->d;
    int kind = kind_named(event_text(event, "cat", "")), row = row_number(r, event);
    double ts = event_number(event, "ts", NAN), dur = event_number(event, "dur", NAN);
    if (row < 0)
        return false;
    if (!(fabs(ts) <= MAX_US) || !(dur >= 0 && dur <= MAX_US))
        return refuse(r, "ts and dur are no times");
    if (kind < 0)
        return true;
    if (d->count == r->event_room) {
        int room = r->event_room ? 2 * r->event_room : 1024;
        struct trace_event *grown = realloc(d->events, (size_t)room * sizeof *grown);
        if (!grown)
            return no_memory(r);
        d->events = grown;
        r->event_room = room;
    }
    const json_t *args = json_object_get(event, "args");
    const char *algo = event_text(args, "algo", NULL);
    struct trace_event *made = &d->events[d->count];
    *made = (struct trace_event){.kind = (uint8_t)kind,
                                 .row = (int16_t)row,
                                 .t0 = llround(ts * 1e3),
                                 .bytes = event_integer(args, "bytes", -1),
                                 .step = small_number(args, "step"),
                                 .bucket = small_number(args, "bucket"),
                                 .round = small_number(args, "round"),
                                 .chunk = small_number(args, "chunk"),
                                 .name = name_number(r, event_text(event, "name", "")),
                                 .algo = algo ? name_number(r, algo) : -1};
    made->t1 = made->t0 + llround(dur * 1e3);
    if (made->name < 0 || (algo && made->algo < 0))
        return no_memory(r);
    d->count++;
    return true;
}

static bool take_event(struct reading *r, const json_t *event)
{
    const char *phase = event_text(event, "ph", "");
    if (strcmp(phase, "X") == 0)
        return add_event(r, event);
    if (strcmp(phase, "M") != 0 || strcmp(event_text(event, "name", ""), "thread_name") != 0)
        return *phase || refuse(r, "an event without its phase");
    int row = row_number(r, event);
    if (row < 0)
        return false;
    clean_copy(r->d->rows[row].name, sizeof r->d->rows[row].name,
               event_text(json_object_get(event, "args"), "name", ""));
    return true;
}

/* --- lines --- */

/* Line by line: two that open the file, one that closes it, one for otherData, and the events. */
static bool take_line(struct reading *r, const char *line, size_t n, bool *ended)
{
    static const char about[] = "\"otherData\":";
    if (*ended)
        return refuse(r, "something follows the end");
    if (r->line == 1)
        return strcmp(line, "{\"displayTimeUnit\":\"ms\",") == 0 || refuse(r, "it does not begin as one");
    if (r->line == 3)
        return strcmp(line, "\"traceEvents\":[") == 0 || refuse(r, "expected traceEvents");
    if (r->line > 3 && strcmp(line, "]}") == 0)
        return *ended = true;
    bool of_itself = r->line == 2;
    if (of_itself && strncmp(line, about, sizeof about - 1) != 0)
        return refuse(r, "expected otherData");
    if (of_itself)
        line += sizeof about - 1, n -= sizeof about - 1;
    if (n > 0 && line[n - 1] == ',')
        n--;
    json_t *object = event_parse(line, n);
    if (!object)
        return refuse(r, "expected a JSON object");
    bool ok = of_itself ? read_about(r, object) : take_event(r, object);
    json_decref(object);
    return ok;
}

static bool read_lines(struct reading *r, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    bool ok = true, ended = false;
    while (ok && (n = getline(&line, &room, f)) >= 0) {
        r->line++;
        if (n > 0 && line[n - 1] == '\n')
            line[--n] = 0;
        ok = strlen(line) == (size_t)n ? take_line(r, line, (size_t)n, &ended)
                                       : refuse(r, "it holds a zero byte");
    }
    free(line);
    if (ok && ferror(f))
        return error_errno(r->e, ERROR_FAILED, "%s cannot be read", r->path);
    return ok && (ended || refuse(r, "it ends in the middle"));
}

/* --- order --- */

/* qsort_r: the order of rows. */
static int by_rank(const void *a, const void *b, void *rows)
{
    const struct trace_row *x = (struct trace_row *)rows + *(const int *)a,
                           *y = (struct trace_row *)rows + *(const int *)b;
    return x->rank != y->rank ? x->rank - y->rank : x->tid - y->tid;
}

static int in_order(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    if (x->row != y->row)
        return x->row - y->row;
    if (x->t0 != y->t0)
        return x->t0 < y->t0 ? -1 : 1;
    if (x->t1 != y->t1)
        return x->t1 > y->t1 ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static bool order_rows(struct reading *r)
{
    struct trace_data *d = r->d;
    size_t n = (size_t)d->row_count;
    int *order = calloc(n + 1, sizeof *order), *now = calloc(n + 1, sizeof *now);
    struct trace_row *rows = calloc(n + 1, sizeof *rows);
    bool ok = order && now && rows;
    if (ok) {
        for (int i = 0; i < d->row_count; i++)
            order[i] = i;
        qsort_r(order, n, sizeof *order, by_rank, d->rows);
        for (int i = 0; i < d->row_count; i++) {
            rows[i] = d->rows[order[i]];
            now[order[i]] = i;
        }
        for (int i = 0; i < d->count; i++)
            d->events[i].row = (int16_t)now[d->events[i].row];
        free(d->rows);
        d->rows = rows;
        rows = NULL;
    }
    free(order);
    free(now);
    free(rows);
    return ok || no_memory(r);
}

/* How deep each lies within others of its row, and what of its time is its own. */
static void find_depths(struct trace_event *events, int n)
{
    int open[DEPTH], depth = 0;
    for (int i = 0; i < n; i++) {
        struct trace_event *x = &events[i];
        while (depth > 0 && events[open[depth - 1]].t1 <= x->t0)
            depth--;
        x->depth = (int16_t)depth;
        x->self = x->t1 - x->t0;
        if (depth > 0)
            events[open[depth - 1]].self -= x->self;
        if (depth < DEPTH)
            open[depth++] = i;
    }
    for (int i = 0; i < n; i++)
        if (events[i].self < 0) /* overlapping ones, which we do not write */
            events[i].self = 0;
}

static bool put_in_order(struct reading *r)
{
    struct trace_data *d = r->d;
    if (!order_rows(r))
        return false;
    if (d->count)
        qsort(d->events, (size_t)d->count, sizeof *d->events, in_order);
    for (int i = 0; i < d->count;) {
        struct trace_row *row = &d->rows[d->events[i].row];
        row->first = i;
        while (i < d->count && d->events[i].row == row - d->rows)
            i++;
        row->count = i - row->first;
        find_depths(d->events + row->first, row->count);
    }
    return true;
}

/* --- the whole --- */

static bool read_file(struct reading *r, FILE *f)
{
    struct stat about;
    if (fstat(fileno(f), &about) == 0 && about.st_size > MAX_BYTES)
        return error_set(r->e, ERROR_INPUT, "%s has %lld MB, more than a trace of ringside ever has", r->path,
                         (long long)about.st_size / 1000000);
    r->name_numbers = json_object();
    return r->name_numbers ? read_lines(r, f) && put_in_order(r) : no_memory(r);
}

bool trace_data_read(const char *dir, struct trace_data *d, struct error *e)
{
    char path[PATH_MAX];
    *d = (struct trace_data){0};
    if (!path_join(path, dir, TRACE_FILE, e))
        return false;
    FILE *f = file_stream(path, 0, NULL);
    if (!f)
        return error_errno(e, ERROR_INPUT,
                           "%s cannot be read (a run has one once the steps or operations that it records "
                           "are over, unless it ran with --trace 0)",
                           path);
    struct reading r = {.d = d, .path = path, .e = e};
    bool ok = read_file(&r, f);
    fclose(f);
    json_decref(r.name_numbers);
    free(r.row_numbers);
    if (!ok)
        trace_data_free(d);
    return ok;
}

void trace_data_free(struct trace_data *d)
{
    for (int i = 0; i < d->name_count; i++)
        free(d->names[i]);
    free(d->names);
    free(d->rows);
    free(d->events);
    *d = (struct trace_data){0};
}

const struct trace_row *trace_data_row(const struct trace_data *d, int rank, int tid)
{
    for (int i = 0; i < d->row_count; i++)
        if (d->rows[i].rank == rank && d->rows[i].tid == tid)
            return &d->rows[i];
    return NULL;
}

const char *trace_event_name(const struct trace_data *d, const struct trace_event *event)
{
    return d->names[event->name];
}
