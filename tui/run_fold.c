#include "tui/run_fold.h"

#include "tui/axis.h"
#include "tui/text.h"

#include "engine/base/event.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The weight of a new figure where figures are smoothed: ten events or so are remembered. */
#define SMOOTHING 0.2

static void copy_text(char *out, size_t size, const json_t *event, const char *key)
{
    const char *text = event_text(event, key, NULL);
    if (text)
        snprintf(out, size, "%s", text);
}

static void smooth(double *figure, double value)
{
    if (isfinite(value))
        *figure = isfinite(*figure) ? *figure + SMOOTHING * (value - *figure) : value;
}

/* array: the address of a pointer. Makes room for one more element and returns it, zeroed; NULL: out of memory (the event is left out). */
static void *grow(void *array, int *count, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, (size_t)(*count + 1) * size);
    if (!grown)
        return NULL;
    memcpy(array, &grown, sizeof grown);
    void *element = (char *)grown + (size_t)*count * size;
    memset(element, 0, size);
    ++*count;
    return element;
}

static char *copy(const char *text)
{
    char *made = strdup(text);
    return made ? made : calloc(1, 1);
}

static void add_note(struct run_model *m, double t, enum note_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add_note(struct run_model *m, double t, enum note_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *at = text; *at; at++)
        if (*at == '\t')
            *at = ' '; /* print{} separates by tabs */
    if (m->note_count && !strcmp(m->notes[m->note_count - 1].text, text))
        return;
    char *kept = strdup(text);
    if (!kept)
        return;
    if (m->note_count == RUN_MAX_NOTES) {
        free(m->notes[0].text);
        memmove(m->notes, m->notes + 1, (RUN_MAX_NOTES - 1) * sizeof *m->notes);
        m->note_count--;
    }
    m->notes[m->note_count++] = (struct run_note){t, level, kept};
}

/* "host" or ["a", "b"]. */
static void text_or_list(char *out, size_t size, const json_t *value)
{
    if (json_is_string(value)) {
        snprintf(out, size, "%s", json_string_value(value));
        return;
    }
    size_t i, used = 0;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        if (json_is_string(item) && used < size && (i == 0 || !strstr(out, json_string_value(item))))
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", json_string_value(item));
    }
}

/* How gradients are summed: all in one allreduce where nothing is said. */
static void fold_fusion(struct run_model *m, const struct event_any *event)
{
    any_text(event, "algo", m->algo, sizeof m->algo);
    m->bucket = any_number(event, "bucket", 0);
    m->buckets = (int)any_integer(event, "buckets", 1);
}

static void fold_run(struct run_model *m, const json_t *event)
{
    copy_text(m->origin, sizeof m->origin, event, "origin");
    copy_text(m->device, sizeof m->device, event, "device");
    copy_text(m->mode, sizeof m->mode, event, "mode");
    copy_text(m->tier, sizeof m->tier, event, "tier");
    text_or_list(m->hosts, sizeof m->hosts, json_object_get(event, "hosts"));
    m->ranks = (int)event_integer(event, "ranks", m->ranks);
    m->parameters = event_number(event, "parameters", m->parameters);
    copy_text(m->compress, sizeof m->compress, event, "compress");
    fold_fusion(m, &(struct event_any){.json = event});
    m->total_steps = event_integer(event, "total_steps", event_integer(event, "steps", m->total_steps));
    m->started = true;
}

/* Where the job counts in epochs, the steps it will take follow from how far the epochs are. */
static void estimate_steps(struct run_model *m, long step, double epochs_done)
{
    if (m->total_steps > 0 || !m->have_job || m->job.kind != JOB_TRAIN || m->job.train.epochs < 1)
        return;
    if (epochs_done >= 1)
        m->total_steps = lround((double)step / epochs_done * m->job.train.epochs);
}

/* Series whose samples belong together: none of them gets one where a part is not told (data that cost nothing apart). */
static void add_times(struct run_model *m, double step, double compute, double exposed, double data)
{
    if (!isfinite(compute) && !isfinite(exposed))
        return;
    run_series_add(&m->compute, step, isfinite(compute) ? compute : 0);
    run_series_add(&m->exposed, step, isfinite(exposed) ? exposed : 0);
    run_series_add(&m->data, step, isfinite(data) ? data : 0);
}

static void fold_step(struct run_model *m, const struct event_any *event)
{
    long step = (long)any_integer(event, "step", m->step + 1);
    double t = any_number(event, "t", NAN);
    m->started = true;
    if (m->first_step < 0) {
        m->first_step = step;
        m->t_first_step = t;
    }
    m->step = step;
    m->epoch = any_number(event, "epoch", m->epoch);
    double loss = any_number(event, "loss", NAN), speed = any_number(event, "samples_per_s", NAN);
    double lr = any_number(event, "lr", NAN);
    if (isfinite(loss)) {
        m->last_loss = loss;
        run_series_add(&m->loss, (double)step, loss);
    }
    if (isfinite(speed)) {
        m->samples_per_s = speed;
        run_series_add(&m->speed, (double)step, speed);
    }
    if (isfinite(lr)) {
        m->last_lr = lr;
        run_series_add(&m->lr, (double)step, lr);
    }
    const struct {
        const char *key;
        struct run_series *series;
    } gan[] = {
        {"loss_d", &m->loss_d}, {"loss_g", &m->loss_g}, {"d_real", &m->d_real}, {"d_fake", &m->d_fake}};
    for (size_t i = 0; i < sizeof gan / sizeof *gan; i++) {
        double value = any_number(event, gan[i].key, NAN);
        if (isfinite(value))
            run_series_add(gan[i].series, (double)step, value);
    }
    fold_fusion(m, event);
    m->grad_norm = any_number(event, "grad_norm", m->grad_norm);
    m->sent_bytes = any_number(event, "sent_bytes", NAN);
    m->compress_error = any_number(event, "compress_error", m->compress_error);
    double comm = any_number(event, "comm_s", NAN), exposed = any_number(event, "exposed_comm_s", NAN);
    double compute = any_number(event, "compute_s", NAN), data = any_number(event, "data_s", NAN);
    smooth(&m->compute_s, compute);
    smooth(&m->comm_s, comm);
    smooth(&m->exposed_comm_s, exposed);
    smooth(&m->data_s, data);
    add_times(m, (double)step, compute, isfinite(exposed) ? exposed : comm, data);
    smooth(&m->bubble_s, any_number(event, "bubble_s", NAN));
    smooth(&m->straggler_s, any_number(event, "straggler_s", NAN));
}

static struct run_rank *rank_of(struct run_model *m, int rank)
{
    int at = 0;
    while (at < m->rank_count && m->rank_table[at].rank < rank)
        at++;
    if (at < m->rank_count && m->rank_table[at].rank == rank)
        return &m->rank_table[at];
    if (!grow(&m->rank_table, &m->rank_count, sizeof *m->rank_table))
        return NULL;
    struct run_rank *r = &m->rank_table[at];
    memmove(r + 1, r, (size_t)(m->rank_count - 1 - at) * sizeof *r);
    *r = (struct run_rank){.rank = rank};
    r->samples_per_s = r->compute_s = r->comm_s = r->exposed_comm_s = r->data_s = r->rss_bytes = r->util =
        r->gpu_used_bytes = r->gpu_total_bytes = r->power_w = NAN;
    return r;
}

static void fold_rank(struct run_model *m, const struct event_any *event)
{
    int rank = (int)any_integer(event, "rank", -1);
    if (rank < 0 || rank >= JOB_MAX_RANKS)
        return;
    struct run_rank *r = rank_of(m, rank);
    if (!r)
        return;
    m->started = true;
    any_text(event, "host", r->host, sizeof r->host);
    any_text(event, "device", r->device, sizeof r->device);
    /* Means of the steps since the last report: as they are. */
    r->samples_per_s = any_number(event, "samples_per_s", r->samples_per_s);
    r->compute_s = any_number(event, "compute_s", r->compute_s);
    r->comm_s = any_number(event, "comm_s", r->comm_s);
    r->exposed_comm_s = any_number(event, "exposed_comm_s", r->exposed_comm_s);
    r->data_s = any_number(event, "data_s", r->data_s);
    r->rss_bytes = any_number(event, "rss_bytes", r->rss_bytes);
    r->util = any_number(event, "util", r->util);
    r->gpu_used_bytes = any_number(event, "gpu_used_bytes", r->gpu_used_bytes);
    r->gpu_total_bytes = any_number(event, "gpu_total_bytes", r->gpu_total_bytes);
    r->power_w = any_number(event, "power_w", r->power_w);
    r->straggler = any_true(event, "slow"); /* rank 0 tells (straggler.h) */
}

static void fold_eval(struct run_model *m, const json_t *event)
{
    double step = event_number(event, "step", (double)m->step);
    double accuracy = event_number(event, "accuracy", NAN), loss = event_number(event, "loss", NAN);
    if (isfinite(accuracy))
        run_series_add(&m->eval_accuracy, step, accuracy);
    if (isfinite(loss))
        run_series_add(&m->eval_loss, step, loss);
    char text[24];
    format_loss(loss, text, sizeof text);
    if (run_model_only_tests(m))
        add_note(m, event_number(event, "t", NAN), NOTE_INFO,
                 _("Test accuracy %.2f %%, test loss %s, after %.0f steps."), 100 * accuracy, text, step);
    estimate_steps(m, (long)step, event_number(event, "epoch", NAN));
}

static struct run_op *op_of(struct run_model *m, long op)
{
    for (int i = m->op_count - 1; i >= 0; i--)
        if (m->ops[i].op == op)
            return &m->ops[i];
    if (m->op_count == RUN_MAX_OPS) {
        free(m->ops[0].hops);
        memmove(m->ops, m->ops + 1, (RUN_MAX_OPS - 1) * sizeof *m->ops);
        m->op_count--;
    }
    m->ops[m->op_count] = (struct run_op){.op = op};
    m->ops_seen++;
    return &m->ops[m->op_count++];
}

static void fold_hop(struct run_model *m, const json_t *event)
{
    int from = (int)event_integer(event, "from", -1), to = (int)event_integer(event, "to", -1);
    if (from < 0 || to < 0 || from >= JOB_MAX_RANKS || to >= JOB_MAX_RANKS)
        return;
    struct run_op *op = op_of(m, (long)event_integer(event, "op", 0));
    if (op->count == op->capacity) {
        int capacity = op->capacity ? 2 * op->capacity : 16;
        struct run_hop *hops = realloc(op->hops, (size_t)capacity * sizeof *hops);
        if (!hops)
            return;
        op->hops = hops;
        op->capacity = capacity;
    }
    copy_text(op->algo, sizeof op->algo, event, "algo");
    op->ranks = (int)event_integer(event, "ranks", op->ranks);
    if (from >= op->ranks || to >= op->ranks)
        op->ranks = (from > to ? from : to) + 1;
    const char *phase = event_text(event, "phase", "");
    double t = event_number(event, "t", 0);
    op->hops[op->count++] = (struct run_hop){
        .phase = !strcmp(phase, "reduce_scatter") ? HOP_REDUCE_SCATTER
                 : !strcmp(phase, "allgather")    ? HOP_ALLGATHER
                 : !strcmp(phase, "reduce")       ? HOP_REDUCE
                 : !strcmp(phase, "broadcast")    ? HOP_BROADCAST
                 : !strcmp(phase, "alltoall")     ? HOP_ALLTOALL
                 : !strcmp(phase, "barrier")      ? HOP_BARRIER
                                                  : HOP_OTHER,
        .hop = (int)event_integer(event, "hop", -1),
        .from = from,
        .to = to,
        .chunk = (int)event_integer(event, "chunk", -1),
        .bytes = event_number(event, "bytes", 0),
        .t0 = event_number(event, "t0", t),
        .t1 = event_number(event, "t1", t),
    };
    m->started = true;
}

static void fold_collective(struct run_model *m, const json_t *event)
{
    struct run_collective *c = grow(&m->collectives, &m->collective_count, sizeof *c);
    if (!c)
        return;
    copy_text(c->algo, sizeof c->algo, event, "algo");
    copy_text(c->buffer, sizeof c->buffer, event, "buffer");
    c->bytes = event_number(event, "bytes", NAN);
    c->time_s = event_number(event, "time_s", NAN);
    c->busbw_bytes_per_s = event_number(event, "busbw_bytes_per_s", NAN);
    c->error = event_number(event, "error", NAN);
    c->ranks = (int)event_integer(event, "ranks", m->ranks);
    m->started = true;
}

static void fold_point(struct run_model *m, const json_t *event)
{
    const char *name = event_text(event, "series", "");
    const char *question = event_text(event, "label", NULL);
    if (!strcmp(name, "predicted") && question && !json_object_get(event, "x")) {
        const char *words = event_text(event, "value", NULL); /* "don't know" is an answer, too */
        if (words)
            add_note(m, event_number(event, "t", NAN), NOTE_INFO, _("%s You said: %s."), question, words);
        else
            add_note(m, event_number(event, "t", NAN), NOTE_INFO, _("%s You said %g."), question,
                     event_number(event, "y", NAN));
    }
    /* Series of one name in plots of different titles are different series. */
    const char *title = event_text(event, "title", NULL);
    struct run_points *p = NULL;
    for (int i = 0; i < m->points_count && !p; i++)
        if (!strcmp(m->points[i].name, name) && (!title || !strcmp(m->points[i].title, title)))
            p = &m->points[i];
    if (!p) {
        p = grow(&m->points, &m->points_count, sizeof *p);
        if (!p)
            return;
        snprintf(p->name, sizeof p->name, "%s", name);
    }
    copy_text(p->title, sizeof p->title, event, "title");
    copy_text(p->x_label, sizeof p->x_label, event, "xlabel");
    copy_text(p->y_label, sizeof p->y_label, event, "ylabel");
    const char *label = event_text(event, "label", NULL);
    if (label) {
        free(p->label);
        p->label = strdup(label);
    }
    run_series_add(&p->xy, event_number(event, "x", p->xy.count), event_number(event, "y", NAN));
}

static void fold_check(struct run_model *m, const json_t *event)
{
    struct run_check *c = grow(&m->checks, &m->check_count, sizeof *c);
    if (!c)
        return;
    const char *result = event_text(event, "result", "inconclusive");
    c->result = !strcmp(result, "pass")   ? CHECK_PASS
                : !strcmp(result, "fail") ? CHECK_FAIL
                                          : CHECK_INCONCLUSIVE;
    c->name = copy(event_text(event, "name", "check"));
    c->measured = copy(event_text(event, "measured", ""));
    c->accepted = copy(event_text(event, "accepted", ""));
    c->next = copy(event_text(event, "next", ""));
}

static void fold_case(struct run_model *m, const json_t *event)
{
    struct run_case *k = grow(&m->cases, &m->case_count, sizeof *k);
    if (!k)
        return;
    k->ranks = (int)event_integer(event, "ranks", 0);
    k->length = (long)event_integer(event, "length", 0);
    k->ok = json_is_true(json_object_get(event, "ok"));
    char wrong[80] = "";
    long long right = event_integer(event, "right_ranks", -1);
    if (!k->ok && right >= 0)
        snprintf(wrong, sizeof wrong, _("%lld of %d ranks have the right sum"), right, k->ranks);
    k->error = copy(event_text(event, "deadlock", event_text(event, "error", wrong)));
    m->started = true;
}

static void fold_job(struct run_model *m, const json_t *event)
{
    const char *state = event_text(event, "state", "");
    if (!strcmp(state, "pending"))
        m->queue_position = (int)event_integer(event, "queue_position", event_integer(event, "position", 0));
    for (int s = RUN_PENDING; s <= RUN_LOST; s++)
        if (!m->reader && !strcmp(state, run_state_name((enum run_state)s)))
            m->status.state = (enum run_state)s;
    if (!m->reader)
        copy_text(m->status.reason, sizeof m->status.reason, event, "reason");
}

static void fold_sample(struct run_model *m, const json_t *event)
{
    struct sample taken;
    if (!sample_parse(&taken, event, m->step))
        return;
    if (m->sample_count == RUN_MAX_SAMPLES) {
        sample_free(&m->samples[0]);
        memmove(m->samples, m->samples + 1, (RUN_MAX_SAMPLES - 1) * sizeof *m->samples);
        m->samples[RUN_MAX_SAMPLES - 1] = taken;
        return;
    }
    struct sample *s = grow(&m->samples, &m->sample_count, sizeof *s);
    if (s)
        *s = taken;
    else
        sample_free(&taken);
}

/* "rank 1 on n3 waits for rank 0": waiting_for is a sentence, a rank or a list of ranks. */
static void fold_fault(struct run_model *m, const json_t *event)
{
    double t = event_number(event, "t", NAN);
    const char *text = event_text(event, "text", NULL);
    bool goes_on = !strcmp(event_text(event, "kind", ""), "slow");
    if (text) {
        add_note(m, t, goes_on ? NOTE_WARNING : NOTE_FAULT, "%s", text);
        return;
    }
    static const char *const WORDS[][2] = {
        {"dead", N_("has ended unexpectedly")},
        {"stopped", N_("is stopped and does not answer")},
        {"slow", N_("is much slower than the others")},
        {"stuck", N_("is stuck in the learner's function")},
        {"silent", N_("gives no sign of life")},
        {"mismatch", N_("has other numbers than the others")},
        {"deadlock", N_("waits for ever")},
    };
    const char *kind = event_text(event, "kind", "trouble"), *words = kind;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (!strcmp(kind, WORDS[i][0]))
            words = _(WORDS[i][1]);
    char who[128], waits[256] = "";
    long long rank = event_integer(event, "rank", -1);
    const char *host = event_text(event, "host", NULL);
    if (rank < 0)
        snprintf(who, sizeof who, "%s", _("A rank"));
    else
        snprintf(who, sizeof who, host ? _("Rank %lld on %s") : _("Rank %lld"), rank, host);
    const json_t *waiting = json_object_get(event, "waiting_for");
    if (json_is_string(waiting))
        snprintf(waits, sizeof waits, ": %s", json_string_value(waiting));
    else if (json_is_integer(waiting))
        snprintf(waits, sizeof waits, _("; waiting for rank %lld"), (long long)json_integer_value(waiting));
    add_note(m, t, goes_on ? NOTE_WARNING : NOTE_FAULT, "%s %s%s.", who, words, waits);
}

static void fold_layer(struct run_model *m, const json_t *event)
{
    struct run_layer *l = grow(&m->layers, &m->layer_count, sizeof *l);
    if (!l)
        return;
    copy_text(l->model, sizeof l->model, event, "model");
    copy_text(l->name, sizeof l->name, event, "layer");
    copy_text(l->text, sizeof l->text, event, "text");
    copy_text(l->output, sizeof l->output, event, "output");
    l->parameters = event_number(event, "parameters", 0);
    l->flops = event_number(event, "flops", 0);
    l->backward_flops = event_number(event, "backward_flops", 0);
    l->bytes = event_number(event, "bytes", 0);
    l->output_bytes = event_number(event, "output_bytes", 0);
}

static void fold_note(struct run_model *m, const json_t *event)
{
    const char *level = event_text(event, "level", "info");
    enum note_level l = !strcmp(level, "error")      ? NOTE_ERROR
                        : !strncmp(level, "warn", 4) ? NOTE_WARNING
                                                     : NOTE_INFO;
    add_note(m, event_number(event, "t", NAN), l, "%s", event_text(event, "text", ""));
}

static void fold_explain(struct run_model *m, const json_t *event)
{
    struct run_why *w = grow(&m->whys, &m->why_count, sizeof *w);
    if (!w)
        return;
    copy_text(w->what, sizeof w->what, event, "what");
    w->text = copy(event_text(event, "text", ""));
    w->time_s = event_number(event, "time_s", NAN);
}

static void fold_done(struct run_model *m, const json_t *event)
{
    m->done = true;
    m->ok = json_is_true(json_object_get(event, "ok"));
    m->wall_s = event_number(event, "wall_s", NAN);
    m->final_accuracy = event_number(event, "accuracy", NAN);
    m->final_loss = event_number(event, "loss", NAN);
    m->final_samples_per_s = event_number(event, "samples_per_s", NAN);
    copy_text(m->hash, sizeof m->hash, event, "hash");
    m->efficiency = event_number(event, "efficiency", NAN);
    m->memory_bytes = event_number(event, "memory_bytes", NAN);
}

/* A run of this run's script that failed is a trouble of this one. */
static void fold_nested(struct run_model *m, const json_t *event)
{
    const char *reason = event_text(event, "reason", "");
    if (*reason)
        add_note(m, event_number(event, "t", NAN), NOTE_ERROR, "%s %s: %s", event_text(event, "kind", "run"),
                 event_text(event, "run", "?"), reason);
}

/* A run that names another one (a script's train{}) is remembered as its parent. */
static void fold_child(struct run_model *m, const struct event_any *event)
{
    char id[sizeof m->children->id] = "";
    if (!any_text(event, "run", id, sizeof id) || !*id || !strcmp(id, m->id))
        return;
    for (int i = 0; i < m->child_count; i++)
        if (!strcmp(m->children[i].id, id))
            return;
    struct run_child *child = grow(&m->children, &m->child_count, sizeof *child);
    if (!child)
        return;
    memcpy(child->id, id, sizeof id);
    any_text(event, "label", child->label, sizeof child->label);
}

/* Of a script's runs each may have another link. */
static void fold_slowed(struct run_model *m, const struct event_any *event)
{
    char said[sizeof m->slowed] = "";
    if (!any_text(event, "slowed", said, sizeof said) || !*said)
        return;
    const char *words = said;
    if (*m->slowed && strcmp(m->slowed, words) != 0)
        words = _("slowed on purpose: links of several speeds");
    snprintf(m->slowed, sizeof m->slowed, "%s", words);
}

/* What any event may say. */
static void fold_common(struct run_model *m, const struct event_any *event)
{
    double t = any_number(event, "t", NAN);
    if (isfinite(t) && !(t < m->t_last))
        m->t_last = t;
    fold_child(m, event);
    fold_slowed(m, event);
}

bool run_fold_plain(struct run_model *m, const struct event_record *record)
{
    const struct event_any event = {.record = record};
    bool step = any_is(&event, "step");
    if (!step && !any_is(&event, "rank"))
        return false;
    fold_common(m, &event);
    if (step)
        fold_step(m, &event);
    else
        fold_rank(m, &event);
    return true;
}

void run_fold(struct run_model *m, const json_t *event)
{
    static const struct {
        const char *name;
        void (*fold)(struct run_model *m, const json_t *event);
    } FOLDS[] = {
        {"run", fold_run},         {"eval", fold_eval},
        {"hop", fold_hop},         {"collective", fold_collective},
        {"point", fold_point},     {"check", fold_check},
        {"case", fold_case},       {"job", fold_job},
        {"sample", fold_sample},   {"fault", fold_fault},
        {"note", fold_note},       {"done", fold_done},
        {"layer", fold_layer},     {"nested", fold_nested},
        {"explain", fold_explain},
    };
    const struct event_any any = {.json = event};
    fold_common(m, &any);
    if (event_is(event, "step"))
        fold_step(m, &any);
    else if (event_is(event, "rank"))
        fold_rank(m, &any);
    for (size_t i = 0; i < sizeof FOLDS / sizeof *FOLDS; i++)
        if (event_is(event, FOLDS[i].name)) {
            FOLDS[i].fold(m, event);
            return;
        }
}
