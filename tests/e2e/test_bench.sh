#!/bin/bash
# `ringside bench`: that each part says what it has to. How fast things are here is nobody's pass mark.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "bench" "mpirun is not installed"
    exit
fi
points() { grep -c "\"ev\":\"point\".*\"series\":\"$1\"" "$scratch/out"; }

expect "bench, ladder and roofline" 0 "$ringside" bench --only ladder,roofline --seconds 1 --batch 4 --label figures
check "a rung a line, checked" test "$(grep -cE '^(naive|loop order|blocked|vectorised|oneDNN) .* [0-9.]+e-[0-9]+ ' <<<"$out")" -eq 5
check "the roof of one thread" grep -qE '^on 1 thread: [0-9.]+ GFLOP/s at most; memory [0-9.]+ GB/s' <<<"$out"
check "the layers of cnn" grep -qE '^0 conv2d 32, 3×3 .* %  (memory|compute)$' <<<"$out"
expect "its events" 0 "$ringside" runs watch figures --json
check "five rungs" test "$(points ladder)" -eq 5
check "and the same on the roof" test "$(points products)" -eq 5
check "the roof has a ridge" grep -q '"series":"roofline.*"label":"ridge"' "$scratch/out"
check "no point without a finite place" test "$(grep '"ev":"point"' "$scratch/out" | grep -cvE '"x":[0-9.e+-]+,"y":[0-9.e+-]+')" -eq 0
check "a run like all others" grep -q '"job":"bench"' "$scratch/out"

# The ladders of a GPU, by the emulation: right, and never a GPU's figure.
expect "bench, an emulated GPU's ladders" 0 env RINGSIDE_CUDA_PLUGIN="$PWD/$build/ringside-cuda-emulation.so" \
    "$ringside" bench --only ladder --device cuda --seconds 1 --threads 1 --json
check "products, but for the tensor cores'" test "$(points 'gpu product')" -eq 5
check "sums" test "$(points 'gpu sum')" -eq 4
check "softmax" test "$(points 'gpu softmax')" -eq 4
check "no share of a roof" test "$(grep -c '"series":"gpu .*"share"' <<<"$out")" -eq 0
check "labelled as what it is" grep -q 'Emulated on the host: no figure of a GPU' <<<"$out"
expect "bench on a GPU where there is none" 3 env RINGSIDE_CUDA_PLUGIN=/nowhere/plugin.so "$ringside" bench --only ladder --device cuda --seconds 1

expect "bench, allreduce" 0 "$ringside" bench --only allreduce --seconds 1 --json
check "the ring beside MPI, right" test "$(grep -c '"ev":"collective".*"error":' <<<"$out")" -eq 6
check "nothing else" test "$(points ladder)" -eq 0

expect "bench, training step, with the PyTorch there is" 0 "$ringside" bench --only train --seconds 1 --threads 1 --model mlp --json
check "our rate" test "$(points ringside)" -eq 1
if python3 -c 'import torch' 2>/dev/null || /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    check "beside PyTorch's, as a ratio" grep -qE '"peer":"PyTorch [0-9].*"ratio":[0-9.]+' <<<"$out"
else
    check "a sentence about PyTorch" grep -q '"ev":"note".*there is no peer' <<<"$out"
fi

expect "a part that is none" 2 "$ringside" bench --only lader
check "the sentence has those there are" grep -q "ladder, roofline, train, allreduce" <<<"$err"
expect "a model that is none" 2 "$ringside" bench --only roofline --model nonesuch
expect "no time at all" 2 "$ringside" bench --seconds 0
