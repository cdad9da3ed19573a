/*
 * block_sim.c - the block that simulates allreduce here and now: algorithms over numbers of ranks or sizes of buffer.
 *
 *     ```sim ring-or-tree
 *     algos: ring, tree
 *     ranks: 2 4 8 16 32              several ranks, or
 *     bytes: 373288                   several sizes, or one of each
 *     bandwidth: 10Gb/s               with latency and topology ("switch"), or
 *     cluster: gigabit                a cluster by name
 *     ```
 *
 * One case takes the simulator's closed form where there is one, else its rounds, so it is computed in the program
 * itself, a few at each tick. A screen that shows its results says that they are simulated.
 */
#include "cluster-sim/collective.h"
#include "cluster-sim/platform_lua.h"
#include "engine/base/timing.h"
#include "engine/base/units.h"
#include "tui/app.h"
#include "tui/block_kind.h"
#include "tui/options.h"
#include "tui/plot.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 16, ALGOS = PLOT_MAX_SERIES, MOST_RANKS = 1024, PLOT_ROWS = 10 };

/* Seconds that one tick may spend on simulating. */
#define TICK_S 0.004

enum action { START = 1 };

struct sim_block {
    char *list; /* of the algorithms, cut at its commas */
    const char *algos[ALGOS];
    int algo_count;
    double ranks[CASES], bytes[CASES];
    int ranks_count, bytes_count;
    double bandwidth, latency;
    bool started;
    int done;                       /* cases computed, algorithm by algorithm */
    double time_s[ALGOS][CASES];    /* NaN: it cannot be had */
    char bottleneck[128], why[300]; /* of the last case; why one failed */
};

static const struct key_binding sim_keys[] = {
    {KEY_CODE_ENTER, START, N_("simulate"), N_("simulate it, here and at once")},
    {0, 0, NULL, NULL},
};

/* "2 4 8 16", or sizes. */
static bool numbers(const struct block *b, const char *key, bool size, double most, double *list, int *count,
                    struct error *e)
{
    const char *text = block_text_get(&b->text, key);
    char word[32];
    while (text && *text) {
        int length = (int)strcspn(text, " ");
        char *end;
        size_t bytes;
        snprintf(word, sizeof word, "%.*s", length, text);
        double value = strtod(word, &end);
        if (size && *end && option_size(word, &bytes)) {
            value = (double)bytes;
            end = word + strlen(word);
        }
        if (*end || end == word || !(value >= 1) || value > most || floor(value) != value ||
            *count == CASES || (*count && value <= list[*count - 1]))
            return error_set(e, ERROR_INPUT,
                             "line %d: %s: expected at most %d rising whole numbers to %.0f, got '%s'",
                             block_text_line(&b->text, key), key, CASES, most, word);
        list[(*count)++] = value;
        text += length;
        text += strspn(text, " ");
    }
    if (*count)
        return true;
    return error_set(e, ERROR_INPUT, "line %d: a sim block needs '%s: ...'", b->text.line, key);
}

static bool platform_of(const struct block *b, const struct sim_block *s, int ranks, struct platform *p,
                        struct error *e)
{
    const char *cluster = block_text_get(&b->text, "cluster"),
               *topology = block_text_get(&b->text, "topology");
    if (!cluster)
        return platform_make(p, topology ? topology : "switch", ranks, s->bandwidth, s->latency, e);
    if (!platform_named(cluster, p, e))
        return false;
    int nodes = (ranks + p->per_node - 1) / p->per_node;
    if (ranks <= platform_ranks(p) || platform_resize(p, nodes, e))
        return true;
    platform_free(p);
    return false;
}

static bool simulate(const struct block *b, struct sim_block *s, const char *algo, double ranks, double bytes,
                     double *seconds, struct error *e)
{
    struct platform p = {0};
    struct sim_request request = {.algo = algo, .ranks = (int)ranks, .bytes = bytes, .tier = SIM_CLOSED};
    struct sim_result r = {0};
    if (!platform_of(b, s, (int)ranks, &p, e))
        return false;
    bool ok = sim_collective(&p, &request, &r, NULL);
    if (!ok) {
        request.tier = SIM_ROUNDS;
        ok = sim_collective(&p, &request, &r, e);
    }
    platform_free(&p);
    if (!ok)
        return false;
    *seconds = r.time_s;
    snprintf(s->bottleneck, sizeof s->bottleneck, "%s", r.bottleneck);
    return true;
}

static void sim_close(struct block *b)
{
    struct sim_block *s = b->state;
    free(s->list);
    free(s);
}

static bool network(const struct block *b, struct sim_block *s, struct error *e)
{
    const char *bandwidth = block_text_get(&b->text, "bandwidth"),
               *latency = block_text_get(&b->text, "latency");
    if (block_text_get(&b->text, "cluster"))
        return !(bandwidth || latency) ||
               error_set(e, ERROR_INPUT, "line %d: a cluster brings its own bandwidth and latency",
                         b->text.line);
    if (!bandwidth || !units_rate(bandwidth, &s->bandwidth) || !(s->bandwidth > 0))
        return error_set(e, ERROR_INPUT, "line %d: bandwidth: expected a rate such as 10Gb/s, got '%s'",
                         block_text_line(&b->text, "bandwidth"), bandwidth ? bandwidth : "");
    if (!latency || !units_seconds(latency, &s->latency))
        return error_set(e, ERROR_INPUT, "line %d: latency: expected a time such as 20us, got '%s'",
                         block_text_line(&b->text, "latency"), latency ? latency : "");
    return true;
}

static bool sim_open(struct block *b, struct error *e)
{
    struct sim_block *s = b->state = calloc(1, sizeof *s);
    const char *algos = block_text_get(&b->text, "algos");
    double seconds;
    if (!s || !(s->list = strdup(algos ? algos : "ring")))
        return error_set(e, ERROR_FAILED, "out of memory");
    for (char *rest = s->list, *word; (word = strsep(&rest, ", "));) {
        int index, number;
        struct error inner = {0};
        if (!*word)
            continue;
        if (s->algo_count == ALGOS)
            return error_set(e, ERROR_INPUT, "line %d: algos: more than %d",
                             block_text_line(&b->text, "algos"), ALGOS);
        if (!schedule_algo_parse(word, &index, &number, &inner))
            return error_set(e, ERROR_INPUT, "line %d: algos: %s", block_text_line(&b->text, "algos"),
                             inner.text);
        s->algos[s->algo_count++] = word;
    }
    if (!numbers(b, "ranks", false, MOST_RANKS, s->ranks, &s->ranks_count, e) ||
        !numbers(b, "bytes", true, 1e12, s->bytes, &s->bytes_count, e) || !network(b, s, e))
        return false;
    if (s->ranks_count > 1 && s->bytes_count > 1)
        return error_set(e, ERROR_INPUT, "line %d: either several ranks or several bytes", b->text.line);
    /* One case tells whether cluster and topology fit. */
    struct error inner = {0};
    if (!simulate(b, s, s->algos[0], s->ranks[s->ranks_count - 1], s->bytes[0], &seconds, &inner))
        return error_set(e, ERROR_INPUT, "line %d: %s", b->text.line, inner.text);
    return true;
}

static int cases(const struct sim_block *s)
{
    return s->ranks_count > s->bytes_count ? s->ranks_count : s->bytes_count;
}

static bool finished(const struct sim_block *s)
{
    return s->started && s->done == s->algo_count * cases(s);
}

static bool sim_tick(struct block *b, double now)
{
    struct sim_block *s = b->state;
    double until = timing_now() + TICK_S;
    bool changed = false;
    (void)now;
    while (s->started && !finished(s) && (!changed || timing_now() < until)) {
        int algo = s->done / cases(s), i = s->done % cases(s);
        struct error e = {0};
        double *time = &s->time_s[algo][i];
        if (!simulate(b, s, s->algos[algo], s->ranks[s->ranks_count > 1 ? i : 0],
                      s->bytes[s->bytes_count > 1 ? i : 0], time, &e)) {
            *time = NAN;
            snprintf(s->why, sizeof s->why, "%.30s: %.250s", s->algos[algo], e.text);
        }
        s->done++;
        changed = true;
    }
    return changed;
}

static bool sim_start(struct block *b, struct error *e)
{
    struct sim_block *s = b->state;
    (void)e;
    if (!s->started)
        block_keep(b, "simulated");
    s->started = true;
    return true;
}

/* "ring": microseconds at the last case; "everyone/ring": how many times as long. */
static double sim_measure(struct block *b, const char *what)
{
    const struct sim_block *s = b->state;
    double value[2] = {NAN, NAN};
    const char *slash = strchr(what, '/');
    size_t length = slash ? (size_t)(slash - what) : strlen(what);
    if (!finished(s))
        return NAN;
    for (int i = 0; i < s->algo_count; i++) {
        if (strlen(s->algos[i]) == length && !strncmp(s->algos[i], what, length))
            value[0] = s->time_s[i][cases(s) - 1];
        if (slash && !strcmp(s->algos[i], slash + 1))
            value[1] = s->time_s[i][cases(s) - 1];
    }
    return slash ? value[0] / value[1] : value[0] * 1e6;
}

static bool has_algo(const struct sim_block *s, const char *name, size_t length)
{
    for (int i = 0; i < s->algo_count; i++)
        if (strlen(s->algos[i]) == length && !strncmp(s->algos[i], name, length))
            return true;
    return false;
}

static bool sim_measures(const struct block *b, const char *what)
{
    const struct sim_block *s = b->state;
    size_t length = strcspn(what, "/");
    return has_algo(s, what, length) &&
           (!what[length] || has_algo(s, what + length + 1, strlen(what + length + 1)));
}

static char *sim_result(struct block *b)
{
    const struct sim_block *s = b->state;
    char text[600] = "";
    for (int i = 0; finished(s) && i < s->algo_count; i++) {
        char time[32];
        size_t used = strlen(text);
        block_seconds(s->time_s[i][cases(s) - 1], time, sizeof time);
        snprintf(text + used, sizeof text - used, "%s%s %s", i ? ", " : "", s->algos[i],
                 isfinite(s->time_s[i][cases(s) - 1]) ? time : "-");
    }
    return strdup(text);
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* What is simulated: "64 ranks, 1 MiB, 1.25 GB/s and 20 us". */
static void setting(const struct block *b, char *text, size_t size)
{
    const struct sim_block *s = b->state;
    const char *cluster = block_text_get(&b->text, "cluster"),
               *topology = block_text_get(&b->text, "topology");
    char ranks[64], bytes[64], low[24], high[24], net[128], rate[24], latency[24];
    if (s->ranks_count > 1)
        snprintf(ranks, sizeof ranks, _("%.0f to %.0f ranks"), s->ranks[0], s->ranks[s->ranks_count - 1]);
    else
        snprintf(ranks, sizeof ranks, text_plural("%.0f rank", "%.0f ranks", (long)s->ranks[0]), s->ranks[0]);
    units_show_bytes(s->bytes[0], low, sizeof low);
    units_show_bytes(s->bytes[s->bytes_count - 1], high, sizeof high);
    snprintf(bytes, sizeof bytes, s->bytes_count > 1 ? _("%s to %s") : "%s", low, high);
    units_show_rate(s->bandwidth, rate, sizeof rate);
    block_seconds(s->latency, latency, sizeof latency);
    if (cluster)
        snprintf(net, sizeof net, _("cluster %.80s"), cluster);
    else
        snprintf(net, sizeof net, _("%.40s, links of %s and %s"), topology ? topology : "switch", rate,
                 latency);
    snprintf(text, size, _("Allreduce on %s, %s, %s."), ranks, bytes, net);
}

static int sim_rows(struct block *b, int cols)
{
    const struct sim_block *s = b->state;
    char text[400];
    int wanted;
    setting(b, text, sizeof text);
    int rows = wrap_rows(text, cols);
    if (!s->started)
        return rows + wrap_rows(block_waits(b->set, b->index, &wanted)
                                    ? _("It waits for your prediction above.")
                                    : _("Enter simulates it."),
                                cols);
    rows += 1 + (cases(s) > 1 ? PLOT_ROWS : s->algo_count);
    return rows + (*s->why ? wrap_rows(s->why, cols) : 0);
}

/* One case: a bar for each algorithm, as long as it takes. */
static void draw_bars(const struct sim_block *s, struct canvas *c, struct rect in)
{
    double longest = 0;
    int names = 0;
    for (int i = 0; i < s->algo_count; i++) {
        longest = isfinite(s->time_s[i][0]) && i < s->done ? fmax(longest, s->time_s[i][0]) : longest;
        names = text_columns(s->algos[i]) > names ? text_columns(s->algos[i]) : names;
    }
    for (int i = 0; i < s->algo_count && i < in.rows; i++) {
        char time[32] = "";
        canvas_text(c, in.row + i, in.col, names, ROLE_TEXT, 0, s->algos[i]);
        if (i >= s->done || !isfinite(s->time_s[i][0]))
            continue;
        block_seconds(s->time_s[i][0], time, sizeof time);
        int room = in.cols - names - 14;
        gauge_draw(c, in.row + i, in.col + names + 2, room, s->time_s[i][0] / longest, plot_role(i));
        canvas_text_right(c, in.row + i, in.col + in.cols - 10, 10, ROLE_TEXT, ATTR_BOLD, time);
    }
}

static void draw_curves(const struct sim_block *s, struct canvas *c, struct rect in)
{
    struct plot_series series[ALGOS];
    const double *xs = s->ranks_count > 1 ? s->ranks : s->bytes;
    double lo = INFINITY, hi = 0;
    int n = cases(s), count = 0;
    for (int i = 0; i < s->algo_count; i++) {
        int known = s->done - i * n;
        known = known < 0 ? 0 : known > n ? n : known;
        series[count++] = (struct plot_series){
            .name = s->algos[i], .x = xs, .y = s->time_s[i], .count = known, .points = true};
        for (int k = 0; k < known; k++)
            if (isfinite(s->time_s[i][k]))
                lo = fmin(lo, s->time_s[i][k]), hi = fmax(hi, s->time_s[i][k]);
    }
    if (!(hi > 0))
        return;
    struct axis x = {.unit = s->ranks_count > 1 ? AXIS_NUMBER : AXIS_BYTES, .log = true, .twos = true};
    struct axis y = {.unit = AXIS_SECONDS, .log = hi / lo > 8, .zero = hi / lo <= 8};
    axis_fit(&x, xs[0], xs[n - 1]);
    axis_fit(&y, lo, hi);
    plot_draw(c, in,
              &(struct plot){.series = series,
                             .count = count,
                             .x = &x,
                             .y = &y,
                             .x_label = s->ranks_count > 1 ? _("ranks") : _("buffer")});
}

static void sim_draw(struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct sim_block *s = b->state;
    char text[400];
    int wanted;
    if (focused) {
        c->cursor_row = in.row;
        c->cursor_col = in.col;
    }
    setting(b, text, sizeof text);
    block_sentence(c, &in, ROLE_TEXT, 0, text);
    if (!s->started) {
        bool waits = block_waits(b->set, b->index, &wanted);
        block_sentence(c, &in, ROLE_MUTED, 0,
                       waits ? _("It waits for your prediction above.") : _("Enter simulates it."));
        return;
    }
    rect_cut_rows(&in, 1);
    struct rect figure = rect_cut_rows(&in, cases(s) > 1 ? PLOT_ROWS : s->algo_count);
    if (cases(s) > 1)
        draw_curves(s, c, figure);
    else
        draw_bars(s, c, figure);
    if (*s->why)
        block_sentence(c, &in, ROLE_WARN, 0, s->why);
}

static int sim_plain(struct block *b, struct canvas *c, struct rect in)
{
    int before = in.rows;
    char text[400];
    const char *title = block_text_get(&b->text, "title");
    snprintf(text, sizeof text, _("Simulate: %s"), title ? title : "");
    block_sentence(c, &in, ROLE_ACCENT, ATTR_BOLD, text);
    in.col += 2;
    in.cols -= 2;
    setting(b, text, sizeof text);
    block_sentence(c, &in, ROLE_TEXT, 0, text);
    return before - in.rows;
}

static bool sim_act(struct block *b, struct app *app, int action)
{
    struct error e = {0};
    (void)action;
    if (!block_start(b->set, b->index, &e))
        app_message(app, ROLE_WARN, "%s", e.text);
    return true;
}

static enum role sim_status(const struct block *b, char *text, size_t size)
{
    (void)b;
    snprintf(text, size, "%s", _("simulated"));
    return ROLE_WARN;
}

const struct block_class block_sim_class = {
    .label = N_("Simulation"),
    .open = sim_open,
    .close = sim_close,
    .rows = sim_rows,
    .draw = sim_draw,
    .plain = sim_plain,
    .keys = sim_keys,
    .act = sim_act,
    .tick = sim_tick,
    .result = sim_result,
    .start = sim_start,
    .measure = sim_measure,
    .measures = sim_measures,
    .status = sim_status,
};
