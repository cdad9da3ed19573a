/*
 * cli_sim_storage.c - `ringside sim --storage KIND`: how fast a dataset is read, and what holds it up.
 */
#include "cluster-sim/ask.h"
#include "cluster-sim/platform_lua.h"
#include "engine/base/event.h"
#include "engine/base/units.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 32 };

struct question {
    char kind[512], local[TEXT], order[TEXT], share[TEXT];
    char file_bytes[TEXT], cache[TEXT], stripe_bytes[TEXT], target_rate[TEXT], server_link[TEXT],
        client_link[TEXT], memory_rate[TEXT], seek[TEXT], open[TEXT];
    double files, metadata_rate, compute_rate;
    int clients, readers, epochs, targets, servers, stripe_count, depth;
    bool warm, stage, no_prefetch, explain, json;
};

/* The option's text into a number, where it was given. */
static bool take(const char *option, const char *text, bool (*read)(const char *, double *),
                 const char *example, double *value, struct error *e)
{
    return !*text || read(text, value) ||
           error_set(e, ERROR_INPUT, "--%s: expected something such as %s, got '%s'", option, example, text);
}

/* As above, of what must be more than 0. */
static bool take_rate(const char *option, const char *text, double *value, struct error *e)
{
    return take(option, text, units_rate, "10Gb/s", value, e) &&
           (!*text || *value > 0 ||
            error_set(e, ERROR_INPUT, "--%s: expected a rate above 0, got '%s'", option, text));
}

/* Options that the kind has no use for. */
static bool takes_all(const struct question *q, const struct storage_system *s, struct error *e)
{
    const struct {
        const char *name;
        bool given, stripes;
    } options[] = {
        {"--stripe-count", q->stripe_count > 0, true}, {"--stripe-bytes", *q->stripe_bytes, true},
        {"--servers", q->servers > 0, false},          {"--server-link", *q->server_link, false},
        {"--client-link", *q->client_link, false},     {"--metadata-rate", q->metadata_rate >= 0, false}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && !storage_takes(s, options[i].stripes, options[i].name, e))
            return false;
    if (q->warm && !*q->cache)
        return error_set(e, ERROR_INPUT, "--warm: say how large the cache is that is warm: --cache 64GiB");
    if (q->no_prefetch && !(q->compute_rate > 0))
        return error_set(
            e, ERROR_INPUT,
            "--no-prefetch: reading and computing take turns only where something is computed: give "
            "--compute-rate");
    return true;
}

/* A kind by its name, or what a described cluster has. */
static bool system_of(const struct question *q, struct storage_system *s, struct storage_load *l,
                      struct error *e)
{
    struct platform p;
    if (!storage_preset(q->local, &l->local) || l->local.kind != STORAGE_LOCAL)
        return error_set(e, ERROR_INPUT, "--local: expected nvme, ssd or hdd, got '%s'", q->local);
    if (storage_preset(q->kind, s))
        return true;
    if (!platform_named(q->kind, &p, e))
        return error_wrap(e, "--storage takes nvme, ssd, hdd, nfs, parallel or a cluster");
    bool ok = storage_of_platform(&p, s, l, e);
    platform_free(&p);
    return ok;
}

static bool describe(const struct question *q, struct storage_system *s, struct storage_load *l,
                     struct error *e)
{
    if (!system_of(q, s, l, e) || !takes_all(q, s, e))
        return false;
    if (strcmp(q->order, "shuffled") != 0 && strcmp(q->order, "sequential") != 0)
        return error_set(e, ERROR_INPUT, "--order: expected shuffled or sequential, got '%s'", q->order);
    l->order = !strcmp(q->order, "shuffled") ? STORAGE_SHUFFLED : STORAGE_SEQUENTIAL;
    if (!strcmp(q->share, "own"))
        l->share = STORAGE_OWN_PART;
    else if (!strcmp(q->share, "new"))
        l->share = STORAGE_NEW_PART;
    else if (!strcmp(q->share, "all"))
        l->share = STORAGE_EVERYTHING;
    else
        return error_set(e, ERROR_INPUT, "--share: expected own, new or all, got '%s'", q->share);
    l->files = q->files;
    if (q->clients > 0)
        l->clients = q->clients;
    l->readers = q->readers;
    l->epochs = q->epochs;
    l->warm = q->warm;
    l->stage = q->stage;
    l->prefetch = !q->no_prefetch;
    l->compute_files_per_s = q->compute_rate;
    if (q->targets > 0)
        s->targets = q->targets;
    if (q->depth > 0)
        s->depth = q->depth;
    if (q->servers > 0)
        s->servers = q->servers;
    if (q->stripe_count > 0)
        s->stripe_count = q->stripe_count;
    if (q->metadata_rate >= 0)
        s->metadata_per_s = q->metadata_rate;
    return take("file-bytes", q->file_bytes, units_bytes, "110kB", &l->file_bytes, e) &&
           take("cache", q->cache, units_bytes, "64GiB", &l->cache_bytes, e) &&
           take("stripe-bytes", q->stripe_bytes, units_bytes, "1MiB", &s->stripe_bytes, e) &&
           take_rate("target-rate", q->target_rate, &s->target_bytes_per_s, e) &&
           take_rate("server-link", q->server_link, &s->server_link_bytes_per_s, e) &&
           take_rate("client-link", q->client_link, &l->client_link_bytes_per_s, e) &&
           take_rate("memory-rate", q->memory_rate, &l->memory_bytes_per_s, e) &&
           take("seek", q->seek, units_seconds, "100us", &s->seek_s, e) &&
           take("open", q->open, units_seconds, "0.5ms", &s->open_s, e);
}

static bool print_event(const struct question *q, const struct storage_system *s,
                        const struct storage_load *load, const struct storage_result *r, const char *why,
                        struct error *e)
{
    json_t *event = event_new("done", r->total_s);
    event_set_text(event, "origin", "sim");
    json_object_set_new(event, "ok", json_true());
    event_set_text(event, "storage", q->kind);
    event_set_number(event, "wall_s", r->total_s);
    storage_to_json(s, load, r, event);
    if (q->explain)
        event_set_text(event, "explain", why);
    return event_write(STDOUT_FILENO, event, e);
}

static void print_pass(const char *name, const struct storage_pass *p)
{
    char time[TEXT], rate[TEXT], files[TEXT];
    units_show_number(p->files_per_s, files, sizeof files);
    units_show_seconds(p->time_s, time, sizeof time);
    units_show_rate(p->bytes_per_s, rate, sizeof rate);
    printf("  %-12s %10s %12s %12s files/s   %s", name, time, rate, files,
           storage_station_name(p->bottleneck));
    if (p->hit > 0)
        printf(" (%.1f %% from the cache)", 100 * p->hit);
    putchar('\n');
}

static void print_text(const struct question *q, const struct storage_system *s,
                       const struct storage_load *load, const struct storage_result *r, const char *why)
{
    char time[TEXT], bytes[TEXT], note[256];
    units_show_bytes(load->file_bytes, bytes, sizeof bytes);
    storage_note(s, load, r, note, sizeof note);
    printf("simulated: %.10g files of %s from %s, %d client%s, tier: closed form\n", q->files, bytes, q->kind,
           load->clients, load->clients > 1 ? "s" : "");
    printf("  %-12s %10s %12s %20s   %s\n", "", "time", "rate", "", "bottleneck");
    if (r->stage.time_s > 0)
        print_pass("staging", &r->stage);
    print_pass("first epoch", &r->first);
    if (q->epochs > 1)
        print_pass("later epochs", &r->later);
    units_show_seconds(r->total_s, time, sizeof time);
    printf("  %d epoch%s: %s", q->epochs, q->epochs > 1 ? "s" : "", time);
    if (q->compute_rate > 0)
        printf(", nobody computes for %.1f %% of it", 100 * r->data_share);
    putchar('\n');
    if (q->explain)
        fputs(why, stdout);
    else if (*note)
        printf("  note: %s\n", note);
    puts("  not modelled: locks, collapse under load, writes beside reads, caches of the servers");
}

int cli_sim_storage(int argc, char **argv)
{
    struct question q = {.local = "nvme",
                         .order = "shuffled",
                         .share = "new",
                         .file_bytes = "110kB",
                         .files = 1281167,
                         .metadata_rate = -1,
                         .readers = 8,
                         .epochs = 2};
    struct storage_system system;
    struct storage_load load;
    struct storage_result r;
    struct error e = {0};
    int code;
    const struct option options[] = {
        {"storage", "KIND", OPTION_TEXT, q.kind, sizeof q.kind, 0, 0,
         "nvme (or local), ssd, hdd, nfs, parallel; or a cluster: a name or FILE.lua", NULL, NULL},
        {"files", "N", OPTION_REAL, &q.files, 0, 1, 1e15,
         "in the dataset (1281167, as ImageNet's training set)", NULL, NULL},
        {"file-bytes", "B", OPTION_TEXT, q.file_bytes, sizeof q.file_bytes, 0, 0, "of each file (110kB)",
         NULL, NULL},
        {"clients", "N", OPTION_INT, &q.clients, 0, 1, 10000000, "nodes that read (1, or the cluster's)",
         NULL, NULL},
        {"readers", "R", OPTION_INT, &q.readers, 0, 1, 1000000,
         "reads in flight at each: workers, prefetching (8)", NULL, NULL},
        {"epochs", "E", OPTION_INT, &q.epochs, 0, 1, 1000000, "(2)", NULL, NULL},
        {"order", "O", OPTION_TEXT, q.order, sizeof q.order, 0, 0,
         "shuffled anew every epoch (default) or sequential", NULL, NULL},
        {"share", "S", OPTION_TEXT, q.share, sizeof q.share, 0, 0,
         "each client reads its own part, a new one every epoch, or all (own, new, all)", NULL, NULL},
        {"cache", "B", OPTION_TEXT, q.cache, sizeof q.cache, 0, 0, "page cache of each client (0)", NULL,
         NULL},
        {"warm", NULL, OPTION_FLAG, &q.warm, 0, 0, 0, "the cache is warm at the start", NULL, NULL},
        {"stage", NULL, OPTION_FLAG, &q.stage, 0, 0, 0, "copy to local disks first", NULL, NULL},
        {"local", "KIND", OPTION_TEXT, q.local, sizeof q.local, 0, 0, "those: nvme (default), ssd or hdd",
         NULL, NULL},
        {"compute-rate", "X", OPTION_REAL, &q.compute_rate, 0, 0, 1e15,
         "files a second that all clients can use up", NULL, NULL},
        {"no-prefetch", NULL, OPTION_FLAG, &q.no_prefetch, 0, 0, 0, "read and compute in turns", NULL, NULL},
        {"targets", "N", OPTION_INT, &q.targets, 0, 1, 1000000, "disks (as the kind has)", NULL, NULL},
        {"target-rate", "R", OPTION_TEXT, q.target_rate, sizeof q.target_rate, 0, 0, "of each", NULL, NULL},
        {"seek", "T", OPTION_TEXT, q.seek, sizeof q.seek, 0, 0, "until it is at a file", NULL, NULL},
        {"depth", "N", OPTION_INT, &q.depth, 0, 1, 100000, "files that a disk seeks at once", NULL, NULL},
        {"stripe-count", "N", OPTION_INT, &q.stripe_count, 0, 1, 1000000, "targets that a file is on (1)",
         NULL, NULL},
        {"stripe-bytes", "B", OPTION_TEXT, q.stripe_bytes, sizeof q.stripe_bytes, 0, 0, "(1MiB)", NULL, NULL},
        {"servers", "N", OPTION_INT, &q.servers, 0, 1, 1000000, NULL, NULL, NULL},
        {"server-link", "R", OPTION_TEXT, q.server_link, sizeof q.server_link, 0, 0, "of each server", NULL,
         NULL},
        {"client-link", "R", OPTION_TEXT, q.client_link, sizeof q.client_link, 0, 0,
         "of each client (10Gb/s)", NULL, NULL},
        {"memory-rate", "R", OPTION_TEXT, q.memory_rate, sizeof q.memory_rate, 0, 0,
         "at which a client takes files from its cache (10GB/s)", NULL, NULL},
        {"metadata-rate", "X", OPTION_REAL, &q.metadata_rate, 0, 0, 1e12, "operations a second (0: no limit)",
         NULL, NULL},
        {"open", "T", OPTION_TEXT, q.open, sizeof q.open, 0, 0, "to open one file with nobody else about",
         NULL, NULL},
        {"explain", NULL, OPTION_FLAG, &q.explain, 0, 0, 0, "the formulas with their numbers", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &q.json, 0, 0, 0, "print one done event", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside sim --storage KIND|CLUSTER [options]",
        .summary = "How fast a dataset is read, epoch after epoch, and what holds it up: metadata, disks, "
                   "links, too few "
                   "readers,\n"
                   "or the memory. Many small files and few large ones (shards) differ in --files and "
                   "--file-bytes only.",
        .more = "\nThe figures of a kind are data sheets' or assumptions, told in "
                "cluster-sim/storage_presets.c: give "
                "yours.\n",
        .options = options,
    };
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    storage_defaults(&load);
    if (!describe(&q, &system, &load, &e) || !storage_simulate(&system, &load, &r, &e))
        return cli_fail(&e);
    char *why = storage_explain(&system, &load, &r, &e);
    if (!why)
        return cli_fail(&e);
    bool ok = true;
    if (q.json)
        ok = print_event(&q, &system, &load, &r, why, &e);
    else
        print_text(&q, &system, &load, &r, why);
    free(why);
    return ok ? 0 : cli_fail(&e);
}
