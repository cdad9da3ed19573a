-- A small cluster to think about: 16 nodes of 4 GPUs in a fat tree of 4 leaves, two hosts for each uplink.
-- GPU, InfiniBand and NVLink: cluster-sim/presets.c, with their sources. The file system is an assumption: 8 targets of
-- 1 GB/s, files in stripes over 4 of them.
return cluster {
    nodes = 16,
    topology = "fattree:4x4:2",
    network = "IB-EDR",
    sockets = 2,
    cores = 40,
    memory = "384GiB",
    gpus = 4,
    gpu = "V100-SXM2",
    nvlink = true,
    disk = { name = "SSD", read = "2GB/s", write = "1GB/s", open = "50us" },
    storage = { kind = "parallel", read = "1GB/s", open = "0.5ms", opens_per_s = 20000, targets = 8, stripe_count = 4,
                stripe = "1MiB" },
}
