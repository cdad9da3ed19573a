#!/usr/bin/env python3
"""The peer of one of Ringside's models on a GPU: the same model in PyTorch, trained on made-up samples that lie there already.

    peer.py BATCH SECONDS HOW < DESCRIPTION      HOW: words of eager, compiled, bf16, tf32, unfused

Prints "PYTORCH SAMPLES_PER_S": whole steps, from the batch to Adam (the fused one). unfused: recurrent layers as a loop over the
steps of plain operations, which is what a framework without a fused cell does. Exit code 3 where there is no PyTorch on a GPU.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "exercises", "models"))
sys.dont_write_bytecode = True

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(3)
import torch_twin


class UnfusedLstm(nn.Module):
    """torch.nn.LSTM's formulas, one step after the other."""

    def __init__(self, cell):
        super().__init__()
        self.weight_ih, self.weight_hh, self.bias = cell.weight_ih_l0, cell.weight_hh_l0, cell.bias_ih_l0
        self.units = cell.hidden_size

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.units)
        out = []
        for step in range(x.shape[1]):
            gates = x[:, step] @ self.weight_ih.t() + h @ self.weight_hh.t() + self.bias
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out, 1), None


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    batch, seconds, how = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3].split(",")
    if not torch.cuda.is_available():
        sys.exit(3)
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in how
    description = json.load(sys.stdin)
    module = torch_twin.build(description)
    if "unfused" in how:
        for _, layer in torch_twin.named_layers(module):
            if isinstance(layer, torch_twin.Recurrent):
                layer.cell = UnfusedLstm(layer.cell)
    module = module.cuda()
    samples, targets = (t.cuda() for t in torch_twin.made_up(description, module, torch_twin.POOL * batch))
    adam = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=1e-3, fused=True)
    run = torch.compile(module) if "compiled" in how else module

    def step(at):
        rows = slice(at * batch, (at + 1) * batch)
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled="bf16" in how):
            value = torch_twin.loss(description, run(samples[rows]), targets[rows])
        value.backward()
        adam.step()

    for i in range(10):
        step(i % torch_twin.POOL)
    torch.cuda.synchronize()
    begin, steps = time.monotonic(), 0
    while steps == 0 or time.monotonic() - begin < seconds:
        for _ in range(10):  # the clock is looked at now and then: PyTorch may run ahead of the GPU
            step(steps % torch_twin.POOL)
            steps += 1
        torch.cuda.synchronize()
    print(torch.__version__, steps * batch / (time.monotonic() - begin))


main()
