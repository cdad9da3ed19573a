/*
 * cluster_view.h - what the parts of the cluster view share.
 *
 * cluster.c is the view (panes, keys, work in the background), cluster_network.c draws links and their load, cluster_queue.c nodes
 * and jobs.
 */
#ifndef RINGSIDE_TUI_CLUSTER_VIEW_H
#define RINGSIDE_TUI_CLUSTER_VIEW_H

#include "tui/canvas.h"
#include "tui/link_load.h"
#include "tui/queue_info.h"

/* The whole pane: what was asked, the picture, the busiest links, why. */
void cluster_draw_network(const struct link_load *l, struct canvas *c, struct rect area);

/* head: one line, role as given. `scroll` jobs at the top are left out; returns how many jobs found room. */
int cluster_draw_queue(const struct queue_info *q, const char *head, enum role role, int scroll,
                       struct canvas *c, struct rect area);

#endif
