-- Four desktop machines on one gigabit switch: where communication hurts first. Figures: cluster-sim/presets.c.
return cluster {
    nodes = 4,
    network = "1GbE",
    cores = 4,
    memory = "16GiB",
    disk = { name = "HDD", read = "150MB/s", open = "8ms" },
}
