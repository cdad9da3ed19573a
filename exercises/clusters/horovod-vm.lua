-- The Horovod reference experiment of the course: 1 to 8 virtual machines, one V100 each, 10 Gb/s, data on an NFS server; after
-- the reference architecture "Horovod cluster" of the HUN-REN Cloud (science-cloud.hu/en/reference-architectures).
-- GPU and network: cluster-sim/presets.c, where each figure has its source. A virtual machine's V100 hangs on PCIe
-- (16 lanes of generation 3, PCI-SIG). What one NFS server gives is an assumption, of the size of a server with a few SATA
-- SSDs behind a link of 10 Gb/s: 500 MB/s, 1 ms an open from a client, 5 000 opens a second in all.
return cluster {
    nodes = 8,
    topology = "switch",
    network = "10GbE",
    sockets = 1,
    cores = 8,
    memory = "64GiB",
    gpus = 1,
    gpu = "V100-PCIe",
    pcie = "gen3",
    storage = { kind = "nfs", read = "500MB/s", open = "1ms", opens_per_s = 5000, link = "10Gb/s" },
}
