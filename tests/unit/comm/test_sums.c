/*
 * Every allreduce schedule on the executor, on 1 to 9 and 16 ranks that take turns in one process: sums of integers,
 * which every type must give exactly, at lengths below, at and above the number of ranks and up to a million; random
 * sums, which may be off by what the order of summation explains, and are the same bits on all ranks; as many messages
 * and bytes as the formulas say. The transport here gives a send back only when it has been received, the hardest there
 * can be. (Real ranks: tests/mpi/test_allreduce.c.)
 */
#include "engine/comm/executor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 16, LONGEST = 1000000, BYTES = 8 * LONGEST, RANDOM = 1009, PERIOD = 16 };

static const int counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
static const char *const types[] = {"f32", "f64", "bf16", "f16"};
static const char *const variants[] = {"param_server:2", "ring_segmented:100", "hierarchical:2",
                                       "hierarchical:3", "hierarchical:4"};
enum {
    COUNTS = sizeof counts / sizeof *counts,
    TYPES = sizeof types / sizeof *types,
    VARIANTS = sizeof variants / sizeof *variants
};

/* The i-th algorithm, those with a number behind; NULL past the last. */
static const char *algo_at(int i)
{
    int plain = 0;
    while (schedule_algo(plain))
        plain++;
    return i < plain ? schedule_algo(i) : i - plain < VARIANTS ? variants[i - plain] : NULL;
}

/* "hierarchical:3" needs a multiple of 3 ranks, "param_server:2" two. */
static bool fits(const char *algo, int ranks)
{
    int number;
    return (sscanf(algo, "hierarchical:%d", &number) != 1 || ranks % number == 0) &&
           (sscanf(algo, "param_server:%d", &number) != 1 || ranks >= number);
}

/* --- ranks in one process --- */

struct message {
    struct message *next;
    int from, tag;
    const void *data;
    size_t bytes;
    bool taken;
};

struct receive {
    int from, tag;
    void *data;
    size_t bytes;
};

struct world {
    struct transport ranks[MOST];
    struct message *inbox[MOST];        /* by receiver, in the order sent */
    double messages[MOST], bytes[MOST]; /* by sender */
};

enum { NONE, SEND, RECEIVE };

static bool send_start(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e)
{
    struct world *w = t->self;
    struct message *m = calloc(1, sizeof *m), **end = &w->inbox[to];
    (void)synchronous;
    (void)e;
    assert_non_null(m);
    *m = (struct message){.from = t->rank, .tag = tag, .data = data, .bytes = bytes};
    while (*end)
        end = &(*end)->next;
    *end = m;
    w->messages[t->rank]++;
    w->bytes[t->rank] += (double)bytes;
    *p = (struct pending){{(uintptr_t)m, SEND}};
    return true;
}

static bool recv_start(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e)
{
    struct receive *r = malloc(sizeof *r);
    (void)t;
    (void)e;
    assert_non_null(r);
    *r = (struct receive){from, tag, data, bytes};
    *p = (struct pending){{(uintptr_t)r, RECEIVE}};
    return true;
}

static bool receive(struct world *w, int rank, const struct receive *r)
{
    for (struct message **at = &w->inbox[rank]; *at; at = &(*at)->next) {
        struct message *m = *at;
        if (m->from != r->from || m->tag != r->tag)
            continue;
        assert_int_equal(m->bytes, r->bytes);
        memcpy(r->data, m->data, m->bytes);
        *at = m->next;
        m->taken = true;
        return true;
    }
    return false;
}

static enum progress test(struct transport *t, struct pending *p, struct error *e)
{
    (void)e;
    if (p->handle[1] == NONE)
        return PROGRESS_DONE;
    if (p->handle[1] == SEND ? !((struct message *)p->handle[0])->taken
                             : !receive(t->self, t->rank, (struct receive *)p->handle[0]))
        return PROGRESS_BUSY;
    free((void *)p->handle[0]);
    *p = (struct pending){{0}};
    return PROGRESS_DONE;
}

static const struct transport_ops turns = {
    .name = "turns", .send_start = send_start, .recv_start = recv_start, .test = test};

/* Carries the algorithm out on x[rank][0..n). A round in which nobody moves is a deadlock. */
static void sum_all(struct world *w, const char *algo, const struct element *type, char *const x[], int ranks,
                    size_t n)
{
    struct plan *plans[MOST] = {NULL};
    struct error e = {0};
    *w = (struct world){0};
    for (int r = 0; r < ranks; r++) {
        struct schedule s;
        w->ranks[r] = (struct transport){.ops = &turns, .self = w, .rank = r, .size = ranks};
        if (!schedule_make(&s, algo, ranks, n, &e) || !(plans[r] = plan_new(&s, r, type, 0, &e)) ||
            !plan_start(plans[r], &e))
            fail_msg("%s on %d ranks: %s", algo, ranks, e.text);
    }
    for (int done = 0, stuck = 0; done < ranks;) {
        stuck++;
        done = 0;
        for (int r = 0; r < ranks; r++) {
            bool moved;
            enum progress progress = plan_step(plans[r], &w->ranks[r], x[r], &moved, &e);
            if (progress == PROGRESS_FAILED)
                fail_msg("%s", e.text);
            done += progress == PROGRESS_DONE;
            stuck = moved ? 0 : stuck;
        }
        if (done < ranks && stuck > 1)
            fail_msg("%s on %d ranks, length %zu: a deadlock", algo, ranks, n);
    }
    for (int r = 0; r < ranks; r++) {
        assert_null(w->inbox[r]);
        plan_free(plans[r]);
    }
}

/* --- integers --- */

/* What rank r has at i: sums of 16 of them stay within 256, up to which bf16 has every integer. */
static int integer(int r, size_t i)
{
    return (r * 5 + (int)(i % PERIOD) * 3) % 16;
}

/* x[0..n) from its first period. */
static void repeat(char *x, size_t width, size_t n)
{
    for (size_t have = PERIOD; have < n; have *= 2)
        memcpy(x + have * width, x, (have < n - have ? have : n - have) * width);
}

struct memory {
    struct world world;
    char *x[MOST], *right;
};

static void check_integers(struct memory *m, const struct element *type, const char *algo, int ranks,
                           size_t n)
{
    for (size_t i = 0; i < PERIOD; i++) {
        int total = 0;
        for (int r = 0; r < ranks; r++) {
            type->set(m->x[r], i, integer(r, i));
            total += integer(r, i);
        }
        type->set(m->right, i, total);
    }
    for (int r = 0; r < ranks; r++)
        repeat(m->x[r], type->bytes, n);
    repeat(m->right, type->bytes, n);
    sum_all(&m->world, algo, type, m->x, ranks, n);
    for (int r = 0; r < ranks; r++)
        if (memcmp(m->x[r], m->right, n * type->bytes) != 0)
            for (size_t i = 0; i < n; i++)
                if (type->get(m->x[r], i) != type->get(m->right, i))
                    fail_msg("%s in %s, %d ranks, length %zu: element %zu of rank %d is %g, not %g", algo,
                             type->name, ranks, n, i, r, type->get(m->x[r], i), type->get(m->right, i));
}

static void test_integers(void **state)
{
    struct memory *m = *state;
    const char *algo;
    for (int a = 0; (algo = algo_at(a)); a++)
        for (int c = 0; c < COUNTS; c++) {
            size_t N = (size_t)counts[c],
                   lengths[] = {0, 1, N - 1, N, N + 1, 13, 997}; /* the last are primes */
            for (int k = 0; k < TYPES && fits(algo, counts[c]); k++)
                for (size_t i = 0; i < sizeof lengths / sizeof *lengths && element_named(types[k]); i++)
                    check_integers(m, element_named(types[k]), algo, counts[c], lengths[i]);
        }
}

/* A prime beyond a segment, and a million: on more than 5 ranks only in the type of gradients, since it takes long. */
static void test_long_integers(void **state)
{
    struct memory *m = *state;
    const char *algo;
    for (int a = 0; (algo = schedule_algo(a)); a++)
        for (int c = 0; c < COUNTS; c++)
            for (int k = 0; k < TYPES; k++) {
                const struct element *type = element_named(types[k]);
                if (type)
                    check_integers(m, type, algo, counts[c], 131101);
                if (type && (k == 0 || counts[c] <= 5))
                    check_integers(m, type, algo, counts[c], LONGEST);
            }
}

/* --- random numbers --- */

/* How many additions a number has been through at most, by the schedule itself. */
static int depth_of(const char *algo, int ranks, size_t n)
{
    struct schedule s;
    struct error e = {0};
    assert_true(schedule_make(&s, algo, ranks, n, &e));
    size_t all = (size_t)ranks * n;
    int *depth = calloc(3 * all, sizeof *depth), *before = depth + all, *adds = before + all, most = 0;
    assert_non_null(depth);
    for (int i = 0, round = 0; i < s.count; round++) {
        memcpy(before, depth, all * sizeof *depth);
        memset(adds, 0, all * sizeof *adds);
        for (; i < s.count && s.transfers[i].round == round; i++) {
            const struct transfer *t = &s.transfers[i];
            for (size_t k = t->offset; k < t->offset + t->length; k++) {
                int *to = &depth[(size_t)t->to * n + k], from = before[(size_t)t->from * n + k];
                *to = !t->reduce || from > *to ? from : *to;
                adds[(size_t)t->to * n + k] += t->reduce;
            }
        }
        for (size_t k = 0; k < all; k++) /* several in a round come in any order: each may meet the deepest */
            depth[k] += adds[k];
    }
    for (size_t k = 0; k < all; k++)
        most = depth[k] > most ? depth[k] : most;
    free(depth);
    schedule_free(&s);
    return most;
}

/* Element i of rank r in [-1, 1), as the type holds it (splitmix64, S. Vigna). */
static double random_of(const struct element *type, int r, size_t i)
{
    uint64_t z = ((uint64_t)r << 32) + i + 1;
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    double held;
    type->set(&held, 0, (double)(int64_t)(z ^ (z >> 31)) / 9223372036854775808.0);
    return type->get(&held, 0);
}

/*
 * A sum in which no number meets more than d additions is off by at most d u / (1 - d u) of the sum of sizes, u half
 * the distance from 1 to the next number (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 4.2);
 * a little more where the type's sums are rounded from float32's. f64 is held against long double.
 */
static void check_random(struct memory *m, const struct element *type, const char *algo, int ranks)
{
    int depth = depth_of(algo, ranks, RANDOM);
    double du = depth * type->epsilon / 2 * (1 + 1e-4), bound = du / (1 - du), worst = 0;
    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < RANDOM; i++)
            type->set(m->x[r], i, random_of(type, r, i));
    sum_all(&m->world, algo, type, m->x, ranks, RANDOM);
    for (size_t i = 0; i < RANDOM; i++) {
        long double right = 0, size = 0;
        for (int r = 0; r < ranks; r++) {
            right += random_of(type, r, i);
            size += fabs(random_of(type, r, i));
        }
        double off = (double)fabsl(type->get(m->x[0], i) - right);
        worst = off > worst ? off : worst;
        if (!(off <= bound * (double)size))
            fail_msg("%s in %s, %d ranks: element %zu is off by %g, more than the %g of %d additions", algo,
                     type->name, ranks, i, off, bound * (double)size, depth);
    }
    assert_true(ranks < 3 || worst > 0); /* numbers that rounding changes: else this shows nothing */
    for (int r = 1; r < ranks; r++)
        assert_memory_equal(m->x[r], m->x[0], RANDOM * type->bytes);
}

static void test_random(void **state)
{
    const char *algo;
    for (int a = 0; (algo = algo_at(a)); a++)
        for (int c = 0; c < COUNTS; c++)
            for (int k = 0; k < TYPES && fits(algo, counts[c]); k++)
                if (element_named(types[k]))
                    check_random(*state, element_named(types[k]), algo, counts[c]);
}

/* --- messages --- */

/* By the formulas: messages of all ranks, and how often the buffer travels. */
static void formula(const char *algo, int ranks, double *messages, double *buffers)
{
    double N = ranks, P = 1, lg = 0;
    for (; 2 * P <= N; P *= 2)
        lg++;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(algo, ":"), algo);
    double number = algo[strlen(name)] ? strtod(algo + strlen(name) + 1, NULL) : 0;
    *buffers = 2 * (N - 1);
    if (!strcmp(name, "ring"))
        *messages = 2 * (N - 1) * N;
    else if (!strcmp(name, "ring_segmented")) /* of parts of at most `number` elements */
        *messages = 2 * (N - 1) * N * ceil(ceil(RANDOM / N) / (number > 0 ? number : 65536));
    else if (!strcmp(name, "hierarchical")) { /* inside hosts of L ranks, then between them */
        double L = number > 0 ? number : 1;
        *messages = N * 2 * (L - 1 + N / L - 1);
    } else if (!strcmp(name, "halving_doubling"))
        *messages = 2 * P * lg + 2 * (N - P);
    else if (!strcmp(name, "recursive_doubling"))
        *messages = *buffers = P * lg + 2 * (N - P);
    else if (!strcmp(name, "everyone"))
        *messages = *buffers = N * (N - 1);
    else if (!strcmp(name, "param_server"))
        *messages = 2 * (N - 1) * (number > 0 ? number : floor(sqrt(N)));
    else /* central, tree */
        *messages = 2 * (N - 1);
}

static void test_messages(void **state)
{
    struct memory *m = *state;
    const char *algo;
    for (int a = 0; (algo = algo_at(a)); a++)
        for (int c = 0; c < COUNTS; c++) {
            if (!fits(algo, counts[c]))
                continue;
            double messages, buffers, sent = 0, bytes = 0;
            for (int r = 0; r < counts[c]; r++)
                memset(m->x[r], 0, RANDOM * sizeof(float));
            sum_all(&m->world, algo, &element_f32, m->x, counts[c], RANDOM);
            for (int r = 0; r < counts[c]; r++) {
                sent += m->world.messages[r];
                bytes += m->world.bytes[r];
                if (!strcmp(algo, "ring"))
                    assert_true(m->world.messages[r] == 2 * (counts[c] - 1));
            }
            formula(algo, counts[c], &messages, &buffers);
            if (sent != messages || bytes != buffers * RANDOM * sizeof(float))
                fail_msg("%s on %d ranks: %g messages and %g bytes, not %g and %g", algo, counts[c], sent,
                         bytes, messages, buffers * RANDOM * sizeof(float));
        }
}

static int allocate(void **state)
{
    struct memory *m = calloc(1, sizeof *m);
    *state = m;
    for (int r = 0; m && r < MOST; r++)
        if (!(m->x[r] = malloc(BYTES)))
            return -1;
    return m && (m->right = malloc(BYTES)) ? 0 : -1;
}

static int release(void **state)
{
    struct memory *m = *state;
    for (int r = 0; r < MOST; r++)
        free(m->x[r]);
    free(m->right);
    free(m);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_long_integers),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}
