/*
 * job.h - what a run is asked to do, resolved: every default filled in, written as job.json.
 *
 * The command line, Lua and the application make a job; the launcher starts it; ringside-rank carries it out.
 * The names of the JSON fields are those of the members.
 */
#ifndef RINGSIDE_SPEC_JOB_H
#define RINGSIDE_SPEC_JOB_H

#include "engine/base/error.h"
#include "engine/spec/shares.h"

#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { JOB_VERSION = 1, JOB_TRACE_STEPS = 50, JOB_MAX_SIZES = 64, JOB_MAX_COUNTS = 16 };
enum { JOB_MAX_RANKS = 4096, JOB_SIM_MAX_RANKS = 1 << 22 };

enum job_kind {
    JOB_TRAIN,     /* ringside-rank on every rank: a training job */
    JOB_ALLREDUCE, /* ringside-rank on every rank: collectives, timed and checked */
    JOB_RANKS,     /* a rank script: the learner's function in every rank, over MPI or as coroutines */
    JOB_SCRIPT, /* a Lua description or experiment, in the sandbox; its train{} and so on become runs of their own */
    JOB_CHECK, /* an exercise's check.lua on a learner's file, in the sandbox */
    JOB_BENCH, /* ringside-rank on every rank: this machine's figures beside its peers' */
    JOB_SIM,   /* training on a simulated cluster: in one process, in no time */
};

struct job_train {
    char model[PATH_MAX]; /* a name ("cnn") or a Lua file; once it has been read, the model's name */
    json_t *layers;       /* the model as JSON (model.h), filled in by the launcher where it is NULL; owned */
    char data[PATH_MAX];  /* data_name.h says what it may be */
    int batch;            /* per rank */
    int epochs;           /* 0 where steps or seconds bound the run */
    long steps;           /* 0: no such bound */
    double seconds;       /* 0: no such bound */
    int accumulate;       /* batches of each rank that are summed for one step */
    char optimizer[16];   /* "sgd", "adam", "adamw", "lars", "lamb" */
    double momentum;      /* of sgd and lars */
    bool nesterov;        /* sgd */
    double weight_decay; /* sgd and adam: added to the gradient; adamw, lars, lamb: as their papers have it */
    double clip;         /* largest norm of the whole gradient; 0: any */
    char schedule[16];   /* "constant", "onecycle", "step", "cosine" */
    double lr;           /* peak learning rate, before scale_lr */
    int scale_lr;     /* global batch that lr is meant for: the rate grows with the real one; 0: as it is */
    double warmup;    /* share of the run over which the rate rises to its peak, in front of the schedule */
    double step_size; /* schedule step: epochs after which the rate is multiplied ... */
    double gamma;     /* ... with this */
    char dtype[8];    /* "fp32", "bf16", on GPUs "tf32": what layers multiply in */
    char algo[32];    /* allreduce: "ring", "tree", "mpi", on GPUs "nccl" */
    long bucket;   /* bytes of gradients summed at once, beside backward; 0: all after it; -1: by the hosts */
    bool autotune; /* algo and bucket are found in the first steps */
    char device[16]; /* "cpu", "cuda", "auto": GPUs where every rank finds one */
    int threads;     /* per rank; 0: cores of the host / ranks on it, at least 1 */
    uint64_t seed;
    bool reproducible;        /* the same bits for any number of ranks and threads */
    long hash_every;          /* steps: the ranks' parameters are compared; 0: only where they are tested */
    long checkpoint_every;    /* steps; 0: only after each epoch and at the end */
    char resume[PATH_MAX];    /* a run's directory: go on from its last checkpoint; "": begin */
    char eval[PATH_MAX];      /* a run's directory: test its last checkpoint, do not train */
    char shares[SHARES_TEXT]; /* of the samples, by rank (shares.h); "": equal ones */
    long trace;               /* steps that are recorded in trace.json; 0: none */
    double pause_s;           /* sleep between steps: a long run that burns nothing (lesson 01) */
    char compress[8];         /* "none", "fp16", "bf16": what gradients travel as */
    char link[128];           /* slow_link.h: the rate that messages are slowed to on purpose; "": none */
    char link_latency[128];
};

struct job_allreduce {
    char algos[128];             /* comma separated: "ring,mpi" */
    size_t bytes[JOB_MAX_SIZES]; /* of the buffer */
    int sizes;
    int iters;           /* timed iterations per size */
    bool check;          /* compare with a float64 sum */
    char buffer[16];     /* "engine" (allocated by comm) or "private" (malloc) */
    char collective[16]; /* "allreduce", "broadcast" ... (collective.h) */
    char dtype[8];       /* "f32", "f64", "bf16", "f16" */
    char place[8];       /* "in", "out", "both": the sum overwrites the summands or not */
    long trace;          /* operations that are recorded in trace.json, shared out among the cases; 0: none */
    bool tune;           /* find the fastest at each size, and keep that for algo auto */
    char link[128];      /* as of job_train */
    char link_latency[128];
};

struct job_ranks {
    char script[PATH_MAX];      /* the file that is executed: a copy inside the run directory */
    char shown[PATH_MAX];       /* the learner's file, as named in messages */
    char entry[64];             /* the function every rank calls: entry(comm, x) */
    int counts[JOB_MAX_COUNTS]; /* numbers of ranks to run it at, ascending */
    int count_total;
    long lengths[JOB_MAX_SIZES]; /* elements of x, float32, at each number of ranks */
    int length_total;
    bool coroutines; /* in one process, without MPI */
};

struct job_script {
    char file[PATH_MAX];      /* the Lua file (JOB_SCRIPT) or the learner's file (JOB_CHECK) */
    char exercise[64];        /* JOB_CHECK: name, e.g. "04-ring-allreduce" */
    char directory[PATH_MAX]; /* JOB_CHECK: the exercise's folder with check.lua */
    bool instant;             /* JOB_CHECK: rank scripts as coroutines and no training: the check on saving */
};

/* What `ringside bench` measures; rank 0 does it, the others take part in the allreduce. */
struct job_bench {
    char parts[64]; /* comma separated: "ladder,roofline,train,allreduce" */
    char model[64]; /* whose layers are placed on the roofline and whose training step is timed, */
    json_t *layers; /* the JSON of its description; owned; NULL: neither is done, */
    int batch;      /* at this batch, */
    int threads;    /* on so many threads; 0: all cores of the host */
    char device
        [16]; /* "cpu"; "cuda": the ladder and the roofline of the first rank's GPU, too; "auto": where it has one */
    double seconds; /* of measuring, shared out among the parts; what must be done once may take longer */
};

/* A training job on a cluster that is described, not had. Ranks of the job itself: the one process that computes. */
struct job_sim {
    json_t *ask; /* { storage | checkpoint | schedule = {...} }: a question, and no training; owned; NULL */
    json_t *cluster;      /* what cluster{...} made, or a cluster's name as a JSON text; owned */
    char model[PATH_MAX]; /* as a training job has it, */
    json_t *layers;       /* with the JSON of its description; owned */
    int world_size;       /* simulated ranks; 0: as many as the cluster has */
    int batch;            /* of each data-parallel replica */
    long steps;
    char algo[32];                           /* of the allreduce: as collective.h of cluster-sim names them */
    char tier[8];                            /* "auto", "closed", "rounds", "events" */
    double bucket_bytes, first_bucket_bytes; /* gradients summed together; bucket_bytes 0: all at once */
    bool overlap;                            /* sums while backward goes on */
    int tensor, pipeline, microbatches;      /* the mesh; the rest of the ranks are replicas */
    char optimizer[16], dtype[8];
    double rate; /* samples/s of one rank alone, measured; 0: from its peak rates */
    double
        input_samples_per_s; /* that reading yields, over all ranks; 0: any, or what the cluster's storage does: */
    double samples;          /* of the dataset; 0: data cost nothing */
    double sample_bytes, samples_per_file;
    int readers;        /* reads in flight of each rank */
    double cache_bytes; /* of each node, for files that were read before */
    char straggler[16]; /* distribution of a rank's delay: "none", "uniform", "normal", "exponential", */
    double spread;      /* relative, */
    int slow_ranks;     /* and so many that always take ... */
    double slow_factor; /* ... this many times as long */
    uint64_t seed;
};

struct job {
    int version;
    enum job_kind kind;
    char label[64];   /* in the run's id: "cnn-mnist" */
    char parent[128]; /* id of the run whose script asked for this one, "" otherwise */
    int ranks;
    char hosts[256];   /* "" : this host */
    char launcher[16]; /* "local" */
    struct job_train train;
    struct job_allreduce allreduce;
    struct job_ranks rank_script;
    struct job_script script;
    struct job_bench bench;
    struct job_sim sim;
};

struct slow_link;

/* The defaults of each kind, before the caller changes them. */
void job_defaults(struct job *job, enum job_kind kind);
void job_clear(struct job *job); /* drops what it owns */

/* The learning rate that suits: adam, adamw 3e-3 under onecycle, else 1e-3; sgd 0.05, lars 5, lamb 0.02. */
double job_default_lr(const char *optimizer, const char *schedule);
/* What sums gradients where nobody has said: the ring; on GPUs auto, which leaves them there where it can. */
const char *job_default_algo(const char *device);
/* adamw and lamb 0.01, lars 1e-4; sgd and adam none. */
double job_default_weight_decay(const char *optimizer);
/* Samples of one step, over all ranks. */
long job_global_batch(const struct job_train *t, int ranks);
/* Whether its messages are slowed on purpose; *l (or NULL): to what. False for a job that slow_link_parse refuses. */
bool job_slow_link(const struct job *job, struct slow_link *l);
const char *
job_kind_name(enum job_kind kind); /* "train", "allreduce", "ranks", "script", "check", "bench", "sim" */
/* The label a job without one gets: "cnn-mnist", "allreduce", "ranks", the script's name, "check-04-ring-allreduce". */
void job_default_label(const struct job *job, char *label, size_t size);

/* Checks every field that can be checked without the machine: names, ranges. ERROR_INPUT names the option. */
bool job_validate(const struct job *job, struct error *e);

/* Sets the field of that name, of the job or of its kind; whole numbers may come as 2.0. ERROR_INPUT: the value does
 * not fit. */
bool job_set(struct job *job, const char *field, json_t *value, struct error *e);

/* The ranks of a job.json as it was read; of a simulation those of the cluster, 0 where it takes all of them. */
long long job_json_ranks(const json_t *object);
json_t *job_to_json(const struct job *job); /* a new reference */
bool job_from_json(struct job *job, const json_t *object,
                   struct error *e);                                 /* strict: unknown fields are errors */
bool job_load(struct job *job, const char *rundir, struct error *e); /* reads rundir/job.json */

#endif
