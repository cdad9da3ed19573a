#include "cluster-sim/ask.h"

#include "cluster-sim/platform_lua.h"
#include "engine/base/event.h"

#include <stdio.h>
#include <string.h>

static bool ask_storage(const json_t *o, const json_t *cluster, json_t *event, char **why, struct error *e)
{
    struct platform p = {0};
    struct storage_system s = {0};
    struct storage_load load;
    struct storage_result r;
    bool there = cluster && !json_is_null(cluster);
    if (there && !(json_is_string(cluster) ? platform_named(json_string_value(cluster), &p, e)
                                           : platform_from_json(cluster, &p, e)))
        return false;
    storage_defaults(&load);
    bool ok = storage_from_json(o, there ? &p : NULL, &s, &load, e) && storage_simulate(&s, &load, &r, e) &&
              (*why = storage_explain(&s, &load, &r, e));
    if (ok)
        storage_to_json(&s, &load, &r, event);
    if (there)
        platform_free(&p);
    return ok;
}

static bool ask_checkpoint(const json_t *o, json_t *event, char **why, struct error *e)
{
    struct checkpointing c;
    struct checkpoint_result r;
    checkpoint_defaults(&c);
    if (!checkpoint_from_json(o, &c, e) || !checkpoint_simulate(&c, &r, e) ||
        !(*why = checkpoint_explain(&c, &r, e)))
        return false;
    checkpoint_to_json(&c, &r, event);
    return true;
}

bool ask_answer(const json_t *ask, const json_t *cluster, json_t *event, char **why, struct error *e)
{
    const json_t *storage = json_object_get(ask, "storage"), *checkpoint = json_object_get(ask, "checkpoint"),
                 *schedule = json_object_get(ask, "schedule");
    *why = NULL;
    if (json_object_size(ask) != 1 ||
        !(json_is_object(storage) || json_is_object(checkpoint) || json_is_object(schedule)))
        return error_set(e, ERROR_INPUT, "expected one of storage, checkpoint and schedule, with a table");
    bool ok = storage      ? ask_storage(storage, cluster, event, why, e)
              : checkpoint ? ask_checkpoint(checkpoint, event, why, e)
                           : ask_schedule(schedule, event, why, e);
    return ok || error_wrap(e, storage ? "storage" : checkpoint ? "checkpoint" : "schedule");
}
