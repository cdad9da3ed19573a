#include "engine/comm/mailbox.h"

#include "engine/comm/mail_ring.h"
#include "engine/comm/shared.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 16 * 1024, /* bytes of a message that travel in the ring at most */
    SLAB = 64,         /* letters that are allocated at once */
};

/* Where a message is that is not in the ring. */
enum { BY_MPI = 1, BY_MPI_SYNCHRONOUS };

/* A send that has found no room, a receive that is not done, or a message that came before its receive. */
struct letter {
    struct letter *next;
    struct mail_record record; /* of a receive: what is expected */
    int peer;
    bool sends;
    bool met;             /* of a send: it has found room; of a receive: its record has come, */
    uint64_t came;        /* and says so many bytes */
    void *data;           /* the caller's; of an early message its own memory */
    struct pending inner; /* by MPI, once it has met */
};

struct queue {
    struct letter *first, **last;
};

/* Another rank of this host, as this one sees it. */
struct lane {
    struct mail_reader in;
    struct mail_writer out;
    struct queue waiting; /* sends for which the ring has no room yet */
    struct queue wanted;  /* receives that have not met their record */
    struct queue early;   /* messages that have not met their receive */
};

struct slab {
    struct slab *next;
    struct letter letters[SLAB];
};

struct mailbox {
    struct transport transport;
    struct mpi_transport *mpi;
    struct shared memory;  /* of each rank: the rings it reads, by sender */
    struct lane *lanes;    /* by rank of the host */
    struct lane **by_rank; /* NULL: of another host, or this one */
    struct slab *slabs;
    struct letter *unused;
};

/* handle[1] of a pending of ours: no length that MPI knows. */
static const uintptr_t OURS = UINTPTR_MAX;

/* --- letters and queues --- */

static void queue_init(struct queue *q)
{
    q->first = NULL;
    q->last = &q->first;
}

static void queue_add(struct queue *q, struct letter *l)
{
    l->next = NULL;
    *q->last = l;
    q->last = &l->next;
}

static void queue_remove(struct queue *q, struct letter **at)
{
    *at = (*at)->next;
    if (!*at)
        q->last = at;
}

/* The oldest of that tag, taken out; NULL: there is none. */
static struct letter *queue_take(struct queue *q, int tag)
{
    for (struct letter **at = &q->first; *at; at = &(*at)->next)
        if ((*at)->record.tag == tag) {
            struct letter *found = *at;
            queue_remove(q, at);
            return found;
        }
    return NULL;
}

static struct letter *letter_new(struct mailbox *m, const struct mail_record *record, int peer,
                                 struct error *e)
{
    if (!m->unused) {
        struct slab *slab = calloc(1, sizeof *slab);
        if (!slab) {
            error_set(e, ERROR_FAILED, "out of memory for the messages under way");
            return NULL;
        }
        slab->next = m->slabs;
        m->slabs = slab;
        for (int i = 0; i < SLAB; i++) {
            slab->letters[i].next = m->unused;
            m->unused = &slab->letters[i];
        }
    }
    struct letter *l = m->unused;
    m->unused = l->next;
    *l = (struct letter){.record = *record, .peer = peer};
    return l;
}

static void letter_free(struct mailbox *m, struct letter *l)
{
    l->next = m->unused;
    m->unused = l;
}

/* Sends what has waited for room, oldest first. */
static bool flush(struct mailbox *m, struct lane *lane, struct error *e)
{
    struct transport *mpi = &m->mpi->transport;
    struct letter *l;
    while ((l = lane->waiting.first) && mail_put(&lane->out, &l->record, l->data)) {
        queue_remove(&lane->waiting, &lane->waiting.first);
        l->met = true;
        if (l->record.elsewhere &&
            !mpi->ops->send_start(mpi, l->peer, l->record.tag, l->data, l->record.bytes,
                                  l->record.elsewhere == BY_MPI_SYNCHRONOUS, &l->inner, e))
            return false;
    }
    return true;
}

/* A receive and its record have found each other. from: the message, where it is at hand and not in the ring. */
static bool meet(struct mailbox *m, struct letter *l, const struct mail_record *r, const void *from,
                 const struct lane *lane, struct error *e)
{
    struct transport *mpi = &m->mpi->transport;
    l->met = true;
    l->came = r->bytes;
    if (l->came != l->record.bytes)
        return true; /* testing it says so */
    if (r->elsewhere)
        return mpi->ops->recv_start(mpi, l->peer, r->tag, l->data, r->bytes, &l->inner, e);
    if (!from)
        mail_get(&lane->in, r, l->data);
    else if (r->bytes > 0)
        memcpy(l->data, from, r->bytes);
    return true;
}

/* Keeps a message that nobody waits for yet. */
static bool keep(struct mailbox *m, struct lane *lane, const struct mail_record *r, int peer, struct error *e)
{
    struct letter *l = letter_new(m, r, peer, e);
    if (!l)
        return false;
    if (!r->elsewhere && r->bytes > 0) {
        if (!(l->data = malloc(r->bytes)))
            return error_set(e, ERROR_FAILED, "out of memory for a message of %zu bytes", (size_t)r->bytes);
        mail_get(&lane->in, r, l->data);
    }
    queue_add(&lane->early, l);
    return true;
}

/* Empties the ring of what has come. */
static bool take_in(struct mailbox *m, struct lane *lane, int peer, struct error *e)
{
    struct mail_record r;
    while (mail_look(&lane->in, &r)) {
        struct letter *l = queue_take(&lane->wanted, r.tag);
        if (!(l ? meet(m, l, &r, NULL, lane, e) : keep(m, lane, &r, peer, e)))
            return false;
        mail_next(&lane->in, &r);
    }
    return true;
}

/* --- the transport --- */

static struct lane *lane_of(const struct mailbox *m, int peer, size_t bytes)
{
    /* What is wrong about a peer or a length, MPI's transport says. */
    return peer < 0 || peer >= m->transport.size || bytes > INT_MAX ? NULL : m->by_rank[peer];
}

static void pending_ours(struct pending *p, struct letter *l)
{
    p->handle[0] = (uintptr_t)l;
    p->handle[1] = OURS;
}

static bool send_start(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e)
{
    struct mailbox *m = t->self;
    struct transport *mpi = &m->mpi->transport;
    struct lane *lane = lane_of(m, to, bytes);
    struct mail_record r = {.bytes = bytes,
                            .tag = tag,
                            .elsewhere = synchronous     ? BY_MPI_SYNCHRONOUS
                                         : bytes > SHORT ? BY_MPI
                                                         : 0};
    memset(p, 0, sizeof *p);
    if (!lane)
        return mpi->ops->send_start(mpi, to, tag, data, bytes, synchronous, p, e);
    if (!lane->waiting.first && mail_put(&lane->out, &r, data))
        return !r.elsewhere || mpi->ops->send_start(mpi, to, tag, data, bytes, synchronous, p, e);
    struct letter *l = letter_new(m, &r, to, e);
    if (!l)
        return false;
    l->sends = true;
    l->data = (void *)(uintptr_t)data; /* only read */
    queue_add(&lane->waiting, l);
    pending_ours(p, l);
    return true;
}

static bool recv_start(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e)
{
    struct mailbox *m = t->self;
    struct transport *mpi = &m->mpi->transport;
    struct lane *lane = lane_of(m, from, bytes);
    memset(p, 0, sizeof *p);
    if (!lane)
        return mpi->ops->recv_start(mpi, from, tag, data, bytes, p, e);
    struct letter *l = letter_new(m, &(struct mail_record){.bytes = bytes, .tag = tag}, from, e);
    if (!l)
        return false;
    l->data = data;
    struct letter *early = queue_take(&lane->early, tag);
    if (!early) {
        queue_add(&lane->wanted, l);
    } else {
        bool ok = meet(m, l, &early->record, early->data, lane, e);
        free(early->data);
        letter_free(m, early);
        if (!ok)
            return false;
    }
    pending_ours(p, l);
    return true;
}

/* Whoever waits for room takes in what has come, lest the other wait for room, too. */
static bool wait_for_room(struct mailbox *m, struct lane *lane, struct error *e)
{
    for (int peer = 0; peer < m->transport.size; peer++)
        if (m->by_rank[peer] && !take_in(m, m->by_rank[peer], peer, e))
            return false;
    return flush(m, lane, e);
}

static enum progress by_mpi(struct mailbox *m, struct pending *p, struct error *e)
{
    struct transport *mpi = &m->mpi->transport;
    mpi->gave_way = false;
    enum progress progress = mpi->ops->test(mpi, p, e);
    m->transport.gave_way |= mpi->gave_way;
    return progress;
}

static enum progress test(struct transport *t, struct pending *p, struct error *e)
{
    struct mailbox *m = t->self;
    if (p->handle[1] != OURS)
        return by_mpi(m, p, e);
    struct letter *l = (struct letter *)p->handle[0];
    struct lane *lane = m->by_rank[l->peer];
    if (!l->met && !(l->sends ? wait_for_room(m, lane, e) : take_in(m, lane, l->peer, e)))
        return PROGRESS_FAILED;
    if (!l->met)
        return mpi_transport_listen(m->mpi, e) ? PROGRESS_BUSY : PROGRESS_FAILED;
    enum progress progress = PROGRESS_DONE;
    if (!l->sends && l->came != l->record.bytes) {
        error_set(
            e, ERROR_FAILED,
            "rank %d expected a message of %zu bytes from rank %d, but one of %zu bytes came: both must "
            "name the same length",
            t->rank, (size_t)l->record.bytes, l->peer, (size_t)l->came);
        progress = PROGRESS_FAILED;
    } else {
        progress = by_mpi(m, &l->inner, e);
    }
    if (progress == PROGRESS_BUSY)
        return PROGRESS_BUSY;
    memset(p, 0, sizeof *p);
    letter_free(m, l);
    return progress;
}

static const struct transport_ops mailbox_ops = {
    .name = "memory and mpi",
    .send_start = send_start,
    .recv_start = recv_start,
    .test = test,
    .wait = mpi_transport_wait,
};

/* Who of all ranks is on this host, by rank of the host. */
static bool find_ranks(struct mailbox *m, MPI_Comm host)
{
    int ranks = m->memory.ranks, ok = 0;
    MPI_Group here, all;
    int *numbers = calloc(2 * (size_t)ranks, sizeof *numbers), *theirs = numbers ? numbers + ranks : NULL;
    if (!numbers || MPI_Comm_group(host, &here) != MPI_SUCCESS)
        goto end;
    if (MPI_Comm_group(m->mpi->comm, &all) == MPI_SUCCESS) {
        for (int i = 0; i < ranks; i++)
            numbers[i] = i;
        ok = MPI_Group_translate_ranks(here, ranks, numbers, all, theirs) == MPI_SUCCESS;
        MPI_Group_free(&all);
    }
    MPI_Group_free(&here);
    int me;
    MPI_Comm_rank(host, &me);
    for (int i = 0; ok && i < ranks; i++) {
        struct lane *lane = &m->lanes[i];
        lane->in.ring = (struct mail_ring *)m->memory.base[me] + i;
        lane->out.ring = (struct mail_ring *)m->memory.base[i] + me;
        queue_init(&lane->waiting);
        queue_init(&lane->wanted);
        queue_init(&lane->early);
        if (i != me)
            m->by_rank[theirs[i]] = lane;
    }
end:
    free(numbers);
    return ok;
}

struct mailbox *mailbox_new(struct mpi_transport *mpi, MPI_Comm host)
{
    int ranks, good, everywhere = 0;
    MPI_Comm_size(host, &ranks);
    if (ranks == 1)
        return NULL;
    struct mailbox *m = calloc(1, sizeof *m);
    struct shared memory = {0};
    bool mapped = shared_map(host, (size_t)ranks * sizeof(struct mail_ring), &memory);
    if (m) {
        m->mpi = mpi;
        m->memory = memory;
        m->transport = mpi->transport;
        m->transport.ops = &mailbox_ops;
        m->transport.self = m;
        m->lanes = calloc((size_t)ranks, sizeof *m->lanes);
        m->by_rank = calloc((size_t)m->transport.size, sizeof(struct lane *));
    }
    good = mapped && m && m->lanes && m->by_rank && find_ranks(m, host);
    if (MPI_Allreduce(&good, &everywhere, 1, MPI_INT, MPI_MIN, host) == MPI_SUCCESS && everywhere)
        return m;
    if (m)
        mailbox_free(m);
    else
        shared_unmap(&memory);
    return NULL;
}

void mailbox_free(struct mailbox *m)
{
    if (!m)
        return;
    for (int i = 0; m->lanes && i < m->memory.ranks; i++)
        for (struct letter *l = m->lanes[i].early.first; l; l = l->next)
            free(l->data);
    while (m->slabs) {
        struct slab *next = m->slabs->next;
        free(m->slabs);
        m->slabs = next;
    }
    shared_unmap(&m->memory);
    free(m->by_rank);
    free(m->lanes);
    free(m);
}

struct transport *mailbox_transport(struct mailbox *m)
{
    return &m->transport;
}
