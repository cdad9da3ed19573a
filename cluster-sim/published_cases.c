/*
 * published_cases.c - the table: what was published, by whom, on what.
 */
#include "cluster-sim/published.h"

#include <stddef.h>

static const char *const sources[] = {
    "Horovod's documentation, Benchmarks: 128 servers of 4 Pascal GPUs on a 25 Gbit/s network with RoCE, "
    "batch 64: 90 % "
    "for Inception V3 and ResNet-101, 68 % for VGG-16 on 512 GPUs (github.com/horovod/horovod, "
    "docs/benchmarks.rst). "
    "Single-GPU rates: source 2",
    "Horovod's README until October 2017: batch 64, one GPU 134.4, 119.4 and 130.9 images/s; 16 GPUs with "
    "RDMA and NCCL "
    "2022.6, 1746.2 and 1787.4 (removed by github.com/horovod/horovod/pull/44, which shows them)",
    "Horovod's README from October 2017: 32 servers of 4 Pascal GPUs on 25 Gbit/s with RoCE: 90 % for "
    "Inception V3 and "
    "ResNet-101, 79 % for VGG-16 on 128 GPUs. Single-GPU rates: source 2",
    "TensorFlow, Benchmarks, tests of May 2017 with tf_cnn_benchmarks, synthetic data: NVIDIA DGX-1 (8 P100) "
    "(github.com/tensorflow/docs, site/en/r1/guide/performance/benchmarks.md)",
    "The same, Google Compute Engine, n1-standard-32-k80x8",
    "The same, Amazon EC2 p2.8xlarge (10 Gbit/s), distributed_replicated, parameter servers on the workers' "
    "instances",
};

const char *published_source(int number)
{
    return number >= 1 && number <= (int)(sizeof sources / sizeof *sources) ? sources[number - 1] : NULL;
}

/* P100 with PCIe: 9.3 TFLOP/s, 732 GB/s; with NVLink: 10.6, four links. A K80 has two GPUs of 4.37 (boost), 240 GB/s, in
 * one slot. Hosts: two sockets of four channels DDR4-2133 or -2400. */
static const struct published_cluster pascal = {
    "4 x P100, PCIe, 25 Gb/s RoCE", "Tesla P100", 4, 9.3e12, 732e9, 12e9, false, 12e9, 153e9, 3.125e9, true};
static const struct published_cluster dgx1 = {"DGX-1", "Tesla P100", 8,     10.6e12, 732e9, 4 * 18e9,
                                              true,    6e9,          153e9, 0,       false};
static const struct published_cluster gce = {"8 x K80, GCE", "Tesla K80", 8,     4.37e12, 240e9, 6e9,
                                             false,          6e9,         136e9, 0,       false};
static const struct published_cluster ec2 = {"8 x K80, p2.8xlarge, 10 Gb/s TCP",
                                             "Tesla K80",
                                             8,
                                             4.37e12,
                                             240e9,
                                             6e9,
                                             false,
                                             6e9,
                                             136e9,
                                             1.25e9,
                                             false};

static const struct published_case cases[] = {
    {"Horovod, Inception V3, 16 GPUs", "inception_v3", &pascal, SUM_HOROVOD, 4, 0, 64, 134.4, 0, 2022.6, 2},
    {"Horovod, ResNet-101, 16 GPUs", "resnet101", &pascal, SUM_HOROVOD, 4, 0, 64, 119.4, 0, 1746.2, 2},
    {"Horovod, VGG-16, 16 GPUs", "vgg16", &pascal, SUM_HOROVOD, 4, 0, 64, 130.9, 0, 1787.4, 2},
    {"Horovod, Inception V3, 128 GPUs", "inception_v3", &pascal, SUM_HOROVOD, 32, 0, 64, 134.4, 0.90, 0, 3},
    {"Horovod, ResNet-101, 128 GPUs", "resnet101", &pascal, SUM_HOROVOD, 32, 0, 64, 119.4, 0.90, 0, 3},
    {"Horovod, VGG-16, 128 GPUs", "vgg16", &pascal, SUM_HOROVOD, 32, 0, 64, 130.9, 0.79, 0, 3},
    {"Horovod, Inception V3, 512 GPUs", "inception_v3", &pascal, SUM_HOROVOD, 128, 0, 64, 134.4, 0.90, 0, 1},
    {"Horovod, ResNet-101, 512 GPUs", "resnet101", &pascal, SUM_HOROVOD, 128, 0, 64, 119.4, 0.90, 0, 1},
    {"Horovod, VGG-16, 512 GPUs", "vgg16", &pascal, SUM_HOROVOD, 128, 0, 64, 130.9, 0.68, 0, 1},
    {"DGX-1, Inception V3, server in memory", "inception_v3", &dgx1, SUM_SERVER_LOCAL, 1, 0, 64, 142, 0, 1131,
     4},
    {"DGX-1, ResNet-50, server in memory", "resnet50", &dgx1, SUM_SERVER_LOCAL, 1, 0, 64, 219, 0, 1734, 4},
    {"DGX-1, ResNet-152, server in memory", "resnet152", &dgx1, SUM_SERVER_LOCAL, 1, 0, 64, 91.8, 0, 716, 4},
    {"DGX-1, AlexNet, NCCL", "alexnet", &dgx1, SUM_NCCL, 1, 0, 512, 2987, 0, 17822, 4},
    {"DGX-1, VGG-16, NCCL", "vgg16", &dgx1, SUM_NCCL, 1, 0, 64, 154, 0, 1081, 4},
    {"DGX-1, VGG-16, NCCL, batch 32", "vgg16", &dgx1, SUM_NCCL, 1, 0, 32, 144, 0, 820, 4},
    {"GCE, Inception V3, server in memory", "inception_v3", &gce, SUM_SERVER_LOCAL, 1, 0, 64, 30.5, 0, 227,
     5},
    {"GCE, ResNet-50, server in memory", "resnet50", &gce, SUM_SERVER_LOCAL, 1, 0, 64, 51.9, 0, 387, 5},
    {"GCE, ResNet-152, server in memory", "resnet152", &gce, SUM_SERVER_LOCAL, 1, 0, 32, 20.0, 0, 148, 5},
    {"GCE, AlexNet, server in memory", "alexnet", &gce, SUM_SERVER_LOCAL, 1, 0, 512, 656, 0, 4640, 5},
    {"GCE, VGG-16, server in memory", "vgg16", &gce, SUM_SERVER_LOCAL, 1, 0, 32, 35.4, 0, 234, 5},
    {"EC2, Inception V3, 16 GPUs, 2 servers", "inception_v3", &ec2, SUM_SERVERS, 2, 2, 64, 29.7, 0, 459, 6},
    {"EC2, Inception V3, 32 GPUs, 4 servers", "inception_v3", &ec2, SUM_SERVERS, 4, 4, 64, 29.7, 0, 902, 6},
    {"EC2, Inception V3, 64 GPUs, 6 servers", "inception_v3", &ec2, SUM_SERVERS, 8, 6, 64, 29.7, 0, 1783, 6},
    {"EC2, ResNet-50, 16 GPUs, 2 servers", "resnet50", &ec2, SUM_SERVERS, 2, 2, 64, 52.4, 0, 751, 6},
    {"EC2, ResNet-50, 32 GPUs, 4 servers", "resnet50", &ec2, SUM_SERVERS, 4, 4, 64, 52.4, 0, 1388, 6},
    {"EC2, ResNet-50, 64 GPUs, 8 servers", "resnet50", &ec2, SUM_SERVERS, 8, 8, 64, 52.4, 0, 2744, 6},
    {"EC2, ResNet-152, 16 GPUs, 2 servers", "resnet152", &ec2, SUM_SERVERS, 2, 2, 32, 19.4, 0, 291, 6},
    {"EC2, ResNet-152, 32 GPUs, 4 servers", "resnet152", &ec2, SUM_SERVERS, 4, 4, 32, 19.4, 0, 565, 6},
    {"EC2, ResNet-152, 64 GPUs, 4 servers", "resnet152", &ec2, SUM_SERVERS, 8, 4, 32, 19.4, 0, 981, 6},
};

const struct published_case *published_case(int i)
{
    return i >= 0 && i < (int)(sizeof cases / sizeof *cases) ? &cases[i] : NULL;
}
