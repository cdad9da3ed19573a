#include "cluster-sim/nccl.h"

#include <stdlib.h>

/* Of the trees: elements of a piece; pieces at most; and transfers, of which many ranks leave fewer pieces. */
enum { PIECE = 65536, PIECES_MAX = 64, TRANSFERS_MAX = 8 << 20 };

/* --- rings --------------------------------------------------------------------------------------------------- */

static int hosts_of(const struct nccl_hosts *h)
{
    return (h->ranks + h->per_host - 1) / h->per_host;
}

/* With a last host that is not full all rings go in the order of ranks. */
static int shift_of(const struct nccl_hosts *h, int channel)
{
    return h->ranks % h->per_host ? 0 : channel * (h->per_host / h->nics);
}

/* The rank at a place of the ring: hosts in order, the GPUs of each from the channel's own on. */
static int rank_at(const struct nccl_hosts *h, int channel, int place)
{
    int host = place / h->per_host, inside = place % h->per_host;
    return host * h->per_host + (inside + shift_of(h, channel)) % h->per_host;
}

static int place_of(const struct nccl_hosts *h, int channel, int rank)
{
    int host = rank / h->per_host, inside = rank % h->per_host;
    return host * h->per_host + (inside + h->per_host - shift_of(h, channel)) % h->per_host;
}

int nccl_ring_next(const struct nccl_hosts *h, int channel, int rank)
{
    return rank_at(h, channel, (place_of(h, channel, rank) + 1) % h->ranks);
}

static void ring_round(struct schedule *s, const struct nccl_hosts *h, int channel, int k)
{
    int n = h->ranks;
    bool reduce = k < n - 1;
    int back = reduce ? k : k - (n - 1) - 1;
    size_t begin = chunk_offset(s->length, h->nics, channel),
           length = chunk_length(s->length, h->nics, channel);
    for (int place = 0; place < n; place++) {
        int chunk = ((place - back) % n + n) % n;
        schedule_add(s, (struct transfer){
                            .round = k,
                            .from = rank_at(h, channel, place),
                            .to = rank_at(h, channel, (place + 1) % n),
                            .chunk = channel * n + chunk,
                            .offset = begin + chunk_offset(length, n, chunk),
                            .length = chunk_length(length, n, chunk),
                            .reduce = reduce,
                            .phase = reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER,
                        });
    }
}

bool schedule_nccl_ring(struct schedule *s, const struct nccl_hosts *h, size_t length, struct error *e)
{
    size_t n = h->ranks > 0 ? (size_t)h->ranks : 0, most = 2 * n * n * (size_t)h->nics;
    if (!schedule_begin(s, "nccl_ring", h->ranks, length, h->ranks * h->nics, most, e))
        return false;
    for (int k = 0; k < 2 * (h->ranks - 1); k++)
        for (int channel = 0; channel < h->nics; channel++)
            ring_round(s, h, channel, k);
    return true;
}

/* --- trees --------------------------------------------------------------------------------------------------- */

/*
 * Numbers 1 .. n as an in-order binary tree: odd numbers are leaves, the parent of v with lowest bit b is v - b with bit 2b
 * set. Where that is above n, its own parent takes its place.
 */
static int parent_number(int n, int v)
{
    long at = v;
    do {
        long bit = at & -at;
        at = (at - bit) | 2 * bit;
        if ((at & (at - 1)) == 0 && at > n)
            return 0; /* a power of two beyond n: v was the root */
    } while (at > n);
    return (int)at;
}

int nccl_tree_parent(int tree, int hosts, int host)
{
    /* The other tree is turned by one where the number is odd, else mirrored: leaves become inner ones. */
    bool odd = hosts % 2;
    int v = tree == 0 ? host + 1 : odd ? (host + 1) % hosts + 1 : hosts - host;
    int p = parent_number(hosts, v);
    if (p == 0)
        return -1;
    return tree == 0 ? p - 1 : odd ? (p - 2 + hosts) % hosts : hosts - p;
}

/* Of a channel's half of the buffer. */
static int pieces_of(const struct nccl_hosts *h, size_t length, int piece)
{
    size_t half = chunk_length(length, 2 * h->nics, 0), each = piece > 0 ? (size_t)piece : PIECE;
    size_t n = (half + each - 1) / each, most = TRANSFERS_MAX / 4 / (size_t)(h->ranks * h->nics);
    most = most < 1 ? 1 : most > PIECES_MAX ? PIECES_MAX : most;
    return n < 1 ? 1 : (int)(n < most ? n : most);
}

double nccl_tree_transfers(const struct nccl_hosts *h, size_t length, int piece)
{
    return 4.0 * h->nics * (h->ranks - 1) * pieces_of(h, length, piece);
}

struct tree {
    int *parent, *depth; /* of ranks */
    int deepest;
};

/* Tree `which` of a channel; in each host a chain in the channel's order of GPUs, its first is the host's vertex. */
static void grow(struct tree *t, const struct nccl_hosts *h, int which)
{
    int hosts = hosts_of(h), channel = which / 2;
    for (int place = 0; place < h->ranks; place++) {
        int r = rank_at(h, channel, place), up;
        if (place % h->per_host)
            t->parent[r] = rank_at(h, channel, place - 1);
        else
            t->parent[r] = (up = nccl_tree_parent(which % 2, hosts, place / h->per_host)) < 0
                               ? -1
                               : rank_at(h, channel, up * h->per_host);
    }
    t->deepest = 0;
    for (int r = 0; r < h->ranks; r++) {
        int depth = 0;
        for (int at = r; t->parent[at] >= 0; at = t->parent[at])
            depth++;
        t->depth[r] = depth;
        t->deepest = depth > t->deepest ? depth : t->deepest;
    }
}

/*
 * Everybody of the same depth sends at the same time: piece p leaves depth d upwards in round deepest - d + p, and comes down
 * from depth d in round deepest + d + p.
 */
static void tree_round(struct schedule *s, const struct tree *t, int which, int trees, int pieces, int round)
{
    size_t begin = chunk_offset(s->length, trees, which), length = chunk_length(s->length, trees, which);
    for (int r = 0; r < s->ranks; r++) {
        int up = round - (t->deepest - t->depth[r]), down = round - (t->deepest + t->depth[r] - 1);
        if (t->parent[r] < 0)
            continue;
        for (int way = 0; way < 2; way++) {
            int p = way == 0 ? up : down;
            if (p < 0 || p >= pieces)
                continue;
            schedule_add(s, (struct transfer){
                                .round = round,
                                .from = way == 0 ? r : t->parent[r],
                                .to = way == 0 ? t->parent[r] : r,
                                .chunk = which * pieces + p,
                                .offset = begin + chunk_offset(length, pieces, p),
                                .length = chunk_length(length, pieces, p),
                                .reduce = way == 0,
                                .phase = way == 0 ? PHASE_REDUCE : PHASE_BROADCAST,
                            });
        }
    }
}

bool schedule_nccl_tree(struct schedule *s, const struct nccl_hosts *h, size_t length, int piece,
                        struct error *e)
{
    int pieces = pieces_of(h, length, piece), count = 2 * h->nics, rounds = 0;
    size_t n = (size_t)h->ranks, most = 4 * n * (size_t)pieces * (size_t)h->nics;
    int *lists = calloc(2 * n * (size_t)count + 1, sizeof *lists);
    struct tree *trees = calloc((size_t)count, sizeof *trees);
    if (!lists || !trees || !schedule_begin(s, "nccl_tree", h->ranks, length, count * pieces, most, e)) {
        if (!lists || !trees)
            error_set(e, ERROR_FAILED, "out of memory for the trees over %d ranks", h->ranks);
        free(lists);
        free(trees);
        return false;
    }
    for (int which = 0; which < count; which++) {
        trees[which] = (struct tree){lists + 2 * n * (size_t)which, lists + 2 * n * (size_t)which + n, 0};
        grow(&trees[which], h, which);
        int last = 2 * trees[which].deepest - 1 + pieces;
        rounds = h->ranks > 1 && last > rounds ? last : rounds;
    }
    for (int round = 0; round < rounds; round++)
        for (int which = 0; which < count; which++)
            tree_round(s, &trees[which], which, count, pieces, round);
    free(lists);
    free(trees);
    return true;
}
