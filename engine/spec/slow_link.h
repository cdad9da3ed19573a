/*
 * slow_link.h - a link that is slower than the real one, on purpose: what a learner asked for with --link and
 * --link-latency, read from its text and told again in words.
 *
 * A text holds a value for all ranks, for single ones, or both: "1Gbps", "1Gbps,2=100Mbps", "3=5ms". Rates are
 * in bits a second, with SI prefixes, latencies in seconds. Each rank has one cable: what it sends goes out at
 * its rate, what it receives comes in at its rate, both at once. A message between two ranks goes at the slower
 * rate of the two and takes the longer latency.
 */
#ifndef RINGSIDE_SPEC_SLOW_LINK_H
#define RINGSIDE_SPEC_SLOW_LINK_H

#include "engine/base/error.h"
#include "engine/spec/cost.h"

#include <stdbool.h>
#include <stddef.h>

enum { SLOW_LINK_RANKS = 32, SLOW_LINK_TEXT = 256 };

/* One value for all ranks but those that have their own. */
struct slow_values {
    double all;
    int count;
    struct {
        int rank;
        double value;
    } of[SLOW_LINK_RANKS];
};

struct slow_link {
    struct slow_values rate;    /* bits a second; INFINITY: as fast as the real link */
    struct slow_values latency; /* seconds */
};

/*
 * Reads both texts ("": nothing is asked of it) for a job of so many ranks. ERROR_INPUT: "link: ..." or
 * "link_latency: ...".
 */
bool slow_link_parse(struct slow_link *l, const char *rate, const char *latency, int ranks, struct error *e);

double slow_link_rate(const struct slow_link *l, int rank);    /* bits a second */
double slow_link_latency(const struct slow_link *l, int rank); /* seconds */

/* "slowed on purpose: 1 Gbit/s (rank 2: 100 Mbit/s), 50 us" */
void slow_link_text(const struct slow_link *l, char *text, size_t size);

/*
 * What the cost model should go by: the slowest rank's rate and the longest latency, but nothing better than the
 * real link.
 */
struct cost_link slow_link_cost(const struct slow_link *l, int ranks, const struct cost_link *real);

#endif
