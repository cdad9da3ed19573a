/*
 * lua_host_query.c - what a check may ask about other runs: run_info and attachments.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/spec/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "last" is the newest training: the check that asks is a run itself, and would always be the last. */
static bool find(const json_t *args, char dir[PATH_MAX])
{
    const char *name = json_string_value(args);
    return name && (rundir_find_trained(name, dir, NULL) || rundir_find(name, dir, NULL));
}

static void take_event(json_t *info, const json_t *event)
{
    if (event_is(event, "run")) {
        json_t *hosts = json_object_get(event, "hosts");
        if (hosts)
            json_object_set(info, "hosts", hosts);
    } else if (event_is(event, "rank") && event_integer(event, "rank", -1) == 0) {
        const char *host = event_text(event, "host", NULL);
        if (host)
            event_set_text(info, "host", host);
    } else if (event_is(event, "step")) {
        event_set_integer(info, "last_step", event_integer(event, "step", 0));
    } else if (event_is(event, "done")) {
        event_set_number(info, "wall_s", event_number(event, "wall_s", 0));
    }
}

json_t *lua_host_run_info(struct lua_host *h, const json_t *args, struct error *e)
{
    (void)h;
    char dir[PATH_MAX];
    struct job job;
    struct run_status status;
    if (!find(args, dir))
        return json_null();
    job_defaults(&job, JOB_TRAIN);
    if (!job_load(&job, dir, e) || !run_status_read(dir, &status, e)) {
        job_clear(&job);
        return json_null(); /* it is being made or deleted: for a check it is not there */
    }
    json_t *info = json_object();
    event_set_text(info, "run", rundir_id(dir));
    event_set_text(info, "id", rundir_id(dir));
    event_set_text(info, "state", run_state_name(status.state));
    event_set_text(info, "kind", job_kind_name(job.kind));
    event_set_text(info, "label", job.label);
    event_set_integer(info, "ranks", job.ranks);
    event_set_integer(info, "last_step", 0);
    job_clear(&job);
    struct run_reader *reader = run_reader_open(dir, NULL);
    for (json_t *event; reader && (event = run_reader_next(reader)); json_decref(event))
        take_event(info, event);
    run_reader_free(reader);
    return info;
}

json_t *lua_host_attachments(struct lua_host *h, const json_t *args, struct error *e)
{
    (void)h, (void)e;
    char dir[PATH_MAX], path[PATH_MAX];
    json_t *list = json_array();
    FILE *file =
        find(args, dir) && path_join(path, dir, "attached.jsonl", NULL) ? file_stream(path, 0, NULL) : NULL;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; file && (n = getline(&line, &room, file)) > 0;) {
        json_t *note = event_parse(line, (size_t)n);
        if (note)
            json_array_append_new(list, note);
    }
    free(line);
    if (file)
        fclose(file);
    return list;
}
