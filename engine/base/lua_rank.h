/*
 * lua_rank.h - one rank of a rank script: the learner's function, on top of any struct transport.
 *
 * The script runs in a sandbox of its own and as a Lua coroutine: comm.send, comm.recv and comm.sendrecv start
 * operations and step aside, lua_rank_step tests them and goes on once they are done. So the same code serves
 * coroutines in one process and a real rank whose driver watches for deadlocks between two steps. A message is a
 * header (how many elements) and the elements; the header lets a receiver name both lengths where they differ.
 * The tally (messages, bytes, hops) is kept here, out of the learner's reach.
 */
#ifndef RINGSIDE_BASE_LUA_RANK_H
#define RINGSIDE_BASE_LUA_RANK_H

#include "engine/base/error.h"
#include "engine/base/lua_sandbox.h"
#include "engine/base/lua_wait.h"
#include "engine/base/transport.h"

enum { LUA_RANK_HOPS = 1024, LUA_RANK_MEMORY = 64 << 20 };

enum lua_rank_state { LUA_RANK_WAITING, LUA_RANK_FINISHED, LUA_RANK_FAILED };

struct lua_hop {
    int from, to, hop, chunk; /* hop: the how-manieth message of its sender; chunk -1: unknown */
    long bytes;
    double t0, t1; /* seconds since the run began */
};

struct lua_tally {
    long messages, bytes;
    long strangers; /* messages to others than the two neighbours on the ring */
    int hop_count;
    struct lua_hop hops[LUA_RANK_HOPS];
};

/* What all ranks of a case have in common. The texts must outlive the ranks. */
struct lua_rank_script {
    const char *text; /* of the script */
    size_t length;
    const char *shown; /* its name in messages */
    const char *entry; /* the function to call: entry(comm, x) */
    struct lua_limits limits;
    double started; /* of the run, for the times of hops */
    lua_print_function *print;
    void *print_self;
};

struct lua_rank;

/*
 * Prepares the rank `t->rank` of `t->size` with a vector of zeros; runs the script up to its end (so that the
 * function is defined), not the function yet. tag: two tags from there are used. NULL and *e: it cannot be
 * prepared; the sentence names file and line where it is the script's fault.
 */
struct lua_rank *lua_rank_open(struct transport *t, const struct lua_rank_script *script, int tag,
                               long elements, struct error *e);
void lua_rank_close(struct lua_rank *r);

float *lua_rank_data(struct lua_rank *r);

/* Goes on as far as possible. Never blocks, but runs the learner's code. */
enum lua_rank_state lua_rank_step(struct lua_rank *r);
/* What it waits for now. */
struct lua_wait lua_rank_wait(const struct lua_rank *r);
/* Counts the operations that were completed: whether it has moved since. */
unsigned lua_rank_progress(const struct lua_rank *r);
const struct lua_tally *lua_rank_tally(const struct lua_rank *r);
/* After FAILED: what happened, with file and line. */
const char *lua_rank_failure(const struct lua_rank *r);
/* After FAILED: whether it had computed for too long. */
bool lua_rank_expired(const struct lua_rank *r);
/* Where the learner's code is: a line, 0 unknown. */
int lua_rank_line(const struct lua_rank *r);

#endif
