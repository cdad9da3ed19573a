#!/bin/bash
# --shares: unequal shards of the samples. Every step's loss against the same training written out in plain Python, which
# deals the samples by itself: the mean over the samples of the ranks that still have some.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "shares" "mpirun is not installed"
    exit
fi

# A hundred images of 4 by 4 pixels and ten classes, 37 to test, and softmax regression on them.
data=$scratch/data
cat >"$scratch/reference.py" <<'END'
import json, math, os, struct, sys

MASK = (1 << 64) - 1
ROWS, TESTS, PIXELS, CLASSES, SEED, RATE = 100, 37, 16, 10, 5, 0.05

def mix(z):
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb & MASK
    return z ^ (z >> 31)

class Random:
    def __init__(self, seed, purpose, index):
        self.state = mix(mix(mix(seed) + purpose & MASK) + index & MASK)
    def next(self):
        self.state = self.state + 0x9e3779b97f4a7c15 & MASK
        return mix(self.state)
    def below(self, n):
        value = self.next()
        while value < (1 << 64) % n:
            value = self.next()
        return value % n

def images(rows, salt):
    pixels = [[(r * r * 7 + k * 31 + r * k * 13 + salt) % 256 for k in range(PIXELS)] for r in range(rows)]
    return pixels, [(r * 3 + salt) % CLASSES for r in range(rows)]

def write_data(folder):
    os.makedirs(folder)
    for name, rows, salt in (("train", ROWS, 1), ("t10k", TESTS, 2)):
        pixels, labels = images(rows, salt)
        with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as f:
            f.write(struct.pack(">IIII", 0x803, rows, 4, 4) + bytes(sum(pixels, [])))
        with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as f:
            f.write(struct.pack(">II", 0x801, rows) + bytes(labels))

def train(shares, batch, epochs):
    pixels, labels = images(ROWS, 1)
    test_pixels, test_labels = images(TESTS, 2)
    mean, deviation = 0.1307, 0.3081  # MNIST's, which files like its are read with
    scaled = lambda image: [(p / 255 - mean) / deviation for p in image]
    x, test_x = list(map(scaled, pixels)), list(map(scaled, test_pixels))
    draw, bound = Random(SEED, 1, 1), 1 / math.sqrt(PIXELS)  # the parameters of the layer after flatten
    uniform = lambda: bound * (2 * (draw.next() >> 40) / (1 << 24) - 1)
    weights = [[uniform() for _ in range(PIXELS)] for _ in range(CLASSES)]
    bias = [uniform() for _ in range(CLASSES)]

    def probabilities(row):
        logits = [b + sum(w * v for w, v in zip(ws, row)) for ws, b in zip(weights, bias)]
        most = max(logits)
        e = [math.exp(v - most) for v in logits]
        return [v / sum(e) for v in e]

    losses = []
    has = [ROWS * share // sum(shares) // batch for share in shares]
    for epoch in range(epochs):
        order, r = list(range(ROWS)), Random(SEED, 2, epoch)
        for i in range(ROWS, 1, -1):
            j = r.below(i)
            order[i - 1], order[j] = order[j], order[i - 1]
        for step in range(max(has)):
            n = batch * sum(step < h for h in has)
            now, order = order[:n], order[n:]
            loss, gradient, bias_gradient = 0, [[0] * PIXELS for _ in range(CLASSES)], [0] * CLASSES
            for i in now:
                p = probabilities(x[i])
                loss -= math.log(p[labels[i]]) / n
                for c in range(CLASSES):
                    d = (p[c] - (c == labels[i])) / n
                    bias_gradient[c] += d
                    for k in range(PIXELS):
                        gradient[c][k] += d * x[i][k]
            losses.append((loss, sum(step >= h for h in has)))
            for c in range(CLASSES):
                bias[c] -= RATE * bias_gradient[c]
                for k in range(PIXELS):
                    weights[c][k] -= RATE * gradient[c][k]
    test = [probabilities(row) for row in test_x]
    return losses, -sum(math.log(p[c]) for p, c in zip(test, test_labels)) / TESTS

if sys.argv[1] == "data":
    write_data(sys.argv[2])
    sys.exit()
shares, batch, epochs = [int(s) for s in sys.argv[2].split(",")], int(sys.argv[3]), int(sys.argv[4])
losses, tested = train(shares, batch, epochs)
events = [json.loads(line) for line in open(sys.argv[1])]
steps = [e for e in events if e["ev"] == "step"]
assert len(steps) == len(losses), (len(steps), len(losses))
for step, (loss, joined) in zip(steps, losses):
    assert abs(step["loss"] - loss) < 2e-5 * max(1, loss), (step, loss)
    assert step.get("joined", 0) == joined, (step, joined)
evals = [e for e in events if e["ev"] == "eval"]
assert len(evals) == epochs and abs(evals[-1]["loss"] - tested) < 2e-5 * max(1, tested), (evals, tested)
END
python3 "$scratch/reference.py" data "$data"
cat >"$scratch/softmax.lua" <<'END'
return model { input = {1, 4, 4}, flatten{}, dense{10} }
END
train() { # RANKS OPTION...: its events are in $out
    expect "$1 ranks, ${*:2}" 0 "$ringside" train --model "$scratch/softmax.lua" --data "$data" --ranks "$1" --threads 1 \
        --batch 8 --epochs 2 --optimizer sgd --momentum 0 --schedule constant --lr 0.05 --seed 5 --json "${@:2}"
}
as_reference() { # SHARES
    check "every loss is the mean over the samples of those that have some" python3 "$scratch/reference.py" "$scratch/out" "$1" 8 2
}
losses() { sed -nE '/"ev":"(step|eval)"/s/.*"loss":([-0-9.e]+).*/\1/p' "$scratch/out"; }

train 1 --shares 5
as_reference 5
train 2
losses >"$scratch/even"
as_reference 1,1
train 2 --shares 2,2
losses >"$scratch/shared"
check "equal shares are none: the same bits" cmp "$scratch/even" "$scratch/shared"
train 2 --shares 3,1
as_reference 3,1
train 2 --shares 1,6 --accumulate 2 --batch 4
as_reference 1,6
train 3 --shares 1,2,4
as_reference 1,2,4
train 4 --shares 3,1,1,7 --algo halving_doubling
as_reference 3,1,1,7

cat >"$scratch/softmax.lua" <<'END'
return model { input = {1, 4, 4}, flatten{}, dense{24}, relu{}, dense{10} }
END
train 2 --shares 3,1
losses >"$scratch/whole"
train 2 --shares 3,1 --bucket 500
losses >"$scratch/bucketed"
check "in two buckets: the same bits" cmp "$scratch/whole" "$scratch/bucketed"
check "of which there are two" grep -q '"buckets":2' <<<"$out"

hash_of() { sed -nE '/"ev":"eval"/s/.*"hash":"([0-9a-f]+)".*/\1/p' "$scratch/out" | tail -n 1; }
at_once=$(hash_of)
train 2 --shares 3,1 --steps 5 --label begun # in the middle of an epoch, where rank 1 has joined
expect "gone on with" 0 "$ringside" train --resume begun --steps 18 --json
check "ends with the same parameters as at once" test -n "$at_once" -a "$at_once" = "$(hash_of)"

cat >"$scratch/shares.lua" <<END
local m = model { input = {1, 4, 4}, flatten{}, dense{10} }
local r = train { model = m, data = "$data", ranks = 2, batch = 8, epochs = 1, shares = {3, 1}, label = "scripted" }
assert(r.ok)
END
expect "in a script" 0 "$ringside" run "$scratch/shares.lua"
check "reach the job" grep -q '"shares": "3,1"' "$runs"/*-scripted/job.json
expect "only tested: there are no shares" 0 "$ringside" train --eval scripted

expect "a share without a batch" 2 "$ringside" train --model "$scratch/softmax.lua" --data "$data" --batch 8 --ranks 2 --shares 20,1
check "one sentence names the rank" grep -q 'rank 1 has 4 of the 100 training samples, which is no full batch of 8' <<<"$err"
expect "two shares for three ranks" 2 "$ringside" train --ranks 3 --shares 3,1
check "one sentence says so" grep -q -- '--shares: 2 of them for 3 ranks' <<<"$err"
expect "no numbers" 2 "$ringside" train --shares most,some
expect "a gan has none" 2 "$ringside" train --model gan --shares 3,1
check "and that is said" grep -q -- '--shares is not there for a gan' <<<"$err"
