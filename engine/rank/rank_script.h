/*
 * rank_script.h - JOB_RANKS: a learner's function in every rank, over MPI, judged and watched.
 *
 * One start of as many ranks as the largest case needs; a case of n ranks runs on ranks 0..n-1, the others sleep.
 * Rank 0 is also the referee: it says which case comes next, hears of every rank that waits for longer than a moment
 * and of every rank that has ended, and finds out when some can never go on. It emits hops, `case` and `fault`
 * events, and `done`. What ranks tell each other about that goes over the same transport, with tags of its own.
 */
#ifndef RINGSIDE_RANK_RANK_SCRIPT_H
#define RINGSIDE_RANK_RANK_SCRIPT_H

#include "engine/base/lua_judge.h"
#include "engine/base/sink.h"
#include "engine/comm/comm.h"
#include "engine/spec/job.h"

/* As the functions of rank.h. Does not return where a deadlock or an error leaves ranks that wait for ever. */
bool rank_script(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                 bool *right, struct error *e);

/* --- rank_referee.c: what the ranks tell rank 0, and what it makes of it ----------------------------------- */

enum { TAG_GO = 1, TAG_NEWS = 2, TAG_HOPS = 3, TAG_DATA = 16 };

/* A rank's state, sent to rank 0 while it waits and when it has ended. */
struct rank_news {
    int case_number;
    int ended;
    unsigned progress; /* operations completed: whether it is still the same wait */
    double waited_s;
    struct lua_wait wait;
    struct lua_report report; /* where it has ended */
};

struct referee;

/* t: over all ranks of the job. */
struct referee *referee_new(struct transport *t, struct error *e);
void referee_free(struct referee *r);
void referee_begin(struct referee *r, const struct lua_case *c);
/* Takes in what has come. False: the transport failed. */
bool referee_listen(struct referee *r, struct error *e);
/* Rank 0's own state. */
void referee_own(struct referee *r, const struct rank_news *news);
bool referee_all_ended(const struct referee *r);
/* Whether one has ended with an error, and the others have had time to say something too. */
bool referee_failed(const struct referee *r);
/* Whether some can never go on; sure only after the same waits have been reported again and again. */
bool referee_deadlock(struct referee *r, struct lua_deadlock *d);
/* A rank that neither ends nor waits nor says anything; -1: none. */
int referee_silent(const struct referee *r, double *seconds);
/* "rank 2 waits to receive from rank 1": what the ranks besides that one wait for. */
void referee_waiting_for(const struct referee *r, int rank, char *text, size_t size);
/* Reports by rank; of those that have not ended, empty ones. */
const struct lua_report *referee_reports(const struct referee *r);

/*
 * How long a rank's own code may run between two messages: less than a script may in all, so that a rank that never
 * comes back is named within ten seconds. It notices it itself, rank 0 so much later where it cannot.
 */
#define RANK_SCRIPT_SHARE 0.6
#define RANK_SCRIPT_GRACE_S 2.5

#endif
