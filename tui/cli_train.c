/*
 * cli_train.c - `ringside train`: trains a model on real ranks and follows it.
 */
#include "engine/base/rundir.h"
#include "engine/launch/gpus.h"
#include "engine/launch/launch.h"
#include "engine/launch/resume.h"
#include "engine/spec/data_name.h"
#include "engine/spec/model_lua.h"
#include "tui/cli.h"
#include "tui/follow.h"
#include "tui/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char not_yet[] = "this version cannot do that yet";

struct choices {
    bool json, detach, epochs_given, lr_given, momentum_given, weight_decay_given, step_given, gamma_given;
    bool model_given, ranks_given, batch_given, steps_given, optimizer_given, schedule_given, algo_given;
    const char *from; /* the run of --resume or --eval; NULL: neither */
    int ranks_before; /* of that run */
    char out[PATH_MAX];
};

/* Options that would say nothing: a job has these fields always, with their defaults. */
static bool check_use(const struct job_train *t, const struct choices *c, struct error *e)
{
    if (c->momentum_given && strcmp(t->optimizer, "sgd") != 0 && strcmp(t->optimizer, "lars") != 0)
        return error_set(e, ERROR_INPUT, "--momentum: only sgd and lars have it, but the optimizer is %s",
                         t->optimizer);
    if ((c->step_given || c->gamma_given) && strcmp(t->schedule, "step") != 0)
        return error_set(e, ERROR_INPUT, "--%s: only the schedule step has it, but the schedule is %s",
                         c->step_given ? "step-size" : "gamma", t->schedule);
    if (c->algo_given && t->reproducible && strcmp(t->algo, "tree") != 0)
        return error_set(e, ERROR_INPUT,
                         "--algo: --reproducible sums along the tree, in one order; leave out %s", t->algo);
    return true;
}

/* The value of an option that the defaults of the others depend on; NULL where it does not appear. */
static const char *look_ahead(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], name, length) == 0 &&
            (argv[i][length] == '=' || (!argv[i][length] && i + 1 < argc)))
            return argv[i][length] ? argv[i] + length + 1 : argv[i + 1];
    return NULL;
}

/* The defaults: those of every job, or the job of the run that this one goes on with or tests. */
static bool begin_with(struct job *job, struct choices *c, int argc, char **argv, struct error *e)
{
    const char *resume = look_ahead(argc, argv, "--resume"), *eval = look_ahead(argc, argv, "--eval");
    if (resume && eval)
        return error_set(e, ERROR_INPUT, "--resume goes on training, --eval only tests: give one of them");
    c->from = resume ? resume : eval;
    if (!c->from) {
        job_defaults(job, JOB_TRAIN);
        return true;
    }
    char dir[PATH_MAX];
    if (!resume_job(c->from, job, dir, e))
        return error_wrap(e, resume ? "--resume" : "--eval");
    c->ranks_before = job->ranks;
    if (eval) {
        job->ranks = 1;
        *job->train.shares = 0;
    }
    return true;
}

/* What the run's own job says stays, but for what is given here. */
static bool resolve_from(struct job *job, const struct choices *c, struct error *e)
{
    struct job_train *t = &job->train;
    char dir[PATH_MAX];
    if (!rundir_find_trained(c->from, dir, e))
        return false;
    memcpy(*t->eval ? t->eval : t->resume, dir, strlen(dir) + 1);
    if (c->model_given) {
        json_decref(t->layers);
        t->layers = NULL;
    }
    if (c->epochs_given && !c->steps_given)
        t->steps = 0;
    return *t->eval || !c->ranks_given || c->batch_given ||
           resume_keep_global_batch(job, c->ranks_before, e) || error_wrap(e, "--resume");
}

/* A rank for each GPU: two on one would share its time, and sum through the host's memory. */
static void take_gpus(struct job *job)
{
    bool wanted = strcmp(job->train.device, "cuda") == 0,
         expected = strcmp(job->train.device, "auto") == 0 && access("/dev/nvidiactl", F_OK) == 0;
    int count = !job->train.reproducible && (wanted || expected) ? gpus_count() : 0;
    if (count > 0)
        job->ranks = count < JOB_MAX_RANKS ? count : JOB_MAX_RANKS;
}

static bool resolve(struct job *job, const struct choices *c, struct error *e)
{
    struct job_train *t = &job->train;
    bool same_recipe = c->from && !c->optimizer_given && !c->schedule_given;
    if (c->from && !resolve_from(job, c, e))
        return false;
    if (!c->from && !c->epochs_given && (t->steps > 0 || t->seconds > 0))
        t->epochs = 0;
    bool gan = !same_recipe && !(c->lr_given && c->schedule_given) && model_is_gan(t->model, t->layers);
    if (gan && !c->schedule_given)
        snprintf(t->schedule, sizeof t->schedule, "constant");
    if (!c->lr_given && !same_recipe)
        t->lr = gan ? MODEL_GAN_LR : job_default_lr(t->optimizer, t->schedule);
    if (!c->ranks_given && !c->from && !*t->shares)
        take_gpus(job);
    if (!c->algo_given && !c->from)
        snprintf(t->algo, sizeof t->algo, "%s", job_default_algo(t->device));
    if (!c->weight_decay_given && !same_recipe)
        t->weight_decay = job_default_weight_decay(t->optimizer);
    if (!job_validate(job, e)) {
        /* The fields are named as the options are, but for the dashes. */
        struct error plain = *e;
        for (char *p = plain.text; *p && *p != ':'; p++)
            *p = *p == '_' ? '-' : *p;
        return error_set(e, plain.kind, "--%s", plain.text);
    }
    return check_use(t, c, e) && (data_name_resolve(t->data, e) || error_wrap(e, "--data"));
}

/* From the words of the command to a job; the caller clears it. *help: its help was asked for and printed. */
static bool parse(int argc, char **argv, struct job *job, struct choices *c, bool *help, struct error *e)
{
    if (!begin_with(job, c, argc, argv, e))
        return false;
    struct job_train *t = &job->train;
    const struct option options[] = {
        {"model", "M", OPTION_TEXT, t->model, sizeof t->model, 0, 0,
         "cnn (default), another of exercises/models, or FILE.lua", &c->model_given, NULL},
        {"data", "D", OPTION_TEXT, t->data, sizeof t->data, 0, 0,
         "mnist (default), cifar10, text-chars ..., a folder, FILE.shards", NULL, NULL},
        {"ranks", "N", OPTION_INT, &job->ranks, 0, 1, JOB_MAX_RANKS,
         "processes that train together (2; on GPUs one for each)", &c->ranks_given, NULL},
        {"batch", "B", OPTION_INT, &t->batch, 0, 1, 65536, "samples per rank and step (64)", &c->batch_given,
         NULL},
        {"epochs", "E", OPTION_INT, &t->epochs, 0, 1, 100000, "passes over the data (2)", &c->epochs_given,
         NULL},
        {"steps", "S", OPTION_LONG, &t->steps, 0, 1, 1e12,
         "or: stop after S steps (with --epochs: of that plan)", &c->steps_given, NULL},
        {"seconds", "T", OPTION_REAL, &t->seconds, 0, 0.001, 1e7, "or: stop after T seconds", NULL, NULL},
        {"accumulate", "K", OPTION_INT, &t->accumulate, 0, 1, 65536,
         "sum the gradients of K batches per rank for one step (1)", NULL, NULL},
        {"optimizer", "O", OPTION_TEXT, t->optimizer, sizeof t->optimizer, 0, 0,
         "adam (default), adamw, sgd, lars or lamb", &c->optimizer_given, NULL},
        {"lr", "X", OPTION_REAL, &t->lr, 0, 1e-12, 1e30,
         "peak learning rate (adam 3e-3, sgd 0.05, lars 5, lamb 0.02)", &c->lr_given, NULL},
        {"momentum", "M", OPTION_REAL, &t->momentum, 0, 0, 0.9999, "of sgd and lars (0.9)",
         &c->momentum_given, NULL},
        {"nesterov", NULL, OPTION_FLAG, &t->nesterov, 0, 0, 0, "sgd looks ahead along its momentum", NULL,
         NULL},
        {"weight-decay", "W", OPTION_REAL, &t->weight_decay, 0, 0, 100,
         "(sgd and adam 0, adamw and lamb 0.01, lars 1e-4)", &c->weight_decay_given, NULL},
        {"clip", "NORM", OPTION_REAL, &t->clip, 0, 1e-30, 1e30,
         "scale the gradient down to this norm where it is larger", NULL, NULL},
        {"schedule", "S", OPTION_TEXT, t->schedule, sizeof t->schedule, 0, 0,
         "of the rate: onecycle (default), constant, step, cosine", &c->schedule_given, NULL},
        {"warmup", "SHARE", OPTION_REAL, &t->warmup, 0, 0, 0.9,
         "rise linearly to the peak over this share of the run", NULL, NULL},
        {"step-size", "E", OPTION_REAL, &t->step_size, 0, 0.001, 1e5,
         "schedule step: epochs from one drop to the next (1)", &c->step_given, NULL},
        {"gamma", "G", OPTION_REAL, &t->gamma, 0, 1e-6, 1, "schedule step: factor of a drop (0.1)",
         &c->gamma_given, NULL},
        {"scale-lr", "BASE", OPTION_INT, &t->scale_lr, 0, 1, 1e9,
         "multiply the rate by the global batch / BASE (linear scaling)", NULL, NULL},
        {"algo", "A", OPTION_TEXT, t->algo, sizeof t->algo, 0, 0,
         "allreduce: ring (default; with --device cuda auto), or another (ringside allreduce --help)",
         &c->algo_given, NULL},
        {"bucket", "BYTES", OPTION_SIZE, &t->bucket, 0, 0, 1e12,
         "sum gradients beside backward, so much at once; 0: after it (network: 25M)", NULL, NULL},
        {"autotune", NULL, OPTION_FLAG, &t->autotune, 0, 0, 0,
         "find the fastest allreduce and bucket in the first steps", NULL, NULL},
        {"device", "D", OPTION_TEXT, t->device, sizeof t->device, 0, 0,
         "cpu, cuda, or auto (default): GPUs where every rank finds one", NULL, NULL},
        {"dtype", "T", OPTION_TEXT, t->dtype, sizeof t->dtype, 0, 0,
         "fp32 (default); bf16 or, on GPUs, tf32: multiply in it, keep all else in fp32", NULL, NULL},
        {"threads", "T", OPTION_INT, &t->threads, 0, 1, 1024, "per rank (the cores shared out)", NULL, NULL},
        {"seed", "K", OPTION_SEED, &t->seed, 0, 0, 9e18, "of the weights and of the data's order (1)", NULL,
         NULL},
        {"pause", "S", OPTION_REAL, &t->pause_s, 0, 0, 3600,
         "sleep S seconds after each step: a long run that burns little", NULL, NULL},
        {"shares", "A,B", OPTION_TEXT, t->shares, sizeof t->shares, 0, 0,
         "divide the samples so among the ranks, not evenly; who is done first joins", NULL, NULL},
        {"trace", "STEPS", OPTION_LONG, &t->trace, 0, 0, 1e9,
         "record so many, from the eleventh on, in the run's trace.json (50)", NULL, NULL},
        {"label", "NAME", OPTION_TEXT, job->label, sizeof job->label, 0, 0, "in the run's id (model-data)",
         NULL, NULL},
        {"out", "DIR", OPTION_TEXT, c->out, sizeof c->out, 0, 0, "the run's directory, new or empty", NULL,
         NULL},
        {"launcher", "L", OPTION_TEXT, job->launcher, sizeof job->launcher, 0, 0, "local", NULL, NULL},
        {"detach", NULL, OPTION_FLAG, &c->detach, 0, 0, 0, "print the run's id and leave it running", NULL,
         NULL},
        {"json", NULL, OPTION_FLAG, &c->json, 0, 0, 0, "print the events, one JSON object a line", NULL,
         NULL},
        {"hosts", "H", OPTION_TEXT, NULL, 0, 0, 0, NULL, NULL, not_yet},
        {"tensor", "P", OPTION_INT, NULL, 0, 0, 0, NULL, NULL, not_yet},
        {"pipeline", "P", OPTION_INT, NULL, 0, 0, 0, NULL, NULL, not_yet},
        {"microbatches", "M", OPTION_INT, NULL, 0, 0, 0, NULL, NULL, not_yet},
        {"resume", "RUN", OPTION_TEXT, t->resume, sizeof t->resume, 0, 0,
         "go on from a run's last checkpoint (its options are the defaults)", NULL, NULL},
        {"reproducible", NULL, OPTION_FLAG, &t->reproducible, 0, 0, 0,
         "the same bits for 1, 2, 4, 8 ranks and any number of threads", NULL, NULL},
        {"checkpoint-every", "STEPS", OPTION_LONG, &t->checkpoint_every, 0, 1, 1e12,
         "keep one every STEPS too (else after each epoch and at the end)", NULL, NULL},
        {"compress", "T", OPTION_TEXT, t->compress, sizeof t->compress, 0, 0,
         "send gradients as none (default), fp16 or bf16: half the bytes", NULL, NULL},
        {"hash-every", "STEPS", OPTION_LONG, &t->hash_every, 0, 0, 1e12,
         "compare the ranks' parameters every STEPS (100; 0: only at each test)", NULL, NULL},
        {"link", "RATE", OPTION_TEXT, t->link, sizeof t->link, 0, 0,
         "slow messages down on purpose: 1Gbps, or 1Gbps,2=100Mbps by rank", NULL, NULL},
        {"link-latency", "T", OPTION_TEXT, t->link_latency, sizeof t->link_latency, 0, 0,
         "and make each take T longer: 50us, or 50us,2=5ms", NULL, NULL},
        {"eval", "RUN", OPTION_TEXT, t->eval, sizeof t->eval, 0, 0,
         "do not train: test a run's last checkpoint and time it", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside train [options]",
        .summary = "Trains a model, data-parallel: every rank computes the gradient of its own batch, an "
                   "allreduce sums\n"
                   "the gradients, and every rank takes the same step. Ctrl-C stops the run.",
        .more =
            "Exit codes: 0 trained (where the last checkpoint could not be written, the last line says so); "
            "1 "
            "the\n"
            "run failed or was stopped; 2 a mistake in the options; 3 something is missing here ('ringside "
            "doctor'\n"
            "says what).",
        .options = options,
    };
    char *rest[OPTION_MAX_WORDS];
    int rest_count = 0;
    if (!options_parse(&command, argc, argv, rest, &rest_count, help, e))
        return false;
    if (*help) {
        options_help(&command, stdout);
        return true;
    }
    return rest_count ? cli_stray_word(argv[0], rest[0], e) : resolve(job, c, e);
}

bool cli_train_job(int argc, char **argv, struct job *job, struct error *e)
{
    struct choices c = {0};
    bool help = false;
    *job = (struct job){0};
    if (parse(argc, argv, job, &c, &help, e) && !help)
        return true;
    job_clear(job);
    return help ? error_set(e, ERROR_INPUT, "--help starts nothing") : false;
}

int cli_train(int argc, char **argv)
{
    struct job job = {0};
    struct choices c = {0};
    struct error e = {0};
    char dir[PATH_MAX];
    bool help = false;
    if (!parse(argc, argv, &job, &c, &help, &e) || help) {
        job_clear(&job);
        return help ? 0 : cli_fail(&e);
    }
    bool started = *c.out ? launch_start_in(&job, c.out, dir, &e) : launch_start(&job, dir, &e);
    job_clear(&job);
    if (!started)
        return cli_fail(&e);
    if (c.detach) {
        puts(*c.out ? dir : rundir_id(dir));
        return 0;
    }
    if (!c.json)
        printf("run %s\n", *c.out ? dir : rundir_id(dir));
    fflush(stdout);
    return follow_run(dir, &(struct follow){.json = c.json});
}
