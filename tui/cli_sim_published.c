/*
 * cli_sim_published.c - `ringside sim --published`: published multi-GPU runs beside their simulation, misses included.
 */
#include "cluster-sim/collective.h"
#include "cluster-sim/published.h"
#include "engine/base/event.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/follow.h"
#include "tui/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char more[] =
    "Each case is simulated from the published rate of a single GPU and data sheets, with the same constants "
    "for\n"
    "all (cluster-sim/published.h says which, and where from). The aim is 10 % (parameter servers 20 %).\n";

struct choices {
    bool json, markdown, explain;
};

struct tally {
    int cases, within, servers, servers_within;
};

static bool is_server(const struct published_case *c)
{
    return c->sum == SUM_SERVERS || c->sum == SUM_SERVER_LOCAL;
}

static void say_why(void *self, const char *what, double seconds, const char *text)
{
    (void)self;
    if (seconds > 0)
        printf("    %-14s %9.2f ms  %s\n", what, 1e3 * seconds, text);
    else
        printf("    %-14s %12s  %s\n", what, "", text);
}

static void tell_json(const struct published_case *c, const struct published_result *r)
{
    json_t *event = event_new("point", 0);
    event_set_text(event, "series", "published");
    event_set_text(event, "tier", sim_tier_name(r->tier));
    event_set_text(event, "title", "simulated beside published");
    event_set_text(event, "label", c->what);
    event_set_text(event, "origin", "sim");
    event_set_integer(event, "x", r->gpus);
    event_set_number(event, "y", r->simulated);
    event_set_number(event, "published_samples_per_s", r->published);
    event_set_number(event, "efficiency", r->simulated_efficiency);
    event_set_number(event, "published_efficiency", r->published_efficiency);
    event_set_number(event, "relative_error", r->error);
    event_set_number(event, "aim", r->aim);
    event_set_text(event, "bottleneck", r->bottleneck);
    event_write(STDOUT_FILENO, event, NULL);
}

static void tell_row(const struct published_case *c, const struct published_result *r,
                     const struct choices *o)
{
    char published[32], simulated[32];
    double error = round(100 * r->error) + 0.0; /* no -0 */
    const char *miss = fabs(r->error) > r->aim ? "miss" : "";
    text_grouped(published, sizeof published, r->published);
    text_grouped(simulated, sizeof simulated, r->simulated);
    if (o->markdown)
        printf("| %s | %d | %s | %.0f %% | %s | %.0f %% | %+.0f %% | %.0f %% | %s | %d |\n", c->what, r->gpus,
               published, 100 * r->published_efficiency, simulated, 100 * r->simulated_efficiency, error,
               100 * r->aim, miss, c->source);
    else
        printf("%-38s %8s %4.0f %% %8s %4.0f %% %+4.0f %%  [%d] %s\n", c->what, published,
               100 * r->published_efficiency, simulated, 100 * r->simulated_efficiency, error, c->source,
               miss);
}

static void tell_head(const struct choices *o)
{
    if (o->markdown)
        printf(
            "# Simulated beside published\n\n"
            "Made by `ringside sim --published --markdown`; tests/bench/published writes it anew, and a test "
            "holds it\n"
            "to the simulator. The figures on the right are **simulated**, from the published rate of one "
            "GPU and data\n"
            "sheets alone, with the same constants for every case: `cluster-sim/published.h` lists them and "
            "says where "
            "each\n"
            "is from. None was fitted to a case, and misses stay in. Samples are images; efficiency is "
            "against the "
            "published\n"
            "single-GPU rate times the GPUs.\n\n"
            "| case | GPUs | published/s | efficiency | simulated/s | efficiency | error | aim | | source |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |\n");
    else if (!o->json)
        printf("simulated beside published (samples/s and efficiency; every case with the same constants)\n"
               "%-38s %15s %15s %6s\n",
               "case", "published", "simulated", "error");
}

static void tell_foot(const struct tally *t, const struct choices *o)
{
    if (o->json)
        return;
    printf("\n%d of %d within 10 %%; of those with parameter servers %d of %d within 20 %%. %s\n", t->within,
           t->cases, t->servers_within, t->servers, sim_not_modelled);
    printf(o->markdown
               ? "\nBesides, the frameworks' own work on the host is not modelled, nor that NCCL takes "
                 "multiprocessors from\nthe computation, nor other traffic or oversubscription, of which the "
                 "sources say nothing: what is missed is\nfaster in the simulation.\n\nSources:\n\n"
               : "\nSources:\n");
    for (int i = 1; published_source(i); i++)
        printf(o->markdown ? "%d. %s\n" : "[%d] %s\n", i, published_source(i));
}

static bool tell_all(const struct choices *o, struct error *e)
{
    struct tally t = {0};
    tell_head(o);
    for (int i = 0; published_case(i); i++) {
        const struct published_case *c = published_case(i);
        struct published_result r;
        bool why = o->explain && !o->json && !o->markdown;
        if (!published_simulate(c, &r, NULL, NULL, e))
            return error_wrap(e, "%s", c->what);
        bool near = fabs(r.error) <= r.aim;
        t.cases += !is_server(c);
        t.within += !is_server(c) && near;
        t.servers += is_server(c);
        t.servers_within += is_server(c) && near;
        if (o->json)
            tell_json(c, &r);
        else
            tell_row(c, &r, o);
        if (why && !published_simulate(c, &r, say_why, NULL, e))
            return false;
    }
    tell_foot(&t, o);
    return true;
}

int cli_sim_published(int argc, char **argv)
{
    struct choices o = {0};
    struct error e = {0};
    bool published = false;
    int code;
    const struct option options[] = {
        {"published", NULL, OPTION_FLAG, &published, 0, 0, 0, "this mode", NULL, NULL},
        {"explain", NULL, OPTION_FLAG, &o.explain, 0, 0, 0, "why each case takes as long as it does", NULL,
         NULL},
        {"markdown", NULL, OPTION_FLAG, &o.markdown, 0, 0, 0, "the table of cluster-sim/PUBLISHED.md", NULL,
         NULL},
        {"json", NULL, OPTION_FLAG, &o.json, 0, 0, 0, "print events, one JSON object a line", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {.usage = "ringside sim --published [options]",
                                           .summary = "Published multi-GPU runs beside their simulation.",
                                           .more = more,
                                           .options = options};
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    return tell_all(&o, &e) ? 0 : cli_fail(&e);
}
