/*
 * The allreduces on real ranks: sums of small integers, exact in float32, at lengths below, at and above the
 * number of ranks and across segment boundaries; sums of random numbers against float64; the same bits on all
 * ranks; the record of the transfers.
 */
#include "engine/base/event.h"
#include "engine/comm/executor.h"
#include "tests/mpi/tap.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* xorshift64*, so that every rank can make every other rank's numbers. */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 2685821657736338717ull) >> 11) / 9007199254740992.0 * 2 - 1;
}

static uint64_t seed_of(int rank, size_t length)
{
    return 88172645463325252ull + 7919ull * (uint64_t)rank + length;
}

/* Where the summands are: algorithms that share memory treat them differently. */
enum where { BUFFER, MIDDLE, PRIVATE };

/* x[i] = (rank + 1) * (i % 251 + 1): at most 251 * N(N+1)/2, far below 2^24, so every order gives this sum. */
static bool exact(struct tap *tap, const char *algo, size_t n, enum where where, char *detail, size_t size)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    size_t skip = where == MIDDLE ? 5 : 0;
    float *buffer = where == PRIVATE ? malloc((n + 1) * sizeof *buffer) : comm_buffer(tap->comm, n + 7, &e);
    float *x = buffer ? buffer + skip : NULL;
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)((size_t)(rank + 1) * (i % 251 + 1));
    bool ok = x && comm_allreduce(tap->comm, algo, x, n, NULL, &e);
    if (!ok)
        snprintf(detail, size, "%.200s", e.text);
    for (size_t i = 0; ok && i < n; i++) {
        float right = (float)((size_t)(ranks * (ranks + 1) / 2) * (i % 251 + 1));
        if (x[i] != right) {
            snprintf(detail, size, "%s, length %zu: element %zu is %g, not %g", algo, n, i, (double)x[i],
                     (double)right);
            ok = false;
        }
    }
    if (where == PRIVATE)
        free(buffer);
    else
        comm_buffer_free(tap->comm, buffer);
    return ok;
}

static void test_exact(struct tap *tap, const char *algo, enum where where)
{
    static const char *const names[] = {"a buffer of comm's", "the middle of one", "private memory"};
    int ranks = comm_size(tap->comm);
    size_t big = PLAN_SEGMENT * (size_t)ranks;
    size_t lengths[] = {0,    1,     (size_t)ranks - 1, (size_t)ranks, (size_t)ranks + 1, 7,      13, 997,
                        1000, 65537, big - 1,           big,           big + 1,           1000003};
    char name[128], detail[256] = "";
    bool ok = true;
    /* More ranks than this machine is likely to have cores: leave the long ones out. */
    size_t count = sizeof lengths / sizeof *lengths - (ranks > 4 ? 5 : 0);
    for (size_t i = 0; i < count; i++)
        ok &= exact(tap, algo, lengths[i], where, detail, sizeof detail);
    snprintf(name, sizeof name, "%s: exact sums of integers at all lengths in %s", algo, names[where]);
    tap_check(tap, name, ok, detail);
}

/* Integers that the type holds exactly, sums included, in and out of place: x[i] = (rank + 1) * (i % 3 + 1). */
static void test_type(struct tap *tap, const char *algo, const struct element *type, bool shared)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    size_t lengths[] = {0, 1, (size_t)ranks + 1, 4099, 70001};
    char name[128], detail[256] = "";
    bool ok = true;
    for (size_t k = 0; k < 2 * sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k / 2], floats = n * type->bytes / sizeof(float) + 1;
        void *from = shared ? comm_buffer(tap->comm, floats, &e) : malloc(floats * sizeof(float));
        void *to = shared ? comm_buffer(tap->comm, floats, &e) : malloc(floats * sizeof(float));
        void *target = k % 2 ? to : from;
        ok = ok && from && to;
        for (size_t i = 0; ok && i < n; i++)
            type->set(from, i, (double)((size_t)(rank + 1) * (i % 3 + 1)));
        ok = ok && comm_allreduce_to(tap->comm, algo, type, from, target, n, NULL, &e);
        for (size_t i = 0; ok && i < n; i++) {
            double right = (double)((size_t)(ranks * (ranks + 1) / 2) * (i % 3 + 1));
            ok = type->get(target, i) == right &&
                 (k % 2 == 0 || type->get(from, i) == (double)((size_t)(rank + 1) * (i % 3 + 1)));
            if (!ok)
                snprintf(detail, sizeof detail, "length %zu: element %zu is %g, not %g", n, i,
                         type->get(target, i), right);
        }
        if (shared) {
            comm_buffer_free(tap->comm, from);
            comm_buffer_free(tap->comm, to);
        } else {
            free(from);
            free(to);
        }
    }
    snprintf(name, sizeof name, "%s: exact sums in %s, in and out of place, %s", algo, type->name,
             shared ? "in comm's buffers" : "in private memory");
    tap_check(tap, name, ok, *detail ? detail : e.text);
}

/* bf16 rounds to the nearest, ties to even: 256 + 1 is a tie, and so is 258 + 1. */
static void test_bf16(struct tap *tap)
{
    uint16_t x[4], y[4];
    static const double a[4] = {256, 258, 1e38, -0.5}, b[4] = {1, 1, 3e38, 0.25};
    for (size_t i = 0; i < 4; i++) {
        element_bf16.set(x, i, a[i]);
        element_bf16.set(y, i, b[i]);
    }
    element_bf16.add(x, y, 4);
    bool ok = element_bf16.get(x, 0) == 256 && element_bf16.get(x, 1) == 260 &&
              isinf(element_bf16.get(x, 2)) && element_bf16.get(x, 3) == -0.25 &&
              isnan(bf16_to_float(bf16_from_float(NAN)));
    tap_check(tap, "bf16 sums are rounded to the nearest, ties to even", ok, NULL);
}

/* auto is one algorithm on all ranks, whatever table there is, and says what it goes by. */
static void test_auto(struct tap *tap)
{
    struct error e = {0};
    const char *about = "";
    bool ok = comm_auto(tap->comm, &about, &e) && strstr(about, "auto");
    tap_check(tap, "auto says what it goes by", ok, *about ? about : e.text);
}

/* Rows and columns of a mesh: each group sums by itself, at the same time as the others. */
static void test_groups(struct tap *tap)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    int columns = ranks % 2 == 0 ? 2 : 1;
    bool ok = true;
    for (int way = 0; way < 2; way++) {
        int colour = way ? rank % columns : rank / columns, right = 0, members = 0;
        struct transport *t = NULL;
        struct schedule s;
        ok = comm_transport_group(tap->comm, colour, &t, &e) && ok;
        for (int r = 0; r < ranks; r++)
            if ((way ? r % columns : r / columns) == colour) {
                right += r + 1;
                members++;
            }
        ok = ok && t && t->size == members && schedule_make(&s, "ring", t->size, 1000, &e);
        struct plan *p = ok ? plan_new(&s, t->rank, &element_f32, 0, &e) : NULL;
        float x[1000];
        for (size_t i = 0; i < 1000; i++)
            x[i] = (float)(rank + 1);
        ok = p && plan_run(p, t, x, NULL, &e);
        for (size_t i = 0; ok && i < 1000; i++)
            ok = x[i] == (float)right;
        plan_free(p);
        comm_transport_free(t);
    }
    struct transport *none = NULL;
    ok =
        comm_transport_group(tap->comm, rank == 0 ? 3 : -1, &none, &e) && ok && (none != NULL) == (rank == 0);
    comm_transport_free(none);
    tap_check(tap, "groups by colour have collectives of their own", ok, e.text);
}

static void test_links(struct tap *tap)
{
    struct error e = {0};
    struct comm_links l;
    int ranks = comm_size(tap->comm);
    bool ok = comm_measure_links(tap->comm, 1 << 20, &l, &e);
    double ring = comm_predict(tap->comm, &l, "ring", 1 << 20, true),
           none = comm_predict(tap->comm, &l, "star", 4, true);
    ok = ok && isnan(none) &&
         (ranks == 1 ? ring == 0 : ring > 0 && l.messages.alpha >= 0 && l.messages.beta > 0);
    double first[2] = {l.messages.alpha, l.messages.beta};
    ok = comm_broadcast(tap->comm, first, sizeof first, 0, &e) && ok && first[0] == l.messages.alpha &&
         first[1] == l.messages.beta;
    tap_check(tap, "alpha and beta are measured, the same on all ranks", ok, e.text);
}

static void test_random(struct tap *tap, const char *algo, size_t n)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm);
    char detail[256] = "", name[128];
    float *x = comm_buffer(tap->comm, n, &e), *zero = comm_buffer(tap->comm, n, &e);
    double *right = calloc(n, sizeof *right), *size = calloc(n, sizeof *size);
    for (int r = 0; r < ranks; r++) {
        uint64_t state = seed_of(r, n);
        for (size_t i = 0; i < n; i++) {
            float value = (float)uniform(&state);
            right[i] += (double)value;
            size[i] += fabs((double)value);
            if (r == comm_rank(tap->comm))
                x[i] = value;
        }
    }
    bool ok = comm_allreduce(tap->comm, algo, x, n, NULL, &e);
    snprintf(detail, sizeof detail, "%.200s", e.text);
    /* N-1 additions, each within half an ulp of the partial sum: |error| <= (N-1) * eps/2 * sum of |values|. */
    for (size_t i = 0; ok && i < n; i++)
        if (fabs((double)x[i] - right[i]) > (ranks - 1) * 0.5 * FLT_EPSILON * size[i]) {
            snprintf(detail, sizeof detail, "element %zu is %.9g, not %.9g", i, (double)x[i], right[i]);
            ok = false;
        }
    snprintf(name, sizeof name, "%s: %zu random numbers agree with the sum in float64", algo, n);
    tap_check(tap, name, ok, detail);

    memcpy(zero, x, n * sizeof *x);
    bool same =
        comm_broadcast(tap->comm, zero, n * sizeof *zero, 0, &e) && memcmp(zero, x, n * sizeof *x) == 0;
    snprintf(name, sizeof name, "%s: %zu random numbers, the same bits on all ranks", algo, n);
    tap_check(tap, name, same, e.text);
    comm_buffer_free(tap->comm, x);
    comm_buffer_free(tap->comm, zero);
    free(right);
    free(size);
}

/* --- the record of the transfers ----------------------------------------------------------------------- */

struct collector {
    struct event_sink sink;
    json_t *events;
};

static bool collect(struct event_sink *s, json_t *event, struct error *e)
{
    (void)e;
    json_array_append_new(((struct collector *)s)->events, event);
    return true;
}

static void test_hops(struct tap *tap, size_t n)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm);
    char detail[256] = "", name[128];
    struct collector c = {.sink = {.emit = collect, .started = sink_clock()}, .events = json_array()};
    comm_broadcast(tap->comm, &c.sink.started, sizeof c.sink.started, 0, &e);
    struct hop_log *log = hop_log_new(&e);
    float *x = comm_buffer(tap->comm, n, &e);
    bool ok = comm_allreduce(tap->comm, "ring", x, n, log, &e) &&
              hop_log_emit(tap->comm, log, 7, "ring", comm_rank(tap->comm) == 0 ? &c.sink : NULL, &e);
    snprintf(detail, sizeof detail, "%.200s", e.text);
    double ended = sink_now(&c.sink);
    size_t full = n < (size_t)ranks ? n : (size_t)ranks, moved = 0;
    size_t count = json_array_size(c.events), expected = 2 * (size_t)(ranks - 1) * full;
    if (comm_rank(tap->comm) == 0 && ok) {
        if (count != expected) {
            snprintf(detail, sizeof detail, "%zu hops, not %zu", count, expected);
            ok = false;
        }
        for (size_t i = 0; ok && i < count; i++) {
            const json_t *hop = json_array_get(c.events, i);
            double t0 = event_number(hop, "t0", -1), t1 = event_number(hop, "t1", -1);
            long long from = event_integer(hop, "from", -1), round = event_integer(hop, "hop", -1);
            const char *phase = round < ranks - 1 ? "reduce_scatter" : "allgather";
            moved += (size_t)event_integer(hop, "bytes", 0);
            ok = event_is(hop, "hop") && event_integer(hop, "op", 0) == 7 && t0 >= 0 && t1 >= t0 &&
                 t1 <= ended && event_integer(hop, "to", -1) == (from + 1) % ranks && round >= 0 &&
                 round < 2 * (ranks - 1) && strcmp(event_text(hop, "phase", ""), phase) == 0 &&
                 strcmp(event_text(hop, "algo", ""), "ring") == 0;
            if (!ok) {
                char *text = json_dumps(hop, 0);
                snprintf(detail, sizeof detail, "a wrong hop: %.200s", text);
                free(text);
            }
        }
        if (ok &&
            moved != 2 * (size_t)(ranks - 1) * n * sizeof *x) { /* 2(N-1)/N of the buffer for each rank */
            snprintf(detail, sizeof detail, "%zu bytes moved", moved);
            ok = false;
        }
    }
    snprintf(name, sizeof name, "ring: a hop event for each transfer of %zu elements, with its times", n);
    tap_check(tap, name, ok, detail);

    ok = comm_allreduce(tap->comm, "mpi", x, n, log, &e) &&
         hop_log_emit(tap->comm, log, 8, "mpi", comm_rank(tap->comm) == 0 ? &c.sink : NULL, &e) &&
         json_array_size(c.events) == count;
    tap_check(tap, "mpi: no hops, and none left over from the operation before", ok, e.text);
    json_decref(c.events);
    hop_log_free(log);
    comm_buffer_free(tap->comm, x);
}

/* A reversal: in one round rank r and rank N-1-r swap their buffers, so each overwrites what it sends. */
static void test_swap(struct tap *tap)
{
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm), other = ranks - 1 - rank;
    size_t n = 5000;
    struct schedule s = {.algo = "swap", .ranks = ranks, .length = n, .rounds = 1, .chunks = 1};
    s.transfers = calloc((size_t)ranks, sizeof *s.transfers);
    for (int from = 0; from < ranks; from++)
        if (from != ranks - 1 - from)
            s.transfers[s.count++] = (struct transfer){.from = from, .to = ranks - 1 - from, .length = n};
    struct plan *p = plan_new(&s, rank, &element_f32, 700, &e);
    float *x = comm_buffer(tap->comm, n, &e);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rank * 10000) + (float)i;
    bool ok = p && plan_run(p, comm_transport(tap->comm), x, NULL, &e);
    for (size_t i = 0; ok && i < n; i++)
        ok = x[i] == (float)(other * 10000) + (float)i;
    tap_check(tap, "two ranks swap their buffers in one round", ok, e.text);
    comm_buffer_free(tap->comm, x);
    plan_free(p);
}

/*
 * The tree adds in one pairing, whoever holds what: eight numbers whose sum depends on the order of additions, one a
 * rank at eight ranks or summed within the ranks first, give ((0+1)+(2+3))+((4+5)+(6+7)).
 */
static void test_pairing(struct tap *tap)
{
    static const float part[8] = {1, 0x1p-24f, 3e7f, -1.5f, -3e7f, 0.25f, 1e-3f, 7e6f};
    struct error e = {0};
    int ranks = comm_size(tap->comm), rank = comm_rank(tap->comm);
    if (8 % ranks != 0)
        return;
    float x[8];
    int mine = 8 / ranks;
    memcpy(x, part + rank * mine, (size_t)mine * sizeof *x);
    for (int distance = 1; distance < mine; distance *= 2)
        for (int i = 0; i + distance < mine; i += 2 * distance)
            x[i] += x[i + distance];
    float right = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    bool ok = comm_allreduce(tap->comm, "tree", x, 1, NULL, &e);
    char detail[256];
    snprintf(detail, sizeof detail, "%.9g, not %.9g %.100s", (double)x[0], (double)right, e.text);
    tap_check(tap, "tree: the same bits as the one pairing of eight parts", ok && x[0] == right, detail);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    size_t many = comm_size(tap.comm) > 4 ? 30011 : 300007;
    for (int i = 0; schedule_algo(i); i++)
        test_exact(&tap, schedule_algo(i), BUFFER);
    test_exact(&tap, "ring_segmented:1000", BUFFER);
    test_exact(&tap, "param_server:1", BUFFER);
    test_exact(&tap, "mpi", BUFFER);
    for (int where = BUFFER; where <= PRIVATE; where++)
        test_exact(&tap, "shm", (enum where)where);
    test_exact(&tap, "auto", BUFFER);
    static const char *const typed[] = {"ring", "tree", "halving_doubling", "everyone", "mpi", "shm", "auto"};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++)
        for (int shared = 0; shared < 2; shared++) {
            test_type(&tap, typed[i], &element_f64, shared);
            test_type(&tap, typed[i], (int)i % 2 == shared ? &element_bf16 : &element_f16, shared);
            test_type(&tap, typed[i], &element_f32, shared);
        }
    test_bf16(&tap);
    test_auto(&tap);
    test_groups(&tap);
    test_links(&tap);
    test_random(&tap, "shm", 1);
    test_random(&tap, "shm", many);
    test_pairing(&tap);
    for (int i = 0; schedule_algo(i); i++) {
        test_random(&tap, schedule_algo(i), 1);
        test_random(&tap, schedule_algo(i), many);
    }
    test_hops(&tap, 3);
    test_hops(&tap, 100000);
    test_swap(&tap);
    struct error e = {0};
    float x = 1;
    bool refused = !comm_allreduce(tap.comm, "star", &x, 1, NULL, &e) && e.kind == ERROR_INPUT &&
                   strstr(e.text, "ring") && strstr(e.text, "mpi");
    tap_check(&tap, "an unknown algorithm is refused, naming those there are", refused, e.text);
    return tap_close(&tap);
}
