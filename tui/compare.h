/*
 * compare.h - any set of runs side by side: what differs in what was asked for, and what came of it.
 *
 * Runs whose configuration is the same (but for the seed) form a group: repeated measurements, of which the mean and its
 * 95 % interval are told (engine/base/interval.h). Speed-up and efficiency are against the group with the fewest ranks
 * among those that are alike in everything but the ranks (or the batch of a rank too, where the global batch is the same:
 * strong scaling); where there is none, against the fewest ranks of all.
 */
#ifndef RINGSIDE_TUI_COMPARE_H
#define RINGSIDE_TUI_COMPARE_H

#include "engine/base/interval.h"
#include "tui/run_model.h"

enum compare_figure {
    COMPARE_EPOCH,      /* seconds */
    COMPARE_STEP,       /* seconds: the global batch / samples per second */
    COMPARE_SPEED,      /* samples/s of the whole job */
    COMPARE_SPEEDUP,    /* of the samples/s, against the base */
    COMPARE_EFFICIENCY, /* that / how many times the base's ranks */
    COMPARE_LOSS,
    COMPARE_ACCURACY,
    COMPARE_WALL, /* seconds */
    COMPARE_FIGURES
};

/* One thing that was asked for, or is so: "batch" "32". */
struct compare_setting {
    char *name, *value;
};

/* One operation that was timed: "allreduce ring, 1.00 MiB". */
struct compare_case {
    char name[64];
    double time_s;
};

struct compare_run {
    char id[256];
    const char *origin; /* run_origin_word, in English */
    int ranks, group;
    char *recording;      /* of a replay: what was played, its first origin; NULL */
    bool again;           /* a run of its group before it plays the same recording: it does not count */
    enum run_state state; /* when it was read */
    struct compare_setting *settings;
    int setting_count;
    struct compare_case *cases;
    int case_count;
    double figure[COMPARE_FIGURES]; /* NaN: not told; speed-up and efficiency are the groups' */
};

struct compare_group {
    int first, runs; /* a run of it, and how many there are that count */
    int again;       /* replays that do not */
    int ranks, base; /* base: the group it is set against; itself where that has the fewest ranks */
    bool related;    /* it and its base differ in ranks alone, or it is one, or is alone */
    struct interval figure[COMPARE_FIGURES];
};

struct comparison {
    struct compare_run *runs;
    int run_count;
    struct compare_group *groups; /* by ranks, then in the order of the runs */
    int group_count;
    char **differences; /* names of settings that are not the same in all groups; ranks first */
    int difference_count;
};

/* "measured", "simulated", "replayed" or "your program": where its figures come from. Not translated. */
const char *run_origin_word(const struct run_model *m);

/* Takes a run in as far as it has been read; false: out of memory. */
bool compare_add(struct comparison *c, const struct run_model *m);
/* Forms the groups; again after more runs. */
bool compare_finish(struct comparison *c);
void compare_free(struct comparison *c);

/* Names of the operations that any run timed, in the order they came; index from 0; NULL: there are no more. */
const char *compare_case_name(const struct comparison *c, int index);
/* The time of that operation over a group's runs. */
struct interval compare_case_time(const struct comparison *c, int group, const char *name);

/*
 * Why a group that is not related has no speed-up: the settings, other than ranks, that it does not share with the
 * first one (the first: with the second), separated by commas.
 */
void compare_unlike(const struct comparison *c, int group, char *text, size_t size);

/* A run's setting; "-" where it has none of that name. */
const char *compare_value(const struct compare_run *run, const char *name);

#endif
