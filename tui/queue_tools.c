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
    const char *alive[4]; /* answers in a line or two where the controller does */
    const char *jobs[8], *nodes[8];
    parser *parse_jobs, *parse_nodes;
} systems[] = {
    {"Slurm",
     "sinfo",
     {"sinfo", "--noheader", "--summarize"},
     {"squeue", "--noheader", "-o", "%i|%P|%u|%T|%M|%D|%C|%r|%N|%j"},
     {"sinfo", "--noheader", "-N", "-o", "%N|%P|%T|%C|%E"},
     queue_parse_squeue,
     queue_parse_sinfo},
    {"OpenPBS",
     "pbsnodes",
     {"qstat", "-B"},
     {"qstat", "-f", "-F", "json"},
     {"pbsnodes", "-a", "-F", "json"},
     queue_parse_pbs_jobs,
     queue_parse_pbsnodes},
    {"Grid Engine",
     "qhost",
     {"qconf", "-sss"},
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

static int system_here(struct error *e)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (on_path(systems[i].sign))
            return (int)i;
    error_set(
        e, ERROR_MISSING,
        "no batch system here: neither sinfo (Slurm) nor pbsnodes (OpenPBS) nor qhost (Grid Engine) is on "
        "PATH");
    return -1;
}

static bool run(const char *const *argv, size_t most, char *out, size_t size, struct error *e)
{
    char err[512], *words[8 + 1] = {NULL};
    for (size_t i = 0; i < most && argv[i]; i++)
        words[i] = (char *)argv[i];
    int code = probe_command(words, QUEUE_TOOL_S, out, size, err, sizeof err, e);
    if (code < 0)
        return error_wrap(e, "the batch system does not answer");
    if (code != 0)
        return error_set(e, ERROR_FAILED, "%s ended with %d: %.*s", argv[0], code, (int)strcspn(err, "\n"),
                         err);
    return true;
}

bool queue_answers(const char **name, struct error *e)
{
    char out[1024];
    int i = system_here(e);
    if (i < 0)
        return false;
    *name = systems[i].name;
    return run(systems[i].alive, sizeof systems[i].alive / sizeof *systems[i].alive, out, sizeof out, e);
}

bool queue_ask(struct queue_info *q, struct error *e)
{
    *q = (struct queue_info){0};
    int i = system_here(e);
    if (i < 0)
        return false;
    snprintf(q->source, sizeof q->source, "%s", systems[i].name);
    char *out = malloc(OUTPUT_MOST);
    bool ok = out || error_set(e, ERROR_FAILED, "out of memory");
    ok = ok && run(systems[i].nodes, 8, out, OUTPUT_MOST, e) && systems[i].parse_nodes(q, out, e) &&
         run(systems[i].jobs, 8, out, OUTPUT_MOST, e) && systems[i].parse_jobs(q, out, e);
    free(out);
    if (ok)
        queue_sort(q);
    else
        queue_info_free(q);
    return ok;
}
