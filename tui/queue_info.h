/*
 * queue_info.h - nodes and jobs of a batch system, real or simulated, in the same form.
 *
 * What Slurm's, OpenPBS's and Grid Engine's commands print in their formats for machines is parsed by queue_parse.c: anything
 * that is not understood is counted and left out, never guessed, and texts are cleaned of what steers a terminal.
 * queue_tools.c runs the commands; queue_simulated.c makes the same of a simulated schedule.
 */
#ifndef RINGSIDE_TUI_QUEUE_INFO_H
#define RINGSIDE_TUI_QUEUE_INFO_H

#include "engine/base/error.h"

#include <stddef.h>

enum node_state { NODE_FREE, NODE_MIXED, NODE_BUSY, NODE_DRAINED, NODE_DOWN, NODE_OTHER, NODE_STATES };

struct queue_node {
    char name[48], partition[64], why[64];
    enum node_state state;
    int cpus, busy; /* -1: not said */
};

struct queue_job {
    char id[32], user[32], name[48], partition[32], time[24], reason[96];
    bool running;
    char state[16];  /* in the batch system's words */
    int nodes, cpus; /* -1: not said */
};

struct queue_info {
    char source[96]; /* "Slurm", "Simulated: easy on 64 processors" */
    struct queue_node *nodes;
    struct queue_job *jobs; /* running ones first, else in the order given */
    int node_count, job_count, node_room, job_room;
    int left_out; /* lines that were not understood */
};

void queue_info_free(struct queue_info *q);
/* A new one at the end, all zero; NULL: out of memory. */
struct queue_node *queue_add_node(struct queue_info *q);
struct queue_job *queue_add_job(struct queue_info *q);
int queue_count_nodes(const struct queue_info *q, enum node_state state);
/* Running jobs before those that wait. */
void queue_sort(struct queue_info *q);

/*
 * queue_parse.c. Text is what the command printed; jobs or nodes are added. False and *e: it is nothing of the kind.
 *   slurm  squeue --noheader -o "%i|%P|%u|%T|%M|%D|%C|%r|%N|%j", sinfo --noheader -N -o "%N|%P|%T|%C|%E"
 *   pbs    qstat -f -F json, pbsnodes -a -F json (OpenPBS 14 and later)
 *   sge    qstat -u '*' -xml, qhost -q -xml
 */
bool queue_parse_squeue(struct queue_info *q, const char *text, struct error *e);
bool queue_parse_sinfo(struct queue_info *q, const char *text, struct error *e);
bool queue_parse_pbs_jobs(struct queue_info *q, const char *text, struct error *e);
bool queue_parse_pbsnodes(struct queue_info *q, const char *text, struct error *e);
bool queue_parse_sge_jobs(struct queue_info *q, const char *text, struct error *e);
bool queue_parse_qhost(struct queue_info *q, const char *text, struct error *e);

/*
 * queue_tools.c: asks the batch system whose commands are on PATH. It waits for them, at most QUEUE_TOOL_S each: for a thread
 * of its own. ERROR_MISSING: there is none here; ERROR_FAILED: a command failed or took too long, with what it said.
 */
#define QUEUE_TOOL_S 10.0
/* Not more often than that: a controller has more to do than to answer. */
#define QUEUE_REFRESH_S 30.0
bool queue_ask(struct queue_info *q, struct error *e);
/* Whether it answers, by the cheapest question it has; its name goes to *name. Errors as of queue_ask. */
bool queue_answers(const char **name, struct error *e);

/*
 * queue_simulated.c: a made-up day of jobs on so many nodes of so many processors each, at a moment of it. Made once by
 * simulated_queue_new, which takes some milliseconds.
 */
struct simulated_queue;
struct simulated_queue *simulated_queue_new(int nodes, int procs_per_node, const char *policy,
                                            struct error *e);
bool simulated_queue_at(const struct simulated_queue *s, double now_s, struct queue_info *q, struct error *e);
double simulated_queue_end(const struct simulated_queue *s); /* of the last job, seconds */
double simulated_queue_utilisation(const struct simulated_queue *s);
double simulated_queue_mean_wait(const struct simulated_queue *s);
void simulated_queue_free(struct simulated_queue *s);

#endif
