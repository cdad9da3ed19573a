/*
 * lua_judge.h - what a rank script is judged by: inputs, the right sum, and the figures of each rank.
 *
 * The inputs are whole numbers that differ from rank to rank, element to element and case to case, so that
 * float32 sums are exact in any order and nobody can know another rank's numbers without being sent them. The judge
 * is C and reads the vector itself: whatever a script does to print, tostring or tables, it cannot say
 * "right". The figures become one `case` event; what they mean for an exercise is check.lua's matter.
 */
#ifndef RINGSIDE_BASE_LUA_JUDGE_H
#define RINGSIDE_BASE_LUA_JUDGE_H

#include "engine/base/lua_rank.h"
#include "engine/base/sink.h"

/* What one rank has to say about one case; a plain record that can be sent from rank to rank. */
struct lua_report {
    int rank;
    int finished; /* its function returned; else the figures say how far it came */
    int right;
    int stuck;        /* it was stopped, having computed for too long */
    double max_error; /* against the exact sum; infinite where an element is no number */
    long messages, bytes, strangers;
    int hop_count; /* hops it has logged */
    char failure[700];
};

/* One number of ranks with one length. */
struct lua_case {
    int number, ranks;
    long length;
    bool draw_hops; /* its hops become events */
};

/*
 * The cases of a list of rank counts and lengths, in order; at most max. Hops are drawn for the first length of each
 * count that gives every rank something to do.
 */
int lua_cases(const int *counts, int count_total, const long *lengths, int length_total,
              struct lua_case *cases, int max);

void lua_judge_fill(float *x, const struct lua_case *c, int rank);
/* Reads rank r's vector and tally. */
void lua_judge_rank(struct lua_rank *r, const struct lua_case *c, int rank, struct lua_report *report);

/* {"ev":"case", ...}: reports of the case's ranks in rank order; deadlock NULL: there was none. */
json_t *lua_judge_event(const struct event_sink *sink, const struct lua_case *c,
                        const struct lua_report *reports, const struct lua_deadlock *deadlock);
/* The whole job's answer: the first case that is not right decides, and its sentence says why. */
struct lua_verdict {
    bool ok, stop; /* stop: a deadlock or an error, which would come again in every case that follows */
    bool told;     /* a fault event has said the sentence */
    int exit_code; /* 0, 1, or 2 where the script has a mistake */
    char sentence[1000];
};
void lua_verdict_add(struct lua_verdict *v, const struct lua_case *c, const struct lua_report *reports,
                     const struct lua_deadlock *deadlock);
/* Emits what is to be said at the end: a note where it is not ok, and `done`. */
bool lua_verdict_emit(const struct lua_verdict *v, struct event_sink *sink, struct error *e);

/* Emits hop events of one rank. */
bool lua_judge_hops(struct event_sink *sink, const struct lua_case *c, const struct lua_hop *hops, int count,
                    struct error *e);
/* {"ev":"fault","kind":"deadlock", ...} with the verdict's sentence, which is told by that. */
json_t *lua_judge_fault(const struct event_sink *sink, const struct lua_case *c, const struct lua_deadlock *d,
                        struct lua_verdict *v);

#endif
