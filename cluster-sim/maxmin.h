/*
 * maxmin.h - how flows share links: max-min fairness by progressive filling.
 *
 * All flows grow at the same pace; when a link is full its flows stop, the others go on. In the end every flow crosses a
 * full link on which no flow is faster (its bottleneck), which is what defines the max-min fair rates (D. Bertsekas and
 * R. Gallager, Data networks, 1992, section 6.5.2). Links wait in a heap by the share they would give; a share only grows
 * as others are fixed, so an entry may be stale but never too large, and is renewed when it comes up.
 */
#ifndef RINGSIDE_SIM_MAXMIN_H
#define RINGSIDE_SIM_MAXMIN_H

#include "engine/base/error.h"

/*
 * Flow f crosses the links link[first[f]] .. link[first[f+1]-1], no link twice; a flow that crosses none has no limit and
 * gets INFINITY. capacity: of each link, above 0. rate and bottleneck (the link that stops the flow; -1: none) have room
 * for all flows. Only ERROR_FAILED, out of memory.
 */
bool maxmin_solve(int links, const double *capacity, int flows, const int *first, const int *link,
                  double *rate, int *bottleneck, struct error *e);

#endif
