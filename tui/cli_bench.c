/*
 * cli_bench.c - `ringside bench`: this machine's figures beside its peers'.
 */
#include "engine/launch/launch.h"
#include "engine/launch/plan.h"
#include "tui/cli.h"
#include "tui/options.h"

#include <string.h>

int cli_bench(int argc, char **argv)
{
    struct job job;
    bool json = false, detach = false, ranks_given = false;
    char out[PATH_MAX] = "";
    job_defaults(&job, JOB_BENCH);
    struct job_bench *b = &job.bench;
    const struct option options[] = {
        {"only", "A,B", OPTION_TEXT, b->parts, sizeof b->parts, 0, 0,
         "ladder, roofline, train, allreduce (default: all of them)", NULL, NULL},
        {"seconds", "T", OPTION_REAL, &b->seconds, 0, 1, 3600, "of measuring, about (30)", NULL, NULL},
        {"threads", "T", OPTION_INT, &b->threads, 0, 0, 1024, "at most; 0: all cores (0)", NULL, NULL},
        {"device", "D", OPTION_TEXT, b->device, sizeof b->device, 0, 0,
         "auto (default), cpu or cuda: the ladders of a GPU, too", NULL, NULL},
        {"model", "M", OPTION_TEXT, b->model, sizeof b->model, 0, 0,
         "whose layers and training step are measured (cnn)", NULL, NULL},
        {"batch", "B", OPTION_INT, &b->batch, 0, 1, 65536, "of that model (32)", NULL, NULL},
        {"ranks", "N", OPTION_INT, &job.ranks, 0, 1, JOB_MAX_RANKS, "of the allreduce (2)", &ranks_given,
         NULL},
        {"label", "NAME", OPTION_TEXT, job.label, sizeof job.label, 0, 0, "in the run's id (bench)", NULL,
         NULL},
        {"out", "DIR", OPTION_TEXT, out, sizeof out, 0, 0, "the run's directory, new or empty", NULL, NULL},
        {"detach", NULL, OPTION_FLAG, &detach, 0, 0, 0, "print the run's id and leave it running", NULL,
         NULL},
        {"json", NULL, OPTION_FLAG, &json, 0, 0, 0, "print the events, one JSON object a line", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside bench [options]",
        .summary =
            "Measures this machine. ladder: a matrix product written five times, each faster. "
            "roofline: multiply-adds a\n"
            "second and bytes a second at most, and where the layers of a model lie below them. train: "
            "a training step\n"
            "beside PyTorch's, taking turns. allreduce: the ring beside MPI's.",
        .options = options,
    };
    int code;
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    if (!ranks_given && !strstr(b->parts, "allreduce"))
        job.ranks = 1; /* nobody is needed but the one that measures */
    return cli_measure(&job, out, detach, json);
}
