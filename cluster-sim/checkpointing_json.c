/*
 * checkpointing_json.c - checkpoints where nodes fail as a description, and what comes out as fields of an event (ask.h).
 */
#include "cluster-sim/ask.h"
#include "cluster-sim/platform_fields.h"
#include "engine/base/event.h"

#include <string.h>

void checkpoint_defaults(struct checkpointing *c)
{
    /* 419 interruptions that nobody planned in 54 days on 16 384 GPUs, eight a node (The Llama 3 Herd of Models, 2024,
     * section 3.3.4): one in 6 334 hours a node */
    *c = (struct checkpointing){.work_s = 720 * 3600.0,
                                .restart_s = 600,
                                .node_mtbf_s = 6334 * 3600.0,
                                .nodes = 1,
                                .runs = 1000,
                                .seed = 1};
}

bool checkpoint_from_json(const json_t *o, struct checkpointing *c, struct error *e)
{
    static const char *const known[] = {"cost",    "write",    "nodes", "mtbf", "work",
                                        "restart", "interval", "runs",  "seed", NULL};
    double bytes = 0, rate = 0;
    int seed = (int)c->seed;
    if (!field_known(o, "it", known, e))
        return false;
    if (!json_object_get(o, "cost"))
        return error_set(e, ERROR_INPUT,
                         "give cost =, the time it takes to write one, or its size with write = its rate");
    if (json_object_get(o, "write")) {
        if (!field_bytes(o, "cost", &bytes, e) || !field_rate(o, "write", &rate, e))
            return false;
        c->checkpoint_s = bytes / rate;
    } else if (!field_seconds(o, "cost", &c->checkpoint_s, e))
        return false;
    bool ok =
        field_whole(o, "nodes", 1, 100000000, &c->nodes, e) && field_seconds(o, "mtbf", &c->node_mtbf_s, e) &&
        field_seconds(o, "work", &c->work_s, e) && field_seconds(o, "restart", &c->restart_s, e) &&
        field_seconds(o, "interval", &c->interval_s, e) && field_whole(o, "runs", 0, 10000000, &c->runs, e) &&
        field_whole(o, "seed", 0, 2000000000, &seed, e);
    c->seed = (uint64_t)seed;
    if (ok && json_object_get(o, "interval") && c->interval_s == 0)
        return error_set(e, ERROR_INPUT, "interval: expected a time above 0; without it, it is Daly's");
    return ok;
}

void checkpoint_to_json(const struct checkpointing *c, const struct checkpoint_result *r, json_t *event)
{
    char note[160];
    checkpoint_note(c, r, note, sizeof note);
    event_set_text(event, "tier", "closed");
    if (*note)
        event_set_text(event, "note", note);
    event_set_number(event, "expected_s", r->wall_s);
    event_set_integer(event, "nodes", c->nodes);
    event_set_number(event, "work_s", c->work_s);
    event_set_number(event, "checkpoint_s", c->checkpoint_s);
    event_set_number(event, "restart_s", c->restart_s);
    event_set_number(event, "mtbf_s", r->mtbf_s);
    event_set_number(event, "young_s", r->young_s);
    event_set_number(event, "daly_s", r->daly_s);
    event_set_number(event, "best_s", r->best_s);
    event_set_number(event, "interval_s", r->interval_s);
    event_set_number(event, "goodput", r->goodput);
    event_set_number(event, "failures", r->failures);
    event_set_number(event, "checkpoints_s", r->checkpoints_s);
    event_set_number(event, "again_s", r->again_s);
    event_set_number(event, "restarts_s", r->restarts_s);
    event_set_number(event, "unprotected_s", r->unprotected_s);
    event_set_text(event, "bottleneck", checkpoint_bottleneck(r));
    if (c->runs > 0) {
        event_set_integer(event, "runs", c->runs);
        event_set_number(event, "simulated_s", r->simulated_s);
        event_set_number(event, "simulated_error_s", r->simulated_error_s);
    }
}
