/*
 * plain_cluster.c - a cluster in words: this machine's batch system, a simulated day of its queue, and how much a
 * collective puts on each link of a simulated one.
 */
#include "cluster-sim/platform_lua.h"
#include "engine/base/units.h"
#include "tui/link_load.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/queue_info.h"
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_SHOWN = 30, LINKS_SHOWN = 10, NODES_DEFAULT = 16, PROCS = 4 };

#define BYTES_DEFAULT (100 * 1048576.0)
#define DAY_S 86400.0

/* --- queues ---------------------------------------------------------------------------------------------------- */

static void print_queue(struct plain *p, const struct queue_info *q)
{
    static const char *const states[NODE_STATES] = {N_("free"),    N_("partly used"), N_("used"),
                                                    N_("drained"), N_("down"),        N_("other")};
    plain_print_text(*q->source ? q->source : _("Simulated"), 0, p->utf8, stdout);
    printf(text_plural(": %d node", ": %d nodes", q->node_count), q->node_count);
    for (int i = 0; i < NODE_STATES; i++)
        if (queue_count_nodes(q, (enum node_state)i))
            printf(", %d %s", queue_count_nodes(q, (enum node_state)i), _(states[i]));
    puts("");
    if (!q->job_count)
        puts(_("No job runs or waits."));
    else
        printf("\n%-10s %-10s %-14s %-10s %5s  %s\n", _("job"), _("user"), _("name"), _("state"), _("CPUs"),
               _("time; or why it waits"));
    for (int i = 0; i < q->job_count && i < JOBS_SHOWN; i++) {
        const struct queue_job *job = &q->jobs[i];
        printf("%-10s %-10s %-14s %-10s %5d  %s\n", job->id, job->user, job->name, job->state, job->cpus,
               *job->reason && !job->running ? job->reason : job->time);
    }
    if (q->job_count > JOBS_SHOWN)
        printf(_("... and %d more.\n"), q->job_count - JOBS_SHOWN);
    if (q->left_out)
        printf(_("%d lines were not understood and are left out.\n"), q->left_out);
}

static void real_queue(struct plain *p)
{
    struct queue_info q = {0};
    struct error e = {0};
    if (queue_ask(&q, &e))
        print_queue(p, &q);
    else
        plain_error(&e);
    queue_info_free(&q);
}

static void simulated_queue(struct plain *p)
{
    char answer[PLAIN_LINE];
    struct error e = {0};
    struct simulated_queue *s = simulated_queue_new(NODES_DEFAULT, PROCS, "easy", &e);
    if (!s) {
        plain_error(&e);
        return;
    }
    printf(_("Simulated: a day of jobs on %d nodes of %d processors, EASY backfilling. %.0f %% of them are "
             "used, a "
             "job waits %.0f min in the mean.\n"),
           NODES_DEFAULT, PROCS, 100 * simulated_queue_utilisation(s), simulated_queue_mean_wait(s) / 60);
    while (!p->ended) {
        struct queue_info q = {0};
        plain_ask_line(p, _("at which hour, 0 to 24? Enter: back"), answer);
        if (p->ended || !*answer)
            break;
        char *end;
        double hour = strtod(answer, &end);
        if (end == answer || *end || !(hour >= 0 && hour <= 24))
            plain_not_understood(answer);
        else if (simulated_queue_at(s, hour * DAY_S / 24, &q, &e))
            print_queue(p, &q);
        else
            plain_error(&e);
        queue_info_free(&q);
    }
    simulated_queue_free(s);
}

/* --- links ----------------------------------------------------------------------------------------------------- */

static void print_load(const struct link_load *l)
{
    char text[96], bytes[32];
    int links[LINKS_SHOWN], count = link_load_busiest(l, links, LINKS_SHOWN);
    units_show_seconds(l->time_s, text, sizeof text);
    units_show_bytes(l->sum_bytes, bytes, sizeof bytes);
    printf(_("Simulated: %s over %s on %d ranks of %s takes %s.\n"), l->asked.algo, bytes, l->ranks,
           l->asked.cluster, text);
    printf("%s\n\n%-40s %12s %6s\n", l->why, _("the busiest links"), _("bytes"), _("busy"));
    for (int i = 0; i < count; i++) {
        platform_link_name(&l->platform, links[i], text, sizeof text);
        units_show_bytes(l->bytes[links[i]], bytes, sizeof bytes);
        printf("%-40s %12s %4.0f %%\n", text, bytes, 100 * link_load_share(l, links[i]));
    }
}

/* "teaching ring 16 100MiB" -> its parts; what is not said keeps its default. */
static bool parse(const char *answer, struct link_question *q)
{
    char ranks[16] = "", bytes[16] = "";
    *q = (struct link_question){.algo = "ring", .bytes = BYTES_DEFAULT};
    if (sscanf(answer, "%63s %31s %15s %15s", q->cluster, q->algo, ranks, bytes) < 1)
        return false;
    if (*ranks)
        q->ranks = (int)plain_number(ranks);
    return q->ranks >= 0 && q->ranks <= LINK_RANKS_MOST && (!*bytes || units_bytes(bytes, &q->bytes)) &&
           q->bytes > 0;
}

static void link_loads(struct plain *p)
{
    char answer[PLAIN_LINE];
    struct error e = {0};
    char **names = platform_names(&e);
    while (!p->ended) {
        struct link_question q;
        struct link_load l = {0};
        printf(_("Clusters:"));
        for (int i = 0; names && names[i]; i++)
            printf("%s %s", i ? "," : "", names[i]);
        puts("");
        plain_ask_line(p, _("which, algorithm, ranks, bytes (teaching ring 16 100MiB); Enter: back"), answer);
        if (p->ended || !*answer)
            break;
        if (!parse(answer, &q))
            printf(_("Expected a cluster, and if you like an algorithm, a number of ranks and a size, not "
                     "'%s'.\n"),
                   answer);
        else if (link_load_make(&l, &q, &e))
            print_load(&l);
        else
            plain_error(&e);
        link_load_free(&l);
    }
    platform_names_free(names);
}

void plain_cluster(struct plain *p)
{
    static const struct plain_choice choices[] = {
        {"m", N_("this machine's batch system: nodes and jobs")},
        {"s", N_("a simulated day of a queue")},
        {"l", N_("the links of a simulated cluster, and what a collective puts on them")},
        {"b", N_("back to the course")},
        {"q", N_("quit")},
        {0},
    };
    char answer[PLAIN_LINE];
    while (!p->ended) {
        plain_ask(p, choices, answer);
        if (!strcmp(answer, "m"))
            real_queue(p);
        else if (!strcmp(answer, "s"))
            simulated_queue(p);
        else if (!strcmp(answer, "l"))
            link_loads(p);
        else if (!strcmp(answer, "b"))
            return;
        else
            plain_not_understood(answer);
    }
}
