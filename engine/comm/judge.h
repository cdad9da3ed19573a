/*
 * judge.h - what rank 0 makes of the heartbeats: which rank is dead, stopped, silent, or not in the same
 * collective as the others, and what everybody else waits for.
 *
 * Nothing but a table and a clock, so that it can be tested without ranks. A rank that computes for a long time is
 * no fault: its thread beats. Nor is one that has never been heard of: it may not be able to reach rank 0. Where
 * rank 0 itself has not come round for a while (a laptop slept, the whole job was stopped), the silence of others
 * means nothing: judge_forgive.
 */
#ifndef RINGSIDE_COMM_JUDGE_H
#define RINGSIDE_COMM_JUDGE_H

#include "engine/comm/beat.h"

/* Seconds: a process that is seen to be stopped; silence, which a busy host may cause; waits that do not move. */
#define JUDGE_STOPPED_S 2.5
#define JUDGE_SILENT_S 6.0
#define JUDGE_STUCK_S 5.0

struct judged {
    bool known;     /* has been heard of */
    bool gone;      /* its connection is no more */
    bool excused;   /* and it had said that it ends, or it has failed with a sentence */
    bool finished;  /* its work is done */
    double heard;   /* when last; of rank 0 now */
    double moved;   /* when its view last changed */
    double stopped; /* since when its process has been seen to be stopped; 0: it is not, or cannot be seen */
    char host[64];
    long pid;
    struct activity_view view;
};

struct verdict {
    const char *kind; /* "dead", "stopped", "silent", "mismatch", "deadlock" */
    int rank;
    char waiting_for[400];
    char text[1000];
};

/* Takes a beat in. */
void judge_take(struct judged *r, const struct beat *b, double now);
/* Nobody has been silent up to now. */
void judge_forgive(struct judged *r, int n, double now);
/* True: there is a fault, the first of which is in v. */
bool judge(const struct judged *r, int n, double now, struct verdict *v);

/* "allreduce (ring) of 16384 f32 elements, in step 17"; what most of the ranks besides `rank` wait for. */
void judge_waiting_for(const struct judged *r, int n, int rank, char *text, size_t size);
/* Whether that rank waits for others. */
bool judge_waits(const struct activity_view *v);
/* Of a rank that waits for nobody yet: what it will wait for, as far as it is known, and what it does. */
void judge_next(const struct activity_view *v, int rank, char *text, size_t size);
/* What one rank waits for or does. */
void judge_doing(const struct activity_view *v, char *text, size_t size);

#endif
