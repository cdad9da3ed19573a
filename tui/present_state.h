/*
 * present_state.h - how a presentation and the notes on a second terminal know of each other: small files.
 *
 * Each presentation keeps $RINGSIDE_HOME/present/HOST-PID.json (which lesson, which slide, since when), replaced
 * whole by a rename at each change and every PRESENT_BEAT_S as a sign of life. The notes poll it. They steer by a
 * file HOST-PID.want beside it, which the presentation takes away as it reads it. No network, no socket; several
 * presentations at once have a file each. The files are about the present moment only, so nothing is synced to disk.
 */
#ifndef RINGSIDE_TUI_PRESENT_STATE_H
#define RINGSIDE_TUI_PRESENT_STATE_H

#include "engine/base/error.h"

#include <limits.h>

#define PRESENT_BEAT_S 2.0
/* One of another host is lost without a sign of life for so long; of this host's one sees whether its process is there. */
#define PRESENT_LOST_S 10.0

enum { PRESENT_MAX = 16 };

struct present_state {
    char file[PATH_MAX]; /* "" before present_state_begin */
    char lesson[80], host[64];
    long pid;
    int slide, slides; /* from 0 */
    bool blank;
    double started; /* seconds since the epoch; the clock counts from here */
    double beat;
};

/* Makes the file of this process's presentation; also clears away what ended presentations of this host left. */
bool present_state_begin(struct present_state *s, struct error *e);
bool present_state_write(struct present_state *s, double now, struct error *e);
/* Says that the presentation is over and takes the file away. */
void present_state_end(struct present_state *s);

bool present_state_read(const char *file, struct present_state *s);
/* Those there are, the one that began last first; returns how many, at most PRESENT_MAX. */
int present_state_list(struct present_state list[PRESENT_MAX]);
bool present_state_lost(const struct present_state *s, double now);

/* What the notes ask for. */
struct present_want {
    int slide;    /* -1: leave it */
    int blank;    /* 0, 1; -1: leave it */
    bool restart; /* the clock counts from now */
};

bool present_want_write(const struct present_state *s, const struct present_want *want, struct error *e);
/* Takes what was asked for; false: nothing was. */
bool present_want_take(const struct present_state *s, struct present_want *want);

#endif
