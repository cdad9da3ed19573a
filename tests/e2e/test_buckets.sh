#!/bin/bash
# Gradients summed in buckets beside backward: the same training for every size, and all that may happen to a run while
# its communication thread is at work: another size, a stop, going on, a rank that dies, a loss that is no number.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/runs.sh
. "$(dirname "$0")/runs.sh"
have_mpi || { skip "training in buckets" "mpirun is not installed"; exit 0; }

data=synthetic:1x28x28:10:600
train() { "$ringside" train --data "$data" --threads 1 --batch 8 --seed 3 --json "$@" </dev/null 2>"$scratch/err"; }
losses() { sed -nE '/"ev":"step"/s/.*"loss":([-0-9.e+]+).*/\1/p' "$1"; }
hash_of() { sed -nE '/"ev":"done"/s/.*"hash":"([0-9a-f]+)".*/\1/p' "$1"; }
events() { # FILE EXPRESSION: whether it is true of the list `events` and what it makes of them
    python3 -c 'import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
steps = [e for e in events if e["ev"] == "step"]
notes = " ".join(e["text"] for e in events if e["ev"] == "note")
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# Along the tree an element is summed in one order, however the buckets are cut: the same bits.
for size in 0 16K 128K; do
    train --ranks 3 --steps 12 --algo tree --bucket $size >"$scratch/tree-$size"
    train --ranks 3 --steps 12 --algo ring --bucket $size >"$scratch/ring-$size"
done
one=$(hash_of "$scratch/tree-0")
for size in 16K 128K; do
    check "tree, buckets of $size: the same bits as one allreduce" test -n "$one" -a "$one" = "$(hash_of "$scratch/tree-$size")"
    check "ring, buckets of $size: the same losses but for rounding" python3 -c 'import sys
a, b = ([float(x) for x in open(f)] for f in sys.argv[1:])
sys.exit(not (len(a) == len(b) == 12 and all(abs(x - y) <= 1e-5 * abs(x) for x, y in zip(a, b))))' \
        <(losses "$scratch/ring-0") <(losses "$scratch/ring-$size")
done
check "step events tell size and number of buckets" events "$scratch/tree-16K" \
    'all(s["bucket"] == 16384 and s["buckets"] == 4 for s in steps) and len(steps) == 12'
check "and exposed communication apart from the whole" events "$scratch/tree-16K" \
    'all(s["exposed_comm_s"] != s["comm_s"] and s["exposed_comm_s"] > 0 for s in steps)'
check "without buckets all of it is exposed" events "$scratch/tree-0" \
    'all("buckets" not in s and s["exposed_comm_s"] == s["comm_s"] for s in steps)'

for size in 0 16K; do
    train --ranks 2 --steps 8 --accumulate 3 --clip 0.5 --bucket $size >"$scratch/parts-$size"
done
check "accumulated and clipped: the same bits" test -n "$(hash_of "$scratch/parts-0")" -a \
    "$(hash_of "$scratch/parts-0")" = "$(hash_of "$scratch/parts-16K")"

# Synchronised batchnorm sums in the midst of forward and backward, through the same thread.
cat >"$scratch/sync.lua" <<'LUA'
return model { name = "sync", input = {1, 28, 28}, conv2d{8, 3}, batchnorm{sync = true}, relu{}, maxpool{2},
               conv2d{8, 3}, batchnorm{sync = true}, relu{}, flatten{}, dense{32}, relu{}, dense{10} }
LUA
for size in 0 2K; do
    train --ranks 2 --steps 8 --model "$scratch/sync.lua" --bucket $size >"$scratch/sync-$size"
done
check "with synchronised batchnorm: the same bits" test -n "$(hash_of "$scratch/sync-0")" -a \
    "$(hash_of "$scratch/sync-0")" = "$(hash_of "$scratch/sync-2K")"

# While it runs: another size, then a stop; and on from there.
train --ranks 2 --seconds 60 --pause 0.01 --bucket 16K --detach >"$scratch/id"
run=$(cat "$scratch/id") dir=$RINGSIDE_HOME/runs/$(cat "$scratch/id")
wait_for() { await grep -q "$1" "$dir/events.jsonl"; }
check "the run goes on" wait_for '"buckets":4'
expect "another size is asked for" 0 "$ringside" runs bucket "$run" 128K
check "and taken" wait_for '"buckets":3'
expect "one allreduce is asked for" 0 "$ringside" runs bucket "$run" 0
check "and taken, too" wait_for 'one allreduce a step'
expect "no size" 2 "$ringside" runs bucket "$run" large
expect "and buckets again" 0 "$ringside" runs bucket "$run" 16K
check "which come, too" wait_for 'buckets of 16384 bytes'
expect "the run is stopped" 0 "$ringside" runs stop "$run"
check "and ends" wait_for '"ev":"done"'
steps=$(sed -nE '/"ev":"checkpoint"/s/.*"step":([0-9]+).*/\1/p' "$dir/events.jsonl" | tail -n 1)
expect "nothing changes a run that has ended" 2 "$ringside" runs bucket "$run" 1M
expect "nor does b in the run view" 0 "$ringside" --script b --size 120x36 --open "run:$run" --dump
check "which says why" grep -q "has ended already" "$scratch/out"
check "and shows in how many buckets the gradients went" grep -q "ring in 4 buckets" "$scratch/out"
train --resume "$run" --seconds 0.5 >"$scratch/on"
check "it goes on from its last step, in buckets" events "$scratch/on" \
    "steps[0]['step'] == ${steps:-0} + 1 and steps[0]['buckets'] == 4 and events[-1]['ok']"

# A rank that dies beside its thread, and a loss that is no number.
train --ranks 2 --seconds 60 --pause 0.01 --bucket 16K --detach >"$scratch/id"
dir=$RINGSIDE_HOME/runs/$(cat "$scratch/id")
wait_for '"ev":"step"'
kill -KILL "$(rank_pid "$(cat "$scratch/id")" 1)"
check "a run whose rank dies ends" wait_for '"ev":"done"'
check "not well" grep -q '"ok":false' "$dir/events.jsonl"
no_process_left "then"
expect "a loss that is no number ends a run in buckets" 1 "$ringside" train --data "$data" --model mlp --ranks 2 \
    --batch 8 --optimizer sgd --lr 1e30 --schedule constant --steps 50 --bucket 64K
check "with the usual sentence" grep -q "the loss became" "$scratch/out" "$scratch/err"

# Tuning: every way is told, one is chosen, all ranks go on with it.
train --ranks 2 --steps 90 --autotune >"$scratch/tuned"
check "tuning tells what it tried" events "$scratch/tuned" \
    '{t["algo"] for t in events if t["ev"] == "trial"} >= {"ring", "recursive_doubling", "mpi"} and
     {t["buckets"] for t in events if t["ev"] == "trial"} >= {1, 4}'
check "no more communication is exposed than there is, in one bucket or several" events "$scratch/tuned" \
    'all(s["exposed_comm_s"] <= s["comm_s"] + 1e-9 for s in steps) and any(s.get("buckets", 1) > 1 for s in steps)'
check "and goes on with what it chose" events "$scratch/tuned" \
    'next((t["algo"], t["buckets"]) for t in events if t.get("chosen")) ==
     (steps[-1]["algo"], steps[-1].get("buckets", 1)) and "tuned in" in notes and events[-1]["ok"]'
train --ranks 1 --steps 3 --autotune >"$scratch/alone"
check "one rank has nothing to tune" events "$scratch/alone" '"nothing to tune" in notes and events[-1]["ok"]'
expect "too short a run is refused" 2 "$ringside" train --data "$data" --model mlp --ranks 2 --batch 8 --steps 5 --autotune
check "with the steps it needs" grep -qE 'autotune: it needs ([0-9]+) steps .* this training has 5: give it \1 steps' "$scratch/out" "$scratch/err"

# From a script.
cat >"$scratch/script.lua" <<'LUA'
local r = train { model = "mlp", data = "synthetic:1x28x28:10:600", ranks = 2, threads = 1, batch = 8, steps = 4, bucket = 4096 }
local s = r.steps[#r.steps]
note(("buckets %d of %d, exposed at most: %s"):format(s.buckets, s.bucket, s.exposed_comm_s <= s.comm_s))
LUA
expect "train{bucket =} in a script" 0 "$ringside" run "$scratch/script.lua"
check "its result tells of them" grep -q "buckets 2 of 4096, exposed at most: true" "$scratch/out"

expect "--bucket with --reproducible" 2 "$ringside" train --reproducible --bucket 1M
expect "--autotune with --reproducible" 2 "$ringside" train --reproducible --autotune
expect "--autotune with --bucket" 2 "$ringside" train --autotune --bucket 1M
expect "--bucket of no size" 2 "$ringside" train --bucket 5x
expect "--bucket of a gan" 2 "$ringside" train --model gan --bucket 1M --steps 3 --ranks 2
