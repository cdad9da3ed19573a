/*
 * main.c - `ringside-rank DIR`: one process per rank, started by mpirun for the run in DIR.
 *
 * Only rank 0's event lines go to standard output. MPI, oneDNN and a learner's print may write there at any time,
 * so standard output becomes standard error (the run's log) at once, and a copy of the old one is the channel.
 * A rank that fails says why on standard error, tells rank 0, whose last event is that sentence, and ends the job:
 * no rank is left waiting for it.
 */
#include "engine/base/event.h"
#include "engine/rank/heartbeat.h"
#include "engine/rank/rank.h"
#include "engine/rank/rank_script.h"
#include "engine/spec/slow_link.h"
#include "engine/train/trainer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long a rank that fails waits for rank 0 to hear it: rank 0 may be in the middle of a long step. */
#define TELL_RANK_0_S 5.0

static bool work(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                 bool *right, struct error *e)
{
    struct train_result result;
    switch (job->kind) {
    case JOB_TRAIN: return train_run(job, rundir, comm, sink, &result, e);
    case JOB_ALLREDUCE: return rank_allreduce(job, rundir, comm, sink, right, e);
    case JOB_BENCH: return rank_bench(job, rundir, comm, sink, right, e);
    case JOB_RANKS: return rank_script(job, rundir, comm, sink, right, e);
    default:
        return error_set(e, ERROR_INPUT, "%s: a job of the kind \"%s\" is not for ringside-rank", rundir,
                         job_kind_name(job->kind));
    }
}

/* Rank 0's last words: the sentence, and the exit code that a mistake of the user's deserves. */
static void say_failed(struct event_sink *sink, const struct error *e)
{
    sink_note(sink, "error", e->text, NULL);
    json_t *done = sink_event(sink, "done");
    json_object_set_new(done, "ok", json_false());
    event_set_integer(done, "exit_code", e->kind);
    sink_emit(sink, done, NULL);
}

/* Where the job asks for it: a slower link, and events that say so. */
static bool slow_down(const struct job *job, struct comm *comm, struct event_sink *sink, struct error *e)
{
    struct slow_link l;
    if (!job_slow_link(job, &l))
        return true;
    slow_link_text(&l, sink->slowed, sizeof sink->slowed);
    return comm_set_link(comm, &l, e);
}

/* Does the job of rundir. Returns the exit code; does not return where the other ranks must be ended. */
static int run(const char *rundir, struct comm *comm, struct event_sink *sink)
{
    struct error e = {0};
    struct job job;
    job_defaults(&job, JOB_TRAIN);
    bool right = true, ok = job_load(&job, rundir, &e) && slow_down(&job, comm, sink, &e);
    struct heartbeat *heartbeat = heartbeat_start(comm, sink);
    ok = ok && work(&job, rundir, comm, sink, &right, &e);
    job_clear(&job);
    if (ok) {
        heartbeat_stop(heartbeat);
        comm_close(comm);
        return right ? 0 : 1;
    }
    fprintf(stderr, "ringside-rank: rank %d: %s\n", comm_rank(comm), e.text);
    fflush(stderr);
    heartbeat_settle(heartbeat);
    if (comm_rank(comm) != 0)
        comm_fail(comm, e.text, TELL_RANK_0_S);
    else if (heartbeat_claim(heartbeat))
        say_failed(sink, &e);
    else
        pause(); /* the heartbeat's thread ends the process */
    /* Where all ranks fail alike, rank 0 ends the job; where this one fails alone, rank 0 does once it has heard. */
    if (comm_rank(comm) != 0)
        sleep(1);
    comm_abort(comm, 1);
}

static int usage(FILE *to)
{
    fputs("usage: mpirun -n RANKS ringside-rank DIR    one rank of the run in DIR (started by ringside)\n"
          "       ringside-rank --probe                which MPI and oneDNN; under mpirun, also the ranks\n"
          "       ringside-rank --gpus                 which GPUs the plugin finds here\n"
          "       ringside-rank --data ...             what 'ringside data' asks for\n",
          to);
    return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout);
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("ringside-rank %s\n", RINGSIDE_VERSION) < 0;
    if (argc > 2 && strcmp(argv[1], "--data") == 0)
        return rank_data_tool(argc - 2, argv + 2);
    if (argc != 2 || (argv[1][0] == '-' && strcmp(argv[1], "--probe") != 0 && strcmp(argv[1], "--gpus") != 0))
        return usage(stderr);
    signal(SIGPIPE, SIG_IGN); /* a supervisor that is gone is an error of the write */
    int channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (channel < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror("ringside-rank: standard output and standard error must be open");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(argv[1], "--gpus") == 0)
        return rank_gpus(channel);
    if (strcmp(argv[1], "--probe") == 0)
        return rank_probe(&argc, &argv, channel);

    /* In all threads, those of MPI too: the heartbeat's takes it. */
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    struct error e = {0};
    struct comm *comm = comm_open(&argc, &argv, &e);
    if (!comm) {
        fprintf(stderr, "ringside-rank: %s\n", e.text);
        return e.kind;
    }
    struct fd_sink line;
    struct event_sink none;
    sink_null_init(&none);
    sink_fd_init(&line, channel);
    bool first = comm_rank(comm) == 0;
    if (!first)
        close(channel);
    int code = run(argv[1], comm, first ? &line.sink : &none);
    sink_fd_clear(&line);
    return code;
}
