/*
 * nccl.h - allreduces as NCCL does them: rings and a double binary tree, in which a rank passes data on as soon as they have
 * come, without waiting for what it sends itself.
 *
 *   nccl_ring        as many rings as a host has NICs, each for its part of the buffer: through all GPUs of a host over
 *                    NVLink, then over the ring's own NIC to the next host
 *   nccl_tree[:K]    of each NIC two binary trees over the hosts, each for half of its part of the buffer; a host that is inside in one is a leaf in
 *                    the other, so all send and receive alike; in each host a chain of its GPUs to the first. In pieces of
 *                    at most K elements (65536) that follow each other up the trees and down again.
 *
 * The trees are those of P. Sanders, J. Speck and J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan, Parallel Computing 35 (2009) 581-594, which NCCL 2.4 took up (S. Jeaugey, Massively scale your deep learning
 * training with NCCL 2.4, NVIDIA 2019).
 */
#ifndef RINGSIDE_SIM_NCCL_H
#define RINGSIDE_SIM_NCCL_H

#include "engine/spec/schedule.h"

/* Ranks of a host follow each other; a last host may have fewer. */
struct nccl_hosts {
    int ranks, per_host;
    int nics; /* of a host; divides per_host */
};

bool schedule_nccl_ring(struct schedule *s, const struct nccl_hosts *h, size_t length, struct error *e);
/* piece 0: 65536 elements; at most 64 pieces of a half. */
bool schedule_nccl_tree(struct schedule *s, const struct nccl_hosts *h, size_t length, int piece,
                        struct error *e);

/* How many transfers the tree has. */
double nccl_tree_transfers(const struct nccl_hosts *h, size_t length, int piece);

/* The rank after `rank` in ring `channel`. */
int nccl_ring_next(const struct nccl_hosts *h, int channel, int rank);
/* The parent of `host` in tree 0 or 1 of so many hosts; -1: it is the root. */
int nccl_tree_parent(int tree, int hosts, int host);

#endif
