/*
 * published.h - multi-GPU runs that others have published, simulated from their single-GPU rate and data sheets alone.
 *
 * Every case has the same constants, none of them fitted to a case:
 *   network    the link's rate x 0.96 (RDMA: NCCL's src/graph/topo.h takes 12 GB/s for 100 Gb/s) or 0.94 (TCP over
 *              Ethernet: 1448 of 1538 bytes); a message's latency as NCCL's own tuning table of 2020 has it
 *              (src/graph/tuning.cc: ring, Simple: NVLink 3.4 us, PCIe 5.7 us, network 9.6 us, between nodes 1.9 times as
 *              much for chunks from 4 KiB); TCP 30 us, an assumption
 *   nodes      PCIe 3.0 x16 12 GB/s, an NVLink of a P100 18 GB/s (topo.h again); memory of the host by its data
 *              sheet x 0.75 (roofline.h)
 *   buckets    Horovod's fusion buffer of 64 MiB (its default then); TensorFlow sums each variable by itself
 *   stragglers normal, spread 2 %: GPUs of one type differ by 8 % on average within a cluster (P. Sinha et al., Not all
 *              GPUs are created equal, arXiv 2208.11035, 2022), taken as four standard deviations
 * Not modelled: what frameworks do on the host, kernels of NCCL that take multiprocessors from the computation, traffic of
 * others, oversubscribed switches (nothing is said about them).
 */
#ifndef RINGSIDE_SIM_PUBLISHED_H
#define RINGSIDE_SIM_PUBLISHED_H

#include "cluster-sim/collective.h"
#include "engine/base/error.h"

#include <stdbool.h>

/* How gradients are summed. */
enum published_sum {
    SUM_HOROVOD,      /* NCCL's ring over all GPUs, in fusion buffers */
    SUM_NCCL,         /* NCCL's ring inside a node, each variable */
    SUM_SERVER_LOCAL, /* parameter server in the node's memory */
    SUM_SERVERS       /* summed inside each node, then parameter servers on the nodes */
};

struct published_cluster {
    const char *name, *gpu;
    int gpus;                 /* of a node */
    double flops, gpu_memory; /* of a GPU: f32 a second, bytes a second */
    double inner_bytes_per_s; /* of a GPU to its neighbours, each way */
    bool nvlink;
    double host_link;           /* of a GPU to the host's memory, with those that share its slot */
    double host_memory;         /* bytes a second, data sheet */
    double network_bytes_per_s; /* of a node, each way; 0: there is one node */
    bool rdma;
};

struct published_case {
    const char *what;  /* "Horovod, VGG-16, 512 GPUs" */
    const char *model; /* in exercises/models */
    const struct published_cluster *cluster;
    enum published_sum sum;
    int nodes, servers;   /* parameter servers of SUM_SERVERS */
    int batch;            /* of a GPU */
    double one;           /* samples/s of one GPU, published */
    double efficiency;    /* published, or 0 and: */
    double samples_per_s; /* published */
    int source;           /* number of published_source */
};

struct published_result {
    int gpus;
    double published, simulated; /* samples/s */
    double published_efficiency, simulated_efficiency;
    double error;       /* simulated / published - 1 */
    double aim;         /* 0.1; 0.2 of parameter servers */
    enum sim_tier tier; /* of the network */
    char bottleneck[256];
    char network[256];
};

/* The i-th case; NULL past the last. */
const struct published_case *published_case(int i);
/* The text of a source, from 1; NULL past the last. */
const char *published_source(int number);

/* say: a line for each part of the step (training.h); may be NULL. */
bool published_simulate(const struct published_case *c, struct published_result *r,
                        void (*say)(void *self, const char *what, double seconds, const char *text),
                        void *self, struct error *e);

#endif
