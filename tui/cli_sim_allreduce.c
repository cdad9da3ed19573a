/*
 * cli_sim_allreduce.c - `ringside sim --allreduce ALGO`: how long one collective takes on a simulated cluster, and why.
 */
#include "cluster-sim/collective.h"
#include "cluster-sim/platform_lua.h"
#include "engine/base/event.h"
#include "engine/base/units.h"
#include "engine/spec/collective.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct question {
    char algos[512];  /* as they were asked for, with commas between */
    const char *algo; /* the present one */
    char topology[64], cluster[512], tier_text[16], bandwidth[32], latency[32], add_rate[32], bytes_text[32];
    int ranks;
    double bytes, gamma;
    enum sim_tier tier;
    bool json, hops, explain;
    char chosen[64]; /* the fastest of several, where that was asked for; "" */
    bool ranks_given, topology_given, bandwidth_given, latency_given;
};

static bool rate_of(const char *option, const char *text, double *rate, struct error *e)
{
    if (!units_rate(text, rate) || !(*rate > 0))
        return error_set(
            e, ERROR_INPUT,
            "--%s: expected a rate above 0, in bytes a second or as 10Gb/s or 12.5GB/s, got '%s'", option,
            text);
    return true;
}

static bool seconds_of(const char *option, const char *text, double *seconds, struct error *e)
{
    return units_seconds(text, seconds) ||
           error_set(e, ERROR_INPUT, "--%s: expected a time, in seconds or as 25us, got '%s'", option, text);
}

/* A cluster's own figures stay, unless options say otherwise. */
static bool named_platform(struct question *q, struct platform *p, struct error *e)
{
    json_t *object = platform_description(q->cluster, e);
    bool ok = object != NULL;
    double rate, seconds;
    if (ok && q->bandwidth_given && (ok = rate_of("bandwidth", q->bandwidth, &rate, e)))
        event_set_number(object, "bandwidth", rate);
    if (ok && q->latency_given && (ok = seconds_of("latency", q->latency, &seconds, e)))
        event_set_number(object, "latency", seconds);
    if (ok && q->topology_given)
        event_set_text(object, "topology", q->topology);
    ok = ok && platform_from_json(object, p, e);
    json_decref(object);
    if (!ok)
        return false;
    if (!q->ranks_given)
        q->ranks = platform_ranks(p);
    return true;
}

static bool make_platform(struct question *q, struct platform *p, struct error *e)
{
    double bandwidth, latency;
    if (*q->cluster)
        return named_platform(q, p, e);
    if (!rate_of("bandwidth", q->bandwidth, &bandwidth, e) || !seconds_of("latency", q->latency, &latency, e))
        return false;
    /* A torus is as large as there are ranks; of the others some ports may be empty. */
    bool whole = strncmp(q->topology, "fattree", 7) != 0 && strncmp(q->topology, "dragonfly", 9) != 0;
    if (!platform_make(p, q->topology, whole ? q->ranks : 0, bandwidth, latency, e))
        return false;
    if (q->ranks <= platform_ranks(p))
        return true;
    error_set(
        e, ERROR_INPUT,
        "topology \"%s\" has %d ports, but %d ranks need one each; make its sizes larger, or the ranks fewer",
        q->topology, platform_ranks(p), q->ranks);
    platform_free(p);
    return false;
}

/* "allreduce" and how it goes, or the other collective's name. */
static const char *operation(const struct question *q)
{
    enum collective op = collective_named(q->algo);
    return op == COLLECTIVES ? "allreduce" : collective_name(op);
}

static json_t *collective_event(const struct question *q, const struct platform *p,
                                const struct sim_result *r)
{
    enum collective op = collective_named(q->algo);
    double factor = collective_bus_factor(op == COLLECTIVES ? ALLREDUCE : op, q->ranks);
    json_t *event = event_new("collective", r->time_s);
    event_set_text(event, "origin", "sim");
    event_set_text(event, "op", operation(q));
    event_set_text(event, "algo", *q->chosen ? q->algos : op == COLLECTIVES ? q->algo : collective_algo(op));
    if (*q->chosen)
        event_set_text(event, "chosen", q->chosen);
    event_set_text(event, "tier", sim_tier_name(r->tier));
    json_object_set_new(event, "exact", json_boolean(r->exact));
    event_set_text(event, "topology", p->topology_text);
    event_set_text(event, "cluster", p->name);
    event_set_integer(event, "ranks", q->ranks);
    event_set_number(event, "bytes", q->bytes);
    event_set_number(event, "time_s", r->time_s);
    if (r->time_s > 0) {
        event_set_number(event, "algbw_bytes_per_s", q->bytes / r->time_s);
        event_set_number(event, "busbw_bytes_per_s", q->bytes / r->time_s * factor);
    }
    event_set_integer(event, "rounds", r->rounds);
    event_set_integer(event, "distinct_rounds", r->distinct);
    event_set_number(event, "latency_s", r->latency_s);
    event_set_number(event, "transfer_s", r->transfer_s);
    event_set_number(event, "add_s", r->add_s);
    event_set_text(event, "formula", r->formula);
    event_set_text(event, "bottleneck", r->bottleneck);
    event_set_number(event, "bottleneck_bytes", r->bottleneck_bytes);
    event_set_text(event, "not_modelled", sim_not_modelled);
    if (*r->note)
        event_set_text(event, "note", r->note);
    return event;
}

/* --- hops -------------------------------------------------------------------------------------------------------- */

struct hops {
    const struct question *q;
    struct error e;
    bool failed;
};

static void emit_hop(void *self, const struct transfer *t, double t0, double t1)
{
    struct hops *h = self;
    if (h->failed)
        return;
    json_t *event = event_new("hop", t1);
    event_set_text(event, "origin", "sim");
    event_set_text(event, "op", operation(h->q));
    event_set_text(event, "algo", h->q->algo);
    event_set_text(event, "phase", phase_name(t->phase));
    event_set_integer(event, "hop", t->round);
    event_set_integer(event, "from", t->from);
    event_set_integer(event, "to", t->to);
    event_set_integer(event, "chunk", t->chunk);
    event_set_number(event, "bytes", (double)t->length * (fmod(h->q->bytes, 4) == 0 ? 4 : 1));
    event_set_number(event, "t0", t0);
    event_set_number(event, "t1", t1);
    h->failed = !event_write(STDOUT_FILENO, event, &h->e);
}

/* --- plain ------------------------------------------------------------------------------------------------------- */

static void share(const char *name, double part, const struct sim_result *r)
{
    char text[32];
    units_show_seconds(part, text, sizeof text);
    printf("  %-9s  %s (%.1f %%)\n", name, text, r->time_s > 0 ? 100 * part / r->time_s : 0);
}

static void print_answer(const struct question *q, const struct platform *p, const struct sim_result *r)
{
    char time[32], bus[32];
    units_show_seconds(r->time_s, time, sizeof time);
    enum collective op = collective_named(q->algo);
    double factor = collective_bus_factor(op == COLLECTIVES ? ALLREDUCE : op, q->ranks);
    units_show_rate(r->time_s > 0 ? q->bytes / r->time_s * factor : 0, bus, sizeof bus);
    char size[32], crossing[32];
    units_show_bytes(q->bytes, size, sizeof size);
    units_show_bytes(r->bottleneck_bytes, crossing, sizeof crossing);
    printf("simulated: %s%s%s of %s on %d rank%s, cluster %s, topology %s\n", operation(q),
           op == COLLECTIVES ? " by " : "", op == COLLECTIVES ? q->algo : "", size, q->ranks,
           q->ranks == 1 ? "" : "s", p->name, p->topology_text);
    printf("  time       %s, bus bandwidth %s\n", time, bus);
    printf("  tier       %s%s\n", sim_tier_name(r->tier), r->exact ? "" : " (an estimate)");
    printf("  formula    %s\n", r->formula);
    printf("  bottleneck %s; in all %s\n", r->bottleneck, crossing);
    if (q->explain) {
        share("latency", r->latency_s, r);
        share("transfer", r->transfer_s, r);
        share("adding", r->add_s, r);
        printf("  rounds     %ld, distinct %ld\n", r->rounds, r->distinct);
        printf("A message waits for the latency of its route, then its bytes share the links by max-min "
               "fairness: every link's\n"
               "rate is divided evenly among those that it stops. Links are full duplex. Tiers: closed (a "
               "formula), rounds (each\n"
               "distinct round solved once, ranks in step), events (every message by itself).\n");
    }
    if (*r->note)
        printf("  note       %s\n", r->note);
    printf("  %s\n", sim_not_modelled);
}

static bool bytes_of(struct question *q, struct error *e)
{
    size_t bytes;
    if (!option_size(q->bytes_text, &bytes) || bytes < 1 || bytes > (size_t)1 << 50)
        return error_set(e, ERROR_INPUT, "--bytes: expected a size from 1 to 1024T such as 64M, got '%s'",
                         q->bytes_text);
    q->bytes = (double)bytes;
    return true;
}

/* --- several algorithms ------------------------------------------------------------------------------------------ */

/* MPI libraries choose among these (Thakur, Rabenseifner and Gropp 2005); see engine/spec/cost.h. */
static const char of_mpi[] = "ring,recursive_doubling,halving_doubling";

enum { ALGOS = 32 };

/* All there are; hierarchical with as many ranks as a node has. */
static void every_algo(const struct platform *p, char *list, size_t size)
{
    *list = '\0';
    for (int i = 0; schedule_algo(i); i++) {
        size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", used ? "," : "", schedule_algo(i));
        if (strcmp(schedule_algo(i), "hierarchical") == 0 && p->per_node > 1)
            snprintf(list + strlen(list), size - strlen(list), ":%d", p->per_node);
    }
    snprintf(list + strlen(list), size - strlen(list), ",nccl_ring,nccl_tree");
}

/* Cuts a list at its commas, in place. */
static int split(char *list, const char *names[ALGOS])
{
    int count = 0;
    for (char *rest = list, *name; count < ALGOS && (name = strsep(&rest, ","));)
        names[count++] = name;
    return count;
}

static bool ask(struct question *q, const struct platform *p, const char *algo, struct sim_result *r,
                struct error *e)
{
    struct hops hops = {.q = q};
    struct sim_request request = {.algo = algo,
                                  .ranks = q->ranks,
                                  .bytes = q->bytes,
                                  .gamma = q->gamma,
                                  .tier = q->tier,
                                  .hop = q->hops ? emit_hop : NULL,
                                  .self = &hops};
    q->algo = algo;
    if (!sim_collective(p, &request, r, e))
        return false;
    if (hops.failed)
        *e = hops.e;
    return !hops.failed;
}

static bool tell(const struct question *q, const struct platform *p, const struct sim_result *r,
                 struct error *e)
{
    if (q->json)
        return event_write(STDOUT_FILENO, collective_event(q, p, r), e);
    print_answer(q, p, r);
    return true;
}

/* One line of a table; what an algorithm cannot do here is told in its place. */
static void print_row(const struct question *q, const struct sim_result *r)
{
    char time[32], bus[32];
    units_show_seconds(r->time_s, time, sizeof time);
    units_show_rate(r->time_s > 0 ? q->bytes / r->time_s * collective_bus_factor(ALLREDUCE, q->ranks) : 0,
                    bus, sizeof bus);
    printf("  %-20s %12s %12s  %s%-*s %s\n", q->algo, time, bus, sim_tier_name(r->tier),
           7 - (int)strlen(sim_tier_name(r->tier)), r->exact ? "" : "~", r->bottleneck);
}

/* The fastest of a list, by simulation. */
static bool fastest(struct question *q, const struct platform *p, const char *among, struct error *e)
{
    char list[512];
    const char *names[ALGOS];
    struct sim_result least = {.time_s = INFINITY}, r;
    snprintf(list, sizeof list, "%s", among);
    int count = split(list, names);
    for (int i = 0; i < count; i++)
        if (ask(q, p, names[i], &r, e) && r.time_s < least.time_s) {
            least = r;
            snprintf(q->chosen, sizeof q->chosen, "%s", names[i]);
        }
    q->algo = q->chosen;
    return *q->chosen && tell(q, p, &least, e);
}

static void print_head(const struct question *q, const struct platform *p)
{
    char size[32];
    units_show_bytes(q->bytes, size, sizeof size);
    printf("simulated: allreduce of %s on %d rank%s, cluster %s, topology %s\n  %-20s %12s %12s  %-7s %s\n",
           size, q->ranks, q->ranks == 1 ? "" : "s", p->name, p->topology_text, "algorithm", "time", "busbw",
           "tier", "bottleneck");
}

/* All is asked before anything is told. Of all there are, those that cannot be had here are named below the table. */
static bool table(struct question *q, const struct platform *p, char *list, bool all, struct error *e)
{
    const char *names[ALGOS];
    struct sim_result results[ALGOS];
    bool answered[ALGOS];
    char missing[256] = "";
    int count = split(list, names), told = 0;
    for (int i = 0; i < count; i++) {
        answered[i] = ask(q, p, names[i], &results[i], e);
        told += answered[i];
        if (!answered[i] && !all)
            return false;
        if (!answered[i])
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
                     *missing ? ", " : "", names[i]);
    }
    if (told == 0)
        return false;
    if (!q->json)
        print_head(q, p);
    for (int i = 0; i < count; i++) {
        q->algo = names[i];
        if (answered[i] && !q->json)
            print_row(q, &results[i]);
        else if (answered[i] && !event_write(STDOUT_FILENO, collective_event(q, p, &results[i]), e))
            return false;
    }
    for (int i = 0; i < count && !q->json; i++)
        if (answered[i] && !results[i].exact) {
            printf("  ~ an estimate; alone it says why\n");
            break;
        }
    if (*missing && !q->json)
        printf("  not here: %s; each alone says why\n", missing);
    if (!q->json)
        printf("  %s\n", sim_not_modelled);
    return true;
}

/* "ring,tree": no name is empty, and there are not too many. */
static bool check_list(const char *algos, struct error *e)
{
    int names = 1;
    for (const char *c = algos; *c; c++)
        names += *c == ',';
    size_t n = strlen(algos);
    if (n == 0 || algos[0] == ',' || algos[n - 1] == ',' || strstr(algos, ",,"))
        return error_set(e, ERROR_INPUT, "--allreduce: a name is missing in '%.64s'; write them as ring,tree",
                         algos);
    return names <= ALGOS ||
           error_set(e, ERROR_INPUT, "--allreduce: %d algorithms; take at most %d at once", names, ALGOS);
}

static bool answer(struct question *q, struct error *e)
{
    struct platform p;
    struct sim_result r;
    char list[512];
    double rate;
    if (*q->add_rate && !rate_of("add-rate", q->add_rate, &rate, e))
        return false;
    q->gamma = *q->add_rate ? 1 / rate : 0;
    if (!check_list(q->algos, e) || !bytes_of(q, e) || !sim_tier_named(q->tier_text, &q->tier, e) ||
        !make_platform(q, &p, e))
        return false;
    if (collective_named(q->algos) == BARRIER)
        q->bytes = 4; /* one element, whatever was asked for */
    bool ok, all = strcmp(q->algos, "all") == 0, any = strcmp(q->algos, "auto") == 0;
    if (all || any)
        every_algo(&p, list, sizeof list);
    else
        snprintf(list, sizeof list, "%s", q->algos);
    if (q->hops && (all || any || strchr(q->algos, ',') || strcmp(q->algos, "mpi") == 0))
        ok = error_set(e, ERROR_INPUT,
                       "--hops shows the messages of one algorithm; name it, as --allreduce ring");
    else if (any || strcmp(q->algos, "mpi") == 0)
        ok = fastest(q, &p, any ? list : of_mpi, e);
    else if (strcmp(q->algos, "shm") == 0)
        ok = error_set(
            e, ERROR_INPUT,
            "shm sums in memory that ranks of one host share; a cluster's network has no part in it");
    else if (strchr(list, ','))
        ok = table(q, &p, list, all, e);
    else
        ok = ask(q, &p, q->algos, &r, e) && tell(q, &p, &r, e);
    q->algo = NULL; /* it was a piece of the list */
    platform_free(&p);
    return ok;
}

/* What --help says after the options. */
static void cluster_names(char *text, size_t size)
{
    char **names = platform_names(NULL);
    size_t used = (size_t)snprintf(text, size, "clusters:");
    for (char **p = names; p && *p && used < size; p++)
        used += (size_t)snprintf(text + used, size - used, "%s %s", p == names ? "" : ",", *p);
    platform_names_free(names);
}

int cli_sim_allreduce(int argc, char **argv)
{
    char more[1024];
    struct question q = {.topology = "switch",
                         .tier_text = "auto",
                         .bandwidth = "10Gb/s",
                         .latency = "25us",
                         .bytes_text = "1M",
                         .ranks = 8};
    const struct option options[] = {
        {"allreduce", "A,B", OPTION_TEXT, q.algos, sizeof q.algos, 0, 0,
         "one or several of those above, all, or auto (the fastest)", NULL, NULL},
        {"ranks", "N", OPTION_INT, &q.ranks, 0, 1, 1 << 24, "how many (8)", &q.ranks_given, NULL},
        {"bytes", "B", OPTION_TEXT, q.bytes_text, sizeof q.bytes_text, 0, 0,
         "of the buffer, with K, M, G = 2^10, 2^20, 2^30 (1M)", NULL, NULL},
        {"topology", "SPEC", OPTION_TEXT, q.topology, sizeof q.topology, 0, 0,
         "switch, fattree:LxH:o, torus:XxYxZ or dragonfly:GxAxH (switch)", &q.topology_given, NULL},
        {"cluster", "C", OPTION_TEXT, q.cluster, sizeof q.cluster, 0, 0,
         "a name below, or a file that returns cluster{...}", NULL, NULL},
        {"bandwidth", "RATE", OPTION_TEXT, q.bandwidth, sizeof q.bandwidth, 0, 0,
         "of a link, each way: 10Gb/s, 12.5GB/s or bytes a second (10Gb/s)", &q.bandwidth_given, NULL},
        {"latency", "TIME", OPTION_TEXT, q.latency, sizeof q.latency, 0, 0,
         "of a link: 25us or seconds (25us); a path through one switch crosses two links", &q.latency_given,
         NULL},
        {"tier", "T", OPTION_TEXT, q.tier_text, sizeof q.tier_text, 0, 0,
         "auto, closed, rounds or events (auto)", NULL, NULL},
        {"add-rate", "RATE", OPTION_TEXT, q.add_rate, sizeof q.add_rate, 0, 0,
         "bytes a second that a rank adds up (adding is free)", NULL, NULL},
        {"hops", NULL, OPTION_FLAG, &q.hops, 0, 0, 0,
         "with --json: a hop event of every message (tier events)", NULL, NULL},
        {"explain", NULL, OPTION_FLAG, &q.explain, 0, 0, 0, "where the time goes, and how it is computed",
         NULL, NULL},
        {"json", NULL, OPTION_FLAG, &q.json, 0, 0, 0, "print the events, one JSON object a line", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside sim --allreduce ALGO [options]",
        .summary =
            "How long one collective takes on a simulated cluster, which link bounds it, and by which "
            "formula.\n"
            "\nalgorithms: ring, ring_segmented[:K], tree, recursive_doubling, halving_doubling, everyone, "
            "central,\n"
            "  param_server[:K], hierarchical[:K], as 'ringside allreduce --help' has them; nccl_ring, "
            "nccl_tree[:K]: "
            "data are\n"
            "  passed on as NCCL does; mpi: the fastest of ring, recursive and halving doubling. Or another "
            "collective:\n"
            "  broadcast, reduce, allgather, reduce_scatter, alltoall, barrier\n\n"
            "topologies (all links full duplex)\n"
            "  switch            one switch; a path crosses two links\n"
            "  fattree:LxH:o     L leaves of H hosts, o:1 oversubscribed: H/o uplinks a leaf; D-mod-k "
            "routing\n"
            "  torus:XxYxZ       dimension order, x first and fastest in rank; ties take +; latency per hop\n"
            "  dragonfly:GxAxH   G groups of A routers of H hosts; minimal routing",
        .options = options,
        .more = more,
    };
    int code;
    cluster_names(more, sizeof more);
    struct error e = {0};
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    if (q.hops && !q.json) {
        error_set(&e, ERROR_INPUT, "--hops prints events; give --json too");
        return cli_fail(&e);
    }
    return answer(&q, &e) ? 0 : cli_fail(&e);
}
