#include "tui/compare.h"

#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "tui/axis.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAY_DEPTH = 8 };

const char *run_origin_word(const struct run_model *m)
{
    if (run_model_simulated(m))
        return "simulated";
    if (!strcmp(m->origin, "replay"))
        return "replayed";
    if (!strcmp(m->origin, "byo"))
        return "your program";
    return "measured";
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

/* What says nothing of how the run was made: who asked, what it is called, chance, what is recorded beside it. */
static bool is_aside(const char *name)
{
    static const char *const NAMES[] = {"version", "label",  "parent",           "kind",      "seed", "trace",
                                        "layers",  "resume", "checkpoint_every", "hash_every"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!strcmp(name, NAMES[i]))
            return true;
    return false;
}

static bool add_setting(struct compare_run *run, const char *name, const char *value)
{
    struct compare_setting *grown =
        realloc(run->settings, (size_t)(run->setting_count + 1) * sizeof *run->settings);
    if (!grown)
        return false;
    run->settings = grown;
    struct compare_setting *s = &grown[run->setting_count];
    s->name = strdup(name);
    s->value = strdup(value);
    if (!s->name || !s->value) {
        free(s->name);
        free(s->value);
        return false;
    }
    run->setting_count++;
    return true;
}

/* The members of a JSON object, each as a text. */
static bool add_members(struct compare_run *run, const json_t *object)
{
    const char *name;
    json_t *value;
    bool ok = true;
    json_object_foreach((json_t *)object, name, value)
    {
        if (is_aside(name) || json_is_null(value))
            continue;
        if (json_is_string(value)) {
            const char *text = json_string_value(value);
            ok = ok && add_setting(run, name, *text ? text : "-");
            continue;
        }
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        ok = ok && text && add_setting(run, name, text);
        free(text);
    }
    return ok;
}

static bool add_settings(struct compare_run *run, const struct run_model *m)
{
    char text[64];
    json_t *job = *m->dir ? rundir_read_json(m->dir, "job.json", NULL) : NULL;
    const char *kind = event_text(job, "kind", "?");
    snprintf(text, sizeof text, "%d", run->ranks);
    bool ok = add_setting(run, "ranks", text) && add_setting(run, "kind", kind) &&
              add_setting(run, "origin", run->origin) && add_members(run, json_object_get(job, kind));
    /* What a device was asked for matters less than what it was. */
    for (int i = 0; ok && i < run->setting_count; i++)
        if (!strcmp(run->settings[i].name, "device") && *m->device) {
            char *device = strdup(m->device);
            if (device) {
                free(run->settings[i].value);
                run->settings[i].value = device;
            }
        }
    if (ok && *m->hosts)
        ok = add_setting(run, "hosts", m->hosts);
    json_decref(job);
    return ok;
}

/* Epochs a step, from the first and the last step that were told. */
static double epochs_a_step(const struct run_model *m)
{
    return m->epoch > 0 && m->step > 0 ? m->epoch / (double)m->step : NAN;
}

static double median_speed(const struct run_model *m)
{
    if (!m->speed.count)
        return NAN;
    double *sorted = malloc((size_t)m->speed.count * sizeof *sorted);
    if (!sorted)
        return NAN;
    memcpy(sorted, m->speed.y, (size_t)m->speed.count * sizeof *sorted);
    double median = timing_median(sorted, m->speed.count);
    free(sorted);
    return median;
}

static void take_figures(struct compare_run *run, const struct run_model *m)
{
    for (int i = 0; i < COMPARE_FIGURES; i++)
        run->figure[i] = NAN;
    double speed = m->done && isfinite(m->final_samples_per_s) ? m->final_samples_per_s : median_speed(m);
    double global = NAN;
    if (m->have_job && m->job.kind == JOB_TRAIN)
        global = (double)job_global_batch(&m->job.train, m->ranks > 0 ? m->ranks : 1);
    const struct run_why *step = run_model_why(m, "step"); /* of a simulated run */
    run->figure[COMPARE_SPEED] = speed;
    run->figure[COMPARE_STEP] = step ? step->time_s : global / speed;
    run->figure[COMPARE_EPOCH] = run->figure[COMPARE_STEP] / epochs_a_step(m);
    run->figure[COMPARE_LOSS] =
        m->final_loss; /* both are told by the last event: of what ended otherwise there is none */
    run->figure[COMPARE_ACCURACY] = m->final_accuracy;
    run->figure[COMPARE_WALL] = m->wall_s;
}

static void free_run(struct compare_run *run)
{
    for (int i = 0; i < run->setting_count; i++) {
        free(run->settings[i].name);
        free(run->settings[i].value);
    }
    free(run->settings);
    free(run->cases);
    free(run->recording);
}

/* What a replay plays; of a replay of a replay what that one plays, and so on. NULL: m is none. */
static char *recording_of(const struct run_model *m)
{
    char dir[PATH_MAX];
    bool replay = false;
    snprintf(dir, sizeof dir, "%s", m->dir);
    for (int depth = 0; *dir && depth < REPLAY_DEPTH; depth++) {
        json_t *pace = rundir_read_json(dir, "replay.json", NULL);
        const char *of = event_text(pace, "recording", "");
        if (*of)
            snprintf(dir, sizeof dir, "%s", of);
        replay |= *of != '\0';
        bool end = !*of;
        json_decref(pace);
        if (end)
            break;
    }
    return replay ? strdup(dir) : NULL;
}

static bool take_cases(struct compare_run *run, const struct run_model *m)
{
    if (!m->collective_count)
        return true;
    run->cases = calloc((size_t)m->collective_count, sizeof *run->cases);
    if (!run->cases)
        return false;
    for (int i = 0; i < m->collective_count; i++) {
        const struct run_collective *k = &m->collectives[i];
        struct compare_case *of = &run->cases[run->case_count++];
        char bytes[24];
        format_bytes(k->bytes, bytes, sizeof bytes);
        snprintf(of->name, sizeof of->name, "%s, %s", k->algo, bytes);
        of->time_s = k->time_s;
    }
    return true;
}

static const struct compare_case *case_of(const struct compare_run *run, const char *name)
{
    for (int i = 0; i < run->case_count; i++)
        if (!strcmp(run->cases[i].name, name))
            return &run->cases[i];
    return NULL;
}

const char *compare_case_name(const struct comparison *c, int index)
{
    for (int r = 0; r < c->run_count; r++)
        for (int i = 0; i < c->runs[r].case_count; i++) {
            const char *name = c->runs[r].cases[i].name;
            bool told = case_of(&c->runs[r], name) != &c->runs[r].cases[i];
            for (int before = 0; before < r && !told; before++)
                told = case_of(&c->runs[before], name) != NULL;
            if (!told && index-- == 0)
                return name;
        }
    return NULL;
}

struct interval compare_case_time(const struct comparison *c, int group, const char *name)
{
    struct interval none = {NAN, NAN, 0};
    double *values = calloc((size_t)c->run_count + 1, sizeof *values);
    int n = 0;
    if (!values)
        return none;
    for (int i = 0; i < c->run_count; i++) {
        const struct compare_case *k = case_of(&c->runs[i], name);
        if (c->runs[i].group == group && !c->runs[i].again && k)
            values[n++] = k->time_s;
    }
    struct interval time = interval_of(values, n);
    free(values);
    return time;
}

bool compare_add(struct comparison *c, const struct run_model *m)
{
    struct compare_run *grown = realloc(c->runs, (size_t)(c->run_count + 1) * sizeof *c->runs);
    if (!grown)
        return false;
    c->runs = grown;
    struct compare_run *run = &grown[c->run_count];
    *run = (struct compare_run){.origin = run_origin_word(m), .ranks = m->ranks > 0 ? m->ranks : 1};
    run->state = m->done && !run_state_ended(m->status.state) ? RUN_DONE : m->status.state;
    snprintf(run->id, sizeof run->id, "%s", m->id);
    run->recording = recording_of(m);
    take_figures(run, m);
    if (!add_settings(run, m) || !take_cases(run, m)) {
        free_run(run);
        return false;
    }
    c->run_count++;
    return true;
}

const char *compare_value(const struct compare_run *run, const char *name)
{
    for (int i = 0; i < run->setting_count; i++)
        if (!strcmp(run->settings[i].name, name))
            return run->settings[i].value;
    return "-";
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* The hosts' names without digits, each once: nodes of one kind are called alike but for their numbers. */
static void host_kinds(const char *hosts, char kinds[256])
{
    char names[256], *rest = NULL;
    snprintf(names, sizeof names, "%s", hosts);
    *kinds = '\0';
    for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        char kind[256] = " ";
        size_t length = 1;
        for (; *name; name++)
            if (!isdigit((unsigned char)*name))
                kind[length++] = *name;
        memcpy(kind + length, " ", 2);
        size_t used = strlen(kinds);
        if (!strstr(kinds, kind) && used + length + 2 <= sizeof names)
            memcpy(kinds + used, kind, length + 2);
    }
}

/* Whether two runs share a setting; hosts: where they may be more of one kind. */
static bool shares(const struct compare_run *a, const struct compare_run *b, const char *name, bool kinds)
{
    const char *x = compare_value(a, name), *y = compare_value(b, name);
    char of_x[256], of_y[256];
    if (!kinds || strcmp(name, "hosts") != 0)
        return !strcmp(x, y);
    host_kinds(x, of_x);
    host_kinds(y, of_y);
    return !strcmp(of_x, of_y);
}

/* Whether all settings of a are those of b, but for two that may be left out (NULL: none; else hosts by their kind). */
static bool within(const struct compare_run *a, const struct compare_run *b, const char *left_out,
                   const char *too)
{
    for (int i = 0; i < a->setting_count; i++) {
        const char *name = a->settings[i].name;
        if (left_out && (!strcmp(name, left_out) || (too && !strcmp(name, too))))
            continue;
        if (!shares(a, b, name, left_out != NULL))
            return false;
    }
    return true;
}

static bool alike(const struct compare_run *a, const struct compare_run *b)
{
    return within(a, b, NULL, NULL) && within(b, a, NULL, NULL);
}

static bool one_global_batch(const struct compare_run *a, const struct compare_run *b)
{
    long each = strtol(compare_value(a, "batch"), NULL, 10),
         other = strtol(compare_value(b, "batch"), NULL, 10);
    return each * a->ranks == other * b->ranks;
}

/* Alike but for the ranks: each with its batch as before (weak scaling), or one global batch (strong scaling). */
static bool scales_to(const struct compare_run *a, const struct compare_run *b)
{
    const char *too = one_global_batch(a, b) ? "batch" : NULL;
    return within(a, b, "ranks", too) && within(b, a, "ranks", too);
}

static int by_ranks(const void *a, const void *b)
{
    const struct compare_group *x = a, *y = b;
    return x->ranks != y->ranks ? (x->ranks > y->ranks) - (x->ranks < y->ranks)
                                : (x->first > y->first) - (x->first < y->first);
}

/* Whether a run of its group before it plays the same recording: figures that are the same, not measured again. */
static bool played_before(const struct comparison *c, int run)
{
    const struct compare_run *r = &c->runs[run];
    for (int i = 0; r->recording && i < run; i++)
        if (c->runs[i].group == r->group && c->runs[i].recording &&
            !strcmp(c->runs[i].recording, r->recording))
            return true;
    return false;
}

static bool form_groups(struct comparison *c)
{
    free(c->groups);
    c->group_count = 0;
    c->groups = calloc((size_t)c->run_count + 1, sizeof *c->groups);
    if (!c->groups)
        return false;
    for (int i = 0; i < c->run_count; i++) {
        int g = 0;
        while (g < c->group_count && !alike(&c->runs[c->groups[g].first], &c->runs[i]))
            g++;
        if (g == c->group_count)
            c->groups[c->group_count++] = (struct compare_group){.first = i, .ranks = c->runs[i].ranks};
    }
    qsort(c->groups, (size_t)c->group_count, sizeof *c->groups, by_ranks);
    for (int i = 0; i < c->run_count; i++)
        for (int g = 0; g < c->group_count; g++)
            if (alike(&c->runs[c->groups[g].first], &c->runs[i]))
                c->runs[i].group = g;
    for (int i = 0; i < c->run_count; i++) {
        struct compare_run *run = &c->runs[i];
        run->again = played_before(c, i);
        c->groups[run->group].runs += !run->again;
        c->groups[run->group].again += run->again;
    }
    return true;
}

static bool relatives(const struct comparison *c, int a, int b)
{
    return c->groups[a].ranks != c->groups[b].ranks &&
           scales_to(&c->runs[c->groups[a].first], &c->runs[c->groups[b].first]);
}

/* Groups are sorted by ranks: the first relative has the fewest. */
static void find_base(const struct comparison *c, int group, struct compare_group *of)
{
    for (int g = 0; g < c->group_count; g++)
        if (g != group && relatives(c, g, group)) {
            of->base = c->groups[g].ranks < of->ranks ? g : group;
            of->related = true;
            return;
        }
    of->base = group;
    of->related = c->group_count == 1;
}

static bool take_means(struct comparison *c)
{
    double *values = calloc((size_t)c->run_count + 1, sizeof *values);
    if (!values)
        return false;
    for (int g = 0; g < c->group_count; g++)
        for (int f = 0; f < COMPARE_FIGURES; f++) {
            int n = 0;
            for (int i = 0; i < c->run_count; i++)
                if (c->runs[i].group == g && !c->runs[i].again)
                    values[n++] = c->runs[i].figure[f];
            c->groups[g].figure[f] = interval_of(values, n);
        }
    free(values);
    for (int g = 0; g < c->group_count; g++) {
        struct compare_group *group = &c->groups[g];
        find_base(c, g, group);
        const struct compare_group *base = &c->groups[group->base];
        struct interval ratio = {1, NAN, group->figure[COMPARE_SPEED].n};
        if (group != base)
            ratio = interval_ratio(group->figure[COMPARE_SPEED], base->figure[COMPARE_SPEED]);
        if (!isfinite(group->figure[COMPARE_SPEED].mean) || !group->related)
            ratio.mean = NAN;
        double share = (double)base->ranks / group->ranks;
        group->figure[COMPARE_SPEEDUP] = ratio;
        group->figure[COMPARE_EFFICIENCY] =
            (struct interval){ratio.mean * share, ratio.half * share, ratio.n};
    }
    return true;
}

static void free_differences(struct comparison *c)
{
    for (int i = 0; i < c->difference_count; i++)
        free(c->differences[i]);
    free(c->differences);
    c->differences = NULL;
    c->difference_count = 0;
}

static bool note_difference(struct comparison *c, const char *name)
{
    for (int i = 0; i < c->difference_count; i++)
        if (!strcmp(c->differences[i], name))
            return true;
    char **grown = realloc(c->differences, (size_t)(c->difference_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    c->differences = grown;
    grown[c->difference_count] = strdup(name);
    return grown[c->difference_count] && ++c->difference_count;
}

static bool find_differences(struct comparison *c)
{
    free_differences(c);
    for (int g = 1; g < c->group_count; g++)
        if (c->groups[g].ranks != c->groups[0].ranks && !note_difference(c, "ranks"))
            return false;
    for (int g = 0; g < c->group_count; g++)
        for (int h = 0; h < c->group_count; h++) {
            const struct compare_run *a = &c->runs[c->groups[g].first], *b = &c->runs[c->groups[h].first];
            for (int i = 0; i < a->setting_count; i++)
                if (strcmp(a->settings[i].value, compare_value(b, a->settings[i].name)) != 0 &&
                    !note_difference(c, a->settings[i].name))
                    return false;
        }
    return true;
}

static void add_unlike(const struct compare_run *a, const struct compare_run *b, char *text, size_t size)
{
    for (int i = 0; i < a->setting_count; i++) {
        const char *name = a->settings[i].name;
        char sought[80], there[512];
        snprintf(sought, sizeof sought, " %s,", name);
        snprintf(there, sizeof there, " %s,", text);
        if (!strcmp(name, "ranks") || shares(a, b, name, true) || strstr(there, sought) ||
            (!strcmp(name, "batch") && one_global_batch(a, b)))
            continue;
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

void compare_unlike(const struct comparison *c, int group, char *text, size_t size)
{
    *text = '\0';
    if (c->group_count < 2)
        return;
    const struct compare_run *a = &c->runs[c->groups[group].first],
                             *b = &c->runs[c->groups[group == 0].first];
    add_unlike(a, b, text, size);
    add_unlike(b, a, text, size);
    if (!*text) /* of one kind, but not the same ones */
        snprintf(text, size, "hosts");
}

bool compare_finish(struct comparison *c)
{
    return form_groups(c) && take_means(c) && find_differences(c);
}

void compare_free(struct comparison *c)
{
    if (!c)
        return;
    free_differences(c);
    for (int i = 0; i < c->run_count; i++)
        free_run(&c->runs[i]);
    free(c->runs);
    free(c->groups);
    *c = (struct comparison){0};
}
