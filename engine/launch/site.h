/*
 * site.h - what the site's administrator or the learner set for this machine.
 *
 * /etc/ringside/site.lua, then $RINGSIDE_HOME/site.lua, then the environment; the later one wins. The files
 * hold assignments in Lua (local_ranks = 16) and run without any library, with bounded steps.
 */
#ifndef RINGSIDE_LAUNCH_SITE_H
#define RINGSIDE_LAUNCH_SITE_H

#include "engine/base/error.h"

struct site {
    int local_ranks; /* ranks of all users' jobs together on this node; RINGSIDE_LOCAL_RANKS */
};

bool site_read(struct site *s, struct error *e);

#endif
