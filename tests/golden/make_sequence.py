#!/usr/bin/python3
"""Writes sequence.json: what PyTorch makes of small networks of sequence layers, activations and losses.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in):
    /usr/bin/python3 tests/golden/make_sequence.py
The models are also what tests/unit/nn/test_sequence.c checks by central differences. Every parameter is uniform in
-0.5 ... 0.5 (of layernorm's weights: around 1) from the generator of engine/base/random.h; inputs and targets come
from the same. Recurrent layers have one bias: that of the hidden state is fixed at 0 here.
"""
import json
import math
import os

import torch
from torch.nn import functional

from make_golden import FLATTEN, RELU, Random, flattened
from make_vision import Network, conv, dense, residual, rounded

BATCH = 5
STRIDE = 41
SEED = 11


def layer(kind, **fields):
    return {"kind": kind, **fields}


def embedding(vocabulary, units):
    return layer("embedding", vocabulary=vocabulary, units=units)


def rnn(units, **fields):
    return layer("simple_rnn", units=units, **fields)


def lstm(units, **fields):
    return layer("lstm", units=units, **fields)


def tokens(steps):
    return {"tokens": steps}


def sequence(steps, features):
    return {"steps": steps, "features": features}


LEAKY, GELU, TANH, SIGMOID = layer("leaky_relu", slope=0.2), layer("gelu"), layer("tanh"), layer("sigmoid")
NORM = layer("layernorm")

# In channel blocks that channels do not fill, flat, over two paths, and on steps.
ACTIVATIONS = {
    name + place: (shape, layers(activation) + [dense(10)], {})
    for name, activation in (("leaky", LEAKY), ("gelu", GELU), ("tanh", TANH), ("sigmoid", SIGMOID))
    for place, shape, layers in (
        (" on blocks", [2, 7, 6], lambda a: [conv(5, 3), a, conv(9, 2), a, FLATTEN]),
        (" first", [3, 2, 2], lambda a: [a, FLATTEN, dense(21), a]),
        (" twice", [13], lambda a: [dense(19), residual(a, dense(19)), residual(a, shortcut=[a]), a]),
    )
}

LAYERS = {
    "rnn": (tokens(7), [embedding(23, 6), rnn(13, last=True), dense(10)], {}),
    "rnn of steps": (sequence(4, 3), [rnn(8), rnn(5), dense(10)], {}),
    "lstm": (tokens(6), [embedding(11, 8), lstm(9), dense(7)], {}),
    "lstm of floats": (sequence(5, 4), [lstm(16, last=True), dense(10)], {}),
    "lstms": (sequence(3, 9), [lstm(8), TANH, lstm(20), lstm(3, last=True), dense(10)], {}),
    "one step": (tokens(1), [embedding(5, 3), lstm(4), rnn(6), FLATTEN, dense(10)], {}),
    "around lstm": (tokens(4), [embedding(9, 8), residual(lstm(8)), residual(rnn(8), shortcut=[dense(8)]), NORM,
                                dense(6)], {}),
    "embedding twice": (tokens(4), [embedding(9, 8), residual(dense(8, bias=False), RELU), FLATTEN, dense(10)], {}),
    "steps of images": ([2, 6, 5], [conv(3, 3), layer("reshape", shape=[6, 6]), lstm(5), FLATTEN, dense(10)], {}),
    "dense steps": (sequence(6, 7), [dense(12, bias=False), GELU, dense(9), NORM, dense(5)], {}),
    "flat norm": ([21], [NORM, dense(17), NORM, RELU, dense(10)], {}),
    "norm of blocks": ([2, 6, 5], [conv(5, 3), NORM, RELU, conv(8, 1), NORM, FLATTEN, dense(10)], {}),
    "norm around": (sequence(3, 8), [residual(NORM, dense(8)), residual(layer("layernorm", epsilon=0.1)), dense(4)],
                    {}),
}

LOSSES = {
    "smooth": ([9], [dense(13)], {"label_smoothing": 0.1}),
    "smooth steps": (sequence(3, 5), [dense(21)], {"label_smoothing": 0.3}),
    "many classes": ([3], [dense(1103)], {"label_smoothing": 0.05}),
    "one logit": (tokens(5), [embedding(7, 4), rnn(8, last=True), dense(1)], {"loss": "bce"}),
    "logit each step": (sequence(4, 3), [lstm(4), dense(1)], {"loss": "bce"}),
    "many logits": ([12], [dense(600)], {"loss": "bce", "values": True}),
    "errors": ([12], [dense(11), TANH], {"loss": "mse"}),
    "errors of steps": (sequence(4, 3), [rnn(5)], {"loss": "mse"}),
    "errors of blocks": ([2, 6, 6], [conv(6, 3)], {"loss": "mse"}),
    "logits of blocks": ([2, 6, 6], [conv(8, 3)], {"loss": "bce"}),
}


class Recurrent(torch.nn.Module):
    def __init__(self, kind, inputs, units, last):
        super().__init__()
        self.net = kind(inputs, units, batch_first=True)
        self.last = last
        with torch.no_grad():
            self.net.bias_hh_l0.zero_()
        self.net.bias_hh_l0.requires_grad = False

    def forward(self, x):
        out = self.net(x)[0]
        return out[:, -1] if self.last else out


class SequenceNetwork(Network):
    def step(self, layer, shape):
        if layer["kind"] != "embedding":
            return super().step(layer, shape)
        module = torch.nn.Embedding(layer["vocabulary"], layer["units"])
        self.layers.append(module)
        return module, shape + [layer["units"]]

    @staticmethod
    def module(layer, shape):
        kind, nn = layer["kind"], torch.nn
        if kind in ("simple_rnn", "lstm"):
            return Recurrent(nn.LSTM if kind == "lstm" else nn.RNN, shape[-1], layer["units"], layer.get("last"))
        if kind == "layernorm":
            return nn.LayerNorm(shape[-1:] if len(shape) == 2 else shape, eps=layer.get("epsilon", 1e-5))
        if kind == "dense":
            return nn.Linear(shape[-1], layer["units"], bias=layer.get("bias", True))
        if kind == "reshape":
            return nn.Unflatten(1, layer["shape"]) if len(shape) == 1 else nn.Sequential(
                nn.Flatten(), nn.Unflatten(1, layer["shape"]))
        if kind == "leaky_relu":
            return nn.LeakyReLU(layer["slope"])
        simple = {"gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
        return simple[kind]() if kind in simple else Network.module(layer, shape)

    def parameters(self):
        return [[p for p in module.parameters() if p.requires_grad] if module else [] for module in self.layers]

    def draw(self, seed):
        for i, (module, parameters) in enumerate(zip(self.layers, self.parameters())):
            random = Random(seed, 7, i)
            for t, parameter in enumerate(parameters):
                values = torch.from_numpy(random.uniform(-0.5, 0.5, parameter.numel())).reshape(parameter.shape)
                with torch.no_grad():
                    parameter.copy_(values + 1 if isinstance(module, torch.nn.LayerNorm) and t == 0 else values)


def inputs_of(shape, layers):
    random = Random(3, 9, 0)
    if "tokens" in shape:
        values = [random.next() % layers[0]["vocabulary"] for _ in range(BATCH * shape["tokens"])]
        return torch.tensor(values).reshape(BATCH, -1), [shape["tokens"]]
    extent = list(shape.values()) if isinstance(shape, dict) else shape
    return torch.from_numpy(random.uniform(-1, 1, BATCH * math.prod(extent))).reshape(BATCH, *extent), extent


def loss_of(out, options):
    """Loss, and rows that are right: of the largest logit, or of all signs."""
    kind, random = options.get("loss", "cross_entropy"), Random(3, 9, 1)
    rows = out.reshape(-1, out.shape[-1]) if out.dim() == 3 else out.flatten(1)
    if kind == "cross_entropy":
        y = torch.tensor([random.next() % rows.shape[1] for _ in range(rows.shape[0])])
        loss = functional.cross_entropy(rows, y, label_smoothing=options.get("label_smoothing", 0.0))
        return loss, (rows.argmax(1) == y).sum().item()
    if kind == "mse" or "values" in options:
        y = torch.from_numpy(random.uniform(0 if kind == "bce" else -1, 1, rows.numel())).reshape(rows.shape)
    else:
        y = torch.tensor([random.next() % 2 for _ in range(rows.numel())]).reshape(rows.shape).float()
    if kind == "mse":
        return functional.mse_loss(rows, y), 0
    right = ((rows > 0) == (y > 0.5)).all(1).sum().item()
    return functional.binary_cross_entropy_with_logits(rows, y), right


def sequence_case(name, shape, layers, options):
    x, extent = inputs_of(shape, layers)
    network = SequenceNetwork(extent, layers)
    network.draw(SEED)
    floats = x.is_floating_point()
    x.requires_grad_(floats)
    out = network(x)
    loss, right = loss_of(out, options)
    loss.backward()
    parameters = [p for of_layer in network.parameters() for p in of_layer]
    model = {"name": name, "input": shape, "layers": layers}
    model.update({key: value for key, value in options.items() if key != "values"})
    return {"model": model, "values": "values" in options, "loss": loss.item(), "correct": right,
            "output": flattened([out])[::STRIDE].tolist(),
            "gradient_norms": [p.grad.norm().item() for p in parameters],
            "gradients": flattened([p.grad for p in parameters])[::STRIDE].tolist(),
            "input_gradient": flattened([x.grad])[::STRIDE].tolist() if floats else []}


def main():
    torch.set_num_threads(1)
    cases = [sequence_case(name, *case) for group in (ACTIVATIONS, LAYERS, LOSSES) for name, case in group.items()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sequence.json")
    with open(path, "w", encoding="ascii") as out:
        header = {"batch": BATCH, "stride": STRIDE, "seed": SEED}
        out.write('{"about": %s, "cases": [\n' % json.dumps(header))
        out.write(",\n".join(json.dumps(rounded(c)) for c in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
