/*
 * hop_log.h - the record of one collective's transfers, as one rank saw them; the executor fills it and
 * hop_log_emit (comm.h) gathers it.
 */
#ifndef RINGSIDE_COMM_HOP_LOG_H
#define RINGSIDE_COMM_HOP_LOG_H

#include "engine/base/error.h"

#include <stdint.h>

/* One transfer of a schedule as one of its two ranks saw it; seconds since the epoch. */
struct hop_record {
    int32_t round, from, to, chunk, phase;
    int32_t sent;  /* 1: the sender's record, 0: the receiver's */
    int64_t index; /* in the schedule */
    uint64_t bytes;
    double t0, t1;
};

struct hop_log {
    struct hop_record *records;
    int count, capacity;
    char algo[32]; /* that was carried out, as auto may have chosen it */
};

void hop_log_clear(struct hop_log *log); /* NULL is fine */
bool hop_log_reserve(struct hop_log *log, int count, struct error *e);

#endif
