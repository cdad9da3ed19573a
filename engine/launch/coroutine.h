/*
 * coroutine.h - ranks in one process: a transport without MPI, and the runs of rank scripts on it.
 *
 * The world holds the messages that nobody has taken yet. A synchronous send is done when its message has been
 * taken; any other is copied and done at once. Ranks take turns, always in the same order, so a run is the same each
 * time; where none can go on, that is a deadlock and the cycle is named.
 */
#ifndef RINGSIDE_LAUNCH_COROUTINE_H
#define RINGSIDE_LAUNCH_COROUTINE_H

#include "engine/base/lua_judge.h"
#include "engine/base/transport.h"
#include "engine/spec/job.h"

struct coroutine_world;
struct coroutine_world *coroutine_world_new(int ranks, struct error *e);
void coroutine_world_free(struct coroutine_world *w);
struct transport *coroutine_transport(struct coroutine_world *w, int rank);

struct lua_guard;

/*
 * Runs one case to its end, under a guard (may be NULL), and adds it to the verdict. False: the ranks could not be started (the script does not
 * compile, no memory).
 */
bool coroutine_case(const struct lua_rank_script *script, const struct lua_case *c, struct event_sink *sink,
                    struct lua_guard *guard, struct lua_verdict *verdict, struct error *e);

/* A whole job of the kind JOB_RANKS: every count with every length; stops at the first deadlock or error. */
bool coroutine_job(const struct job *job, struct event_sink *sink, struct lua_verdict *verdict,
                   struct error *e);

/* `ringside --coroutine-ranks DIR`; argv[0] is DIR. */
int coroutine_main(int argc, char **argv);

#endif
