#!/bin/bash
# Two networks against each other: a few hundred steps on real data. The losses stay numbers, the discriminator tells real
# from generated, ranks × batch train what one rank with all of it would, samples come as the stream promises.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/runs.sh
. "$(dirname "$0")/runs.sh"
have_mpi || { skip "training a gan" "mpirun is not installed"; exit 0; }

train() { "$ringside" train --model gan --seed 3 --threads 1 --json "$@"; }

train --ranks 1 --batch 64 --steps 300 >"$scratch/one" 2>"$scratch/err" || fail "300 steps" "$(cat "$scratch/err")"
python3 - "$scratch/one" <<'PY' >"$scratch/found" 2>&1
import json, math, sys
events = [json.loads(line) for line in open(sys.argv[1])]
steps = [e for e in events if e["ev"] == "step"]
evals = [e for e in events if e["ev"] == "eval"]
samples = [e for e in events if e["ev"] == "sample"]
fields = ("loss", "loss_d", "loss_g", "d_real", "d_fake")
def say(name, ok): print(("yes " if ok else "no ") + name)
say("every step has finite figures of both networks", steps and all(math.isfinite(e[f]) for e in steps for f in fields))
say("the loss is the sum of the two", all(abs(e["loss"] - e["loss_d"] - e["loss_g"]) < 1e-4 * e["loss"] for e in steps))
say("the discriminator takes real images for real more often", steps[-1]["d_real"] > steps[-1]["d_fake"] + 0.1)
say("and those of the test set too", evals[-1]["d_real"] > evals[-1]["d_fake"] + 0.1)
say("it is tested early and at the end", [e["step"] for e in evals] == [25, 50, 100, 200, 300])
say("16 images at each test", len(samples) == 16 * len(evals))
say("each is whole", all(e["kind"] == "image" and e["generated"] and len(e["data"]) == 2 * e["rows"] * e["cols"] for e in samples))
first = [e["data"] for e in samples if e["row"] == 0]
say("fixed noise becomes another image as the generator learns", len(set(first)) == len(first) == 5)
say("other noise becomes another image", len({e["data"] for e in samples if e["step"] == 300}) == 16)
say("no line is longer than 16 KiB", all(len(line) < 16384 for line in open(sys.argv[1])))
PY
while read -r answer name; do
    if [ "$answer" = yes ]; then pass "$name"; elif [ "$answer" = no ]; then fail "$name" ""; else fail "the stream" "$answer $name"; fi
done <"$scratch/found"

# Ten steps beside PyTorch's, from the same weights, images and noise (tests/golden/make_gan.py).
"$ringside" train --model gan --seed 7 --threads 1 --ranks 1 --batch 32 --steps 10 --json >"$scratch/ten" 2>/dev/null
if python3 - "$scratch/ten" tests/golden/gan.json <<'PY' >"$scratch/found" 2>&1
import json, sys
ours = [e for e in map(json.loads, open(sys.argv[1])) if e["ev"] == "step"]
golden = json.load(open(sys.argv[2]))["steps"]
assert len(ours) == len(golden) == 10
for a, b in zip(ours, golden):
    for f in b:
        assert abs(a[f] - b[f]) <= 1e-5 * abs(b[f]), (a["step"], f, a[f], b[f])
PY
then pass "ten steps as PyTorch takes them, to 1e-5"; else fail "ten steps as PyTorch takes them, to 1e-5" "$(cat "$scratch/found")"; fi

# Four steps: rounding has not spread yet.
train --ranks 1 --batch 32 --steps 4 >"$scratch/one"
train --ranks 2 --batch 16 --steps 4 >"$scratch/two"
if python3 - "$scratch/one" "$scratch/two" <<'PY' >"$scratch/found" 2>&1
import json, sys
one, two = ([e for e in map(json.loads, open(f)) if e["ev"] == "step"] for f in sys.argv[1:])
assert len(one) == len(two) == 4
for a, b in zip(one, two):
    for f in ("loss_d", "loss_g", "d_real", "d_fake", "grad_norm"):
        assert abs(a[f] - b[f]) <= 1e-4 * abs(a[f]), (a["step"], f, a[f], b[f])
PY
then pass "2 ranks × 16 train what 1 × 32 does"; else fail "2 ranks × 16 train what 1 × 32 does" "$(cat "$scratch/found")"; fi
if grep -q '"op":1,' "$scratch/two"; then pass "both allreduces of a step are logged"; else fail "both allreduces of a step are logged" ""; fi

# It goes on from its checkpoint, both networks and both optimisers.
train --ranks 1 --batch 32 --steps 6 >"$scratch/whole"
id=$("$ringside" train --model gan --seed 3 --threads 1 --ranks 1 --batch 32 --steps 4 --detach 2>/dev/null)
await has_ended "$id"
"$ringside" train --resume "$id" --steps 6 --json >"$scratch/rest" 2>"$scratch/err"
last() { grep '"ev":"eval"' "$1" | tail -n 1 | sed 's/.*"hash":"\([0-9a-f]*\)".*/\1/'; }
if [ -n "$(last "$scratch/rest")" ] && [ "$(last "$scratch/whole")" = "$(last "$scratch/rest")" ]; then
    pass "resumed after 4 steps, the 6th leaves the same bits"
else
    fail "resumed after 4 steps, the 6th leaves the same bits" "$(cat "$scratch/err")"
fi

# Told in one sentence.
for option in "--accumulate 2" "--reproducible"; do
    # shellcheck disable=SC2086
    expect "$option is no option for a gan" 2 train --ranks 1 --batch 8 --steps 1 $option
    check "$option: the stream says so" grep -q '"level":"error","text":"[^"]*gan' "$scratch/out"
done
