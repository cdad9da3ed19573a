#!/usr/bin/python3
"""Writes optimizers.json: ten steps of each optimiser, and learning rates of each schedule.

Run with a Python that has torch (Debian's python3-torch 1.13.1 made the file that is checked in):
    /usr/bin/python3 tests/golden/make_optimizers.py
sgd, adam, adamw and the schedules are PyTorch's; lars and lamb, which PyTorch lacks, are the formulas of
their papers in float64. Parameters and gradients come from the generator of engine/base/random.h, so the file
holds only results: the gradient's norm of each step and every STRIDE-th parameter after the last.
"""
import json
import os

import numpy
import torch

from make_golden import Random, rounded

STRIDE = 29  # meets the biases too
STEPS = 10
SHAPES = [(8, 2, 3, 3), (8,), (40, 128), (40,), (10, 40), (10,)]
COUNT = sum(int(numpy.prod(s)) for s in SHAPES)
MODEL = {"name": "small", "input": [2, 6, 6], "layers": [
    {"kind": "conv2d", "channels": 8, "kernel": 3}, {"kind": "flatten"}, {"kind": "dense", "units": 40},
    {"kind": "dense", "units": 10}]}


def split(flat):
    tensors, begin = [], 0
    for shape in SHAPES:
        size = int(numpy.prod(shape))
        tensors.append(flat[begin:begin + size].reshape(shape))
        begin += size
    return tensors


def gradient(step):
    return Random(5, 9, step).uniform(-1, 1, COUNT)


def pytorch(name, options, clip):
    start = Random(5, 8, 0).uniform(-1, 1, COUNT)
    parameters = [torch.nn.Parameter(torch.from_numpy(t.copy())) for t in split(start)]
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    update = kinds[name](parameters, **options)
    norms = []
    for step in range(STEPS):
        for p, g in zip(parameters, split(gradient(step))):
            p.grad = torch.from_numpy(g.copy())
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, clip if clip else 1e30).item())
        update.step()
    return norms, torch.cat([p.detach().reshape(-1) for p in parameters])[::STRIDE].tolist()


def layerwise(update, clip):
    """update(i, w, g) changes w of tensor i in place."""
    tensors = split(Random(5, 8, 0).uniform(-1, 1, COUNT).astype(numpy.float64))
    norms = []
    for step in range(STEPS):
        g = gradient(step).astype(numpy.float64)
        norm = float(numpy.linalg.norm(g))
        norms.append(norm)
        if clip:
            g *= min(1, clip / (norm + 1e-6))
        for i, (w, gi) in enumerate(zip(tensors, split(g))):
            update(step, i, w, gi)
    return norms, numpy.concatenate([w.reshape(-1) for w in tensors])[::STRIDE].tolist()


def lars(options, clip):
    """You, Gitman, Ginsburg 2017, algorithm 1."""
    lr, momentum, decay, trust = options["lr"], options["momentum"], options["weight_decay"], 0.001
    velocity = [numpy.zeros(s) for s in SHAPES]

    def update(step, i, w, g):
        local, pull = 1.0, 0.0
        if w.ndim > 1:
            pull = decay
            local = trust * numpy.linalg.norm(w) / (numpy.linalg.norm(g) + decay * numpy.linalg.norm(w))
        velocity[i] = momentum * velocity[i] + lr * local * (g + pull * w)
        w -= velocity[i]
    return layerwise(update, clip)


def lamb(options, clip):
    """You et al. 2020, algorithm 2, phi the identity."""
    lr, decay, b1, b2, epsilon = options["lr"], options["weight_decay"], 0.9, 0.999, 1e-6
    first, second = [numpy.zeros(s) for s in SHAPES], [numpy.zeros(s) for s in SHAPES]

    def update(step, i, w, g):
        first[i] = b1 * first[i] + (1 - b1) * g
        second[i] = b2 * second[i] + (1 - b2) * g * g
        m, v = first[i] / (1 - b1 ** (step + 1)), second[i] / (1 - b2 ** (step + 1))
        r = m / (numpy.sqrt(v) + epsilon)
        if w.ndim == 1:
            w -= lr * r
            return
        r += decay * w
        w -= lr * numpy.linalg.norm(w) / numpy.linalg.norm(r) * r
    return layerwise(update, clip)


CASES = [
    ("sgd", {"lr": 0.05}, 0),
    ("sgd", {"lr": 0.05, "momentum": 0.9}, 0),
    ("sgd", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}, 5),
    ("sgd", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.02}, 0),
    ("adam", {"lr": 0.01}, 0),
    ("adam", {"lr": 0.01, "weight_decay": 0.1}, 0),
    ("adam", {"lr": 0.01}, 3),
    ("adamw", {"lr": 0.01, "weight_decay": 0.1}, 0),
    ("lars", {"lr": 2, "momentum": 0.9, "weight_decay": 0.01}, 0),
    ("lars", {"lr": 2, "momentum": 0.9, "weight_decay": 0.01}, 7),
    ("lamb", {"lr": 0.01, "weight_decay": 0.1}, 0),
    ("lamb", {"lr": 0.01, "weight_decay": 0.1}, 2),
]


def optimizers():
    for name, options, clip in CASES:
        if name in ("lars", "lamb"):
            norms, parameters = (lars if name == "lars" else lamb)(options, clip)
        else:
            norms, parameters = pytorch(name, options, clip)
        yield {"optimizer": name, "clip": clip, **options, "norms": norms, "parameters": parameters}


def rates(schedule, peak, total, warm=0, start=1.0, step_size=1.0, gamma=0.1, per_epoch=10):
    """The rate of every step; step_size in epochs of per_epoch steps."""
    o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    schedulers = torch.optim.lr_scheduler
    left = total - warm
    rise = [schedulers.LinearLR(o, start_factor=start, total_iters=warm)] if warm else []
    if schedule == "onecycle":
        s = schedulers.OneCycleLR(o, max_lr=peak, total_steps=left, cycle_momentum=False)
    elif schedule == "step":
        drop = schedulers.StepLR(o, int(round(step_size * per_epoch)), gamma)
        s = schedulers.ChainedScheduler(rise + [drop])
    else:
        cosine = schedule == "cosine"
        s = schedulers.CosineAnnealingLR(o, left) if cosine else schedulers.ConstantLR(o, 1.0, 1)
        if warm:
            s = schedulers.SequentialLR(o, rise + [s], [warm])
    found = []
    for _ in range(total):
        found.append(o.param_groups[0]["lr"])
        o.step()
        s.step()
    return {"schedule": schedule, "peak": peak, "steps": total, "warm": warm, "start": start,
            "step_size": step_size, "gamma": gamma, "per_epoch": per_epoch, "rates": found}


def schedules():
    yield rates("constant", 0.1, 10)
    yield rates("constant", 0.1, 20, warm=5, start=1 / 6)
    yield rates("cosine", 0.1, 30)
    yield rates("cosine", 0.4, 40, warm=10, start=0.25)
    yield rates("step", 0.1, 70, step_size=2, gamma=0.1)
    yield rates("step", 0.1, 60, warm=15, start=1 / 16, step_size=0.5, gamma=0.5)
    yield rates("onecycle", 0.003, 40)
    yield rates("onecycle", 0.1, 7)


def main():
    torch.set_num_threads(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizers.json")
    lines = {"optimizers": list(optimizers()), "schedules": list(schedules())}
    with open(path, "w", encoding="ascii") as out:
        out.write('{"stride": %d, "model": %s,\n' % (STRIDE, json.dumps(MODEL)))
        out.write(",\n".join('"%s": [\n%s]' % (key, ",\n".join(json.dumps(rounded(line)) for line in found))
                             for key, found in lines.items()) + "}\n")


if __name__ == "__main__":
    main()
