/*
 * beat.h - heartbeats between ranks: what one says, and the sockets that it travels through.
 *
 * Rank 0 listens, on the loopback interface alone where all ranks are on its host; where and with which token is
 * told to the others by MPI (beat_meet). A rank connects, and both send a beat now and then. TCP, so that it
 * works across hosts, needs no MPI (whose thread may be blocked, and whose messages stop with it) and notices a
 * process that is gone. A connection that does not begin with the token is a stranger's and is closed. Nothing
 * here blocks; the sockets belong to the thread that uses them.
 */
#ifndef RINGSIDE_COMM_BEAT_H
#define RINGSIDE_COMM_BEAT_H

#include "engine/base/activity.h"
#include "engine/comm/comm.h"

enum beat_kind {
    BEAT_ALIVE,
    BEAT_FINISHED, /* the rank's work is done */
    BEAT_ENDED     /* it has been told to end (SIGTERM) or ends with a sentence of its own */
};

struct beat {
    uint64_t token[2];
    int32_t kind, rank;
    int64_t pid;
    char host[64];
    struct activity_view view;
};

/* Fills in everything but the token. */
void beat_fill(struct beat *b, enum beat_kind kind, int rank, const struct activity *a);

/* Where rank 0 can be reached. */
enum { BEAT_ADDRESSES = 8 };
struct beat_place {
    uint64_t token[2];
    uint16_t port; /* 0: nowhere */
    uint16_t count;
    struct beat_address {
        uint16_t family; /* AF_INET, AF_INET6 */
        uint8_t bytes[16];
    } addresses[BEAT_ADDRESSES];
};

struct beat_server;
/* ranks: of the job. local: on the loopback interface alone. NULL: no socket or port is left; e says so. */
struct beat_server *beat_listen(int ranks, bool local, struct beat_place *place, struct error *e);
void beat_server_free(struct beat_server *s);

/* What a server is told; self is handed through. */
struct beat_news {
    void (*beat)(void *self, const struct beat *b);
    void (*gone)(void *self, int rank); /* its connection is no more */
    void *self;
};
/* Waits at most ms, or until `also` (-1: none) can be read, and tells what has come. */
void beat_serve(struct beat_server *s, int ms, int also, const struct beat_news *news);
/* To every rank that is connected. */
void beat_tell(struct beat_server *s, struct beat *b);

/* A connection to the server within so many ms, -1: no way. */
int beat_connect(const struct beat_place *place, int ms);
/* The token goes with it. False: the connection is no more. */
bool beat_send(int fd, const struct beat_place *place, struct beat *b);

/* Collective: rank 0's place goes to all. */
bool beat_meet(struct comm *c, struct beat_place *place, struct error *e);

#endif
