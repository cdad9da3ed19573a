#!/usr/bin/python3
"""Writes training.json: what PyTorch makes of ten training steps of several models.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in):
    /usr/bin/python3 tests/golden/make_golden.py
Parameters and inputs come from the generator of engine/base/random.h, written once more here, so that the
file holds only results: the losses of all steps, the norm of every gradient of the first step, and every
STRIDE-th element of that gradient and of the parameters after the last step, in the layout of
engine/spec/model.h.
"""
import json
import math
import os

import numpy
import torch

MASK = (1 << 64) - 1
STRIDE = 499
BATCH = 16
STEPS = 10


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class Random:
    def __init__(self, seed, purpose, index):
        self.state = mix((mix((mix(seed) + purpose) & MASK) + index) & MASK)

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return mix(self.state)

    def uniform(self, low, high, count):
        unit = numpy.array([self.next() >> 40 for _ in range(count)], dtype=numpy.float32) * numpy.float32(2.0 ** -24)
        low, high = numpy.float32(low), numpy.float32(high)
        return low + (high - low) * unit


def conv(channels, kernel, stride=1, padding=0):
    return {"kind": "conv2d", "channels": channels, "kernel": kernel, "stride": stride, "padding": padding}


RELU, FLATTEN = {"kind": "relu"}, {"kind": "flatten"}


def pool(size):
    return {"kind": "maxpool", "size": size}


def dense(units):
    return {"kind": "dense", "units": units}


MODELS = {
    "cnn": ([1, 28, 28], [conv(32, 3), RELU, pool(2), conv(64, 3), RELU, pool(2), conv(64, 3), RELU, FLATTEN,
                          dense(64), RELU, dense(10)]),
    "mlp": ([1, 28, 28], [FLATTEN, dense(128), RELU, dense(10)]),
    # channels that fill no block, stride, padding, windows that leave rows over, several input channels
    "odd": ([3, 19, 17], [conv(5, 3, 2, 1), pool(2), RELU, conv(12, 2, 1, 1), RELU, pool(3), RELU, FLATTEN,
                          dense(7), dense(10)]),
    # the first layers learn nothing; no relu after a convolution; a dense layer on one channel
    "late": ([1, 12, 12], [RELU, pool(2), conv(8, 3, 1, 1), conv(16, 3), RELU, RELU, FLATTEN, dense(10)]),
    # pooling straight after pooling, and windows wider than two
    "pools": ([1, 28, 28], [conv(16, 5), pool(3), pool(2), conv(8, 1), RELU, FLATTEN, dense(10)]),
}


def build(shape, layers, seed):
    """The torch model with its parameters drawn as network_init does."""
    modules, channels, height, width, flat = [], shape[0], shape[1], shape[2], None
    for i, layer in enumerate(layers):
        kind = layer["kind"]
        if kind == "conv2d":
            k, s, p = layer["kernel"], layer["stride"], layer["padding"]
            module = torch.nn.Conv2d(channels, layer["channels"], k, s, p)
            channels, height, width = layer["channels"], (height + 2 * p - k) // s + 1, (width + 2 * p - k) // s + 1
        elif kind == "maxpool":
            module = torch.nn.MaxPool2d(layer["size"])
            height, width = height // layer["size"], width // layer["size"]
        elif kind == "flatten":
            module, flat = torch.nn.Flatten(), channels * height * width
        elif kind == "dense":
            module, flat = torch.nn.Linear(flat, layer["units"]), layer["units"]
        else:
            module = torch.nn.ReLU()
        if kind in ("conv2d", "dense"):
            random = Random(seed, 1, i)
            bound = 1 / math.sqrt(module.weight[0].numel())
            with torch.no_grad():
                for parameter in (module.weight, module.bias):
                    values = random.uniform(-bound, bound, parameter.numel())
                    parameter.copy_(torch.from_numpy(values).reshape(parameter.shape))
        modules.append(module)
    return torch.nn.Sequential(*modules)


def flattened(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def train(name, shape, layers, optimizer, seed=7):
    model = build(shape, layers, seed)
    elements = shape[0] * shape[1] * shape[2]
    x = torch.from_numpy(Random(3, 9, 0).uniform(-1, 1, BATCH * elements)).reshape(BATCH, *shape)
    labels = Random(3, 9, 1)
    y = torch.tensor([labels.next() % 10 for _ in range(BATCH)])
    parameters = list(model.parameters())
    if optimizer == "adam":
        update = torch.optim.Adam(parameters, lr=1e-3)
    else:
        update = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    result = {"model": {"name": name, "input": shape, "layers": layers}, "optimizer": optimizer, "seed": seed,
              "batch": BATCH, "stride": STRIDE, "losses": []}
    for step in range(STEPS):
        update.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        result["losses"].append(loss.item())
        if step == 0:
            gradients = [p.grad for p in parameters]
            result["gradient_norms"] = [g.norm().item() for g in gradients]
            result["gradients"] = flattened(gradients)[::STRIDE].tolist()
        update.step()
    result["parameters"] = flattened(parameters)[::STRIDE].tolist()
    return result


def rounded(value):
    if isinstance(value, float):
        return float("%.9g" % value)
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return value


def main():
    torch.set_num_threads(1)
    runs = [train(name, shape, layers, optimizer) for name, (shape, layers) in MODELS.items()
            for optimizer in ("adam", "sgd")]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.json")
    with open(path, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(rounded(run)) for run in runs) + "\n]\n")


if __name__ == "__main__":
    main()
