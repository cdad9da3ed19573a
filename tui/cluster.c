/*
 * cluster.c - the cluster view: a simulated cluster's links under load, its simulated queue, and the real batch system here.
 *
 * The argument: NULL, a cluster's name or file, "queue" or "real". Simulating and asking the batch system go on in threads of their own;
 * the batch system is asked when its pane is first shown and then at most every QUEUE_REFRESH_S.
 */
#include "cluster-sim/platform_lua.h"
#include "tui/app.h"
#include "tui/axis.h"
#include "tui/background.h"
#include "tui/cluster_view.h"
#include "tui/ring_model.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum pane { PANE_NETWORK, PANE_QUEUE, PANE_REAL, PANES };

enum {
    ACT_PANE = 1,
    ACT_PANE_BACK,
    ACT_CLUSTER,
    ACT_ALGO,
    ACT_ALGO_BACK,
    ACT_BYTES,
    ACT_TRAINING,
    ACT_MORE,
    ACT_FEWER,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_PLAY,
    ACT_POLICY,
    ACT_UP,
    ACT_DOWN,
    ACT_REFRESH
};

#define PANE_KEYS                                                                                            \
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), N_("network, simulated queue, this machine's batch system")},       \
        {KEY_CODE_BACKTAB, ACT_PANE_BACK, NULL, N_("the pane before")},
#define NETWORK_KEYS                                                                                         \
    {'c', ACT_CLUSTER, N_("cluster"), N_("the next cluster of exercises/clusters")},                         \
        {'a', ACT_ALGO, N_("algorithm"), N_("another algorithm or collective")},                             \
        {'A', ACT_ALGO_BACK, NULL, NULL},                                                                    \
        {'m', ACT_TRAINING, N_("training"), N_("a step of training instead of one collective, or back")},    \
        {'n', ACT_MORE, N_("ranks"), N_("twice as many ranks, or half")},                                    \
        {'N', ACT_FEWER, NULL, N_("twice as many ranks, or half")},                                          \
        {'b', ACT_BYTES, NULL, N_("a larger buffer; after the largest, the smallest")},
#define QUEUE_KEYS                                                                                           \
    {KEY_CODE_LEFT, ACT_LEFT, N_("time"), N_("simulated queue: ten minutes earlier or later")},              \
        {KEY_CODE_RIGHT, ACT_RIGHT, N_("time"), N_("simulated queue: ten minutes earlier or later")},        \
        {' ', ACT_PLAY, N_("play"), N_("simulated queue: let time pass, ten minutes a second")},             \
        {'p', ACT_POLICY, N_("policy"), N_("simulated queue: another scheduling policy")},
#define LIST_KEYS                                                                                            \
    {KEY_CODE_UP, ACT_UP, N_("jobs"), N_("queues: earlier or later jobs in the list")},                      \
        {KEY_CODE_DOWN, ACT_DOWN, N_("jobs"), N_("queues: earlier or later jobs in the list")},
#define REAL_KEYS {'u', ACT_REFRESH, N_("update"), N_("ask the batch system again (at most every 30 s)")},

static const struct key_binding cluster_keys[] = {
    PANE_KEYS NETWORK_KEYS QUEUE_KEYS LIST_KEYS REAL_KEYS{0, 0, NULL, NULL}};
static const struct key_binding network_footer[] = {PANE_KEYS NETWORK_KEYS{0, 0, NULL, NULL}};
static const struct key_binding queue_footer[] = {
    PANE_KEYS QUEUE_KEYS LIST_KEYS{'c', ACT_CLUSTER, N_("cluster"), NULL}, {0, 0, NULL, NULL}};
static const struct key_binding real_footer[] = {PANE_KEYS REAL_KEYS LIST_KEYS{0, 0, NULL, NULL}};

static const double BUFFERS[] = {65536, 1048576, 16777216, 104857600, 1073741824};
static const char *const POLICIES[] = {"easy", "fifo", "priority", "fairshare"};
enum { STEP_S = 600, CLUSTERS_MOST = 64 };

/* What a thread works out of a question. */
struct simulating {
    struct link_question asked;
    char policy[16];
    struct link_load load;
    struct simulated_queue *queue;
    char names[CLUSTERS_MOST][64]; /* of all clusters; *names[0]: not asked for */
    int name_count;
    bool ok;
    struct error e;
};

struct asking {
    struct queue_info queue;
    bool ok;
    struct error e;
};

struct view {
    enum pane pane;
    struct link_question asked;
    int policy, buffer;
    char names[CLUSTERS_MOST][64];
    int name_count;
    struct link_load load;
    bool have;
    char why[1100]; /* why there is no picture */
    struct background *work;
    struct simulating *simulating;
    bool again;    /* something else was asked meanwhile */
    bool scripted; /* what is asked is answered at once */

    struct simulated_queue *simulated;
    struct queue_info queue; /* at now_s */
    double now_s, played;
    bool playing;

    struct background *asks;
    struct asking *asking;
    struct queue_info real;
    bool have_real, no_scheduler;
    double asked_at, told_at; /* seconds since the epoch; 0: never */
    char real_why[1100];
    int scroll, room; /* of the list of jobs; how many it showed */
};

/* --- in threads --- */

static void simulate(void *argument)
{
    struct simulating *s = argument;
    if (!s->name_count) {
        char **names = platform_names(&s->e);
        for (int i = 0; names && names[i] && s->name_count < CLUSTERS_MOST; i++)
            snprintf(s->names[s->name_count++], sizeof *s->names, "%.60s", names[i]);
        platform_names_free(names);
    }
    s->ok = link_load_make(&s->load, &s->asked, &s->e);
    if (!s->ok)
        return;
    const struct platform *p = &s->load.platform;
    int procs = p->node.gpus > 0 ? p->node.gpus : p->node.cores > 0 ? p->node.cores : 1;
    s->queue = simulated_queue_new(p->nodes, procs, s->policy, &s->e);
    s->ok = s->queue != NULL;
}

static void release_simulating(void *argument)
{
    struct simulating *s = argument;
    link_load_free(&s->load);
    simulated_queue_free(s->queue);
    free(s);
}

static void ask(void *argument)
{
    struct asking *a = argument;
    a->ok = queue_ask(&a->queue, &a->e);
}

static void release_asking(void *argument)
{
    struct asking *a = argument;
    queue_info_free(&a->queue);
    free(a);
}

/* --- the simulated cluster --- */

static void stand_at(struct view *v, double now_s)
{
    struct error e = {0};
    if (!v->simulated)
        return;
    double end = simulated_queue_end(v->simulated);
    v->now_s = now_s < 0 ? 0 : now_s > end ? end : now_s;
    queue_info_free(&v->queue);
    if (!simulated_queue_at(v->simulated, v->now_s, &v->queue, &e))
        snprintf(v->why, sizeof v->why, "%s.", e.text);
}

static void begin_simulating(struct view *v)
{
    struct error e = {0};
    if (v->work) {
        v->again = true;
        return;
    }
    v->again = false;
    struct simulating *s = calloc(1, sizeof *s);
    if (!s)
        return;
    s->asked = v->asked;
    s->name_count = v->name_count;
    snprintf(s->policy, sizeof s->policy, "%s", POLICIES[v->policy]);
    v->work = (v->scripted ? background_here : background_start)(simulate, release_simulating, s, &e);
    v->simulating = s;
    if (!v->work) {
        free(s);
        snprintf(v->why, sizeof v->why, "%s.", e.text);
    }
}

/* Takes what the thread has worked out. */
static bool take_simulated(struct view *v)
{
    if (!v->work || !background_done(v->work))
        return false;
    struct simulating *s = v->simulating;
    if (!v->name_count) {
        memcpy(v->names, s->names, sizeof v->names);
        v->name_count = s->name_count;
    }
    link_load_free(&v->load);
    v->have = s->ok;
    if (s->ok) {
        v->load = s->load;
        s->load = (struct link_load){0};
        double at = v->simulated ? v->now_s : simulated_queue_end(s->queue) / 3;
        simulated_queue_free(v->simulated);
        v->simulated = s->queue;
        s->queue = NULL;
        stand_at(v, at);
    } else {
        snprintf(v->why, sizeof v->why, "%s.", s->e.text);
    }
    background_free(v->work);
    v->work = NULL;
    if (v->again)
        begin_simulating(v);
    return true;
}

/* --- the real one --- */

static void begin_asking(struct view *v, double now)
{
    struct error e = {0};
    struct asking *a = v->asks ? NULL : calloc(1, sizeof *a);
    if (!a)
        return;
    v->asked_at = now;
    v->asks = (v->scripted ? background_here : background_start)(ask, release_asking, a, &e);
    v->asking = a;
    if (!v->asks)
        free(a);
}

static bool take_answer(struct view *v, double now)
{
    if (!v->asks || !background_done(v->asks))
        return false;
    struct asking *a = v->asking;
    if (a->ok) {
        queue_info_free(&v->real);
        v->real = a->queue;
        a->queue = (struct queue_info){0};
        v->have_real = true;
        v->told_at = now;
        v->real_why[0] = '\0';
    } else {
        v->no_scheduler = a->e.kind == ERROR_MISSING;
        snprintf(v->real_why, sizeof v->real_why, "%s.", a->e.text);
    }
    background_free(v->asks);
    v->asks = NULL;
    return true;
}

/* --- the view --- */

static void show_pane(struct view *v, struct app *app, enum pane pane)
{
    v->pane = pane;
    v->scroll = 0;
    if (pane == PANE_REAL && v->asked_at == 0) {
        begin_asking(v, app_now(app));
        take_answer(v, app_now(app));
    }
}

static void *cluster_open(struct app *app, const char *argument, struct error *e)
{
    struct view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    v->scripted = app_scripted(app);
    v->buffer = 3;
    v->asked = (struct link_question){.cluster = "teaching", .algo = "ring", .bytes = BUFFERS[v->buffer]};
    bool pane = argument && (!strcmp(argument, "real") || !strcmp(argument, "queue"));
    if (argument && *argument && !pane)
        snprintf(v->asked.cluster, sizeof v->asked.cluster, "%s", argument);
    begin_simulating(v);
    take_simulated(v);
    show_pane(v, app, !pane ? PANE_NETWORK : *argument == 'r' ? PANE_REAL : PANE_QUEUE);
    return v;
}

static void cluster_close(void *view)
{
    struct view *v = view;
    background_free(v->work);
    background_free(v->asks);
    link_load_free(&v->load);
    simulated_queue_free(v->simulated);
    queue_info_free(&v->queue);
    queue_info_free(&v->real);
    free(v);
}

static bool cluster_tick(void *view, struct app *app, double now)
{
    (void)app;
    struct view *v = view;
    bool changed = take_simulated(v);
    changed = take_answer(v, now) || changed;
    if (v->pane == PANE_REAL && !v->asks && !v->no_scheduler && now - v->asked_at >= QUEUE_REFRESH_S) {
        begin_asking(v, now);
        changed = true;
    }
    if (v->playing && v->pane == PANE_QUEUE && now - v->played >= 1) {
        v->played = now;
        stand_at(v, v->now_s + STEP_S);
        v->playing = v->now_s < simulated_queue_end(v->simulated);
        changed = true;
    }
    return changed;
}

static void next_cluster(struct view *v)
{
    int at = 0;
    while (at < v->name_count && strcmp(v->names[at], v->asked.cluster) != 0)
        at++;
    if (v->name_count)
        snprintf(v->asked.cluster, sizeof v->asked.cluster, "%s", v->names[(at + 1) % v->name_count]);
    v->asked.ranks = 0;
}

static void next_algo(struct view *v, int by)
{
    int count = 0, at = 0;
    while (ring_schedule_name(count))
        count++;
    while (at < count - 1 && strncmp(ring_schedule_name(at), v->asked.algo, strcspn(v->asked.algo, ":")) != 0)
        at++;
    const char *name = ring_schedule_name((at + count + by) % (count > 0 ? count : 1));
    int per_host = v->have ? v->load.platform.per_node : 1;
    if (!strcmp(name, "hierarchical") && per_host > 1)
        snprintf(v->asked.algo, sizeof v->asked.algo, "%s:%d", name, per_host);
    else
        snprintf(v->asked.algo, sizeof v->asked.algo, "%s", name);
}

static void change_ranks(struct view *v, bool more)
{
    int all = v->have ? platform_ranks(&v->load.platform) : 2, ranks = v->have ? v->load.ranks : 2;
    ranks = more ? 2 * ranks : ranks / 2;
    v->asked.ranks = ranks < 2                     ? 2
                     : ranks > all                 ? all
                     : ranks > 4 * LINK_RANKS_MOST ? 4 * LINK_RANKS_MOST
                                                   : ranks;
}

static void refresh(struct view *v, struct app *app)
{
    double waited = app_now(app) - v->asked_at;
    if (v->pane != PANE_REAL)
        show_pane(v, app, PANE_REAL);
    else if (v->asks)
        app_message(app, ROLE_MUTED, "%s",
                    _("The batch system has been asked already; it has not answered yet."));
    else if (waited < QUEUE_REFRESH_S)
        app_message(app, ROLE_MUTED, _("It was asked %.0f s ago: again in %.0f s, so as not to be a burden."),
                    waited, ceil(QUEUE_REFRESH_S - waited));
    else
        begin_asking(v, app_now(app));
}

static void scroll(struct view *v, int by)
{
    const struct queue_info *q = v->pane == PANE_REAL ? &v->real : &v->queue;
    int most = q->job_count - v->room > 0 ? q->job_count - v->room : 0;
    v->scroll += by;
    v->scroll = v->scroll < 0 ? 0 : v->scroll > most ? most : v->scroll;
}

/* What changes the question; false: this action does not. */
static bool change_question(struct view *v, int action)
{
    switch (action) {
    case ACT_CLUSTER: next_cluster(v); return true;
    case ACT_ALGO: next_algo(v, 1); return true;
    case ACT_ALGO_BACK: next_algo(v, -1); return true;
    case ACT_TRAINING: v->asked.training = !v->asked.training; return true;
    case ACT_MORE: change_ranks(v, true); return true;
    case ACT_FEWER: change_ranks(v, false); return true;
    case ACT_BYTES:
        v->buffer = (v->buffer + 1) % (int)(sizeof BUFFERS / sizeof *BUFFERS);
        v->asked.bytes = BUFFERS[v->buffer];
        return true;
    case ACT_POLICY: v->policy = (v->policy + 1) % (int)(sizeof POLICIES / sizeof *POLICIES); return true;
    default: return false;
    }
}

static void cluster_act(void *view, struct app *app, int action)
{
    struct view *v = view;
    if (change_question(v, action)) {
        begin_simulating(v);
        take_simulated(v);
        return;
    }
    switch (action) {
    case ACT_PANE: show_pane(v, app, (enum pane)((v->pane + 1) % PANES)); break;
    case ACT_PANE_BACK: show_pane(v, app, (enum pane)((v->pane + PANES - 1) % PANES)); break;
    case ACT_LEFT: stand_at(v, v->now_s - STEP_S); break;
    case ACT_RIGHT: stand_at(v, v->now_s + STEP_S); break;
    case ACT_PLAY: v->playing = !v->playing && v->simulated; break;
    case ACT_UP: scroll(v, -1); break;
    case ACT_DOWN: scroll(v, 1); break;
    case ACT_REFRESH: refresh(v, app); break;
    }
}

static void say(struct canvas *c, struct rect area, enum role role, const char *text)
{
    int width = area.cols > 66 ? 66 : area.cols - 2, rows = wrap_rows(text, width);
    wrap_text(c,
              (struct rect){area.row + (area.rows - rows) / 2, area.col + (area.cols - width) / 2, area.rows,
                            width},
              role, 0, text);
}

static void draw_simulated_queue(struct view *v, struct canvas *c, struct rect area)
{
    char head[160], clock[24], wait[24];
    int day = (int)(v->now_s / 86400) + 1, minute = (int)(fmod(v->now_s, 86400) / 60);
    snprintf(clock, sizeof clock, "%02d:%02d", minute / 60, minute % 60);
    format_clock(simulated_queue_mean_wait(v->simulated), wait, sizeof wait);
    snprintf(head, sizeof head, _("Simulated, %s, day %d %s. In all: %.0f%% in use, mean wait %s"),
             POLICIES[v->policy], day, clock, 100 * simulated_queue_utilisation(v->simulated), wait);
    v->room = cluster_draw_queue(&v->queue, head, ROLE_WARN, v->scroll, c, area);
}

static void draw_real_queue(struct view *v, struct app *app, struct canvas *c, struct rect area)
{
    char text[1400];
    if (!v->have_real) {
        if (*v->real_why)
            snprintf(text, sizeof text, _("%s Tab shows a simulated one."), v->real_why);
        else
            snprintf(text, sizeof text, "%s", _("Asking the batch system ..."));
        say(c, area, v->no_scheduler || !*v->real_why ? ROLE_MUTED : ROLE_BAD, text);
        return;
    }
    if (*v->real_why)
        snprintf(text, sizeof text, _("%s, as of %.0f s ago: %s"), v->real.source, app_now(app) - v->told_at,
                 v->real_why);
    else
        snprintf(text, sizeof text, _("%s, as it answered; asked again every %.0f s"), v->real.source,
                 QUEUE_REFRESH_S);
    v->room = cluster_draw_queue(&v->real, text, *v->real_why ? ROLE_BAD : ROLE_TITLE, v->scroll, c, area);
}

static void cluster_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct view *v = view;
    if (area.cols >= 60)
        area = rect_inset(area, 0, 1);
    if (v->pane == PANE_REAL)
        draw_real_queue(v, app, c, area);
    else if (!v->have)
        say(c, area, *v->why ? ROLE_BAD : ROLE_MUTED, *v->why ? v->why : _("Simulating ..."));
    else if (v->pane == PANE_QUEUE)
        draw_simulated_queue(v, c, area);
    else
        cluster_draw_network(&v->load, c, area);
}

static const struct key_binding *cluster_footer(void *view)
{
    const struct view *v = view;
    return v->pane == PANE_NETWORK ? network_footer : v->pane == PANE_QUEUE ? queue_footer : real_footer;
}

static void cluster_title(void *view, char *text, size_t size)
{
    struct view *v = view;
    switch (v->pane) {
    case PANE_NETWORK: snprintf(text, size, _("Cluster %s: network, simulated"), v->asked.cluster); break;
    case PANE_QUEUE: snprintf(text, size, _("Cluster %s: queue, simulated"), v->asked.cluster); break;
    case PANE_REAL:
    case PANES: snprintf(text, size, "%s", _("Cluster: the batch system of this machine")); break;
    }
}

static enum role cluster_status(void *view, char *text, size_t size)
{
    struct view *v = view;
    bool busy = v->pane == PANE_REAL ? v->asks != NULL : v->work != NULL;
    snprintf(text, size, "%s",
             busy                                  ? _("working")
             : v->pane == PANE_QUEUE && v->playing ? _("playing")
             : v->pane == PANE_REAL                ? ""
                                                   : _("simulated"));
    return busy ? ROLE_ACCENT : ROLE_WARN;
}

const struct view_class view_cluster = {
    .name = "cluster",
    .keys = cluster_keys,
    .footer = cluster_footer,
    .open = cluster_open,
    .act = cluster_act,
    .tick = cluster_tick,
    .draw = cluster_draw,
    .title = cluster_title,
    .status = cluster_status,
    .close = cluster_close,
};
