#!/usr/bin/python3
"""One of two ranks of PyTorch's DistributedDataParallel over gloo, the peer of two ranks of ours (tests/bench/train).

    MASTER_ADDR= MASTER_PORT= RANK= WORLD_SIZE= ddp.py BATCH < LINES
The protocol is that of exercises/models/torch_twin.py --serve; only rank 0 is asked for seconds, and it makes them a number
of steps, which it tells the others. Started by hand, since this version's torchrun does not work under Python 3.11.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "exercises", "models"))
sys.dont_write_bytecode = True

import torch
import torch.distributed

from torch_twin import Step, blas


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    description = json.loads(sys.stdin.readline())
    torch.distributed.init_process_group("gloo")
    ranks, first = torch.distributed.get_world_size(), torch.distributed.get_rank() == 0
    batch = int(sys.argv[1])
    step = Step(description, batch)
    step.module = torch.nn.parallel.DistributedDataParallel(step.module)
    for _ in range(3):
        step()
    begin = time.monotonic()
    for _ in range(3):
        step()
    pace = (time.monotonic() - begin) / 3
    print("ready", torch.__version__, step.parameters, blas(), flush=True)
    count = torch.zeros(1, dtype=torch.int64)
    while True:
        line = sys.stdin.readline() if first else ""
        count[0] = max(1, int(float(line) / pace)) if line else 0
        torch.distributed.broadcast(count, 0)
        if count.item() == 0:
            break
        begin = time.monotonic()
        for _ in range(count.item()):
            step()
        taken = time.monotonic() - begin
        pace = taken / count.item()
        if first:
            print(ranks * batch * count.item(), taken, flush=True)


if __name__ == "__main__":
    main()
