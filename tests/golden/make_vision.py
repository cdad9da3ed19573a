#!/usr/bin/python3
"""Writes vision.json: what PyTorch makes of small networks of image layers, forward and backward.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in):
    /usr/bin/python3 tests/golden/make_vision.py
The models are also what tests/unit/nn/test_gradients.c checks by central differences. Parameters are drawn as network_init
does, those of norms around one and zero; the input comes from the same generator. The file holds the logits in training,
norms and every STRIDE-th element of the gradients of parameters and input, the running statistics, and the
logits in evaluation with them.
"""
import json
import math
import os

import torch

from make_golden import Random, flattened

BATCH = 5
STRIDE = 97
SEED = 11


def conv(channels, kernel, **fields):
    return {"kind": "conv2d", "channels": channels, "kernel": kernel, **fields}


def maxpool(size, **fields):
    return {"kind": "maxpool", "size": size, **fields}


def avgpool(size, **fields):
    return {"kind": "avgpool", "size": size, **fields}


def dense(units, **fields):
    return {"kind": "dense", "units": units, **fields}


def residual(*layers, shortcut=None):
    return {"kind": "residual", "layers": list(layers), **({"shortcut": shortcut} if shortcut else {})}


def branches(*paths):
    return {"kind": "branches", "branches": list(paths)}


RELU, FLATTEN, NORM = {"kind": "relu"}, {"kind": "flatten"}, {"kind": "batchnorm"}
GLOBAL = {"kind": "global_avgpool"}

# Channels that fill no block, stride, padding, dilation, groups, kernels that are not square, no bias.
CONVOLUTIONS = {
    "stride": ([2, 11, 13], [conv(9, 3, stride=2, padding=2), RELU, conv(3, [1, 2])]),
    "wide": ([1, 9, 9], [conv(40, 9), RELU]),
    "oblong": ([8, 9, 12], [conv(8, [3, 2], stride=[1, 2], padding=[1, 0]),
                            conv(16, [1, 5], padding=[0, 2], bias=False), RELU]),
    "dilated": ([3, 12, 12], [conv(8, 3, dilation=2, padding=2), RELU, conv(16, 3, dilation=[1, 3], stride=2)]),
    "groups": ([4, 8, 8], [conv(16, 3, groups=2, padding=1), RELU, conv(32, 3, groups=4, bias=False),
                           conv(6, 1, groups=2)]),
    "depthwise": ([8, 8, 8], [conv(8, 3, groups=8, padding=1), RELU, conv(16, 1),
                              conv(16, 3, groups=16, stride=2)]),
    "odd groups": ([6, 7, 7], [conv(9, 3, groups=3), RELU, conv(12, 2, groups=3)]),
    "leftover": ([8, 8, 7], [conv(16, 1, stride=2), RELU, conv(8, 2, stride=3)]),
}

# Tiles, overlaps, gaps and padding; on plain images, on blocks, and where channels do not fill a block.
POOLS = {
    "image": ([1, 12, 11], [conv(24, 3), RELU, maxpool(2)]),
    "padded image": ([1, 12, 11], [conv(8, 3, padding=1), RELU, maxpool(2)]),
    "tiles": ([2, 11, 13], [conv(3, 3, padding=1), RELU, maxpool(2), conv(9, 3, padding=2), maxpool(3)]),
    "pool on pool": ([1, 20, 20], [conv(16, 3), maxpool(3), maxpool(2)]),
    "first pool": ([3, 16, 16], [maxpool(2), conv(8, 1), RELU, conv(8, 5, padding=2), RELU, RELU, maxpool(4)]),
    "overlap": ([3, 13, 12], [conv(16, 3), RELU, maxpool(3, stride=2, padding=1), maxpool(3, stride=1)]),
    "oblong pools": ([3, 13, 12], [maxpool([1, 2]), conv(5, 3), maxpool([3, 2], stride=[2, 1], padding=1)]),
    "gaps": ([1, 13, 12], [conv(16, 3), maxpool(2, stride=3), avgpool(1, stride=2)]),
    "means": ([3, 13, 12], [avgpool(2, stride=1), conv(16, 3), RELU, avgpool(3, stride=2, padding=1), avgpool(2)]),
    "global": ([3, 9, 8], [conv(12, 3), RELU, GLOBAL]),
    "global first": ([11, 3, 4], [GLOBAL]),
}

NORMS = {
    "norm": ([3, 8, 8], [conv(16, 3, bias=False), NORM, RELU, conv(8, 3), NORM]),
    "odd norm": ([2, 9, 7], [NORM, conv(5, 3), NORM, RELU, conv(12, 1), NORM]),
    "flat norm": ([3, 2, 2], [FLATTEN, NORM, dense(21), NORM, RELU]),
    "norm and pool": ([1, 12, 12], [conv(8, 3), NORM, RELU, maxpool(3, stride=2, padding=1), NORM]),
    "epsilon": ([1, 5, 5], [conv(8, 3), {"kind": "batchnorm", "epsilon": 0.1, "momentum": 0.5}]),
}

# Gradients that are added up, shared between stages, or written over values that nobody needs.
GRAPHS = {
    "identity": ([8, 6, 6], [conv(8, 1), RELU,
                             residual(conv(8, 3, padding=1), NORM, RELU, conv(8, 3, padding=1), NORM), RELU,
                             conv(8, 3)]),
    "projection": ([3, 6, 6], [residual(conv(8, 3, padding=1), NORM, shortcut=[conv(8, 1), NORM]), RELU,
                               residual(conv(8, 1), RELU, shortcut=[conv(8, 1), RELU]), conv(8, 1)]),
    "twice": ([8, 5, 5], [conv(8, 1), residual(RELU), residual(residual(NORM, residual(conv(8, 1)), NORM)), RELU]),
    "plain and blocks": ([8, 5, 5], [residual(conv(8, 1), RELU), residual(residual(RELU), conv(8, 1), RELU)]),
    "before norms": ([8, 5, 5], [conv(8, 1), residual(NORM, RELU, conv(8, 1)),
                                 residual(NORM, RELU, maxpool(3, stride=1, padding=1))]),
    "sum of sums": ([8, 5, 5], [conv(8, 1), residual(residual(NORM), conv(8, 1), RELU, shortcut=[
        residual(NORM, shortcut=[conv(8, 1), RELU])])]),
    "flat sums": ([8, 3, 3], [FLATTEN, residual(dense(72), RELU), RELU]),
    "branches": ([3, 8, 8], [conv(8, 3), RELU,
                             branches([conv(16, 1), RELU], [maxpool(3, stride=1, padding=1)],
                                      [NORM, conv(8, 3, padding=1)]), conv(8, 3)]),
    "odd branches": ([3, 8, 8], [branches([conv(5, 1), RELU], [], [conv(8, 3, padding=1)]), NORM, RELU,
                                 branches([], [conv(7, 1)], [])]),
    "flat branches": ([3, 2, 2], [FLATTEN, branches([], [dense(5)], [dense(8), RELU])]),
}


class Network:
    """A description as PyTorch modules: layers in the order of model_from_json, each with its number there."""

    def __init__(self, shape, layers):
        self.layers = []
        self.plan = self.path(layers, shape)[0]

    def path(self, layers, shape):
        steps = []
        for layer in layers:
            step, shape = self.step(layer, shape)
            steps.append(step)
        return steps, shape

    def step(self, layer, shape):
        kind = layer["kind"]
        if kind in ("residual", "branches"):
            paths = [layer["layers"], layer.get("shortcut", [])] if kind == "residual" else layer["branches"]
            made = [self.path(path, shape) for path in paths]
            self.layers.append(None)
            if kind == "residual":
                return ("add", [steps for steps, _ in made]), made[0][1]
            return ("concat", [steps for steps, _ in made]), [sum(s[0] for _, s in made)] + made[0][1][1:]
        module = self.module(layer, shape)
        self.layers.append(module)
        with torch.no_grad():
            module.eval()
            shape = list(module(torch.zeros(1, *shape)).shape[1:])
            module.train()
        return module, shape

    @staticmethod
    def module(layer, shape):
        kind, nn = layer["kind"], torch.nn
        options = {k: v for k, v in layer.items() if k in ("stride", "padding", "dilation", "groups", "bias")}
        if kind == "conv2d":
            return nn.Conv2d(shape[0], layer["channels"], layer["kernel"], **options)
        if kind == "maxpool":
            return nn.MaxPool2d(layer["size"], **options)
        if kind == "avgpool":
            return nn.AvgPool2d(layer["size"], **options)
        if kind == "global_avgpool":
            return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        if kind == "batchnorm":
            norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
            return norm(shape[0], eps=layer.get("epsilon", 1e-5), momentum=layer.get("momentum", 0.1))
        if kind == "dense":
            return nn.Linear(shape[0], layer["units"], **options)
        return nn.Flatten() if kind == "flatten" else nn.ReLU()

    def draw(self, seed):
        for i, module in enumerate(self.layers):
            norm = isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d))
            random = Random(seed, 7 if norm else 1, i)
            for t, parameter in enumerate(module.parameters() if module else []):
                bound = 0.5 if norm else 1 / math.sqrt(module.weight[0].numel())
                values = random.uniform(-bound, bound, parameter.numel())
                values = torch.from_numpy(values).reshape(parameter.shape)
                with torch.no_grad():
                    parameter.copy_(values + 1 if norm and t == 0 else values)

    def run(self, steps, x):
        for step in steps:
            if not isinstance(step, tuple):
                x = step(x)
            elif step[0] == "add":
                x = self.run(step[1][0], x) + self.run(step[1][1], x)
            else:
                x = torch.cat([self.run(path, x) for path in step[1]], 1)
        return x

    def __call__(self, x):
        return self.run(self.plan, x)

    def modules(self):
        return [module for module in self.layers if module]


def case(name, shape, layers):
    layers = layers + [FLATTEN, dense(10)]
    network = Network(shape, layers)
    network.draw(SEED)
    x = torch.from_numpy(Random(3, 9, 0).uniform(-1, 1, BATCH * math.prod(shape))).reshape(BATCH, *shape)
    x.requires_grad_()
    labels = Random(3, 9, 1)
    y = torch.tensor([labels.next() % 10 for _ in range(BATCH)])
    logits = network(x)
    torch.nn.functional.cross_entropy(logits, y).backward()
    parameters = [p for module in network.modules() for p in module.parameters()]
    running = [b for module in network.modules() for n, b in module.named_buffers() if n.startswith("running")]
    for module in network.modules():
        module.eval()
    evaluated = network(x.detach())
    return {"model": {"name": name, "input": shape, "layers": layers}, "logits": flattened([logits]).tolist(),
            "gradient_norms": [p.grad.norm().item() for p in parameters],
            "gradients": flattened([p.grad for p in parameters])[::STRIDE].tolist(),
            "input_gradient": flattened([x.grad])[::STRIDE].tolist(),
            "running": flattened(running).tolist() if running else [],
            "evaluated": flattened([evaluated]).tolist()}


def rounded(value):
    if isinstance(value, float):
        return float("%.7g" % value)
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return value


def main():
    torch.set_num_threads(1)
    cases = [case(name, shape, layers) for group in (CONVOLUTIONS, POOLS, NORMS, GRAPHS)
             for name, (shape, layers) in group.items()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vision.json")
    with open(path, "w", encoding="ascii") as out:
        header = {"batch": BATCH, "stride": STRIDE, "seed": SEED}
        out.write('{"about": %s, "cases": [\n' % json.dumps(header))
        out.write(",\n".join(json.dumps(rounded(c)) for c in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
