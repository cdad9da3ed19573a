#!/usr/bin/python3
"""Writes vision_models.json: the losses of ten training steps of the course's larger image models in PyTorch.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in); it takes minutes:
    /usr/bin/python3 tests/golden/make_vision_models.py
The images are smaller than the models are made for, so that ten steps take seconds, and dropout is left out: its masks
are of our own drawing. Parameters are drawn as network_init does. resnet20 is trained in float64: in float32 PyTorch's own
losses are off by 4e-4 after three larger steps. resnet50's rate is tiny: with so few values to normalise over, its slope
at the beginning is so steep that larger steps only amplify rounding (at 2e-6 the loss falls by 0.9 in the first).
"""
import json
import math
import os

import numpy
import torch

from make_golden import MASK, Random
from make_vision import FLATTEN, GLOBAL, NORM, RELU, Network, conv, dense, maxpool, residual

STEPS = 10
SEED = 7


class FastRandom(Random):
    """The same numbers, all at once: the state is a counter."""

    def uniform(self, low, high, count):
        gamma = numpy.uint64(0x9E3779B97F4A7C15)
        with numpy.errstate(over="ignore"):
            z = numpy.uint64(self.state) + gamma * numpy.arange(1, count + 1, dtype=numpy.uint64)
            z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
            z ^= z >> numpy.uint64(31)
        self.state = (self.state + count * int(gamma)) & MASK
        unit = (z >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0 ** -24)
        low, high = numpy.float32(low), numpy.float32(high)
        return low + (high - low) * unit


def norm_conv(channels, kernel, stride=1):
    return [conv(channels, kernel, stride=stride, padding=kernel // 2, bias=False), NORM]


def resnet20():
    layers, width = norm_conv(16, 3) + [RELU], 16
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            step = stride if i == 0 else 1
            shortcut = norm_conv(channels, 1, step) if channels != width else None
            layers += [residual(*norm_conv(channels, 3, step), RELU, *norm_conv(channels, 3), shortcut=shortcut), RELU]
            width = channels
    return layers + [GLOBAL, dense(10)]


def resnet50():
    layers = norm_conv(64, 7, 2) + [RELU, maxpool(3, stride=2, padding=1)]
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for i in range(blocks):
            step = stride if i == 0 else 1
            layers += [residual(*norm_conv(width, 1), RELU, *norm_conv(width, 3, step), RELU, *norm_conv(4 * width, 1),
                                shortcut=norm_conv(4 * width, 1, step) if i == 0 else None), RELU]
    return layers + [GLOBAL, dense(1000)]


def vgg16():
    layers = []
    for convolutions, channels in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        layers += [conv(channels, 3, padding=1), RELU] * convolutions + [maxpool(2)]
    return layers + [FLATTEN, dense(4096), RELU, dense(4096), RELU, dense(1000)]


def draw(network):
    for i, module in enumerate(network.layers):
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            random = FastRandom(SEED, 1, i)
            bound = 1 / math.sqrt(module.weight[0].numel())
            with torch.no_grad():
                for parameter in module.parameters():
                    values = random.uniform(-bound, bound, parameter.numel())
                    parameter.copy_(torch.from_numpy(values).reshape(parameter.shape))


def train(name, layers, size, batch, lr, skip=0, dtype=torch.float32):
    """skip: layers of the description that stand behind others and are not in ours here (dropout): numbers move."""
    network = Network([3, size, size], layers)
    if skip:
        at = [i for i, module in enumerate(network.layers) if isinstance(module, torch.nn.Linear)]
        for back, i in enumerate(at[1:], 1):
            # dense, relu, dropout, dense: one more layer in front of each dense layer but the first
            network.layers.insert(i + back - 1, None)
    draw(network)
    for module in network.modules():
        module.to(dtype)
    x = torch.from_numpy(FastRandom(3, 9, 0).uniform(-1, 1, batch * 3 * size * size)).reshape(batch, 3, size, size).to(dtype)
    labels = Random(3, 9, 1)
    y = torch.tensor([labels.next() % 10 for _ in range(batch)])
    parameters = [p for module in network.modules() for p in module.parameters()]
    update = torch.optim.SGD(parameters, lr=lr)
    losses = []
    for _ in range(STEPS):
        update.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        update.step()
        losses.append(float("%.9g" % loss.item()))
    print(name, losses, flush=True)
    return {"name": name, "size": size, "batch": batch, "lr": lr, "seed": SEED, "losses": losses}


def main():
    torch.set_num_threads(2)
    runs = [train("resnet20", resnet20(), 32, 8, 0.005, dtype=torch.float64), train("resnet50", resnet50(), 64, 4, 2e-8),
            train("vgg16", vgg16(), 32, 4, 0.05, skip=1)]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vision_models.json")
    with open(path, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]\n")


if __name__ == "__main__":
    main()
