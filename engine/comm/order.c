#include "engine/comm/order.h"

#include <stdio.h>
#include <string.h>

/* From the highest bit: operation 8, type 4, algorithm 8 (5 its name, 3 of its parameter), length 44. */
enum { LENGTH_BITS = 44, ALGO_BITS = 8, NUMBER_BITS = 3, TYPE_BITS = 4 };
#define LENGTH_MASK (((uint64_t)1 << LENGTH_BITS) - 1)

/* 0: none or unknown, then MPI's, shared memory, GPUs, and the schedules. */
static const char *algo_name(int code)
{
    static const char *const others[] = {NULL, "mpi", "shm", "nccl"};
    enum { OTHERS = sizeof others / sizeof *others };
    return code < OTHERS ? others[code] : schedule_algo(code - OTHERS);
}

static uint64_t algo_code(const char *algo)
{
    size_t length = strcspn(algo, ":");
    unsigned number = 0;
    for (const char *at = algo + length; *at; at++)
        number = number * 31 + (unsigned char)*at;
    const char *name;
    for (int code = 1; (name = algo_name(code)); code++)
        if (strlen(name) == length && strncmp(name, algo, length) == 0)
            return (uint64_t)code << NUMBER_BITS | (number & ((1u << NUMBER_BITS) - 1));
    return 0;
}

static uint64_t type_code(const struct element *type)
{
    for (int i = 0; type && element_at(i); i++)
        if (element_at(i) == type)
            return (uint64_t)i + 1;
    return 0;
}

uint64_t order_word(struct order *o, int op, const char *algo, const struct element *type, size_t n)
{
    if (strcmp(algo, o->algo) != 0) {
        o->algo_code = algo_code(algo);
        snprintf(o->algo, sizeof o->algo, "%s", algo);
    }
    if (type != o->type) {
        o->type_code = type_code(type);
        o->type = type;
    }
    uint64_t word = ((uint64_t)(unsigned)op << TYPE_BITS | o->type_code) << ALGO_BITS | o->algo_code;
    return word << LENGTH_BITS | (n & LENGTH_MASK);
}

uint64_t order_begin(struct order *o, int op, const char *algo, const struct element *type, size_t n)
{
    uint64_t word = order_word(o, op, algo, type, n);
    activity_begin(o->mine, word);
    return word;
}

void order_text(uint64_t word, char *text, size_t size)
{
    unsigned long long n = word & LENGTH_MASK;
    const struct element *type = element_at((int)(word >> (LENGTH_BITS + ALGO_BITS)) % (1 << TYPE_BITS) - 1);
    int op = (int)(word >> (LENGTH_BITS + ALGO_BITS + TYPE_BITS));
    int code = (int)(word >> (LENGTH_BITS + NUMBER_BITS)) & ((1 << (ALGO_BITS - NUMBER_BITS)) - 1);
    const char *algo = algo_name(code), *plural = n == 1 ? "" : "s";
    switch (op) {
    case ORDER_BYTES: snprintf(text, size, "broadcast of %llu byte%s", n, plural); return;
    case ORDER_GATHER: snprintf(text, size, "gathering of %llu byte%s from each rank", n, plural); return;
    case ORDER_SUM: snprintf(text, size, "sum of %llu number%s", n, plural); return;
    case ORDER_MAX: snprintf(text, size, "maximum of %llu number%s", n, plural); return;
    case BARRIER:
    case ORDER_WAIT: snprintf(text, size, "barrier"); return;
    default: break;
    }
    const char *name = op < COLLECTIVES ? collective_name((enum collective)op) : NULL;
    snprintf(text, size, "%s%s%s%s of %llu %s element%s", name ? name : "collective", algo ? " (" : "",
             algo ? algo : "", algo ? ")" : "", n, type ? type->name : "", plural);
}

uint64_t order_difference(const struct activity_view *a, const struct activity_view *b)
{
    uint64_t from = a->oldest > b->oldest ? a->oldest : b->oldest;
    uint64_t to = a->begun < b->begun ? a->begun : b->begun, x, y;
    for (uint64_t s = from; s <= to; s++)
        if (activity_collective(a, s, &x) && activity_collective(b, s, &y) && x != y)
            return s;
    return 0;
}

void order_sentence(int rank_a, const struct activity_view *a, int rank_b, const struct activity_view *b,
                    uint64_t s, char *text, size_t size)
{
    char x[120] = "", y[120] = "";
    uint64_t word;
    if (activity_collective(a, s, &word))
        order_text(word, x, sizeof x);
    if (activity_collective(b, s, &word))
        order_text(word, y, sizeof y);
    if (strcmp(x, y) == 0)
        snprintf(y, sizeof y, "the same with another parameter");
    snprintf(text, size,
             "collective number %llu is %s on rank %d, but %s on rank %d: all ranks must call the same "
             "collectives in the same order, with the same length and type; look for one that only some "
             "ranks call, or whose length depends on the rank",
             (unsigned long long)s, x, rank_a, y, rank_b);
}

static bool agree(const struct order *o, const struct activity_view *mine, int peer, struct error *e)
{
    struct activity_view other;
    activity_look(o->peers[peer], &other);
    uint64_t s = order_difference(mine, &other);
    if (s == 0)
        return true;
    /* The lower rank first, so that both say the same. */
    bool first = o->ranks[o->self] < o->ranks[peer];
    char text[700];
    order_sentence(first ? o->ranks[o->self] : o->ranks[peer], first ? mine : &other,
                   first ? o->ranks[peer] : o->ranks[o->self], first ? &other : mine, s, text, sizeof text);
    return error_set(e, ERROR_FAILED, "%s", text);
}

bool order_check(const struct order *o, struct error *e)
{
    struct activity_view mine;
    if (!o->peers)
        return true;
    activity_look(o->mine, &mine);
    for (int i = 0; i < o->count; i++)
        if (i != o->self && !agree(o, &mine, i, e))
            return false;
    return true;
}

/* Whether the next rank of this host was in the same collectives as this one, as far back as both are kept. */
static bool neighbour_agrees(const struct order *o, struct error *e)
{
    const struct activity *a = o->mine, *b = o->peers[(o->self + 1) % o->count];
    uint64_t s = atomic_load_explicit(&a->begun, memory_order_relaxed), other = 0;
    if (s >= ORDER_EVERY && atomic_load_explicit(&b->begun, memory_order_acquire) == s) {
        for (uint64_t k = s; k > s - ORDER_EVERY; k--)
            other |= atomic_load_explicit(&a->kept[k % ACTIVITY_KEPT], memory_order_relaxed) ^
                     atomic_load_explicit(&b->kept[k % ACTIVITY_KEPT], memory_order_relaxed);
        if (other == 0)
            return true; /* nearly always; a difference that is none (it is ahead by now) is seen below */
    }
    struct activity_view mine;
    activity_look(o->mine, &mine);
    return agree(o, &mine, (o->self + 1) % o->count, e);
}

bool order_end(struct order *o, bool ok, bool compare, struct error *e)
{
    if (ok && compare && o->peers && o->count > 1) {
        ok = neighbour_agrees(o, e);
    } else if (!ok) {
        struct error why = {0};
        if (!order_check(o, &why) && e)
            *e = why;
    }
    if (ok)
        activity_end(o->mine);
    return ok;
}
