#include "engine/comm/beat.h"

#include "engine/base/timing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS = 16 }; /* connections that have not said who they are, at once */
#define STRANGER_S 5.0   /* and for how long */
#define CONNECT_EACH_MS 1000

struct connection {
    int fd;
    int rank; /* -1: it has not said */
    double since;
    size_t have;
    struct beat incoming;
};

struct beat_server {
    int fd;
    int ranks;
    uint64_t token[2];
    struct connection *connections;
    struct pollfd *polls;
    int count, room;
};

void beat_fill(struct beat *b, enum beat_kind kind, int rank, const struct activity *a)
{
    memset(b, 0, sizeof *b);
    b->kind = kind;
    b->rank = rank;
    b->pid = getpid();
    gethostname(b->host, sizeof b->host - 1);
    activity_look(a, &b->view);
}

/* --- addresses --- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t make_address(union address *a, const struct beat_address *from, uint16_t port)
{
    memset(a, 0, sizeof *a);
    if (from->family == AF_INET) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        memcpy(&a->v4.sin_addr, from->bytes, sizeof a->v4.sin_addr);
        return sizeof a->v4;
    }
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons(port);
    memcpy(&a->v6.sin6_addr, from->bytes, sizeof a->v6.sin6_addr);
    return sizeof a->v6;
}

static void add_address(struct beat_place *p, const struct sockaddr *a)
{
    if (p->count == BEAT_ADDRESSES)
        return;
    struct beat_address *to = &p->addresses[p->count];
    const union address *from = (const union address *)a;
    if (a->sa_family == AF_INET) {
        memcpy(to->bytes, &from->v4.sin_addr, sizeof from->v4.sin_addr);
    } else if (a->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&from->v6.sin6_addr)) {
        memcpy(to->bytes, &from->v6.sin6_addr, sizeof from->v6.sin6_addr);
    } else {
        return;
    }
    to->family = a->sa_family;
    p->count++;
}

/* The loopback interface's own address, or those of all others. */
static void find_addresses(struct beat_place *p, bool local)
{
    struct ifaddrs *list = NULL;
    if (local || getifaddrs(&list) != 0) {
        union address loop = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
        add_address(p, &loop.any);
        return;
    }
    static const int families[] = {AF_INET, AF_INET6}; /* the usual one first */
    for (int f = 0; f < 2; f++)
        for (const struct ifaddrs *i = list; i; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_addr->sa_family == families[f] && (i->ifa_flags & IFF_UP) &&
                !(i->ifa_flags & IFF_LOOPBACK))
                add_address(p, i->ifa_addr);
    freeifaddrs(list);
}

/* --- the server --- */

static int open_port(bool local, uint16_t *port)
{
    int fd = socket(local ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), no = 0;
    bool v6 = fd >= 0 && !local;
    if (fd < 0 && !local) /* a kernel without IPv6 */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    union address a = {0};
    if (v6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no); /* IPv4, too */
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_addr = in6addr_any;
    } else {
        a.v4.sin_family = AF_INET;
        a.v4.sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
    }
    socklen_t length = v6 ? sizeof a.v6 : sizeof a.v4;
    if (bind(fd, &a.any, length) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &a.any, &length) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    *port = ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port);
    return fd;
}

struct beat_server *beat_listen(int ranks, bool local, struct beat_place *place, struct error *e)
{
    memset(place, 0, sizeof *place);
    uint16_t port = 0;
    struct beat_server *s = calloc(1, sizeof *s);
    if (s) {
        s->room = ranks + STRANGERS;
        s->connections = calloc((size_t)s->room, sizeof *s->connections);
        s->polls = calloc((size_t)s->room + 2, sizeof *s->polls);
        s->ranks = ranks;
        s->fd = -1;
    }
    if (!s || !s->connections || !s->polls) {
        error_set(e, ERROR_FAILED, "out of memory");
    } else if (getrandom(place->token, sizeof place->token, 0) != (ssize_t)sizeof place->token) {
        error_errno(e, ERROR_FAILED, "no random number for the heartbeats");
    } else if ((s->fd = open_port(local, &port)) < 0) {
        error_errno(e, ERROR_FAILED, "no port is left for heartbeats between ranks");
    } else {
        memcpy(s->token, place->token, sizeof s->token);
        place->port = port;
        find_addresses(place, local);
        return s;
    }
    beat_server_free(s);
    return NULL;
}

void beat_server_free(struct beat_server *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++)
        close(s->connections[i].fd);
    if (s->fd >= 0)
        close(s->fd);
    free(s->connections);
    free(s->polls);
    free(s);
}

static void drop(struct beat_server *s, int i)
{
    close(s->connections[i].fd);
    s->connections[i] = s->connections[--s->count];
}

static void accept_all(struct beat_server *s)
{
    for (int fd; (fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
        int strangers = 0;
        for (int i = 0; i < s->count; i++)
            strangers += s->connections[i].rank < 0;
        if (s->count == s->room || strangers == STRANGERS) {
            close(fd);
            continue;
        }
        s->connections[s->count++] = (struct connection){.fd = fd, .rank = -1, .since = timing_now()};
    }
}

/* Whether a whole beat is one of this job's, from the rank it was from so far. */
static bool is_ours(const struct beat_server *s, const struct connection *c)
{
    const struct beat *b = &c->incoming;
    return memcmp(b->token, s->token, sizeof s->token) == 0 && b->rank > 0 && b->rank < s->ranks &&
           (c->rank < 0 || c->rank == b->rank);
}

/* Takes in what there is. False: the connection is no more. */
static bool receive(struct beat_server *s, struct connection *c, const struct beat_news *news)
{
    for (;;) {
        char *to = (char *)&c->incoming + c->have;
        ssize_t n = recv(c->fd, to, sizeof c->incoming - c->have, MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        if (n == 0)
            return false;
        c->have += (size_t)n;
        if (c->have < sizeof c->incoming)
            continue;
        c->have = 0;
        if (!is_ours(s, c))
            return false;
        c->rank = c->incoming.rank;
        c->incoming.host[sizeof c->incoming.host - 1] = 0;
        news->beat(news->self, &c->incoming);
    }
}

void beat_serve(struct beat_server *s, int ms, int also, const struct beat_news *news)
{
    int n = 0, first = s->count;
    for (; n < first; n++)
        s->polls[n] = (struct pollfd){.fd = s->connections[n].fd, .events = POLLIN};
    s->polls[n++] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    s->polls[n++] = (struct pollfd){.fd = also, .events = POLLIN};
    poll(s->polls, (nfds_t)n, ms);
    double now = timing_now();
    for (int i = first - 1; i >= 0; i--) {
        struct connection *c = &s->connections[i];
        int rank = c->rank;
        if (s->polls[i].revents ? receive(s, c, news) : rank >= 0 || now - c->since < STRANGER_S)
            continue;
        rank = s->connections[i].rank;
        drop(s, i);
        if (rank >= 0)
            news->gone(news->self, rank);
    }
    if (s->polls[first].revents)
        accept_all(s);
}

void beat_tell(struct beat_server *s, struct beat *b)
{
    memcpy(b->token, s->token, sizeof b->token);
    for (int i = 0; i < s->count; i++)
        if (s->connections[i].rank >= 0 &&
            send(s->connections[i].fd, b, sizeof *b, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            continue; /* one that does not read misses this one */
}

/* --- the other ranks --- */

static int connect_to(const struct beat_address *to, uint16_t port, int ms)
{
    union address a;
    socklen_t length = make_address(&a, to, port);
    int fd = socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failed = 0, yes = 1;
    if (fd < 0)
        return -1;
    socklen_t size = sizeof failed;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    if (connect(fd, &a.any, length) != 0 &&
        (errno != EINPROGRESS || poll(&wait, 1, ms) != 1 ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed)) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

int beat_connect(const struct beat_place *place, int ms)
{
    int count = place->count < BEAT_ADDRESSES ? place->count : BEAT_ADDRESSES;
    double end = timing_now() + ms * 1e-3;
    for (int i = 0; i < count; i++) {
        int left = (int)((end - timing_now()) * 1e3);
        if (left < 1)
            break;
        int fd =
            connect_to(&place->addresses[i], place->port, left < CONNECT_EACH_MS ? left : CONNECT_EACH_MS);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

bool beat_send(int fd, const struct beat_place *place, struct beat *b)
{
    memcpy(b->token, place->token, sizeof b->token);
    ssize_t n = send(fd, b, sizeof *b, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* A buffer of many beats is full: rank 0 does not read. This one is missed, which says as much. */
    return n == (ssize_t)sizeof *b || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

bool beat_meet(struct comm *c, struct beat_place *place, struct error *e)
{
    return comm_broadcast(c, place, sizeof *place, 0, e);
}
