/*
 * maxmin.h - how flows share links: max-min fairness by progressive filling.
 *
 * All flows grow at the same pace; when a link is full its flows stop, the others go on. In the end every flow crosses a
 * full link on which no flow is faster (its bottleneck), which is what defines the max-min fair rates (D. Bertsekas and
 * R. Gallager, Data networks, 1992, section 6.5.2). A link that would stop all of its flows before any other would is
 * their bottleneck, whatever happens elsewhere, so all such links are filled at once, wave after wave; where waves settle too
 * little (long chains of links that wait for each other), the rest is filled in the order of shares, from a heap.
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
