/*
 * coroutine.c - the transport between ranks of one process.
 */
#include "engine/launch/coroutine.h"

#include <stdlib.h>
#include <string.h>

struct message {
    int from, to, tag;
    const void *data;
    void *copy; /* of a message that is not synchronous: owned */
    size_t bytes;
    bool taken;
    struct message *next;
};

struct receive {
    int from, tag;
    void *data;
    size_t bytes;
    struct receive *next;
};

struct coroutine_world {
    int ranks;
    struct message
        *messages; /* not yet taken, or taken and not yet tested by the sender; in the order sent */
    struct receive *receives; /* started and not yet done */
    struct transport *transports;
};

enum { HANDLE_NONE, HANDLE_SEND, HANDLE_RECV };

static void append(struct coroutine_world *w, struct message *m)
{
    struct message **end = &w->messages;
    while (*end)
        end = &(*end)->next;
    *end = m;
}

static void drop_message(struct coroutine_world *w, struct message *m)
{
    struct message **p = &w->messages;
    while (*p != m)
        p = &(*p)->next;
    *p = m->next;
    free(m->copy);
    free(m);
}

static bool send_start(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e)
{
    struct coroutine_world *w = t->self;
    *p = (struct pending){{0}};
    if (to < 0 || to >= w->ranks)
        return error_set(e, ERROR_INPUT, "there is no rank %d: the ranks are 0 to %d", to, w->ranks - 1);
    struct message *m = calloc(1, sizeof *m);
    void *copy = m && !synchronous ? malloc(bytes + 1) : NULL;
    if (!m || (!synchronous && !copy)) {
        free(m);
        return error_set(e, ERROR_FAILED, "out of memory for a message from rank %d to rank %d", t->rank, to);
    }
    if (copy)
        memcpy(copy, data, bytes);
    *m = (struct message){t->rank, to, tag, copy ? copy : data, copy, bytes, false, NULL};
    append(w, m);
    if (synchronous)
        *p = (struct pending){{(uintptr_t)m, HANDLE_SEND}};
    return true;
}

static bool recv_start(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e)
{
    struct coroutine_world *w = t->self;
    *p = (struct pending){{0}};
    if (from < 0 || from >= w->ranks)
        return error_set(e, ERROR_INPUT, "there is no rank %d: the ranks are 0 to %d", from, w->ranks - 1);
    struct receive *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(e, ERROR_FAILED, "out of memory for a message from rank %d to rank %d", from,
                         t->rank);
    *r = (struct receive){from, tag, data, bytes, w->receives};
    w->receives = r;
    *p = (struct pending){{(uintptr_t)r, HANDLE_RECV}};
    return true;
}

static void drop_receive(struct coroutine_world *w, struct receive *r)
{
    struct receive **p = &w->receives;
    while (*p != r)
        p = &(*p)->next;
    *p = r->next;
    free(r);
}

static enum progress test_recv(struct transport *t, struct receive *r, struct error *e)
{
    struct coroutine_world *w = t->self;
    struct message *m = w->messages;
    while (m && (m->taken || m->from != r->from || m->to != t->rank || m->tag != r->tag))
        m = m->next;
    if (!m)
        return PROGRESS_BUSY;
    bool fits = m->bytes == r->bytes;
    if (fits)
        memcpy(r->data, m->data, m->bytes);
    else
        error_set(e, ERROR_FAILED, "rank %d expected a message of %zu bytes from rank %d, but %zu bytes came",
                  t->rank, r->bytes, r->from, m->bytes);
    m->taken = true;
    if (m->copy)
        drop_message(w, m);
    return fits ? PROGRESS_DONE : PROGRESS_FAILED;
}

static enum progress test(struct transport *t, struct pending *p, struct error *e)
{
    struct coroutine_world *w = t->self;
    enum progress progress = PROGRESS_DONE;
    if (p->handle[1] == HANDLE_SEND) {
        struct message *m = (void *)p->handle[0];
        if (!m->taken)
            return PROGRESS_BUSY;
        drop_message(w, m);
    } else if (p->handle[1] == HANDLE_RECV) {
        struct receive *r = (void *)p->handle[0];
        progress = test_recv(t, r, e);
        if (progress == PROGRESS_BUSY)
            return progress;
        drop_receive(w, r);
    }
    *p = (struct pending){{0}};
    return progress;
}

/* Nobody else moves while this rank does: what is not there now will not come. */
static bool wait_all(struct transport *t, struct pending *p, int n, struct error *e)
{
    for (int i = 0; i < n; i++) {
        enum progress progress = test(t, &p[i], e);
        if (progress == PROGRESS_BUSY)
            return error_set(e, ERROR_FAILED,
                             "rank %d is a coroutine and cannot block: start, test and step aside", t->rank);
        if (progress == PROGRESS_FAILED)
            return false;
    }
    return true;
}

static const struct transport_ops coroutine_ops = {
    .name = "coroutines",
    .send_start = send_start,
    .recv_start = recv_start,
    .test = test,
    .wait = wait_all,
};

struct coroutine_world *coroutine_world_new(int ranks, struct error *e)
{
    struct coroutine_world *w = calloc(1, sizeof *w);
    if (w)
        w->transports = calloc((size_t)ranks, sizeof *w->transports);
    if (!w || !w->transports) {
        free(w);
        error_set(e, ERROR_FAILED, "out of memory for %d ranks", ranks);
        return NULL;
    }
    w->ranks = ranks;
    for (int r = 0; r < ranks; r++)
        w->transports[r] = (struct transport){.ops = &coroutine_ops, .self = w, .rank = r, .size = ranks};
    return w;
}

void coroutine_world_free(struct coroutine_world *w)
{
    if (!w)
        return;
    while (w->messages)
        drop_message(w, w->messages);
    while (w->receives)
        drop_receive(w, w->receives);
    free(w->transports);
    free(w);
}

struct transport *coroutine_transport(struct coroutine_world *w, int rank)
{
    return &w->transports[rank];
}
