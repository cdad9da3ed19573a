-- The cluster of Horovod's published scaling figures: 128 servers of 4 Pascal GPUs on a RoCE-capable network of 25 Gb/s
-- (Horovod's documentation, docs/benchmarks.rst). Which Pascal GPU is not said there: P100 on PCIe is an assumption, and so is
-- one switch for all. Figures of both: cluster-sim/presets.c.
return cluster {
    nodes = 128,
    topology = "switch",
    network = "25GbE-RoCE",
    gpus = 4,
    gpu = "P100-PCIe",
    pcie = "gen3",
}
