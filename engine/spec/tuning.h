/*
 * tuning.h - which allreduce "auto" takes for a buffer of which size: a table, measured on this machine and
 * kept.
 *
 * A table is good for one host, MPI library, number of ranks, of ranks on each host, and kind of buffer:
 * they are its key and make its file's name under $RINGSIDE_HOME/tuning. Files are written whole or not at
 * all. A file that is damaged, or was made for another key, is never used. Rows ascend; the last one has no
 * end.
 */
#ifndef RINGSIDE_SPEC_TUNING_H
#define RINGSIDE_SPEC_TUNING_H

#include "engine/base/error.h"
#include "engine/spec/cost.h"

#include <limits.h>
#include <stddef.h>

enum { TUNING_ROWS = 64 };

struct tuning_key {
    char host[64];    /* where rank 0 is */
    char library[64]; /* "Open MPI v4.1.4" */
    char buffer[16];  /* "engine" or "private" */
    int ranks, ranks_per_host;
};

struct tuning {
    struct tuning_key key;
    int rows;
    struct tuning_row {
        size_t up_to; /* bytes, inclusive; of the last SIZE_MAX */
        char algo[32];
    } row[TUNING_ROWS];
};

enum tuning_found { TUNING_READ, TUNING_NONE, TUNING_BAD };

/*
 * TUNING_BAD: there is a file that cannot be used; the sentence says which and why. *t is filled only by
 * TUNING_READ.
 */
enum tuning_found tuning_load(const struct tuning_key *key, struct tuning *t, struct error *e);
bool tuning_save(const struct tuning *t, struct error *e);

/* The algorithm for so many bytes. A table without rows has none: NULL. */
const char *tuning_choose(const struct tuning *t, size_t bytes);

/* "shm to 64 KiB, ring to 2 MiB, then mpi" */
void tuning_text(const struct tuning *t, char *text, size_t size);

/*
 * From times: seconds[size * algos + algo], sizes ascending. At each size the fastest, but the one chosen
 * for the size before stays where it is within 3 % (that is noise); between two sizes with different choices
 * the border is their geometric mean. False where there are no sizes or algorithms, or too many.
 */
bool tuning_from_times(struct tuning *t, const size_t *bytes, int sizes, const char (*algos)[32], int count,
                       const double *seconds);

/*
 * From the cost model, where nothing has been measured: shm where all ranks share memory, else the cheapest
 * of recursive doubling, halving doubling, ring and, with several ranks a host, hierarchical.
 */
void tuning_from_model(struct tuning *t, const struct cost_link *l, bool shared);

#endif
