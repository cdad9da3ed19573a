/*
 * mail_ring.h - a ring of bytes in shared memory that one rank writes and one other reads.
 *
 * Such a pair needs no lock: each counts the bytes it has dealt with, and the other only looks (L. Lamport, Proving
 * the correctness of multiprocess programs, IEEE Transactions on Software Engineering 3 (1977) 125-143). What a
 * count says has been written is there: it is stored with release and read with acquire. Memory of zeros is an empty
 * ring; each side's own state, of zeros too but for the ring, lies in private memory.
 */
#ifndef RINGSIDE_COMM_MAIL_RING_H
#define RINGSIDE_COMM_MAIL_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAIL_RING = 64 * 1024 }; /* bytes that may be under way; a power of two */

/* The counts, bytes since the beginning, on cache lines of their own. */
struct mail_ring {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) _Atomic uint64_t read;
    _Alignas(64) char bytes[MAIL_RING];
};

/* How a message begins. */
struct mail_record {
    uint64_t bytes;
    int32_t tag;
    int32_t elsewhere; /* not 0: the message itself does not follow here */
};

struct mail_writer {
    struct mail_ring *ring;
    uint64_t written, freed; /* freed: read by the other, when last looked at */
};

struct mail_reader {
    struct mail_ring *ring;
    uint64_t read, seen; /* seen: written by the other, when last looked at */
};

/* A record and, unless it is elsewhere, its message. False: there is no room now. */
bool mail_put(struct mail_writer *w, const struct mail_record *record, const void *data);

/* The oldest record; false: there is none now. */
bool mail_look(struct mail_reader *r, struct mail_record *record);
/* Copies its message, which is not elsewhere. */
void mail_get(const struct mail_reader *r, const struct mail_record *record, void *to);
/* It has been dealt with. */
void mail_next(struct mail_reader *r, const struct mail_record *record);

#endif
