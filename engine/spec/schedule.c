#include "engine/spec/schedule.h"

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
    }
    return "unknown";
}

static const struct {
    const char *name;
    bool (*make)(struct schedule *s, int ranks, size_t length, struct error *e);
} makers[] = {
    {"ring", schedule_ring},
    {"tree", schedule_tree},
};

enum { MAKERS = sizeof makers / sizeof *makers };

const char *schedule_algo(int i)
{
    return i >= 0 && i < MAKERS ? makers[i].name : NULL;
}

bool schedule_make(struct schedule *s, const char *algo, int ranks, size_t length, struct error *e)
{
    for (int i = 0; i < MAKERS; i++)
        if (strcmp(algo, makers[i].name) == 0)
            return makers[i].make(s, ranks, length, e);
    memset(s, 0, sizeof *s);
    char known[128] = "";
    for (int i = 0; i < MAKERS; i++) {
        if (i)
            strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, makers[i].name, sizeof known - strlen(known) - 1);
    }
    return error_set(e, ERROR_INPUT,
                     "there is no schedule for the allreduce algorithm \"%.64s\" (there is: %s)", algo,
                     known);
}

void schedule_free(struct schedule *s)
{
    if (!s)
        return;
    free(s->transfers);
    memset(s, 0, sizeof *s);
}
