#!/usr/bin/python3
"""Writes sequence_models.json: the losses of PyTorch in ten training steps of the models of text.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in), after `make` and
`make build/tests/bench/describe`:
    /usr/bin/python3 tests/golden/make_sequence_models.py
The twins are those of exercises/models/torch_twin.py. Weights are drawn as network_init does, samples and
targets come from the same generator (engine/base/random.h); the optimiser is Adam with its usual rate of 1e-3.
"""
import json
import math
import os
import subprocess
import sys

import numpy
import torch

from make_golden import Random

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "exercises", "models"))
import torch_twin  # noqa: E402

SEED = 7
STEPS = 10
BATCHES = {"text_rnn": 8, "text_lstm": 8, "char_lstm": 4}


class Stream(Random):
    """Many numbers at a time."""

    def draw(self, count):
        step = numpy.uint64(0x9E3779B97F4A7C15)
        z = numpy.uint64(self.state) + step * numpy.arange(1, count + 1, dtype=numpy.uint64)
        self.state = int(z[-1])
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))

    def uniform(self, low, high, count):
        unit = (self.draw(count) >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0 ** -24)
        low, high = numpy.float32(low), numpy.float32(high)
        return low + (high - low) * unit

    def below(self, n, count):
        return torch.from_numpy((self.draw(count) % numpy.uint64(n)).astype(numpy.int64))

    def normal(self, count):
        """The polar method of network.c: of each pair of tries one number, where they lie in the circle."""
        tries = self.uniform(-1, 1, 3 * count).reshape(-1, 2)
        x, s = tries[:, 0], tries[:, 0] * tries[:, 0] + tries[:, 1] * tries[:, 1]
        inside = (s > 0) & (s < 1)
        x, s = x[inside][:count].astype(numpy.float64), s[inside][:count].astype(numpy.float64)
        assert len(x) == count
        return (x * numpy.sqrt(-2 * numpy.log(s) / s)).astype(numpy.float32)


def draw(module):
    for i, (kind, layer) in enumerate(torch_twin.named_layers(module)):
        stream = Stream(SEED, 1, i)
        tensors = [p for p in layer.parameters() if p.requires_grad]
        for p in tensors:
            if kind == "embedding":
                values = stream.normal(p.numel())
            else:
                inputs = layer.cell.hidden_size if kind in ("simple_rnn", "lstm") else tensors[0][0].numel()
                values = stream.uniform(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs), p.numel())
            with torch.no_grad():
                p.copy_(torch.from_numpy(values).reshape(p.shape))


def batch_of(description, module, rows):
    shape, _ = torch_twin.input_shape(description)
    inputs, targets, out = Stream(3, 9, 0), Stream(3, 9, 1), module.output_shape
    x = inputs.below(description["layers"][0]["vocabulary"], rows * math.prod(shape))
    classes = 2 if description.get("loss") == "bce" else out[-1]
    y = targets.below(classes, rows * math.prod(out[:-1]))
    return x.reshape(rows, *shape), y


def train(name, rows):
    describe = os.path.join(ROOT, "build", "tests", "bench", "describe")
    answer = subprocess.run([describe, name], stdout=subprocess.PIPE, text=True, check=True,
                            env=dict(os.environ, RINGSIDE_DATA=ROOT))
    description = json.loads(answer.stdout)
    module = torch_twin.build(description)
    draw(module)
    x, y = batch_of(description, module, rows)
    adam, losses = torch.optim.Adam(torch_twin.parameters(module), lr=1e-3), []
    for _ in range(STEPS):
        adam.zero_grad()
        loss = torch_twin.loss(description, module(x), y)
        loss.backward()
        adam.step()
        losses.append(float("%.8g" % loss.item()))
    return {"model": name, "batch": rows, "seed": SEED, "losses": losses}


def main():
    torch.set_num_threads(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sequence_models.json")
    runs = [train(name, rows) for name, rows in BATCHES.items()]
    with open(path, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]\n")


if __name__ == "__main__":
    main()
