/*
 * ask.h - questions to the simulator that are no training, as descriptions (JSON) and answers (events' fields):
 *
 *   storage     { kind = "nvme" | "ssd" | "hdd" | "nfs" | "parallel" (without it: the cluster's own), files =, file_bytes =,
 *                 clients =, readers =, epochs =, order = "shuffled" | "sequential", share = "own" | "new" | "all", cache =,
 *                 warm =, stage =, disk = "nvme" | "ssd" | "hdd" (where staged), compute = (files/s), prefetch =, targets =,
 *                 servers =, depth =, stripe_count =, stripe =, read =, link =, client_link =, memory =, seek =, open =,
 *                 opens_per_s = }
 *   checkpoint  { cost = (seconds, or a size with write =), write =, nodes =, mtbf = (of a node), work =, restart =,
 *                 interval =, runs =, seed = }
 *   schedule    { procs =, policy =, trace = "FILE.swf" | "made-up:1000:0.7:1" or jobs = { { submit =, run =, limit =,
 *                 procs =, user =, partition =, tasks =, at_once = }, ... }, exact =, enforce_limits =, backfill =,
 *                 weights = { age =, size =, fairshare =, tier = }, half_life =,
 *                 partitions = { { name =, procs =, limit =, tier = }, ... } }
 *
 * Times, sizes and rates are numbers (seconds, bytes, bytes a second) or texts with a unit.
 */
#ifndef RINGSIDE_CLUSTER_SIM_ASK_H
#define RINGSIDE_CLUSTER_SIM_ASK_H

#include "cluster-sim/checkpointing.h"
#include "cluster-sim/scheduler.h"
#include "cluster-sim/storage.h"
#include "cluster-sim/workload.h"

#include <jansson.h>

/* Answers { storage | checkpoint | schedule = {...} }: puts the figures into the event, and gives the lines that say why,
 * which the caller frees. cluster: NULL, a name or a description. */
bool ask_answer(const json_t *ask, const json_t *cluster, json_t *event, char **why, struct error *e);

/* The parts. What is not in the description stays as it is. platform: NULL, or whose storage it is. */
bool storage_from_json(const json_t *o, const struct platform *platform, struct storage_system *s,
                       struct storage_load *load, struct error *e);
/* ImageNet's training set as small files, one client on 10 Gb/s with eight readers, two epochs. */
void storage_defaults(struct storage_load *load);
void storage_to_json(const struct storage_system *s, const struct storage_load *load,
                     const struct storage_result *r, json_t *event);

bool checkpoint_from_json(const json_t *o, struct checkpointing *c, struct error *e);
/* 720 hours of work, and nodes that fail as Llama 3's did. */
void checkpoint_defaults(struct checkpointing *c);
void checkpoint_to_json(const struct checkpointing *c, const struct checkpoint_result *r, json_t *event);

/* A trace by its file, or made up ("made-up:JOBS[:LOAD[:SEED]]") for so many processors. */
bool workload_read(const char *name, int procs, struct swf *trace, struct error *e);
bool ask_schedule(const json_t *o, json_t *event, char **why, struct error *e);
void schedule_to_json(const struct sched_config *c, const struct workload *w, const struct sched_result *r,
                      json_t *event);

#endif
