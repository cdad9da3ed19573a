#!/usr/bin/python3
"""Ten steps of the course's gan in PyTorch, from the same weights, images and noise, into gan.json beside this file.

    /usr/bin/python3 tests/golden/make_gan.py

What is random follows from the seed by SplitMix64 (engine/base/random.c), so this script draws the same numbers: the order
of the images, both networks' parameters, the noise. Everything after that is PyTorch's own: layers, loss, autograd, Adam.
"""
import gzip
import json
import math
import os

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = os.path.join(HERE, "..", "..", "exercises", "data", "mnist", "train-images-idx3-ubyte.gz")
SEED, BATCH, STEPS, LR, BETAS = 7, 32, 10, 2e-4, (0.5, 0.999)
PARAMETERS, ORDER, NOISE, GENERATOR = 1, 2, 3, 5  # purposes of streams; the last is added to the generator's seed
MASK, GAMMA = (1 << 64) - 1, 0x9E3779B97F4A7C15


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class Stream:
    def __init__(self, seed, purpose, index):
        self.state = mix((mix((mix(seed) + purpose) & MASK) + index) & MASK)

    def next(self):
        self.state = (self.state + GAMMA) & MASK
        return mix(self.state)

    def below(self, n):
        uneven = (1 << 64) % n
        while True:
            value = self.next()
            if value >= uneven:
                return value % n

    def uniform(self, low, high):
        low, high = numpy.float32(low), numpy.float32(high)
        value = low + (high - low) * numpy.float32((self.next() >> 40) * 2.0**-24)
        return value if value < high else low

    def normal(self):
        while True:
            x, y = self.uniform(-1, 1), self.uniform(-1, 1)
            s = x * x + y * y
            if 0 < s < 1:
                return numpy.float32(float(x) * math.sqrt(-2 * math.log(float(s)) / float(s)))


def permutation(n):
    stream, order = Stream(SEED, ORDER, 0), list(range(n))
    for i in range(n, 1, -1):
        j = stream.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def draw_parameters(network, seed):
    for number, layer in enumerate(network):
        if isinstance(layer, torch.nn.Linear):
            stream, bound = Stream(seed, PARAMETERS, number), 1 / math.sqrt(layer.in_features)
            for tensor in (layer.weight, layer.bias):
                values = [stream.uniform(-bound, bound) for _ in range(tensor.numel())]
                tensor.data = torch.tensor(numpy.array(values, numpy.float32)).reshape(tensor.shape)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with gzip.open(IMAGES) as f:
        pixels = numpy.frombuffer(f.read(), numpy.uint8, offset=16).reshape(-1, 784)
    order = permutation(len(pixels))
    g = torch.nn.Sequential(torch.nn.Linear(100, 256), torch.nn.ReLU(), torch.nn.Linear(256, 784), torch.nn.Tanh())
    d = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    draw_parameters(g, SEED + GENERATOR)
    draw_parameters(d, SEED)
    learn_g = torch.optim.Adam(g.parameters(), lr=LR, betas=BETAS)
    learn_d = torch.optim.Adam(d.parameters(), lr=LR, betas=BETAS)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    one, zero = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    steps = []
    for step in range(STEPS):
        rows = order[step * BATCH:(step + 1) * BATCH]
        real = torch.tensor(pixels[rows].astype(numpy.float32) / numpy.float32(127.5) - 1)
        streams = [Stream(SEED, NOISE, step * BATCH + i) for i in range(BATCH)]
        z = torch.tensor(numpy.array([[s.normal() for _ in range(100)] for s in streams], numpy.float32))
        fake = g(z)
        says_real, says_fake = d(real), d(fake.detach())
        loss_d = bce(says_real, one) + bce(says_fake, zero)
        learn_d.zero_grad()
        loss_d.backward()
        learn_d.step()
        loss_g = bce(d(fake), one)
        learn_g.zero_grad()
        loss_g.backward()
        learn_g.step()
        steps.append({"loss_d": loss_d.item(), "loss_g": loss_g.item(), "d_real": torch.sigmoid(says_real).mean().item(),
                      "d_fake": torch.sigmoid(says_fake).mean().item()})
    with open(os.path.join(HERE, "gan.json"), "w") as f:
        json.dump({"torch": torch.__version__, "seed": SEED, "batch": BATCH, "lr": LR, "steps": steps}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
