/*
 * rank.h - what a rank can be asked to do, by the kind of its job.
 *
 * Each function is called by every rank with the same job. Events leave through the sink (rank 0's reaches the
 * run; the others' drop what they get). False: this rank failed, with the sentence in e; main() tells rank 0 and
 * ends the job. *right: whether the job's own answer is yes; where it is no, `done` has said so already.
 */
#ifndef RINGSIDE_RANK_RANK_H
#define RINGSIDE_RANK_RANK_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"
#include "engine/spec/job.h"

/* JOB_ALLREDUCE: times each algorithm at each size, checks the sums; emits run, rank, hop, collective, done. */
bool rank_allreduce(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                    bool *right, struct error *e);

/* What it does, without run, rank and done. *stopped: the stop file was seen. */
bool rank_collectives(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                      bool *right, bool *stopped, struct error *e);

/* JOB_BENCH: the ladder, the roofline, a training step beside PyTorch's, the allreduce; emits run, rank, point,
 * collective, note, done. */
bool rank_bench(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                bool *right, struct error *e);

/* `ringside-rank --probe`: one JSON line about MPI, oneDNN and, under mpirun, every rank. Returns the exit code. */
int rank_probe(int *argc, char ***argv, int channel);

/* `ringside-rank --gpus`: one JSON line (device_report of engine/train/device.h). Returns the exit code. */
int rank_gpus(int channel);

/* `ringside-rank --data ...`: argv is what follows. Returns the exit code. */
int rank_data_tool(int argc, char **argv);

/* Emits `run` and one `rank` event per rank (host, pid). Collective. */
bool rank_announce(const struct job *job, const char *device, struct comm *comm, struct event_sink *sink,
                   struct error *e);

#endif
