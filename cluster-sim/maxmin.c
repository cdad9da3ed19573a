#include "cluster-sim/maxmin.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Links wait in a radix heap (R. Ahuja, K. Mehlhorn, J. Orlin and R. Tarjan, Faster algorithms for the shortest path problem, J. of
 * the ACM 37 (1990) 213-223): what is taken never gets smaller, so a link waits in the bucket of the highest bit in which its
 * share differs from what was taken last. A bucket is a list of blocks, each read in order, so that the links themselves can be
 * fetched before they are needed; all blocks are there from the beginning.
 */
enum { BUCKETS = 65, BLOCK = 62, NONE = -1 };

struct block {
    int next, count;
    int link[BLOCK];
};

struct link {
    double left; /* of its capacity */
    uint64_t
        share; /* that it would give, as bits: of positive doubles these are ordered as the numbers are */
    int open;  /* flows that still grow */
    int begin, end; /* its flows in `flow` */
};

struct state {
    const int *first, *link;
    struct link *links;
    int *flow;
    struct block *block;
    int bucket[BUCKETS]; /* its first block, the only one with room */
    int spare;           /* the first of the blocks that are in no bucket */
    uint64_t last;
};

static uint64_t bits_of(double share)
{
    uint64_t bits;
    memcpy(&bits, &share, sizeof bits);
    return bits;
}

static double share_of(uint64_t bits)
{
    double share;
    memcpy(&share, &bits, sizeof share);
    return share;
}

static int bucket_of(const struct state *s, uint64_t share)
{
    return share == s->last ? 0 : 64 - __builtin_clzll(share ^ s->last);
}

static void push(struct state *s, int l)
{
    int *bucket = &s->bucket[bucket_of(s, s->links[l].share)];
    if (*bucket == NONE || s->block[*bucket].count == BLOCK) {
        int fresh = s->spare;
        s->spare = s->block[fresh].next;
        s->block[fresh].next = *bucket;
        s->block[fresh].count = 0;
        *bucket = fresh;
    }
    struct block *b = &s->block[*bucket];
    b->link[b->count++] = l;
}

static void give_back(struct state *s, int block)
{
    s->block[block].next = s->spare;
    s->spare = block;
}

/* Sets what a link would give now, at least what it would have given before. False: all its flows have what they get. */
static bool renew(struct link *link)
{
    if (link->open == 0)
        return false;
    double now = link->left / link->open;
    if (now > share_of(link->share) * (1 + 1e-14))
        link->share = bits_of(now);
    return true;
}

/* Empties the lowest bucket that holds anything into those below it; false: none does. */
static bool spread(struct state *s)
{
    int at = 1;
    uint64_t least = UINT64_MAX;
    while (at < BUCKETS && s->bucket[at] == NONE)
        at++;
    if (at == BUCKETS)
        return false;
    int first = s->bucket[at];
    s->bucket[at] = NONE;
    for (int b = first; b != NONE; b = s->block[b].next) {
        struct block *block = &s->block[b];
        int kept = 0;
        for (int i = 0; i < block->count; i++) {
            struct link *link = &s->links[block->link[i]];
            if (!renew(link))
                continue;
            if (bucket_of(s, link->share) > at) { /* grown beyond what other buckets hold */
                push(s, block->link[i]);
                continue;
            }
            least = link->share < least ? link->share : least;
            block->link[kept++] = block->link[i];
        }
        block->count = kept;
    }
    if (least != UINT64_MAX)
        s->last = least;
    for (int b = first, next; b != NONE; b = next) {
        next = s->block[b].next;
        for (int i = 0; i < s->block[b].count; i++)
            push(s, s->block[b].link[i]);
        give_back(s, b);
    }
    return true;
}

/* While a bucket is emptied its links may be in two places, and each bucket may have a block that is not full. */
static int blocks_of(int links)
{
    return 2 * (links / BLOCK + 1) + 2 * BUCKETS;
}

/* Which flows cross each link; all links that any crosses into the heap. */
static void prepare(struct state *s, int links, const double *capacity, int flows)
{
    int crossings = s->first[flows], used = 0;
    for (int i = 0; i < BUCKETS; i++)
        s->bucket[i] = NONE;
    for (int i = 0; i < blocks_of(links); i++)
        s->block[i].next = i + 1;
    for (int k = 0; k < crossings; k++)
        s->links[s->link[k]].open++;
    for (int l = 0; l < links; l++) {
        struct link *link = &s->links[l];
        link->begin = link->end = used;
        used += link->open;
        link->left = capacity[l];
        if (link->open > 0) {
            link->share = bits_of(link->left / link->open);
            push(s, l);
        }
    }
    for (int f = 0; f < flows; f++)
        for (int k = s->first[f]; k < s->first[f + 1]; k++)
            s->flow[s->links[s->link[k]].end++] = f;
}

/* The link is full: its flows have what they will get, and no longer grow on their other links. */
static void fill(struct state *s, int l, double *rate, int *bottleneck)
{
    double share = share_of(s->links[l].share);
    for (int k = s->links[l].begin; k < s->links[l].end; k++) {
        int f = s->flow[k];
        if (rate[f] >= 0)
            continue;
        rate[f] = share;
        bottleneck[f] = l;
        for (int j = s->first[f]; j < s->first[f + 1]; j++) {
            struct link *other = &s->links[s->link[j]];
            other->open--;
            other->left = fmax(0, other->left - share);
        }
    }
}

static void solve(struct state *s, double *rate, int *bottleneck)
{
    do {
        for (int b; (b = s->bucket[0]) != NONE;) {
            struct block *block = &s->block[b];
            if (block->count == 0) {
                s->bucket[0] = block->next;
                give_back(s, b);
                continue;
            }
            int l = block->link[--block->count];
            struct link *link = &s->links[l];
            if (!renew(link))
                continue;
            if (link->share == s->last)
                fill(s, l, rate, bottleneck);
            else
                push(s, l);
        }
    } while (spread(s));
}

bool maxmin_solve(int links, const double *capacity, int flows, const int *first, const int *link,
                  double *rate, int *bottleneck, struct error *e)
{
    struct state s = {.first = first, .link = link};
    s.links = calloc((size_t)links + 1, sizeof *s.links);
    s.flow = malloc(((size_t)first[flows] + 1) * sizeof *s.flow);
    s.block = malloc((size_t)blocks_of(links) * sizeof *s.block);
    bool ok = s.links && s.flow && s.block;
    if (ok) {
        for (int f = 0; f < flows; f++) {
            rate[f] = first[f] == first[f + 1] ? INFINITY : -1;
            bottleneck[f] = -1;
        }
        prepare(&s, links, capacity, flows);
        solve(&s, rate, bottleneck);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for %d flows over %d links", flows, links);
    }
    free(s.links);
    free(s.flow);
    free(s.block);
    return ok;
}
