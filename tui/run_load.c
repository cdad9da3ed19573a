/*
 * run_load.c - reads a run into its model: as it grows, and a long one that has been written already by its ends first.
 *
 * A long run is opened twice. The model that is shown has read the beginning, the end and a line here and there, and
 * follows the end. Another one reads everything, a slice a poll; when it arrives at the end it takes the first one's
 * place. Nothing is estimated: what is shown meanwhile are events of the run, only fewer of them.
 */
#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/timing.h"
#include "engine/spec/model.h"
#include "tui/run_fold.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG_BYTES = 4 << 20,   /* a file from this size on is opened by its ends */
    HEAD_BYTES = 64 << 10,  /* read of its beginning: the run event, the first steps */
    TAIL_BYTES = 256 << 10, /* and of its end */
    PROBES = 400,           /* lines between, spread evenly */
    PROBE_BYTES = 4 << 10,
    LINES_A_LOOK = 64, /* between two looks at the clock */
};
#define SLICE_S 0.005 /* a key that comes meanwhile waits no longer than this */

/* Of a model, or of both that make a gan; NaN: it is neither. */
static double parameters_of(const json_t *model)
{
    const json_t *generator = json_object_get(model, "generator");
    struct model_spec spec;
    if (generator)
        return parameters_of(generator) + parameters_of(json_object_get(model, "discriminator"));
    if (!model_from_json(model, &spec, NULL))
        return NAN;
    double parameters = (double)spec.parameters;
    model_free(&spec);
    return parameters;
}

/* What the job alone tells: parameters, and how many steps there will be. */
static void facts_of_job(struct run_model *m)
{
    const struct job *job = &m->job;
    m->ranks = job->ranks;
    if (job->kind == JOB_SIM) {
        m->ranks = job->sim.world_size;
        m->total_steps = job->sim.steps;
        m->parameters = parameters_of(job->sim.layers);
    }
    if (job->kind != JOB_TRAIN)
        return;
    if (job->train.layers)
        m->parameters = parameters_of(job->train.layers);
    /* The embedded data set has 60 000 training images; a short last batch is dropped. */
    long global = (long)job->train.batch * job->ranks;
    if (job->train.epochs > 0 && !strcmp(job->train.data, "mnist") && global > 0)
        m->total_steps = 60000 / global * job->train.epochs;
    if (job->train.steps > 0 && (m->total_steps == 0 || job->train.steps < m->total_steps))
        m->total_steps = job->train.steps;
}

bool run_model_open(struct run_model *m, const char *run, struct error *e)
{
    run_model_init(m);
    if (!run || !*run)
        return error_set(e, ERROR_INPUT, "no run was named; 'ringside runs' lists them");
    if (!rundir_find(run, m->dir, e))
        return false;
    const char *slash = strrchr(m->dir, '/');
    snprintf(m->id, sizeof m->id, "%.255s", slash && slash[1] ? slash + 1 : m->dir);
    m->reader = run_reader_open(m->dir, e);
    if (!m->reader)
        return false;
    if (job_load(&m->job, m->dir, NULL)) {
        m->have_job = true;
        facts_of_job(m);
    }
    return true;
}

/* --- a long run's ends, and probes between ------------------------------------------------------------------------ */

/* Takes in the whole lines of a piece of the file; `steps`: only the first line that tells a step. */
static void take_piece(struct run_model *m, char *text, size_t length, bool from_start, bool one_step)
{
    char *p = text, *end = text + length;
    if (!from_start) { /* the first line may be a torn one */
        char *newline = memchr(p, '\n', length);
        p = newline ? newline + 1 : end;
    }
    for (char *newline; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
        struct event_record record;
        size_t n = (size_t)(newline - p);
        if (!one_step) {
            run_model_apply_line(m, p, n);
            continue;
        }
        if (event_scan(p, n, &record) && any_is(&(struct event_any){.record = &record}, "step")) {
            run_fold_plain(m, &record);
            return;
        }
    }
}

static void take_ends(struct run_model *m, off_t size)
{
    char *text = malloc(HEAD_BYTES);
    int fd = file_open(run_reader_path(m->reader), 0, NULL);
    off_t tail = size - TAIL_BYTES;
    ssize_t n;
    if (text && fd >= 0) {
        if ((n = pread(fd, text, HEAD_BYTES, 0)) > 0)
            take_piece(m, text, (size_t)n, true, false);
        for (int i = 1; i <= PROBES; i++) {
            off_t at = HEAD_BYTES + (tail - HEAD_BYTES - PROBE_BYTES) / PROBES * i;
            if ((n = pread(fd, text, PROBE_BYTES, at)) > 0)
                take_piece(m, text, (size_t)n, false, true);
        }
    }
    if (fd >= 0)
        close(fd);
    free(text);
    run_reader_seek(m->reader, tail);
}

bool run_model_open_quickly(struct run_model *m, const char *run, struct error *e)
{
    if (!run_model_open(m, run, e))
        return false;
    off_t size = run_reader_size(m->reader);
    if (size < LONG_BYTES)
        return true;
    struct run_model *exact = malloc(sizeof *exact);
    if (!exact || !run_model_open(exact, m->dir, NULL)) {
        free(exact); /* then it is read from its beginning, as a short one is */
        return true;
    }
    exact->attached = true; /* it is this model that watches */
    m->exact = exact;
    take_ends(m, size);
    return true;
}

bool run_model_reading(const struct run_model *m, double *share)
{
    *share = 1;
    if (!m->exact)
        return false;
    double size = (double)run_reader_size(m->exact->reader);
    if (size > 0)
        *share = (double)run_reader_offset(m->exact->reader) / size;
    return true;
}

/* --- taking events in ---------------------------------------------------------------------------------------------- */

void run_model_apply(struct run_model *m, const json_t *event)
{
    m->events++;
    run_fold(m, event);
}

bool run_model_apply_plain(struct run_model *m, const char *line, size_t length)
{
    struct event_record record;
    if (!event_scan(line, length, &record) || !run_fold_plain(m, &record))
        return false;
    m->events++;
    return true;
}

bool run_model_apply_line(struct run_model *m, const char *line, size_t length)
{
    if (run_model_apply_plain(m, line, length))
        return true;
    json_t *event = m->reader ? run_reader_event(m->reader, line, length) : event_parse(line, length);
    if (event)
        run_model_apply(m, event);
    json_decref(event);
    return event != NULL;
}

/* Remembers where a step is told; every second entry goes when there is no more room. */
static void note_step(struct run_index *index, double step, off_t offset)
{
    if (!index->step) {
        index->step = calloc(RUN_INDEX_MAX, sizeof *index->step);
        index->offset = calloc(RUN_INDEX_MAX, sizeof *index->offset);
        index->stride = 1;
    }
    if (!index->step || !index->offset || index->seen++ % index->stride != 0)
        return;
    if (index->count == RUN_INDEX_MAX) {
        for (int i = 0; i < RUN_INDEX_MAX / 2; i++) {
            index->step[i] = index->step[2 * i];
            index->offset[i] = index->offset[2 * i];
        }
        index->count /= 2;
        index->stride *= 2;
    }
    index->step[index->count] = step;
    index->offset[index->count++] = offset;
}

/* At most `limit` events (0: any number) and until `deadline` (of timing_now; 0: none); false: nothing more is there. */
static bool take_lines(struct run_model *m, int limit, double deadline, bool *changed)
{
    const char *line;
    size_t length;
    for (int i = 0; limit == 0 || i < limit; i++) {
        if (deadline > 0 && i % LINES_A_LOOK == 0 && timing_now() >= deadline)
            return true;
        off_t at = run_reader_offset(m->reader);
        if (!run_reader_next_line(m->reader, &line, &length))
            return false;
        long samples = m->loss.samples + m->speed.samples;
        *changed |= run_model_apply_line(m, line, length);
        if (!m->exact && m->loss.samples + m->speed.samples != samples)
            note_step(&m->index, (double)m->step, at);
    }
    return true;
}

bool run_model_read_steps(struct run_model *m, off_t offset, double last)
{
    if (m->events == 0)
        run_reader_seek(m->reader, offset);
    double deadline = timing_now() + SLICE_S;
    while (timing_now() < deadline) {
        if (!take_lines(m, LINES_A_LOOK, 0, &(bool){false}) || (double)m->step > last)
            return false;
    }
    return true;
}

/* The model that has read everything takes the place of the one that was shown. */
static void replace(struct run_model *m)
{
    struct run_model *exact = m->exact;
    bool attached = m->attached;
    m->exact = NULL;
    run_model_free(m);
    *m = *exact;
    m->attached = attached;
    free(exact);
}

static bool poll_children(struct run_model *m)
{
    bool changed = false;
    for (int i = 0; i < m->child_count; i++) {
        struct run_child *child = &m->children[i];
        char dir[PATH_MAX];
        struct run_status status;
        if (run_state_ended(child->state) || !rundir_find(child->id, dir, NULL) ||
            !run_status_read(dir, &status, NULL))
            continue;
        changed |= status.state != child->state;
        child->state = status.state;
    }
    return changed;
}

bool run_model_poll(struct run_model *m, int limit)
{
    if (!m->reader)
        return false;
    bool changed = false;
    if (m->exact && !take_lines(m->exact, 0, timing_now() + SLICE_S, &(bool){false})) {
        replace(m);
        changed = true;
    }
    bool ended = run_state_ended(m->status.state); /* before the lines are read: then `done` is among them */
    long skipped = run_reader_skipped(m->reader);
    bool more = take_lines(m, limit, 0, &changed);
    bool cut = ended && !more && m->status.state == RUN_DONE && !m->done;
    changed |= cut != m->cut || run_reader_skipped(m->reader) != skipped;
    m->cut = cut;
    if (!m->have_job && job_load(&m->job, m->dir, NULL)) {
        m->have_job = changed = true;
        facts_of_job(m);
    }
    if (!run_state_ended(m->status.state) || !m->events) {
        struct run_status status;
        if (run_status_look(m->dir, &status)) {
            changed |= status.state != m->status.state || status.started != m->status.started;
            m->status = status;
        }
    }
    changed |= poll_children(m);
    if (!m->attached && m->step >= 0 && !run_model_ended(m)) {
        rundir_note_attached(m->dir, m->step);
        m->attached = true;
    }
    return changed;
}
