/*
 * fluid.h - flows on links through time: each has its max-min fair rate at every moment, until its bytes are through.
 *
 * When a flow begins or ends only those that share links with it, directly or through others, can change their rates: just
 * these are solved anew, once for all that happens at the same moment. A flow that is alone on its links needs no solving.
 */
#ifndef RINGSIDE_SIM_FLUID_H
#define RINGSIDE_SIM_FLUID_H

#include "engine/base/error.h"

struct fluid;

/* capacity: of each of so many links, kept by the caller. NULL: out of memory. */
struct fluid *fluid_new(int links, const double *capacity, struct error *e);
void fluid_free(struct fluid *f);

/* A flow of so many bytes begins now over these links; `tag` comes back at its end. No links: it ends at once. */
bool fluid_start(struct fluid *f, const int *link, int count, double bytes, int tag, struct error *e);

/* When the next flow ends; INFINITY where none is under way. False: out of memory. */
bool fluid_next(struct fluid *f, double *when, struct error *e);

/* Time goes on to `now`, at most fluid_next's. */
void fluid_advance(struct fluid *f, double now);
/* The tag of a flow that has ended by now, in the order of their ends; -1: none is left. */
int fluid_ended(struct fluid *f);

/* What has been computed so far: links crossed by the flows that were solved for, and flows. */
double fluid_work(const struct fluid *f);

/* Two moments that are one: what rounding alone keeps apart. now: finite. */
bool fluid_same_moment(double a, double now);

#endif
