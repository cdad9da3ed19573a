#!/usr/bin/python3
"""A model of Ringside's as the same model in PyTorch: layer for layer, parameter for parameter.

build(description) takes what `model{...}` describes, as JSON, and returns a torch.nn.Module; named_layers(module) gives
the layers in the order in which Ringside numbers them and lays out their parameters. Run as a program it is the other
side of `ringside bench` and of tests/bench: it trains the twin on made-up samples for as long as asked.

    torch_twin.py --serve THREADS BATCH < LINES
The first line is the description; the answer is "ready PYTORCH PARAMETERS BLAS". Each line after it is a number of seconds;
the answer is "SAMPLES SECONDS" of whole training steps: the next batch, forward, loss, backward, Adam.
"""
import json
import sys
import time

import torch
from torch import nn

POOL = 8  # batches of made-up samples in memory


def pair(value):
    return tuple(value) if isinstance(value, list) else (value, value)


class Residual(nn.Module):
    def __init__(self, layers, shortcut):
        super().__init__()
        self.layers, self.shortcut = layers, shortcut

    def forward(self, x):
        return self.layers(x) + self.shortcut(x)


class Branches(nn.Module):
    def __init__(self, branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class GlobalAvgPool(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


class Reshape(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(x.shape[0], *self.shape)


class Recurrent(nn.Module):
    """One bias: PyTorch's second one stays 0."""

    def __init__(self, kind, features, units, last):
        super().__init__()
        make = nn.LSTM if kind == "lstm" else nn.RNN
        self.cell, self.last = make(features, units, batch_first=True), last
        nn.init.zeros_(self.cell.bias_hh_l0)
        self.cell.bias_hh_l0.requires_grad_(False)

    def forward(self, x):
        steps, _ = self.cell(x)
        return steps[:, -1] if self.last else steps


class Builder:
    """Shapes of one sample are followed: (features,), (channels, height, width), (steps, features), or tokens' (steps,)."""

    def __init__(self):
        self.layers = []  # (kind, module) in Ringside's order

    def path(self, layers, shape):
        modules = []
        for layer in layers:
            module, shape = self.layer(layer, shape)
            modules.append(module)
        return nn.Sequential(*modules), shape

    def layer(self, layer, shape):
        kind = layer["kind"]
        if kind == "residual":
            inner, out = self.path(layer["layers"], shape)
            shortcut = self.path(layer["shortcut"], shape)[0] if "shortcut" in layer else nn.Identity()
            module, kind, shape = Residual(inner, shortcut), "add", out
        elif kind == "branches":
            built = [self.path(branch, shape) for branch in layer["branches"]]
            module, kind = Branches([branch for branch, _ in built]), "concat"
            shape = (sum(out[0] for _, out in built),) + built[0][1][1:]
        else:
            module, shape = getattr(self, kind)(layer, shape)
        self.layers.append((kind, module))
        return module, shape

    @staticmethod
    def slid(shape, channels, kernel, stride, padding, dilation=(1, 1)):
        sides = [(shape[1 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
        return (channels, *sides)

    def conv2d(self, layer, shape):
        kernel, stride = pair(layer["kernel"]), pair(layer.get("stride", 1))
        padding, dilation = pair(layer.get("padding", 0)), pair(layer.get("dilation", 1))
        module = nn.Conv2d(shape[0], layer["channels"], kernel, stride, padding, dilation, layer.get("groups", 1),
                           layer.get("bias", True))
        return module, self.slid(shape, layer["channels"], kernel, stride, padding, dilation)

    def pool(self, layer, shape):
        kernel = pair(layer["size"])
        stride, padding = pair(layer.get("stride", layer["size"])), pair(layer.get("padding", 0))
        return kernel, stride, padding, self.slid(shape, shape[0], kernel, stride, padding)

    def maxpool(self, layer, shape):
        kernel, stride, padding, out = self.pool(layer, shape)
        return nn.MaxPool2d(kernel, stride, padding), out

    def avgpool(self, layer, shape):
        kernel, stride, padding, out = self.pool(layer, shape)
        return nn.AvgPool2d(kernel, stride, padding), out

    def global_avgpool(self, layer, shape):
        return GlobalAvgPool(), (shape[0],)

    def batchnorm(self, layer, shape):
        make = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
        return make(shape[0], layer.get("epsilon", 1e-5), layer.get("momentum", 0.1)), shape

    def layernorm(self, layer, shape):
        return nn.LayerNorm(shape[-1:] if len(shape) == 2 else shape, layer.get("epsilon", 1e-5)), shape

    def dropout(self, layer, shape):
        return nn.Dropout(layer["rate"]), shape

    def relu(self, layer, shape):
        return nn.ReLU(), shape

    def leaky_relu(self, layer, shape):
        return nn.LeakyReLU(layer.get("slope", 0.01)), shape

    def gelu(self, layer, shape):
        return nn.GELU(), shape

    def tanh(self, layer, shape):
        return nn.Tanh(), shape

    def sigmoid(self, layer, shape):
        return nn.Sigmoid(), shape

    def dense(self, layer, shape):
        return nn.Linear(shape[-1], layer["units"], layer.get("bias", True)), shape[:-1] + (layer["units"],)

    def embedding(self, layer, shape):
        return nn.Embedding(layer["vocabulary"], layer["units"]), shape + (layer["units"],)

    def recurrent(self, layer, shape):
        last, units = layer.get("last", False), layer["units"]
        return Recurrent(layer["kind"], shape[1], units, last), (units,) if last else (shape[0], units)

    simple_rnn = lstm = recurrent

    def flatten(self, layer, shape):
        size = 1
        for side in shape:
            size *= side
        return nn.Flatten(), (size,)

    def reshape(self, layer, shape):
        shape = tuple(layer["shape"])
        return Reshape(shape), shape


def input_shape(description):
    """Of a sample as PyTorch has it, and whether it is tokens."""
    shape = description.get("input", [1, 28, 28])
    if isinstance(shape, dict):
        return ((shape["tokens"],), True) if "tokens" in shape else ((shape["steps"], shape["features"]), False)
    return tuple(shape), False


def build(description):
    builder = Builder()
    shape, _ = input_shape(description)
    module, shape = builder.path(description["layers"], shape)
    module.output_shape, module.ringside_layers = shape, builder.layers
    return module


def named_layers(module):
    """(kind, module) of each layer, in Ringside's order."""
    return module.ringside_layers


def parameters(module):
    """The learned tensors in Ringside's order."""
    tensors = []
    for kind, layer in named_layers(module):
        if kind not in ("add", "concat"):
            tensors += [p for p in layer.parameters() if p.requires_grad]
    return tensors


def loss(description, output, targets):
    kind = description.get("loss", "cross_entropy")
    if kind == "bce":
        return nn.functional.binary_cross_entropy_with_logits(output, targets.to(output.dtype).reshape(output.shape))
    if kind == "mse":
        return nn.functional.mse_loss(output, targets)
    return nn.functional.cross_entropy(output.reshape(-1, output.shape[-1]), targets.reshape(-1),
                                       label_smoothing=description.get("label_smoothing", 0))


def made_up(description, module, rows):
    """Samples and targets that teach nothing but have the right shapes."""
    shape, tokens = input_shape(description)
    if tokens:
        samples = torch.randint(description["layers"][0]["vocabulary"], (rows,) + shape)
    else:
        samples = torch.rand((rows,) + shape) * 2 - 1
    kind = description.get("loss", "cross_entropy")
    if kind == "cross_entropy":
        return samples, torch.randint(module.output_shape[-1], (rows,) + module.output_shape[:-1])
    if kind == "bce":
        return samples, torch.randint(2, (rows,) + module.output_shape)
    return samples, torch.rand((rows,) + module.output_shape)


class Step:
    """A training step of one model."""

    def __init__(self, description, batch):
        self.description, self.batch, self.at = description, batch, 0
        self.module = build(description)
        self.adam = torch.optim.Adam([p for p in self.module.parameters() if p.requires_grad], lr=1e-3)
        self.samples, self.targets = made_up(description, self.module, POOL * batch)
        self.order = torch.randperm(POOL * batch)
        self.parameters = sum(p.numel() for p in parameters(self.module))

    def rows(self):
        rows = self.order[self.at:self.at + self.batch]
        self.at = (self.at + self.batch) % len(self.order)
        return rows

    def __call__(self):
        rows = self.rows()
        self.adam.zero_grad()
        value = loss(self.description, self.module(self.samples[rows]), self.targets[rows])
        value.backward()
        self.adam.step()
        return value.item()


class GanStep:
    """A step of a generative adversarial net: one of the discriminator, one of the generator, both with Adam."""

    def __init__(self, description, batch):
        self.batch, self.at = batch, 0
        self.generator, self.discriminator = build(description["generator"]), build(description["discriminator"])
        self.noise = input_shape(description["generator"])[0]
        self.adams = [torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (self.generator, self.discriminator)]
        self.real = torch.rand((POOL * batch,) + input_shape(description["discriminator"])[0]) * 2 - 1
        self.order = torch.randperm(POOL * batch)
        self.parameters = sum(p.numel() for m in (self.generator, self.discriminator) for p in parameters(m))

    def __call__(self):
        judge = nn.functional.binary_cross_entropy_with_logits
        rows = self.order[self.at:self.at + self.batch]
        self.at = (self.at + self.batch) % len(self.order)
        real = self.real[rows]
        fake = self.generator(torch.randn((self.batch,) + self.noise)).reshape(real.shape)
        ones, zeros = torch.ones(self.batch, 1), torch.zeros(self.batch, 1)
        self.adams[1].zero_grad()
        value = judge(self.discriminator(real), ones) + judge(self.discriminator(fake.detach()), zeros)
        value.backward()
        self.adams[1].step()
        self.adams[0].zero_grad()
        judge(self.discriminator(fake), ones).backward()
        self.adams[0].step()
        return value.item()


def blas():
    """Whose matrix products PyTorch calls: the reference implementation is twenty times slower than any other."""
    torch.rand(64, 64) @ torch.rand(64, 64)
    if torch.backends.mkl.is_available():
        return "MKL"
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = maps.read()
    return "OpenBLAS" if "openblas" in loaded else "BLIS" if "libblis" in loaded else "reference"


def serve(threads, batch):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    description = json.loads(sys.stdin.readline())
    step = (GanStep if "generator" in description else Step)(description, batch)
    step()
    print("ready", torch.__version__, step.parameters, blas(), flush=True)
    for line in sys.stdin:
        begin, samples = time.monotonic(), 0
        while samples == 0 or time.monotonic() - begin < float(line):
            step()
            samples += batch
        print(samples, time.monotonic() - begin, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--serve":
        sys.exit(__doc__)
    serve(int(sys.argv[2]), int(sys.argv[3]))
