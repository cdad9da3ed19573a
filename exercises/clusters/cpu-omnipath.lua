-- Nodes without GPUs: two sockets, a rank a node, Omni-Path, a fat tree of 32 leaves of 32 hosts, 2:1 oversubscribed.
-- Omni-Path: cluster-sim/presets.c. A node is two Intel Xeon Platinum 8160 (ark.intel.com: 24 cores at 2.1 GHz, six channels
-- of DDR4-2666, so 128 GB/s a socket); a core does 64 single-precision operations a cycle with AVX-512's two units, at the
-- nominal clock 134.4 GFLOP/s, of which the AVX-512 clock leaves less.
return cluster {
    nodes = 1024,
    topology = "fattree:32x32:2",
    network = "Omni-Path",
    sockets = 2,
    cores = 48,
    core_flops = "134.4GFLOP/s",
    memory = "192GiB",
    memory_bandwidth = "256GB/s",
    disk = { name = "SSD", read = "500MB/s", open = "100us" },
    storage = { kind = "parallel", read = "2GB/s", open = "0.5ms", opens_per_s = 40000, targets = 16, stripe_count = 4 },
}
