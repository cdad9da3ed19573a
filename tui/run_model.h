/*
 * run_model.h - a run's events folded into what can be shown: series, the rank table, hops, checks, sentences.
 *
 * The views and the text reports draw from this and from nothing else, so a real, a simulated and a replayed run
 * look the same. A model follows one run directory: run_model_poll reads what has been written since and never
 * waits. Unknown events are skipped; fields that are absent become NaN or "". The model owns all it points to;
 * pointers stay good until the next poll.
 */
#ifndef RINGSIDE_TUI_RUN_MODEL_H
#define RINGSIDE_TUI_RUN_MODEL_H

#include "engine/base/error.h"
#include "engine/base/rundir.h"
#include "engine/spec/job.h"
#include "tui/run_series.h"
#include "tui/sample.h"

#include <jansson.h>
#include <stddef.h>

struct run_rank {
    int rank;
    char host[64], device[48];
    double samples_per_s;
    double compute_s, comm_s, exposed_comm_s, data_s; /* smoothed over some ten events */
    double rss_bytes, util;
    double gpu_used_bytes, gpu_total_bytes, power_w; /* NAN: not told, as util */
    bool straggler; /* computes much longer than the others, who wait for it in the allreduce */
};

enum hop_phase {
    HOP_REDUCE_SCATTER,
    HOP_ALLGATHER,
    HOP_REDUCE,
    HOP_BROADCAST,
    HOP_ALLTOALL,
    HOP_BARRIER,
    HOP_OTHER, /* not said */
    HOP_PHASES
};

struct run_hop {
    enum hop_phase phase;
    int hop;      /* the round, from 0; -1: not said */
    int from, to; /* ranks */
    int chunk;    /* -1: not said */
    double bytes;
    double t0, t1; /* seconds since the run began */
};

/* One sampled operation: all its messages. */
struct run_op {
    long op;
    char algo[32];
    int ranks; /* as said, or the highest rank seen + 1 */
    struct run_hop *hops;
    int count, capacity;
};

struct run_collective {
    char algo[32], buffer[16];
    double bytes, time_s, busbw_bytes_per_s, error;
    int ranks;
};

/* `point` events of one name. */
struct run_points {
    char name[64], title[96], x_label[48], y_label[48];
    struct run_series xy;
    char *label; /* of the last point; may be NULL */
};

enum check_result { CHECK_PASS, CHECK_FAIL, CHECK_INCONCLUSIVE };
struct run_check {
    enum check_result result;
    char *name, *measured, *accepted, *next; /* never NULL */
};

/* One case of a rank script. */
struct run_case {
    int ranks;
    long length;
    bool ok;
    char *error; /* never NULL */
};

enum note_level { NOTE_INFO, NOTE_WARNING, NOTE_ERROR, NOTE_FAULT };
struct run_note {
    double t;
    enum note_level level;
    char *text;
};

enum { RUN_MAX_SAMPLES = 512, RUN_MAX_OPS = 48, RUN_MAX_NOTES = 200 };

/* One layer of a model that a script describes; figures of one sample. */
struct run_layer {
    char model[64], name[48], text[64], output[64]; /* name: where it stands, "7.layers.0" */
    double parameters, flops, backward_flops, bytes, output_bytes;
};

/* Of a simulated run: one reason for its time, with the formula and its numbers. */
struct run_why {
    char what[32];
    char *text;    /* never NULL */
    double time_s; /* NaN: none */
};

/* A run that this run's script started. */
struct run_child {
    char id[128], label[64];
    enum run_state state;
};

/* Where in the file steps are told: at most RUN_INDEX_MAX of them, every `stride`-th. */
enum { RUN_INDEX_MAX = 4096 };
struct run_index {
    double *step;
    off_t *offset;
    int count;
    long stride, seen;
};

struct run_model {
    char dir[PATH_MAX], id[256];
    bool have_job;
    struct job job;
    struct run_status status;
    int queue_position; /* of a pending run; 0: not said */
    char origin[16];    /* "real", "sim", "byo", "replay"; "" before the run event */
    char device[64], hosts[256];
    char tier[12];    /* of a simulated run: how its network was modelled */
    char slowed[256]; /* "slowed on purpose: 1 Gbit/s, 50 us"; "": its link is the real one */
    char mode[24];    /* of a rank script: "mpi", or "coroutines" in one process */
    int ranks;        /* of the run event, else of the job */
    bool started;     /* its worker has said something */

    /* training */
    struct run_series loss, speed, lr;        /* by step */
    struct run_series compute, exposed, data; /* seconds of a step, where it tells of all three */
    struct run_series eval_loss, eval_accuracy;
    struct run_series loss_d, loss_g, d_real, d_fake; /* of a gan: its two losses, what D takes for real */
    long step, total_steps;                           /* total 0: not known */
    double epoch;
    double last_loss, samples_per_s;                  /* of the last step event */
    double compute_s, exposed_comm_s, comm_s, data_s; /* smoothed over some ten step events */
    char algo[32];                                    /* of the allreduce, as told last */
    double bucket;                                    /* bytes */
    int buckets;                                      /* allreduces a step */
    double grad_norm, last_lr;
    char compress[8];                  /* what gradients travel as: "fp16", "bf16"; "": as they are */
    double sent_bytes, compress_error; /* by a rank in the last step; relative, as measured last */
    double t_last, t_first_step;       /* seconds since the run began; NaN: none */
    long first_step;
    double parameters; /* NaN: not known */
    struct run_rank *rank_table;
    int rank_count;

    struct run_op ops[RUN_MAX_OPS]; /* the latest, in order */
    int op_count;
    long ops_seen;
    struct run_collective *collectives;
    int collective_count;
    struct run_points *points;
    int points_count;
    struct run_check *checks;
    int check_count;
    struct run_case *cases;
    int case_count;
    struct run_note notes[RUN_MAX_NOTES]; /* the latest, oldest first */
    int note_count;
    struct sample *samples; /* the latest, oldest first, of several evaluations */
    int sample_count;
    struct run_layer *layers;
    int layer_count;
    struct run_why *whys;
    int why_count;
    double efficiency, memory_bytes; /* of a simulated run, at its end; NaN: not told */
    double bubble_s, straggler_s;    /* of its steps, within exposed_comm_s */
    struct run_child *children;
    int child_count;

    bool done, ok; /* the `done` event has come */
    char hash[20]; /* of the parameters at the end, "": not told */
    double wall_s, final_accuracy, final_loss, final_samples_per_s;
    bool cut;    /* it ended well, but its record lacks `done`, always the last line */
    long events; /* seen so far */

    struct run_reader *reader;
    bool attached; /* rundir_note_attached has been called */
    struct run_index index;
    struct run_model
        *exact; /* of a long run opened quickly: reads all of it meanwhile; NULL: this is all of it */
};

/* For tests and pipes: a model of no directory, to which events are applied. */
void run_model_init(struct run_model *m);
/* Follows a run by its directory, its id or another name that rundir_find takes. */
bool run_model_open(struct run_model *m, const char *run, struct error *e);
/*
 * The same for a screen: of a long run only the beginning, the end and samples between are read at once; the rest
 * comes in by slices of some milliseconds, a slice a poll, until the model is what run_model_open's would be.
 */
bool run_model_open_quickly(struct run_model *m, const char *run, struct error *e);
/* Whether more is to be read at once, and the share that has been (1: all). */
bool run_model_reading(const struct run_model *m, double *share);
void run_model_free(struct run_model *m);

/* Takes in one event. */
void run_model_apply(struct run_model *m, const json_t *event);
/* Takes in the event of a line, plain ones without the JSON library; false: it is none. */
bool run_model_apply_line(struct run_model *m, const char *line, size_t length);
/* Takes in a plain step or report of a rank, as most lines are; false: the line is something else. */
bool run_model_apply_plain(struct run_model *m, const char *line, size_t length);
/* Reads what is new: at most `limit` events, and the status file. True: something has changed. */
bool run_model_poll(struct run_model *m, int limit);

/*
 * Reads on from `offset` for a slice of some milliseconds, up to a step behind `last`; false: that has been reached, or
 * the end. The offset counts at the first call only, when nothing has been read.
 */
bool run_model_read_steps(struct run_model *m, off_t offset, double last);

bool run_model_ended(const struct run_model *m);
/* Computed, not measured: its origin is "sim". */
bool run_model_simulated(const struct run_model *m);
/* `train --eval`: there is no training to show. */
bool run_model_only_tests(const struct run_model *m);
/* Seconds since the run began: up to its end, or to `now` (since the epoch) while it runs. */
double run_model_elapsed(const struct run_model *m, double now);
/* Share done, 0..1; NaN: not known. */
double run_model_progress(const struct run_model *m, double now);
/* Seconds still to go at the present speed; NaN: not known. */
double run_model_remaining(const struct run_model *m, double now);
/* compute, exposed communication, data: shares that add up to 1; false: nothing measured yet. */
bool run_model_shares(const struct run_model *m, double share[3]);
/* The share of communication that is hidden behind computation; NaN: none is, or it is not told. */
double run_model_hidden(const struct run_model *m);
/* Seconds in which a rank did nothing but communicate, as far as it tells; else all its communication. */
double run_rank_exposed(const struct run_rank *r);
/* One sentence: what the state means and, where it failed, why. */
void run_model_state_text(const struct run_model *m, char *text, size_t size);
/* What of its record cannot be read, in a sentence or two; false: nothing. */
bool run_model_gaps_text(const struct run_model *m, char *text, size_t size);
/* Of a simulated run: the reason of that name; NULL: there is none. */
const struct run_why *run_model_why(const struct run_model *m, const char *what);
const struct run_op *run_model_op(const struct run_model *m, long op);

#endif
