/*
 * simulation.h - a job of the kind JOB_SIM worked out: the cluster, the model, the mesh, and a step of training on them.
 *
 * sim_main is the worker of such a job (`ringside --sim DIR`): it prints the events that a real run has, with origin
 * "sim" and the tier of the network's model, at simulated times.
 */
#ifndef RINGSIDE_SIM_SIMULATION_H
#define RINGSIDE_SIM_SIMULATION_H

#include "cluster-sim/training_network.h"
#include "engine/base/sink.h"
#include "engine/spec/job.h"

/* Not to be moved once it is made: its parts point at each other. */
struct simulation {
    const struct job_sim *job; /* the caller's */
    struct platform platform;
    struct model_spec model;
    struct platform_network network;
    struct training_plan plan;
    char device[64];   /* what a rank computes on: "Tesla P100", "8 cores" */
    char storage[256]; /* what bounds the reading of data; "": nothing is read */
    int ranks;
    enum sim_tier tier; /* that answered for the largest sum; what was asked for where there was none */
    bool exact;
    bool fits; /* into the memory of a rank, or of that nothing is said */
};

/* ERROR_INPUT names what in the job or the cluster does not fit. */
bool simulation_make(struct simulation *s, const struct job_sim *job, struct error *e);
/* The same on a platform that is there; it becomes the simulation's, whatever comes of it. */
bool simulation_make_on(struct simulation *s, const struct job_sim *job, struct platform *platform,
                        struct error *e);
void simulation_free(struct simulation *s);

/* What a rank of the platform computes with: dtype "fp32" or "bf16". device: its name. *memory_bytes: of a rank. */
bool simulation_device(const struct platform *p, const char *dtype, struct roofline *r, char device[64],
                       double *memory_bytes, struct error *e);

/* simulation_events.c: a whole run of it. False: nobody listens any more. */
bool simulation_tell(const struct simulation *s, struct event_sink *sink, struct error *e);

/* argv[0]: the run's directory. Returns the exit code. */
int sim_main(int argc, char **argv);

#endif
