/*
 * queue_tools.c - runs the commands of the batch system that is here.
 */
#include "engine/launch/probe.h"
#include "tui/queue_info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_MOST = 16 << 20 }; /* some 100 000 jobs */

typedef bool parser(struct queue_info *q, const char *text, struct error *e);

/* A batch system is here where `sign`, which no other has, is on PATH. */
static const struct {
    const char *name, *sign;
    const char *jobs[8], *nodes[8];
    parser *parse_jobs, *parse_nodes;
} systems[] = {
    {"Slurm",
     "sinfo",
     {"squeue", "--noheader", "-o", "%i|%P|%u|%T|%M|%D|%C|%r|%N|%j"},
     {"sinfo", "--noheader", "-N", "-o", "%N|%P|%T|%C|%E"},
     queue_parse_squeue,
     queue_parse_sinfo},
    {"OpenPBS",
     "pbsnodes",
     {"qstat", "-f", "-F", "json"},
     {"pbsnodes", "-a", "-F", "json"},
     queue_parse_pbs_jobs,
     queue_parse_pbsnodes},
    {"Grid Engine",
     "qhost",
     {"qstat", "-u", "*", "-xml"},
     {"qhost", "-q", "-xml"},
     queue_parse_sge_jobs,
     queue_parse_qhost},
};

static bool on_path(const char *command)
{
    const char *path = getenv("PATH");
    for (path = path ? path : ""; *path;) {
        char file[PATH_MAX];
        size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, command);
        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static bool run(const char *const *argv, parser *parse, struct queue_info *q, char *out, struct error *e)
{
    char err[512], *words[8] = {NULL};
    for (int i = 0; i < 8 && argv[i]; i++)
        words[i] = (char *)argv[i];
    int code = probe_command(words, QUEUE_TOOL_S, out, OUTPUT_MOST, err, sizeof err, e);
    if (code < 0)
        return error_wrap(e, "the batch system does not answer");
    if (code != 0)
        return error_set(e, ERROR_FAILED, "%s ended with %d: %.*s", argv[0], code, (int)strcspn(err, "\n"),
                         err);
    return parse(q, out, e);
}

bool queue_ask(struct queue_info *q, struct error *e)
{
    *q = (struct queue_info){0};
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        if (!on_path(systems[i].sign))
            continue;
        snprintf(q->source, sizeof q->source, "%s", systems[i].name);
        char *out = malloc(OUTPUT_MOST);
        bool ok = out || error_set(e, ERROR_FAILED, "out of memory");
        ok = ok && run(systems[i].nodes, systems[i].parse_nodes, q, out, e) &&
             run(systems[i].jobs, systems[i].parse_jobs, q, out, e);
        free(out);
        if (ok)
            queue_sort(q);
        else
            queue_info_free(q);
        return ok;
    }
    return error_set(
        e, ERROR_MISSING,
        "no batch system here: neither sinfo (Slurm) nor pbsnodes (OpenPBS) nor qhost (Grid Engine) is on "
        "PATH");
}
