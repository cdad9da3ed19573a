#include "engine/rank/rank.h"

#include "engine/base/event.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct who {
    char host[64];
    long pid;
};

bool rank_announce(const struct job *job, const char *device, struct comm *comm, struct event_sink *sink,
                   struct error *e)
{
    int size = comm_size(comm);
    struct who mine = {.pid = (long)getpid()}, *all = calloc((size_t)size, sizeof *all);
    if (!all)
        return error_set(e, ERROR_FAILED, "out of memory");
    gethostname(mine.host, sizeof mine.host - 1);
    bool ok = comm_gather(comm, &mine, sizeof mine, all, e);
    if (ok && comm_rank(comm) == 0) {
        json_t *run = sink_event(sink, "run"), *hosts = json_array();
        for (int i = 0; i < size; i++) {
            bool seen = false;
            for (int j = 0; j < i && !seen; j++)
                seen = strcmp(all[i].host, all[j].host) == 0;
            if (!seen)
                json_array_append_new(hosts, json_string(all[i].host));
        }
        event_set_text(run, "origin", "real");
        event_set_text(run, "job", job_kind_name(job->kind));
        event_set_integer(run, "ranks", size);
        json_object_set_new(run, "hosts", hosts);
        event_set_text(run, "device", device);
        ok = sink_emit(sink, run, e);
        for (int i = 0; ok && i < size; i++) {
            json_t *rank = sink_event(sink, "rank");
            event_set_integer(rank, "rank", i);
            event_set_text(rank, "host", all[i].host);
            event_set_integer(rank, "pid", all[i].pid);
            event_set_text(rank, "device", device);
            ok = sink_emit(sink, rank, e);
        }
    }
    free(all);
    return ok;
}
