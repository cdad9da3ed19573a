#!/bin/bash
# --reproducible: the same bits whatever the number of ranks and threads, over 100 steps; what it refuses.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "reproducible" "mpirun is not installed"
    exit
fi

# The losses of all steps, and of the test its loss and the parameters' hash: one line a number.
bits() { # RANKS THREADS OPTION...
    "$ringside" train --data mnist --ranks "$1" --threads "$2" --batch $((32 / $1)) --steps 100 --reproducible --json \
        "${@:3}" </dev/null 2>"$scratch/err" |
        sed -nE '/"ev":"(step|eval)"/{s/.*"(loss)":([-0-9.e]+).*/\2 &/;s/^([^ ]+) .*("hash":"[0-9a-f]+").*/\1 \2/;s/ \{.*//;p}'
}

model=(--model mlp)
bits 1 1 "${model[@]}" >"$scratch/one"
check "a run of 100 steps has 100 losses and a hash" test "$(wc -l <"$scratch/one")/$(grep -c hash "$scratch/one")" = 101/1
for layout in 1x2 2x1 2x2 4x1 8x1 8x2; do
    bits "${layout%x*}" "${layout#*x}" "${model[@]}" >"$scratch/$layout"
    check "${layout%x*} ranks x ${layout#*x} threads: the same bits as one of each" cmp "$scratch/one" "$scratch/$layout"
done
bits 2 2 "${model[@]}" >"$scratch/again"
check "the same run again: the same bits" cmp "$scratch/2x2" "$scratch/again"
bits 2 1 "${model[@]}" --seed 2 >"$scratch/seed"
check "another seed: other bits" sh -c "! cmp -s '$scratch/one' '$scratch/seed'"

# Resumed on other ranks than it began with: still the same bits.
hash_of() { sed -nE '/"ev":"eval"/s/.*"hash":"([0-9a-f]+)".*/\1/p'; }
plan=("${model[@]}" --threads 1 --schedule constant --reproducible)
expect "60 steps on 2 ranks" 0 "$ringside" train "${plan[@]}" --ranks 2 --batch 16 --steps 60 --label begun
check "the report has the hash" grep -qE "^parameters +[0-9a-f]{16} \(the same for" <<<"$out"
expect "40 more on 4" 0 "$ringside" train --resume begun --ranks 4 --threads 2 --steps 100 --json
resumed=$(hash_of <<<"$out")
expect "100 on 1" 0 "$ringside" train "${plan[@]}" --ranks 1 --batch 32 --steps 100 --json
check "the same parameters" test -n "$resumed" -a "$resumed" = "$(hash_of <<<"$out")"

expect "another allreduce would round otherwise" 2 "$ringside" train --reproducible --algo ring
check "one sentence says so" grep -q "sums along the tree" <<<"$err"
expect "3 ranks cannot share 8 shards" 2 "$ringside" train --model mlp --ranks 3 --batch 8 --steps 2 --reproducible
check "one sentence says so" grep -q "3 ranks cannot share evenly: choose 1, 2, 4 or 8" <<<"$err"
expect "nor can 12 samples be cut into 8" 2 "$ringside" train --model mlp --ranks 2 --batch 6 --steps 2 --reproducible
check "one sentence says so" grep -q "global batch of 12 .* multiple of 8" <<<"$err"
