/*
 * cli_run.c - `ringside run FILE.lua`: a description or an experiment, headless.
 */
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/launch/launch.h"
#include "engine/launch/lua_host.h"
#include "tui/cli.h"
#include "tui/follow.h"
#include "tui/options.h"
#include "tui/run_model.h"
#include "tui/summary.h"
#include "tui/text_plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char more[] =
    "A script may call (times in seconds, data in bytes, accuracy as a fraction):\n"
    "  model{ conv2d{32, 3}, relu{}, maxpool{2}, flatten{}, dense{10}, input = {1, 28, 28} }\n"
    "      layers: conv2d{channels, size, stride =, padding =, dilation =, groups =, bias =} maxpool{size}\n"
    "      avgpool{size} global_avgpool{} batchnorm{} layernorm{} dropout{rate} relu{} leaky_relu{} gelu{}\n"
    "      tanh{} sigmoid{} dense{units} embedding{vocabulary, units} simple_rnn{units} lstm{units, last =}\n"
    "      flatten{} reshape{channels, height, width} residual{..., shortcut = {...}} branches{{...}, "
    "{...}}\n"
    "      also name =, loss = \"cross_entropy\", \"bce\" or \"mse\", label_smoothing =, input = {tokens = "
    "100};\n"
    "      gan{ generator = model{...}, discriminator = model{...} }\n"
    "  A file that only describes a model is shown as a table of its layers.\n"
    "  train{ model = \"cnn\", data = \"mnist\", ranks = 2, batch = 64, epochs = 2, lr = 3e-3,\n"
    "         optimizer = adam{} or sgd{ momentum = 0.9 } (adamw, lars, lamb), schedule = \"onecycle\",\n"
    "         allreduce = \"ring\" }\n"
    "      also steps =, seconds =, accumulate =, clip =, warmup =, scale_lr =, step_size =, gamma =,\n"
    "      threads =, seed =, pause =, link = \"1Gbps\", link_latency = \"50us\", compress = \"bf16\",\n"
    "      detach = true; gives .ok .accuracy .loss .samples_per_s .wall_s .run\n"
    "      .steps .evals .ranks\n"
    "  allreduce{ ranks = 2, bytes = {1024, 1048576}, algo = \"ring,mpi\" }   gives a list of .algo .bytes "
    ".time_s\n"
    "      also iters =, check =, dtype = \"bf16\", collective = \"broadcast\", place = \"both\", buffer =, "
    "link = \"1Gbps\"\n"
    "  simulate{ cluster = \"horovod-vm\" or cluster{...}, job = { model = \"resnet50\", ranks = 8, batch = "
    "64,\n"
    "             allreduce = \"ring\", bucket =, overlap =, tensor =, pipeline =, microbatches =, rate = } "
    "}\n"
    "      a training job on a cluster that is described: gives .samples_per_s .step_s .compute_s .comm_s\n"
    "      .exposed_comm_s .efficiency .bottleneck .memory_bytes .fits .tier .explain\n"
    "  plot{ title = \"...\", x = \"...\", y = \"...\", series = { name = { {x, y}, ... } } }\n"
    "  predict(\"question\", guess)   print(...)   note(\"text\")\n"
    "A file that only defines allreduce(comm, x) runs in every one of --ranks ranks, on a vector of "
    "--length:\n"
    "  comm.rank, comm.size, comm.send(to, v), comm.recv(from, v), comm.sendrecv(to, a, from, b);\n"
    "  x:chunk(i, n) from 0, x:clone(), x:add(y), x:copy(y), #x, x[1] to x[#x]\n"
    "Exit codes: 0 done; 1 a run it asked for failed, or the sum is wrong; 2 a mistake in the script; 3 "
    "something\n"
    "is missing here.\n";

/* The points of all plots, as columns. */
static void print_points(const struct run_model *m)
{
    for (int i = 0; i < m->points_count; i++) {
        const struct run_points *p = &m->points[i];
        if (!strcmp(p->name, "predicted"))
            continue;
        printf("\n%s%s%s%s%s\n%14s %14s\n", p->title, *p->title ? ": " : "", p->name, *m->slowed ? ", " : "",
               m->slowed, *p->x_label ? p->x_label : "x", *p->y_label ? p->y_label : "y");
        for (int k = 0; k < p->xy.count; k++)
            printf("%14.6g %14.6g\n", p->xy.x[k], p->xy.y[k]);
    }
}

/* A simulated run that the script asked for. */
static void report_simulated(const char *id, bool explain)
{
    struct run_model m;
    if (!run_model_open(&m, id, NULL))
        return;
    run_model_poll(&m, 1000000);
    if (m.have_job && m.job.kind == JOB_SIM) {
        follow_simulated(stdout, &m);
        if (explain)
            follow_why(stdout, &m);
    }
    run_model_free(&m);
}

/* What its script put out or described, as tables. */
static void report_tables(const char *dir, bool explain)
{
    struct run_model m;
    if (!run_model_open(&m, dir, NULL))
        return;
    run_model_poll(&m, 1000000);
    for (int i = 0; i < m.child_count; i++)
        report_simulated(m.children[i].id, explain);
    print_points(&m);
    summary_write(stdout, &m, follow_columns(), text_is_utf8());
    run_model_free(&m);
}

static bool fill_job(struct job *job, const char *file, int ranks, long length, struct error *e)
{
    enum lua_host_kind kind;
    if (!lua_host_probe(file, &kind, e))
        return false;
    if (kind == LUA_HOST_SCRIPT) {
        job_defaults(job, JOB_SCRIPT);
        snprintf(job->script.file, sizeof job->script.file, "%s", file);
        return true;
    }
    struct job_ranks *r = &job->rank_script;
    job_defaults(job, JOB_RANKS);
    snprintf(r->script, sizeof r->script, "%s", file);
    snprintf(r->shown, sizeof r->shown, "%s", lua_host_shown(file));
    r->counts[0] = job->ranks = ranks;
    r->lengths[0] = length;
    return true;
}

int cli_run(int argc, char **argv)
{
    struct job job;
    struct error e = {0};
    bool json = false, detach = false, coroutines = false, explain = false;
    int ranks = 4, rest_count;
    long length = 16;
    char *rest[OPTION_MAX_WORDS], dir[PATH_MAX];
    const struct option options[] = {
        {"ranks", "N", OPTION_INT, &ranks, 0, 1, 64, "of a file that defines allreduce(comm, x) (4)", NULL,
         NULL},
        {"length", "L", OPTION_LONG, &length, 0, 0, 1e6, "elements of x in such a file (16)", NULL, NULL},
        {"coroutines", NULL, OPTION_FLAG, &coroutines, 0, 0, 0, "such a file in one process, without MPI",
         NULL, NULL},
        {"explain", NULL, OPTION_FLAG, &explain, 0, 0, 0, "why a simulated run takes as long as it does",
         NULL, NULL},
        {"detach", NULL, OPTION_FLAG, &detach, 0, 0, 0, "print the run's id and leave it running", NULL,
         NULL},
        {"json", NULL, OPTION_FLAG, &json, 0, 0, 0, "print the events, one JSON object a line", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside run FILE.lua [options]",
        .summary = "Runs a Lua script in a sandbox: its train{} and allreduce{} become runs of their own.",
        .more = more,
        .options = options,
    };
    int code;
    if (!cli_options(&command, argc, argv, rest, &rest_count, &code))
        return code;
    if (rest_count != 1) {
        error_set(&e, ERROR_INPUT, "run takes one file, got %d; 'ringside run --help' says more", rest_count);
        return cli_fail(&e);
    }
    if (!fill_job(&job, rest[0], ranks, length, &e))
        return cli_fail(&e);
    job.rank_script.coroutines = coroutines;
    bool started = launch_start(&job, dir, &e);
    if (!started && e.kind == ERROR_MISSING && job.kind == JOB_RANKS) {
        fprintf(stderr, "ringside: %s; the ranks are coroutines in one process\n", e.text);
        job.rank_script.coroutines = true;
        started = launch_start(&job, dir, &e);
    }
    job_clear(&job);
    if (!started)
        return cli_fail(&e);
    if (detach) {
        puts(rundir_id(dir));
        return 0;
    }
    if (!json)
        printf("run %s\n", rundir_id(dir));
    fflush(stdout);
    code = follow_run(dir, &(struct follow){.json = json});
    if (!json)
        report_tables(dir, explain);
    return code;
}
