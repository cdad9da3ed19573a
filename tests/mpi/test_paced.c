/*
 * A link slowed on purpose: messages over it arrive whole and in order, no message is faster than it, and a ring, a
 * root and a slow rank take what their formulas say. Times are compared with the link's and with each other, the
 * least of several: a machine that does something else meanwhile can only make them longer.
 */
#include "engine/base/timing.h"
#include "engine/comm/executor.h"
#include "engine/comm/paced.h"
#include "tests/mpi/tap.h"

#include <math.h>
#include <time.h>

enum { TRIES = 7, LARGE = 4 << 20 };

/* All ranks of a test are on one host. */
static struct transport *slowed(struct tap *tap, struct slow_link *l, const char *rate, const char *latency)
{
    struct error e = {0};
    bool same[64];
    memset(same, 1, sizeof same);
    struct transport *t = slow_link_parse(l, rate, latency, comm_size(tap->comm), &e)
                              ? paced_new(comm_transport(tap->comm), l, same, &e)
                              : NULL;
    if (!t) {
        printf("not ok - the link is made: %s\n", e.text);
        fflush(stdout);
        comm_abort(tap->comm, 1);
    }
    return t;
}

/* The seconds of one allreduce, the longest of any rank's; x is filled with ones before and looked at after. */
static bool once(struct tap *tap, struct transport *t, struct plan *p, float *x, size_t n, double *seconds,
                 struct error *e)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    if (!comm_barrier(tap->comm, e))
        return false;
    double begin = timing_now();
    if (!plan_run(p, t, x, NULL, e))
        return false;
    *seconds = timing_now() - begin;
    bool right = true;
    for (size_t i = 0; right && i < n; i++)
        right = x[i] == (float)t->size;
    return comm_max_double(tap->comm, seconds, 1, e) && (right || error_set(e, ERROR_FAILED, "wrong sums"));
}

/* The median of TRIES rings over one float a rank. */
static double short_ring(struct tap *tap, struct transport *t, struct error *e)
{
    struct schedule s;
    size_t n = (size_t)t->size;
    struct plan *p =
        schedule_make(&s, "ring", t->size, n, e) ? plan_new(&s, t->rank, &element_f32, 0, e) : NULL;
    float x[64];
    double seconds[TRIES];
    for (int i = 0; i < TRIES && p; i++)
        if (!once(tap, t, p, x, n, &seconds[i], e))
            seconds[i] = NAN;
    plan_free(p);
    return p ? timing_median(seconds, TRIES) : NAN;
}

/* The least of TRIES, or the first that is no more than `enough`. NAN where one failed. */
static double least(struct tap *tap, struct transport *t, const char *algo, size_t n, double enough,
                    struct error *e)
{
    struct schedule s;
    struct plan *p =
        schedule_make(&s, algo, t->size, n, e) ? plan_new(&s, t->rank, &element_f32, 0, e) : NULL;
    float *x = malloc(n * sizeof *x + 1);
    double best = INFINITY;
    for (int i = 0; i < TRIES && p && x && best > enough; i++) {
        double seconds;
        if (!once(tap, t, p, x, n, &seconds, e)) {
            best = NAN;
            break;
        }
        best = seconds < best ? seconds : best;
    }
    free(x);
    plan_free(p);
    return p && x ? best : NAN;
}

/* Under a sanitizer the machine is several times as slow as the links. */
static double slack(void)
{
    return getenv("RINGSIDE_SANITIZE") ? 4 : 1;
}

static void check_within(struct tap *tap, const char *name, double seconds, double lo, double hi,
                         const struct error *e)
{
    char detail[200];
    snprintf(detail, sizeof detail, "%.6f s, not from %.6f to %.6f; %.100s", seconds, lo, hi, e->text);
    tap_check(tap, name, seconds >= lo && seconds <= hi, detail);
}

static void test_formulas(struct tap *tap)
{
    struct slow_link l;
    struct error e = {0};
    struct transport *t = slowed(tap, &l, "1Gbps", "50us");
    int n = t->size;
    struct cost_link cost = {.alpha = 50e-6, .beta = 8e-9};
    double bytes = LARGE * sizeof(float), ring = cost_seconds(&cost, "ring", n, bytes);
    double time = least(tap, t, "ring", LARGE, 1.05 * ring, &e);
    /* Where ranks share cores, each is late for messages that are there. */
    double most = n == 1 ? INFINITY : (t->crowded ? 1.3 : 1.1) * slack() * ring;
    check_within(tap, "a ring over 16 MiB takes what its formula says, to 10 %", time,
                 n > 1 ? 0.98 * ring : 0, most, &e);
    /* Per byte, the root carries n times half of what each rank of a ring does. */
    double ratio = least(tap, t, "central", LARGE / 2, 0, &e) * 2 / time;
    if (n > 1)
        check_within(tap, "beside it a root takes n/2 times as long", ratio, 0.9 / slack() * n / 2,
                     1.25 * slack() * n / 2, &e);
    /* Everybody to everybody: all cables are full both ways. At 4 ranks 5/3 where they are so one after the other. */
    double everyone = cost_seconds(&cost, "everyone", n, bytes / 8);
    time = least(tap, t, "everyone", LARGE / 8, 1.05 * everyone, &e);
    most = n == 1 ? INFINITY : (t->crowded ? 1.4 : 1.2) * slack() * everyone;
    check_within(tap, "everyone to everyone takes what its formula says", time, n > 1 ? 0.95 * everyone : 0,
                 most, &e);
    paced_free(t);
}

/* Short messages: latency is all that counts, two rounds for each other rank. So long a one that no turn of a core's
 * other users comes near it. */
static void test_latency(struct tap *tap)
{
    struct slow_link l;
    struct error e = {0};
    struct transport *t = slowed(tap, &l, "1Gbps", "30ms");
    double rounds = 2.0 * (t->size - 1) * 30e-3;
    check_within(tap, "short messages take as long as the latency, for each round", short_ring(tap, t, &e),
                 rounds * 0.9, t->size > 1 ? 2 * slack() * rounds : INFINITY, &e);
    paced_free(t);
}

/* 1 MiB from one rank to another: from when the one begins to when the other has it. The clock is one host's. */
static bool one_way(struct tap *tap, struct transport *t, int from, int to, double *seconds, struct error *e)
{
    static char out[1 << 20], in[1 << 20];
    struct pending p = {0};
    double times[2] = {-INFINITY, -INFINITY}; /* the end, and minus the beginning */
    bool ok = comm_barrier(tap->comm, e);
    if (t->rank == from) {
        times[1] = -timing_now();
        ok = ok && t->ops->send_start(t, to, 1, out, sizeof out, false, &p, e);
    } else if (t->rank == to) {
        ok = ok && t->ops->recv_start(t, from, 1, in, sizeof in, &p, e);
    }
    ok = ok && t->ops->wait(t, &p, 1, e);
    if (t->rank == to)
        times[0] = timing_now();
    ok = comm_max_double(tap->comm, times, 2, e) && ok;
    *seconds = times[0] + times[1];
    return ok;
}

/* One slow cable slows whoever sends to it and whoever it sends to, and nobody else. */
static void test_slow_rank(struct tap *tap)
{
    struct slow_link l;
    struct transport *t = slowed(tap, &l, "4Gbps,0=400Mbps", "0us,0=3ms");
    double slow = 3e-3 + 8e6 / 400e6 * 1.048576, fast = 8e6 / 4e9 * 1.048576;
    const int pairs[3][2] = {{0, 1}, {1, 0}, {1, 2}};
    for (int k = 0; k < 3 && pairs[k][0] < t->size && pairs[k][1] < t->size; k++) {
        struct error e = {0};
        double best = INFINITY, expected = k < 2 ? slow : fast, seconds;
        for (int i = 0; i < TRIES && best > 1.05 * expected; i++)
            best = one_way(tap, t, pairs[k][0], pairs[k][1], &seconds, &e) ? fmin(best, seconds) : NAN;
        char name[80];
        snprintf(name, sizeof name, "rank 0 is slow, and 1 MiB from %d to %d is%s", pairs[k][0], pairs[k][1],
                 k < 2 ? "" : " not");
        /* A sender that woke up late has up to 0.2 ms of credit. */
        check_within(tap, name, best, 0.85 * expected, (k < 2 ? 1.5 * expected : 0.5 * slow) * slack(), &e);
    }
    paced_free(t);
}

/* Many short messages with one tag, and long ones between, from everybody to everybody. */
static void test_order(struct tap *tap)
{
    struct slow_link l;
    struct error e = {0};
    struct transport *t = slowed(tap, &l, "2Gbps", "20us");
    enum { MESSAGES = 40 };
    static int out[MESSAGES][3000], in[MESSAGES][3000];
    struct pending p[2 * MESSAGES];
    int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    bool ok = true;
    for (int i = 0; ok && i < MESSAGES; i++) {
        size_t n = i % 5 == 4 ? sizeof out[i] : (size_t)i % 4 * sizeof(int);
        out[i][0] = i + 1000 * t->rank;
        in[i][0] = -1;
        ok = t->ops->send_start(t, right, 5, out[i], n, i % 3 == 0, &p[i], &e) &&
             t->ops->recv_start(t, left, 5, in[i], n, &p[MESSAGES + i], &e);
    }
    ok = ok && t->ops->wait(t, p, 2 * MESSAGES, &e);
    for (int i = 0; ok && i < MESSAGES; i++)
        ok = in[i][0] == (i % 5 == 4 || i % 4 ? i + 1000 * left : -1);
    tap_check(tap, "messages over it arrive whole and in order", ok, e.text);
    struct pending none = {0};
    tap_check(tap, "no operation at all is done", t->ops->test(t, &none, &e) == PROGRESS_DONE, NULL);
    float x;
    bool refused = !t->ops->send_start(t, t->size, 0, &x, sizeof x, false, &none, &e) && !none.handle[0] &&
                   !t->ops->recv_start(t, -1, 0, &x, sizeof x, &none, &e) && !none.handle[0];
    tap_check(tap, "ranks that are not there are refused", refused && e.kind == ERROR_INPUT, e.text);
    paced_free(t);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A rank that waits for a slow link sleeps. */
static void test_idle(struct tap *tap)
{
    struct slow_link l;
    struct error e = {0};
    struct transport *t = slowed(tap, &l, "100Mbps", "1ms");
    double before = cpu_seconds(), time = least(tap, t, "ring", LARGE / 16, 1e9, &e);
    double busy = cpu_seconds() - before;
    char detail[160];
    snprintf(detail, sizeof detail, "%.3f s of %.3f s; %.80s", busy, time, e.text);
    tap_check(tap, "waiting for it costs less than a third of a core",
              t->size == 1 || busy < slack() * time / 3, detail);
    paced_free(t);
}

/* The whole job's link: what goes past it is refused, auto and the model go by it. Last: it stays. */
static void test_job(struct tap *tap)
{
    struct error e = {0};
    struct slow_link l;
    struct comm_links links;
    float x[4] = {1, 1, 1, 1};
    bool ok =
        slow_link_parse(&l, "10Mbps", "2ms", comm_size(tap->comm), &e) && comm_set_link(tap->comm, &l, &e);
    ok = ok && comm_allreduce(tap->comm, "auto", x, 4, NULL, &e) && x[3] == (float)comm_size(tap->comm);
    tap_check(tap, "a job on a slowed link sums by auto", ok, e.text);
    bool refused = !comm_allreduce(tap->comm, "mpi", x, 4, NULL, &e) && e.kind == ERROR_INPUT &&
                   !comm_allreduce(tap->comm, "shm", x, 4, NULL, &e) && e.kind == ERROR_INPUT &&
                   !comm_collective(tap->comm, BROADCAST, "mpi", &element_f32, x, 4, NULL, &e) &&
                   !comm_shares_memory(tap->comm);
    tap_check(tap, "what would go past the link is refused", refused, e.text);
    double begin = timing_now();
    ok = comm_measure_links(tap->comm, 1 << 20, &links, &e);
    bool known = comm_size(tap->comm) == 1 ||
                 (links.messages.alpha >= 2e-3 && links.messages.beta >= 0.999 * 8 / 10e6 && !links.shared);
    /* 4 MiB over 10 Mbit/s would take 3 s, nine times. */
    tap_check(tap, "its cost is known without measuring it", ok && known && timing_now() - begin < 20,
              e.text);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    test_order(&tap);
    test_formulas(&tap);
    test_latency(&tap);
    test_slow_rank(&tap);
    test_idle(&tap);
    test_job(&tap);
    return tap_close(&tap);
}
