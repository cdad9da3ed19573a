#!/bin/bash
# `ringside allreduce`: the table beside its predictions, other collectives and types, and the table that auto goes by.
. "$(dirname "$0")/lib.sh"

collectives() { grep '"ev":"collective"' <<<"$out"; }

expect "out of place and in place, a range of sizes" 0 "$ringside" allreduce --algo auto,shm,ring,mpi --place both \
    --bytes 4K..16K --iters 2 --check --json
check "a row for each" test "$(collectives | wc -l)" = 24
check "each beside its prediction" test "$(collectives | grep -c '"predicted_s":[0-9.e-]*,')" = 24
check "half of them out of place" test "$(collectives | grep -c '"inplace":false')" = 12
check "auto says which it took" grep -q '"algo":"auto","chosen":"shm"' <<<"$out"
check "and that nothing has been measured yet" grep -q 'not yet measured here' <<<"$out"
check "latency and bandwidth of messages and of memory" test "$(grep -c '"ev":"cost"' <<<"$out")" = 2

expect "as a table" 0 "$ringside" allreduce --algo ring,mpi --bytes 1K --iters 2 --check --dtype bf16
check "of at most 80 columns" test -z "$(awk 'length > 80' <<<"$out")"
check "that says what it is of" grep -q 'allreduce (sum) of bf16 on 2 ranks, engine buffers' <<<"$out"

expect "out of place and in place as a table" 0 "$ringside" allreduce --algo ring,recursive_doubling,mpi --place both \
    --bytes 1K,64K --iters 2 --check
check "of at most 80 columns" test -z "$(awk 'length > 80' <<<"$out")"
check "side by side" test "$(grep -cE '^(ring|recursive_doubling|mpi)( +[0-9.e+-]+){10}$' <<<"$out")" = 6
check "under a line for each size" grep -q '^65536 B, 16384 elements$' <<<"$out"

cat >"$scratch/both.lua" <<'LUA'
local r = allreduce{ ranks = 2, bytes = {1024}, algo = "ring", dtype = "f64", place = "both", iters = 2, check = true }
for _, c in ipairs(r) do print(c.op, c.algo, c.dtype, c.inplace, c.bytes == 1024, c.count, c.error < 1e-15, c.predicted_s > 0) end
local b = allreduce{ ranks = 2, bytes = 64, collective = "broadcast", iters = 2 }
for _, c in ipairs(b) do print(c.op, c.algo) end
print(pcall(allreduce, { dtype = "f8" }))
LUA
expect "allreduce{} of a script" 0 "$ringside" run "$scratch/both.lua"
check "takes a type and a place" grep -q $'allreduce\tring\tf64\tfalse\ttrue\t128\ttrue\ttrue' <<<"$out"
check "and gives both back" grep -q $'allreduce\tring\tf64\ttrue\ttrue\t128\ttrue\ttrue' <<<"$out"
check "another collective, by us and by MPI" test "$(grep -cE $'^broadcast\t(mpi|tree)$' <<<"$out")" = 2
check "no type that there is none of" grep -q 'dtype: expected f32, f64' <<<"$out"

for collective in broadcast reduce allgather reduce_scatter alltoall barrier; do
    expect "$collective on 3 ranks, checked" 0 "$ringside" allreduce --collective $collective --ranks 3 --bytes 12,3K \
        --iters 2 --check --json
    check "by us and by MPI" test "$(collectives | grep -c "\"op\":\"$collective\"")" = 4
done

expect "tuning" 0 "$ringside" allreduce --tune --algo shm,ring --bytes 4,64K --iters 3
check "says what auto takes from now on" grep -q '^auto with 2 ranks, engine buffers, from now on: ' <<<"$out"
table=$(ls "$RINGSIDE_HOME"/tuning/*-engine.json)
check "and keeps it" test -s "$table"
expect "auto after that" 0 "$ringside" allreduce --algo auto --bytes 64 --iters 2
check "goes by it" grep -q 'allreduce auto, as measured here: ' <<<"$out"
printf '{"version": 1' >"$table"
expect "auto with a damaged table" 0 "$ringside" allreduce --algo auto --bytes 64 --iters 2
check "says that it is not used" grep -q 'the table that was measured is not used (.*-engine.json' <<<"$out"
expect "training by auto" 0 "$ringside" train --algo auto --steps 2 --batch 8 --json
check "says what it goes by, too" grep -q '"ev":"note".*allreduce auto' <<<"$out"

expect "no tuning of bf16" 2 "$ringside" allreduce --tune --dtype bf16
expect "no broadcast by a ring" 2 "$ringside" allreduce --collective broadcast --algo ring
expect "no half of a float64" 2 "$ringside" allreduce --dtype f64 --bytes 12
expect "no hosts of more ranks than there are" 2 "$ringside" allreduce --ranks 4 --algo hierarchical:9
check "in one sentence, before anything starts" test "$err" = "ringside: --algo: hierarchical:9: 4 ranks do not fill hosts of 9; take a number that divides 4"
