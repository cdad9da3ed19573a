#include "engine/spec/schedule.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t chunk_offset(size_t length, int n, int i)
{
    size_t base = length / (size_t)n, longer = length % (size_t)n, before = (size_t)i;
    return base * before + (before < longer ? before : longer);
}

size_t chunk_length(size_t length, int n, int i)
{
    return length / (size_t)n + ((size_t)i < length % (size_t)n);
}

const char *phase_name(enum phase phase)
{
    switch (phase) {
    case PHASE_REDUCE_SCATTER: return "reduce_scatter";
    case PHASE_ALLGATHER: return "allgather";
    case PHASE_REDUCE: return "reduce";
    case PHASE_BROADCAST: return "broadcast";
    case PHASE_ALLTOALL: return "alltoall";
    case PHASE_BARRIER: return "barrier";
    }
    return "unknown";
}

bool schedule_begin(struct schedule *s, const char *algo, int ranks, size_t length, int chunks, size_t most,
                    struct error *e)
{
    memset(s, 0, sizeof *s);
    if (ranks < 1)
        return error_set(e, ERROR_INPUT, "%s needs at least one rank, not %d", algo, ranks);
    snprintf(s->algo, sizeof s->algo, "%s", algo);
    s->ranks = ranks;
    s->length = length;
    s->chunks = chunks;
    if (most > INT32_MAX || !(s->transfers = calloc(most + 1, sizeof *s->transfers)))
        return error_set(e, ERROR_FAILED, "%s on %d ranks needs a schedule of %zu transfers: out of memory",
                         algo, ranks, most);
    return true;
}

void schedule_add(struct schedule *s, struct transfer t)
{
    if (t.round >= s->rounds)
        s->rounds = t.round + 1;
    if (t.length > 0)
        s->transfers[s->count++] = t;
}

/* --- by name --- */

static const struct {
    const char *name;
    bool (*plain)(struct schedule *s, int ranks, size_t length, struct error *e);
    /* Or one that takes a number behind a colon; 0: not given. */
    bool (*with)(struct schedule *s, int ranks, size_t length, int number, struct error *e);
} makers[] = {
    {"ring", schedule_ring, NULL},
    {"ring_segmented", NULL, schedule_ring_segmented},
    {"tree", schedule_tree, NULL},
    {"recursive_doubling", schedule_recursive_doubling, NULL},
    {"halving_doubling", schedule_halving_doubling, NULL},
    {"everyone", schedule_everyone, NULL},
    {"central", schedule_central, NULL},
    {"param_server", NULL, schedule_param_server},
    {"hierarchical", NULL, schedule_hierarchical},
};

enum { MAKERS = sizeof makers / sizeof *makers };

const char *schedule_algo(int i)
{
    return i >= 0 && i < MAKERS ? makers[i].name : NULL;
}

bool schedule_algo_parse(const char *algo, int *index, int *number, struct error *e)
{
    size_t name = strcspn(algo, ":");
    *number = 0;
    for (*index = 0; *index < MAKERS; ++*index)
        if (strlen(makers[*index].name) == name && memcmp(makers[*index].name, algo, name) == 0)
            break;
    if (*index == MAKERS) {
        char known[256] = "";
        for (int i = 0; i < MAKERS; i++) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", makers[i].name);
        }
        return error_set(e, ERROR_INPUT,
                         "there is no allreduce algorithm \"%.64s\" (there are: auto, mpi, shm, nccl, %s)",
                         algo, known);
    }
    if (!algo[name])
        return true;
    char *end;
    long value = strtol(algo + name + 1, &end, 10);
    if (!makers[*index].with || *end || end == algo + name + 1 || value < 1 || value > INT32_MAX)
        return error_set(e, ERROR_INPUT, "the allreduce algorithm \"%.64s\": %s takes %s", algo,
                         makers[*index].name,
                         makers[*index].with ? "a whole number from 1 behind its colon" : "no number");
    *number = (int)value;
    return true;
}

bool schedule_make(struct schedule *s, const char *algo, int ranks, size_t length, struct error *e)
{
    int i, number;
    memset(s, 0, sizeof *s);
    if (!schedule_algo_parse(algo, &i, &number, e))
        return false;
    if (!(makers[i].plain ? makers[i].plain(s, ranks, length, e)
                          : makers[i].with(s, ranks, length, number, e)))
        return false;
    snprintf(s->algo, sizeof s->algo, "%s", algo);
    return true;
}

bool allreduce_algo_check(const char *algo, int ranks, struct error *e)
{
    int index, number;
    static const char *const others[] = {"auto", "mpi", "shm", "nccl"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(algo, others[i]) == 0)
            return true;
    if (!schedule_algo_parse(algo, &index, &number, e))
        return false;
    struct schedule s = {0}; /* of nothing: it has no transfers, but what does not go together shows */
    bool ok = number == 0 || ranks == 0 || schedule_make(&s, algo, ranks, 0, e);
    schedule_free(&s);
    return ok;
}

void schedule_free(struct schedule *s)
{
    if (!s)
        return;
    free(s->transfers);
    memset(s, 0, sizeof *s);
}
