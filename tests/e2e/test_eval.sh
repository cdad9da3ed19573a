#!/bin/bash
# `ringside train --eval RUN`: the figures are those the run itself had at its end; inference is timed at five batch sizes.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "eval" "mpirun is not installed"
    exit
fi
figures() { sed -nE '/"ev":"eval"/s/.*("step":[0-9]+,"epoch":[^,]*,"loss":[^,]*,"accuracy":[^,]*,"hash":"[0-9a-f]+").*/\1/p'; }
rows() { grep -E '^ +[0-9]+ +[0-9.]+ ms +[0-9 ]+$' <<<"$out"; }

expect "a training" 0 "$ringside" train --model mlp --ranks 1 --threads 1 --steps 60 --json --label trained
figures <<<"$out" >"$scratch/trained"
expect "its test" 0 "$ringside" train --eval trained --threads 1 --json --label tested
figures <<<"$out" >"$scratch/tested"
check "step, epoch, loss, accuracy and hash are the same" cmp "$scratch/trained" "$scratch/tested"
check "there are some" grep -q '"step":60,' "$scratch/tested"
check "nothing was trained" sh -c "! grep -q '\"ev\":\"step\"'" <<<"$out"
points=$(sed -nE '/"ev":"point".*"series":"inference"/s/.*"x":([0-9]+),"y":([0-9.e+]+),.*"latency_s":([0-9.e-]+).*/\1 \2 \3/p' <<<"$out")
check "five batch sizes" test "$(cut -d' ' -f1 <<<"$points" | paste -sd' ')" = "1 8 32 128 512"
check "samples/s are the batch over the latency" awk '{ q = $2 * $3 / $1; if (q < 0.999 || q > 1.001) bad = 1 } END { exit bad }' <<<"$points"
check "the test says what it tests" grep -q '"ev":"run".*"tested":"[^"]*-trained"' <<<"$out"

expect "as text, on two ranks" 0 "$ringside" train --eval trained --ranks 2 --threads 1
check "says whose checkpoint" grep -q "^mlp on mnist: the last checkpoint of .*-trained, 101 770 parameters" <<<"$out"
check "and the accuracy" grep -qE '^epoch .*: test accuracy [0-9.]+ %' <<<"$out"
check "a row for each batch size" test "$(rows | wc -l)" -eq 5

expect "a run without a checkpoint" 2 "$ringside" train --eval tested
check "one sentence says so" grep -q "trained no model" <<<"$err"
rm "$runs"/*-trained/checkpoints/*
expect "nor one whose checkpoints are gone" 2 "$ringside" train --eval trained
check "one sentence says so" grep -q "has no checkpoint" <<<"$err"
expect "not both" 2 "$ringside" train --eval trained --resume trained
check "one sentence says so" grep -q "give one of them" <<<"$err"
