#!/usr/bin/env python3
"""Writes simgrid.json: how long SimGrid's SMPI says that allreduces take (needs libsimgrid-dev: smpicc, smpirun).

The factors are neutral, so that only the links count: model CM02, latency and bandwidth factors 1, no cross-traffic, no
overhead of MPI calls, every send a rendezvous. Links as ringside's defaults: 10 Gb/s, 25 us, full duplex.

    make_simgrid.py            all cases into simgrid.json beside this file
    make_simgrid.py --time N BYTES    only how long SMPI itself takes for a ring of N ranks (tests/bench/simgrid)
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "bench", "simgrid", "allreduce.c")
NEUTRAL = """network/model:CM02 network/latency-factor:1 network/bandwidth-factor:1 network/crosstraffic:0
    smpi/lat-factor:1 smpi/bw-factor:1 smpi/os:0:0:0 smpi/or:0:0:0 smpi/ois:0:0:0 smpi/send-is-detached-thresh:0
    smpi/async-small-thresh:0 smpi/simulate-computation:no smpi/host-speed:1Gf contexts/stack-size:64""".split()
LINK = 'bw="1.25GBps" lat="25us" sharing_policy="SPLITDUPLEX"'

# ringside's SPEC, SimGrid's attributes of a <cluster>, ranks
TOPOLOGIES = [
    ("switch", "", 8),
    ("switch", "", 64),
    ("fattree:4x4:2", 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"', 16),
    ("fattree:8x8:4", 'topology="FAT_TREE" topo_parameters="2;8,8;1,2;1,1"', 64),
    ("fattree:4x16:1", 'topology="FAT_TREE" topo_parameters="2;16,4;1,16;1,1"', 64),
    ("torus:8x8", 'topology="TORUS" topo_parameters="8,8"', 64),
    ("torus:4x4x4", 'topology="TORUS" topo_parameters="4,4,4"', 64),
    ("torus:4x2x2", 'topology="TORUS" topo_parameters="4,2,2"', 16),
    ("torus:5x3", 'topology="TORUS" topo_parameters="5,3"', 15),
]


class Smpi:
    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, "allreduce")
        subprocess.run(["smpicc", "-O1", SOURCE, "-o", self.program], check=True)

    def run(self, cluster, ranks, algo, size):
        platform, hosts = os.path.join(self.folder, "p.xml"), os.path.join(self.folder, "hosts")
        with open(platform, "w") as f:
            f.write(f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-{ranks - 1}" speed="1Gf" {LINK} {cluster}/>
</platform>
""")
        with open(hosts, "w") as f:
            f.writelines(f"h{i}\n" for i in range(ranks))
        command = ["smpirun", "-np", str(ranks), "-platform", platform, "-hostfile", hosts, "--log=root.thres:error"]
        command += [f"--cfg={c}" for c in NEUTRAL] + [self.program, algo, str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout.split()[-1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        smpi = Smpi(folder)
        if sys.argv[1:2] == ["--time"]:
            began = time.time()
            answer = smpi.run("", int(sys.argv[2]), "ring", int(sys.argv[3]))
            print(f"{time.time() - began:.3f} {answer:.9g}")
            return
        cases = []
        for topology, cluster, ranks in TOPOLOGIES:
            for algo in "ring", "recursive_doubling":
                if algo != "ring" and ranks & (ranks - 1):
                    continue
                for size in 1 << 10, 64 << 10, 1 << 20, 100 << 20:
                    seconds = smpi.run(cluster, ranks, algo, size)
                    cases.append({"topology": topology, "ranks": ranks, "algo": algo, "bytes": size, "time_s": seconds})
                    print(cases[-1])
        version = subprocess.run(["smpirun", "-version"], capture_output=True, text=True).stdout.split("\n")[0]
        with open(os.path.join(HERE, "simgrid.json"), "w") as f:
            lines = ",\n".join("    " + json.dumps(c) for c in cases)
            f.write('{"made_by": "make_simgrid.py", "simgrid": %s, "bandwidth_bytes_per_s": 1.25e9, "latency_s": 25e-6,\n'
                    ' "cases": [\n%s\n]}\n' % (json.dumps(version), lines))


main()
