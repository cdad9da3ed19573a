/*
 * cli_sim_checkpoint.c - `ringside sim --checkpoint COST`: how often to write a checkpoint where nodes fail.
 */
#include "cluster-sim/ask.h"
#include "engine/base/event.h"
#include "engine/base/units.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 32 };

struct question {
    char cost[TEXT], rate[TEXT], mtbf[TEXT], work[TEXT], restart[TEXT], interval[TEXT];
    bool explain, json;
};

/* An option's time, where it was given. */
static bool seconds(const char *option, const char *text, double *value, struct error *e)
{
    return !*text || units_seconds(text, value) ||
           error_set(e, ERROR_INPUT, "--%s: expected a time such as 5min or 24h, got '%s'", option, text);
}

static bool interval(const struct question *q, double *value, struct error *e)
{
    return seconds("interval", q->interval, value, e) &&
           (!*q->interval || *value > 0 ||
            error_set(e, ERROR_INPUT,
                      "--interval: expected a time above 0, got '%s'; without it, it is Daly's",
                      q->interval));
}

/* A time, or a size that is written at the rate. */
static bool cost(const struct question *q, double *checkpoint_s, struct error *e)
{
    double bytes, rate;
    if (!*q->rate)
        return units_seconds(q->cost, checkpoint_s) ||
               error_set(
                   e, ERROR_INPUT,
                   "--checkpoint: expected the time that it takes such as 5min, or its size such as 2TB with "
                   "--write-rate 100GB/s, got '%s'",
                   q->cost);
    if (!units_bytes(q->cost, &bytes))
        return error_set(e, ERROR_INPUT,
                         "--checkpoint: with --write-rate expected a size such as 2TB, got '%s'", q->cost);
    if (!units_rate(q->rate, &rate) || !(rate > 0))
        return error_set(e, ERROR_INPUT, "--write-rate: expected a rate above 0 such as 100GB/s, got '%s'",
                         q->rate);
    *checkpoint_s = bytes / rate;
    return true;
}

static bool print_event(const struct question *q, const struct checkpointing *c,
                        const struct checkpoint_result *r, const char *why, struct error *e)
{
    json_t *event = event_new("done", r->wall_s);
    event_set_text(event, "origin", "sim");
    json_object_set_new(event, "ok", json_true());
    event_set_number(event, "wall_s", r->wall_s);
    checkpoint_to_json(c, r, event);
    if (q->explain)
        event_set_text(event, "explain", why);
    return event_write(STDOUT_FILENO, event, e);
}

static void line(const char *name, double value, const char *more)
{
    char text[TEXT];
    units_show_seconds(value, text, sizeof text);
    printf("  %-26s %12s%s\n", name, text, more);
}

static void print_text(const struct checkpointing *c, const struct checkpoint_result *r)
{
    char more[64], note[160];
    printf("simulated: %d node%s that fail%s, tier: closed form%s\n", c->nodes, c->nodes > 1 ? "s" : "",
           c->nodes > 1 ? "" : "s", c->runs > 0 ? " and random runs" : "");
    line("a failure every", r->mtbf_s, "");
    line("interval, Young 1974", r->young_s, "");
    line("interval, Daly 2006", r->daly_s, "");
    line("interval, the best", r->best_s, "");
    line("interval taken", r->interval_s, "");
    checkpoint_note(c, r, note, sizeof note);
    if (*note)
        printf("  note: %s\n", note);
    snprintf(more, sizeof more, ", %.2f failures", r->failures);
    line("expected wall time", r->wall_s, more);
    printf("  %-26s %12.2f %%\n", "goodput", 100 * r->goodput);
    line("writing checkpoints", r->checkpoints_s, "");
    line("work done again", r->again_s, "");
    line("restarts", r->restarts_s, "");
    if (r->unprotected_s < 1e15)
        line("without checkpoints", r->unprotected_s, "");
    else
        printf("  %-26s %12s\n", "without checkpoints", "never done");
    if (c->runs > 0) {
        char error[TEXT];
        units_show_seconds(r->simulated_error_s, error, sizeof error);
        snprintf(more, sizeof more, " +- %s, %d runs", error, c->runs);
        line("random runs", r->simulated_s, more);
    }
}

int cli_sim_checkpoint(int argc, char **argv)
{
    struct question q = {0};
    struct checkpointing c;
    struct checkpoint_result r;
    struct error e = {0};
    int code;
    const struct option options[] = {
        {"checkpoint", "COST", OPTION_TEXT, q.cost, sizeof q.cost, 0, 0,
         "the time to write one such as 5min, or its size with --write-rate", NULL, NULL},
        {"write-rate", "R", OPTION_TEXT, q.rate, sizeof q.rate, 0, 0, "such as 100GB/s", NULL, NULL},
        {"nodes", "N", OPTION_INT, &c.nodes, 0, 1, 100000000, "(1)", NULL, NULL},
        {"mtbf", "T", OPTION_TEXT, q.mtbf, sizeof q.mtbf, 0, 0,
         "mean time between the failures of one node (6334h: Llama 3's, eight GPUs a node)", NULL, NULL},
        {"work", "T", OPTION_TEXT, q.work, sizeof q.work, 0, 0, "without failures and checkpoints (720h)",
         NULL, NULL},
        {"restart", "T", OPTION_TEXT, q.restart, sizeof q.restart, 0, 0, "after a failure (10min)", NULL,
         NULL},
        {"interval", "T", OPTION_TEXT, q.interval, sizeof q.interval, 0, 0, "between checkpoints (Daly's)",
         NULL, NULL},
        {"runs", "K", OPTION_INT, &c.runs, 0, 0, 10000000, "random runs beside the formula (1000)", NULL,
         NULL},
        {"seed", "K", OPTION_SEED, &c.seed, 0, 0, 0, "of them (1)", NULL, NULL},
        {"explain", NULL, OPTION_FLAG, &q.explain, 0, 0, 0, "the formulas with their numbers", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &q.json, 0, 0, 0, "print one done event", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside sim --checkpoint COST [--nodes N] [--mtbf T] [options]",
        .summary = "How often to write a checkpoint where nodes fail, how long the job takes then, and what "
                   "part of it is "
                   "work.",
        .options = options,
    };
    checkpoint_defaults(&c);
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    if (!cost(&q, &c.checkpoint_s, &e) || !seconds("mtbf", q.mtbf, &c.node_mtbf_s, &e) ||
        !seconds("work", q.work, &c.work_s, &e) || !seconds("restart", q.restart, &c.restart_s, &e) ||
        !interval(&q, &c.interval_s, &e) || !checkpoint_simulate(&c, &r, &e))
        return cli_fail(&e);
    char *why = checkpoint_explain(&c, &r, &e);
    if (!why)
        return cli_fail(&e);
    bool ok = true;
    if (q.json)
        ok = print_event(&q, &c, &r, why, &e);
    else {
        print_text(&c, &r);
        if (q.explain)
            fputs(why, stdout);
    }
    free(why);
    return ok ? 0 : cli_fail(&e);
}
