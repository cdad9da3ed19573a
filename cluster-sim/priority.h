/*
 * priority.h - a job's priority as a weighted sum of factors, each from 0 to 1, and what users have used.
 *
 *   P = w_age min(1, wait / age_max) + w_size procs / processors + w_fair 2^-(U / S) + w_tier tier
 *
 * as Slurm's multifactor plugin has it (its documentation, Multifactor Priority Plugin and Classic Fairshare
 * Algorithm). U is the user's part of all usage, S the user's part of the shares, which are equal here: 1 / users.
 * Usage is processor-seconds that count half as much after every half-life.
 */
#ifndef RINGSIDE_CLUSTER_SIM_PRIORITY_H
#define RINGSIDE_CLUSTER_SIM_PRIORITY_H

#include "engine/base/error.h"

struct priority_weights {
    double age, size, fairshare, tier;
    double age_max_s;   /* Slurm's PriorityMaxAge: 7 days */
    double half_life_s; /* Slurm's PriorityDecayHalfLife: 7 days */
};

/* What one account has used: at time at_s it stood at `used`, and runs on that many processors since. */
struct usage {
    double used, at_s;
    double procs;
};

struct fairshare {
    struct usage *user; /* one after the other, and last the sum of all */
    int users;
    double half_life_s;
};

bool fairshare_make(struct fairshare *f, int users, double half_life_s, struct error *e);
void fairshare_free(struct fairshare *f);

/* A user's job of that many processors starts (or ends, where procs is negative). */
void fairshare_run(struct fairshare *f, int user, int procs, double now_s);

/* The decayed processor-seconds of a user, or of everybody (user -1). */
double fairshare_usage(const struct fairshare *f, int user, double now_s);

/* 2^-(U / S): 1 for who used nothing, 1/2 for who used the fair share. */
double fairshare_factor(const struct fairshare *f, int user, double now_s);

/* P of a job that has waited for wait_s; processors are its partition's. */
double priority_of(const struct priority_weights *w, double wait_s, int procs, int processors,
                   double fairshare_factor, double tier);

#endif
