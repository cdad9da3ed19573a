#!/bin/bash
# Datasets: what the command tells, packing pictures, and training on every kind of data from any folder.
. "$(dirname "$0")/lib.sh"

pictures() { # DIR: two classes, dark and bright, 40 PGM pictures of 28 x 28 each
    python3 - "$1" <<'E2'
import os, random, sys
random.seed(1)
for name, low in (("bright", 150), ("dark", 0)):
    os.makedirs(os.path.join(sys.argv[1], name))
    for k in range(40):
        with open(os.path.join(sys.argv[1], name, "%02d.pgm" % k), "wb") as f:
            f.write(b"P5 28 28 255\n" + bytes(random.randrange(low, low + 100) for _ in range(784)))
E2
}
pictures "$scratch/pictures"

expect "info on the embedded text" 0 "$ringside" data info text-classes
check "it tells what guessing scores" grep -q "guessing it always is right for 53.30 % in training" "$scratch/out"
expect "info as JSON" 0 "$ringside" data info mnist --json
check "one object, the published mean" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["train_samples"] == 60000 and d["test_samples"] == 10000 and round(d["mean"][0], 4) == 0.1307' "$out"

expect "pack" 0 "$ringside" data pack "$scratch/pictures" "$scratch/two.shards"
check "72 and 8 pictures" grep -q "72 training and 8 test images of 1×28×28, 2 classes" "$scratch/out"
expect "verify" 0 "$ringside" data verify "$scratch/two.shards"
expect "info on what was packed" 0 "$ringside" data info "$scratch/two.shards"
check "it knows the classes" grep -q "2: bright, dark" "$scratch/out"

# a byte of the last picture
cp "$scratch/two.shards" "$scratch/torn.shards"
printf '\377\377' | dd of="$scratch/torn.shards" bs=1 seek=60000 conv=notrunc 2>/dev/null
expect "verify finds one wrong byte" 2 "$ringside" data verify "$scratch/torn.shards"
check "and names the file and the shard" grep -q "torn.shards: shard 1 of 1 is damaged" "$scratch/err"
head -c 1000 "$scratch/two.shards" >"$scratch/short.shards"
expect "a file that was not copied whole" 2 "$ringside" data verify "$scratch/short.shards"
check "is told so" grep -q "has 1000 bytes, expected" "$scratch/err"

echo text >"$scratch/pictures/dark/odd.ppm"
expect "a file that is no picture" 2 "$ringside" data pack "$scratch/pictures" "$scratch/two.shards"
check "is named" grep -q "dark/odd.ppm is no raw PGM or PPM" "$scratch/err"
expect "and the old file stays" 0 "$ringside" data verify "$scratch/two.shards"
check "and nothing else" test "$(ls "$scratch"/*.part 2>/dev/null | wc -l)" -eq 0
rm "$scratch/pictures/dark/odd.ppm"
expect "a place that cannot be written" 2 "$ringside" data pack "$scratch/pictures" /proc/two.shards
check "is named as it was given" grep -q "/proc/two.shards cannot be created" "$scratch/err"
expect "a text that is a folder" 2 "$ringside" data info "text-words:$scratch"
check "is told so" grep -q "$scratch is a folder" "$scratch/err"
expect "an unknown verb" 2 "$ringside" data unpack x
expect "too few words" 2 "$ringside" data pack x
expect "an unknown dataset" 2 "$ringside" data info nothing
check "the message lists the known ones" grep -q "expected mnist, cifar10" "$scratch/err"
expect "a dataset that is not here" 2 "$ringside" data info cifar100
check "the message says which files, whose, and where" grep -qE "train.bin in .*/data/cifar-100-binary.*Krizhevsky" "$scratch/err"

cat >"$scratch/two.lua" <<'E2'
return model { input = {1, 28, 28}, flatten{}, dense{2} }
E2
train() { # NAME ARGUMENTS...: 2 ranks, from a folder of its own
    local name=$1
    shift
    expect "$name" 0 bash -c 'cd "$1" && shift && exec "$@"' - "$scratch" "$ringside" train --ranks 2 "$@" --json
}
train "train on shards, named by a relative path" --model "$scratch/two.lua" --data two.shards --batch 4 --epochs 3
check "dark and bright are told apart" python3 -c '
import json, sys
done = [json.loads(l) for l in sys.argv[1].splitlines()][-1]
assert done["ok"] and done["accuracy"] == 1, done' "$out"
check "every step tells how long it waited for its data" python3 -c '
import json, sys
steps = [d for d in map(json.loads, sys.argv[1].splitlines()) if d["ev"] == "step"]
assert len(steps) == 27 and all(d["data_s"] >= 0 for d in steps), steps' "$out"
expect "train on damaged shards" 2 "$ringside" train --model "$scratch/two.lua" --data "$scratch/torn.shards" --batch 4 --epochs 1
check "the shard is named" grep -q "shard 1 of 1 is damaged" "$scratch/err"
exit "$failures"
