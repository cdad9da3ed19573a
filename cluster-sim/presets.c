#include "cluster-sim/presets.h"

#include <stdio.h>
#include <string.h>

#define GIB 1073741824.0

/*
 * Peak rates at boost clock, matrix units without sparsity, as the makers print them.
 *   K80        NVIDIA, Tesla K80 GPU accelerator, board specification BD-07317: half of a board (it carries two GPUs)
 *   P100       NVIDIA, Tesla P100 white paper WP-08019: SXM2 10.6 TFLOP/s f32, 21.2 f16, 732 GB/s; 4 NVLinks of 20 GB/s;
 *              PCIe 9.3 and 18.7: Tesla P100 PCIe data sheet
 *   V100       NVIDIA, Tesla V100 white paper WP-08608: 15.7 f32, 125 f16 (tensor cores), 900 GB/s; 6 NVLinks of 25 GB/s;
 *              PCIe 14 and 112: Tesla V100 data sheet
 *   A100       NVIDIA, A100 data sheet: 19.5 f32, 312 f16 and bf16, 1 555 GB/s (40 GB) and 2 039 GB/s (80 GB); NVLink 600
 *              GB/s of both directions
 *   H100       NVIDIA, H100 data sheet, SXM: 67 f32, 1 979 f16 with sparsity, so 989.5 without, 3.35 TB/s; NVLink 900 GB/s of
 *              both directions
 */
static const struct preset_gpu gpus[] = {
    {{"K80", 4.37e12, 0, 0, 12 * GIB, 240e9}, 0},
    {{"P100-PCIe", 9.3e12, 18.7e12, 0, 16 * GIB, 732e9}, 0},
    {{"P100-SXM2", 10.6e12, 21.2e12, 0, 16 * GIB, 732e9}, 4 * 20e9},
    {{"V100-PCIe", 14e12, 112e12, 0, 16 * GIB, 900e9}, 0},
    {{"V100-SXM2", 15.7e12, 125e12, 0, 16 * GIB, 900e9}, 6 * 25e9},
    {{"A100-40GB", 19.5e12, 312e12, 312e12, 40 * GIB, 1555e9}, 300e9},
    {{"A100-80GB", 19.5e12, 312e12, 312e12, 80 * GIB, 2039e9}, 300e9},
    {{"H100-SXM", 67e12, 989.5e12, 989.5e12, 80 * GIB, 3.35e12}, 450e9},
};

/*
 * Data rates after line coding, each way.
 *   Ethernet    IEEE 802.3ab (1), 802.3ae (10), 802.3by (25), 802.3ba (40, 100), 802.3bs (200, 400)
 *   InfiniBand  InfiniBand Trade Association, roadmap: four lanes; QDR 40 Gb/s of 8b/10b leaves 32, FDR 56.25 of 64b/66b
 *               54.5, EDR 100, HDR 200, NDR 400
 *   Omni-Path   Intel, Omni-Path architecture: enabling scalable, high performance fabrics (M. Birrittella et al., HOTI
 *               2015): 100 Gb/s a port
 * Latencies belong to software as much as to hardware and are assumptions, half of a small message's one-way time between two
 * hosts on one switch: 25 us for TCP through the kernel (12.5 us from 25 Gb/s on, whose adapters interrupt less), 0.6 us for
 * verbs and PSM2 (1.2 us one way, about what the OSU benchmarks show on EDR and Omni-Path), 0.9 us on QDR and FDR, 1.5 us for
 * RoCE. Measure yours with `ringside allreduce`, and give latency = beside network.
 */
static const struct preset_network networks[] = {
    {"1GbE", 1e9 / 8, 25e-6},           {"10GbE", 10e9 / 8, 25e-6},
    {"25GbE", 25e9 / 8, 12.5e-6},       {"40GbE", 40e9 / 8, 12.5e-6},
    {"100GbE", 100e9 / 8, 12.5e-6},     {"25GbE-RoCE", 25e9 / 8, 1.5e-6},
    {"100GbE-RoCE", 100e9 / 8, 1.5e-6}, {"200GbE-RoCE", 200e9 / 8, 1.5e-6},
    {"400GbE-RoCE", 400e9 / 8, 1.5e-6}, {"IB-QDR", 32e9 / 8, 0.9e-6},
    {"IB-FDR", 54.54e9 / 8, 0.9e-6},    {"IB-EDR", 100e9 / 8, 0.6e-6},
    {"IB-HDR", 200e9 / 8, 0.6e-6},      {"IB-NDR", 400e9 / 8, 0.6e-6},
    {"Omni-Path", 100e9 / 8, 0.6e-6},
};

/* x16, a direction, 128b/130b coding: PCI-SIG, PCI Express base specification 3.0 (8 GT/s), 4.0 (16), 5.0 (32). */
static const struct {
    const char *name;
    double rate;
} pcie[] = {{"gen3", 16 * 8e9 * 128 / 130 / 8},
            {"gen4", 16 * 16e9 * 128 / 130 / 8},
            {"gen5", 16 * 32e9 * 128 / 130 / 8}};

enum { GPUS = sizeof gpus / sizeof *gpus, NETWORKS = sizeof networks / sizeof *networks };

static void append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.24s", used ? ", " : "", name);
}

const struct preset_gpu *preset_gpu(const char *name, struct error *e)
{
    char list[256] = "";
    for (int i = 0; i < GPUS; i++) {
        if (strcmp(gpus[i].gpu.name, name) == 0)
            return &gpus[i];
        append(list, sizeof list, gpus[i].gpu.name);
    }
    error_set(e, ERROR_INPUT,
              "no GPU \"%.40s\" is known (there are: %s); describe it with gpu = { f32 =, memory =, "
              "memory_bandwidth = }",
              name, list);
    return NULL;
}

const struct preset_network *preset_network(const char *name, struct error *e)
{
    char list[256] = "";
    for (int i = 0; i < NETWORKS; i++) {
        if (strcmp(networks[i].name, name) == 0)
            return &networks[i];
        append(list, sizeof list, networks[i].name);
    }
    error_set(e, ERROR_INPUT,
              "no network \"%.40s\" is known (there are: %s); give bandwidth = and latency = instead", name,
              list);
    return NULL;
}

double preset_pcie(const char *name)
{
    for (size_t i = 0; i < sizeof pcie / sizeof *pcie; i++)
        if (strcmp(pcie[i].name, name) == 0)
            return pcie[i].rate;
    return 0;
}
