/* Heartbeats through real sockets of this host: who is listened to, and what is noticed. */
#include "engine/comm/beat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 3, PATIENCE = 500 }; /* turns of 10 ms */

struct heard {
    int beats[RANKS], gone[RANKS];
    struct beat last;
};

static void take_beat(void *self, const struct beat *b)
{
    struct heard *h = self;
    h->beats[b->rank]++;
    h->last = *b;
}

static void take_gone(void *self, int rank)
{
    struct heard *h = self;
    h->gone[rank]++;
}

static struct heard heard;
static const struct beat_news news = {.beat = take_beat, .gone = take_gone, .self = &heard};
static struct beat_server *server;
static struct beat_place place;

static int open_server(void **state)
{
    struct error e = {0};
    (void)state;
    memset(&heard, 0, sizeof heard);
    server = beat_listen(RANKS, true, &place, &e);
    return server ? 0 : -1;
}

static int close_server(void **state)
{
    (void)state;
    beat_server_free(server);
    return 0;
}

static void serve_until(const int *count, int wanted)
{
    for (int i = 0; i < PATIENCE && *count < wanted; i++)
        beat_serve(server, 10, -1, &news);
    assert_int_equal(*count, wanted);
}

static struct beat beat_of(int rank)
{
    static struct activity activity;
    struct beat b;
    activity_init(&activity);
    activity_enter(&activity, ACTIVITY_FORWARD, 40 + rank);
    beat_fill(&b, BEAT_ALIVE, rank, &activity);
    return b;
}

static void test_talk(void **state)
{
    (void)state;
    assert_int_equal(place.count, 1); /* the loopback interface alone */
    assert_int_equal(place.addresses[0].bytes[0], 127);
    int one = beat_connect(&place, 5000), two = beat_connect(&place, 5000);
    assert_true(one >= 0 && two >= 0);
    struct beat b1 = beat_of(1), b2 = beat_of(2), back;
    assert_true(beat_send(one, &place, &b1));
    serve_until(&heard.beats[1], 1);
    assert_int_equal(heard.last.view.step, 41);
    assert_int_equal(heard.last.pid, getpid());
    assert_true(beat_send(two, &place, &b2) && beat_send(two, &place, &b2) && beat_send(one, &place, &b1));
    serve_until(&heard.beats[2], 2);
    serve_until(&heard.beats[1], 2);
    struct beat mine = beat_of(0);
    beat_tell(server, &mine);
    assert_int_equal(recv(one, &back, sizeof back, MSG_WAITALL), sizeof back);
    assert_int_equal(recv(two, &back, sizeof back, MSG_WAITALL), sizeof back);
    assert_int_equal(back.view.step, 40);
    close(one);
    serve_until(&heard.gone[1], 1);
    assert_int_equal(heard.gone[2], 0);
    close(two);
    serve_until(&heard.gone[2], 1);
}

/* Whether the server has hung up. */
static bool is_closed(int fd)
{
    char byte;
    for (int i = 0; i < PATIENCE; i++) {
        beat_serve(server, 10, -1, &news);
        ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return true;
    }
    return false;
}

static void test_strangers(void **state)
{
    (void)state;
    struct beat_place wrong = place;
    wrong.token[1] ^= 1;
    struct beat b = beat_of(1), high = beat_of(1), zero = beat_of(0);
    high.rank = RANKS;
    int fd = beat_connect(&place, 5000);
    assert_true(beat_send(fd, &wrong, &b)); /* another job's token */
    assert_true(is_closed(fd));
    close(fd);
    struct beat *bad[] = {&high, &zero};
    for (int i = 0; i < 2; i++) { /* no rank of this job, or this one */
        fd = beat_connect(&place, 5000);
        assert_true(beat_send(fd, &place, bad[i]));
        assert_true(is_closed(fd));
        close(fd);
    }
    fd = beat_connect(&place, 5000);
    char page[4096];
    memset(page, 'G', sizeof page);
    assert_true(send(fd, page, sizeof page, MSG_NOSIGNAL) > 0); /* a browser, say */
    assert_true(is_closed(fd));
    close(fd);
    /* A crowd that says nothing keeps no rank out. */
    int crowd[40];
    for (int i = 0; i < 40; i++) {
        crowd[i] = beat_connect(&place, 5000);
        beat_serve(server, 0, -1, &news);
    }
    for (int i = 0; i < 40; i++)
        if (crowd[i] >= 0)
            close(crowd[i]);
    for (int i = 0; i < 20; i++)
        beat_serve(server, 1, -1, &news);
    fd = beat_connect(&place, 5000);
    assert_true(beat_send(fd, &place, &b));
    serve_until(&heard.beats[1], 1);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(heard.gone[i], 0); /* none of them was a rank */
    close(fd);
}

static void test_pieces(void **state)
{
    (void)state;
    struct beat b = beat_of(2);
    memcpy(b.token, place.token, sizeof b.token);
    int fd = beat_connect(&place, 5000);
    for (size_t i = 0; i < sizeof b; i += 7) {
        size_t n = sizeof b - i < 7 ? sizeof b - i : 7;
        assert_int_equal(send(fd, (char *)&b + i, n, MSG_NOSIGNAL), n);
        beat_serve(server, 1, -1, &news);
    }
    serve_until(&heard.beats[2], 1);
    assert_int_equal(heard.last.view.step, 42);
    close(fd);
}

static void test_nothing_left(void **state)
{
    (void)state;
    struct rlimit before, none;
    struct beat_place nowhere;
    struct error e = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3; /* no socket can be had */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct beat_server *s = beat_listen(RANKS, false, &nowhere, &e);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_null(s);
    assert_non_null(strstr(e.text, "no port is left for heartbeats"));
    assert_int_equal(nowhere.port, 0);
    assert_int_equal(beat_connect(&nowhere, 100), -1);
}

static void test_all_interfaces(void **state)
{
    (void)state;
    struct beat_place anywhere;
    struct error e = {0};
    struct beat_server *s = beat_listen(RANKS, false, &anywhere, &e);
    assert_non_null(s);
    assert_true(anywhere.port > 0 && memcmp(anywhere.token, place.token, sizeof place.token) != 0);
    /* It hears IPv4 at an address of its own. */
    struct beat_place here = anywhere;
    here.count = 1;
    here.addresses[0] = (struct beat_address){.family = AF_INET, .bytes = {127, 0, 0, 1}};
    int fd = beat_connect(&here, 5000);
    struct beat b = beat_of(1);
    assert_true(fd >= 0 && beat_send(fd, &here, &b));
    for (int i = 0; i < PATIENCE && !heard.beats[1]; i++)
        beat_serve(s, 10, -1, &news);
    assert_int_equal(heard.beats[1], 1);
    close(fd);
    beat_server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_talk, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_strangers, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_pieces, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_nothing_left, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_all_interfaces, open_server, close_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
