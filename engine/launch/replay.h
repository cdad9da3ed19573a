/*
 * replay.h - plays a recording: the events of an ended run again, at their times, with origin "replay".
 *
 * A replay is a run of its own with a supervisor; its worker is `ringside --replay DIR`, which finds the
 * recording and the speed in DIR/replay.json. Times in the events stay those of the recording, whatever the
 * speed.
 */
#ifndef RINGSIDE_LAUNCH_REPLAY_H
#define RINGSIDE_LAUNCH_REPLAY_H

#include "engine/base/error.h"

bool replay_write(const char *dir, const char *recording, double speed, struct error *e);
/* The worker; argv[0] is the run's directory. */
int replay_main(int argc, char **argv);

#endif
