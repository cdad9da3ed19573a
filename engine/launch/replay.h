/*
 * replay.h - plays a recording: the events of an ended run again, at their times, with origin "replay".
 *
 * A replay is a run of its own with a supervisor; its worker is `ringside --replay DIR`, which finds the
 * recording and its pace in DIR/replay.json and looks at that file while it plays, so the pace can be changed
 * at any time. Times in the events stay those of the recording, whatever the pace.
 */
#ifndef RINGSIDE_LAUNCH_REPLAY_H
#define RINGSIDE_LAUNCH_REPLAY_H

#include "engine/base/error.h"

#define REPLAY_MAX_SPEED 1e6

struct replay_pace {
    double speed; /* recorded seconds a second; 0: as fast as it goes */
    bool paused;
};

bool replay_write(const char *dir, const char *recording, double speed, struct error *e);
/* Whether the run is a replay, and its pace. */
bool replay_pace_read(const char *dir, struct replay_pace *pace, struct error *e);
/* Heard within a fifth of a second. ERROR_INPUT where the run is no replay, has ended, or the speed is none. */
bool replay_pace_set(const char *dir, struct replay_pace pace, struct error *e);
/* The next of the speeds people choose (1/8 ... 1, 2, 4 ... 256) above (1) or below (-1) one. */
double replay_speed_step(double speed, int step);

/* The worker; argv[0] is the run's directory. */
int replay_main(int argc, char **argv);

#endif
