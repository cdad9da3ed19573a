/*
 * stream.h - the one writer of a run's events.jsonl.
 *
 * Appends whole lines with one write(2) each. Where the disk is full the torn line is taken back, a small
 * reserve is given free for the last words, and the append fails with a sentence.
 */
#ifndef RINGSIDE_LAUNCH_STREAM_H
#define RINGSIDE_LAUNCH_STREAM_H

#include "engine/base/error.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

struct stream {
    char dir[PATH_MAX];
    int fd;
    off_t size;     /* of what is whole */
    double started; /* seconds since the epoch: where t is 0 */
    double last_t;
    bool recorded; /* a replay: the recording's t counts, not the clock's */
};

bool stream_open(struct stream *s, const char *dir, struct error *e);
/* Stamps t where there is none; drops the caller's reference, whatever comes of it. */
bool stream_append(struct stream *s, json_t *event, struct error *e);
double stream_now(const struct stream *s); /* the t of something that happens now */
void stream_release_reserve(struct stream *s);
void stream_close(struct stream *s);

double clock_wall(void); /* seconds since the epoch */

#endif
