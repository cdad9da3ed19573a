-- One scalable unit of an A100 SuperPOD: 20 DGX A100, each 8 A100 on NVSwitch, 8 NICs of HDR InfiniBand and two sockets of 64
-- cores with 1 TB (NVIDIA, DGX SuperPOD reference architecture RA-09950-001, 2020; DGX A100 data sheet). Its rails (the i-th
-- NIC of every node on one leaf) are drawn as a full fat tree over neighbouring nodes. The file system's figures are
-- assumptions: 16 targets of 2 GB/s.
return cluster {
    nodes = 20,
    topology = "fattree:10x16:1",
    network = "IB-HDR",
    sockets = 2,
    cores = 128,
    memory = "1TiB",
    gpus = 8,
    gpu = "A100-40GB",
    nvlink = true,
    pcie = "gen4",
    nics = 8,
    disk = { name = "NVMe", read = "12GB/s", write = "8GB/s", open = "30us" },
    storage = { kind = "parallel", read = "2GB/s", open = "0.3ms", opens_per_s = 50000, targets = 16, stripe_count = 8 },
}
