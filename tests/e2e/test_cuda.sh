#!/bin/bash
# Jobs on GPUs, by the same kernels emulated on the host (never a GPU's result): they train what the CPU trains, alone, two on one
# GPU by the host's memory, and with a GPU each by NCCL's stand-in; and what there is to say where there is no GPU.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

emulation=$PWD/$build/ringside-cuda-emulation.so
export RINGSIDE_CUDA_PLUGIN=$emulation OMP_NUM_THREADS=1
train() { "$ringside" train --threads 1 --trace 0 --json --seed 3 "$@"; }
of() { grep "\"ev\":\"$1\"" <<<"$out" | tail -n 1 | sed -n "s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
close() { awk "BEGIN { d = $1 - $2; exit !($1 > 0 && d < 1e-4 && -d < 1e-4) }"; }
mlp=(--model mlp --data synthetic:1x28x28:10:48 --batch 4 --steps 4)

like_cpu() { # NAME OPTION...: the same job on the CPU and on the emulated GPU
    local name=$1 loss
    shift
    expect "$name on the CPU" 0 train "$@" --device cpu
    loss=$(of done loss)
    expect "$name on the emulated GPU" 0 train "$@" --device cuda
    check "$name: the CPU's loss" close "$(of done loss)" "$loss"
    check "$name: the run names the device, and that it is none" test "$(of run device)" = 'cuda (emulation)'
    check "$name: so do its ranks" test "$(of rank device)" = 'cuda (emulation)'
}
models() {
    like_cpu mlp --ranks 1 "${mlp[@]}"
    like_cpu cnn --ranks 1 --model cnn --data synthetic:1x28x28:10:16 --batch 2 --steps 2
    # text_rnn, but for its 10 000 words, through all of which the emulated Adam would go
    echo 'return model{embedding{50, 8}, simple_rnn{6, last = true}, dense{1}, input = {tokens = 20}, loss = "bce"}' \
        >"$scratch/text_rnn.lua"
    like_cpu text_rnn --ranks 1 --model "$scratch/text_rnn.lua" --data synthetic:20@50:2:32 --batch 4 --steps 4
}
ranks() {
    RINGSIDE_EMULATION_DEVICES=1 like_cpu "two ranks on one GPU" --ranks 2 "${mlp[@]}"
    local hash=$(of done hash)
    check "gradients go through the host's memory, and the run says so" \
        grep -q "gradients go through the host's memory: two ranks share one GPU" <<<"$out"
    RINGSIDE_EMULATION_DEVICES=2 expect "a GPU for each rank" 0 train --ranks 2 "${mlp[@]}" --device cuda
    check "auto takes NCCL, and the run says so" grep -q 'auto takes NCCL (emulation)' <<<"$out"
    check "the same parameters" test "$(of done hash)" = "$hash"
    RINGSIDE_EMULATION_DEVICES=2 expect "in buckets beside backward" 0 train --ranks 2 "${mlp[@]}" --device cuda \
        --algo nccl --bucket 1K
    check "the same parameters again" test "$(of done hash)" = "$hash"
    check "in several allreduces" test "$(of step buckets)" -gt 1
    RINGSIDE_EMULATION_DEVICES=1 expect "as many ranks as GPUs" 0 train "${mlp[@]}" --steps 1 --device cuda
    check "that is one here" test "$(of run ranks)" = 1
    RINGSIDE_EMULATION_DEVICES=1 expect "two ranks on one GPU cannot have NCCL" 2 train --ranks 2 "${mlp[@]}" \
        --device cuda --algo nccl
    check "and are told why" grep -q 'nccl wants a GPU for each rank' <<<"$err"
    RINGSIDE_EMULATION_DEVICES=2 expect "an allreduce by NCCL" 0 "$ringside" allreduce --algo ring,nccl --bytes 1K,60000 \
        --iters 2 --check --json
    check "its sums are right" test "$(grep '"algo":"nccl"' <<<"$out" | grep -cE '"error":[0-9.]+e-(0[6-9]|[6-9]),')" = 2
}
relative() { # ranks run in another folder than the caller
    RINGSIDE_CUDA_PLUGIN=$build/ringside-cuda-emulation.so expect "a plugin by a relative path" 0 \
        train --ranks 1 "${mlp[@]}" --steps 1 --device cuda
    cd "$build" || return
    RINGSIDE_CUDA_PLUGIN=ringside-cuda-emulation.so expect "and by its name alone" 0 "$ringside" doctor --json
    check "is found there" grep -q '"what":"CUDA plugin","result":"found"' <<<"$out"
}
readings() { # NVML stood for by a library that says 93 %, 12 of 141 GB, and no power
    mkdir "$scratch/lib"
    cp "$build/tests/plugins/nvml.so" "$scratch/lib/libnvidia-ml.so.1"
    expect "readings of the GPU" 0 env LD_LIBRARY_PATH="$scratch/lib:${LD_LIBRARY_PATH:-}" "$ringside" train --threads 1 \
        --trace 0 --ranks 1 "${mlp[@]}" --device cuda
    check "in the report" grep -qE '^ +0  GPU  busy 93 %  memory 12 GB of 141 GB$' <<<"$out"
    check "and in the stream" grep -q '"util":0.93,.*"gpu_used_bytes":12000000000' "$RINGSIDE_HOME"/runs/*/events.jsonl
}
refusals() {
    RINGSIDE_EMULATION_MEMORY=460000 expect "too little memory" 1 train --ranks 2 "${mlp[@]}" --device cuda
    check "rank, host, GPU, what was asked for and what is free" grep -qE \
        "rank 0 on [^ ]+: GPU 0 \(cuda \(emulation\)\) has no room for .*: 407.1 kB were asked for and .* of its 460 kB are free; choose" <<<"$err"
    check "the run has ended" grep -q '"ev":"done".*"ok":false' "$RINGSIDE_HOME"/runs/*/events.jsonl
    expect "a run on the CPU" 0 train --ranks 1 "${mlp[@]}" --device cpu --out "$scratch/before"
    expect "goes on on the GPU" 0 train --resume "$scratch/before" --device cuda --steps 6
    check "from where it was" test "$(of step step)" = 6
    expect "reproducible is the CPU's" 2 train --device cuda --reproducible
    export RINGSIDE_CUDA_PLUGIN=$PWD/$build/tests/plugins/declines.so
    expect "no GPU" 3 train --ranks 1 "${mlp[@]}" --device cuda
    check "what is missing" grep -q 'no GPU: this plugin has never seen one' <<<"$err"
    expect "auto takes the CPU" 0 train --ranks 1 "${mlp[@]}" --device auto
    check "and says why" grep -q '"ev":"note".*device auto takes the CPU (no GPU: this plugin has never seen one)' <<<"$out"
    check "the run names the CPU" test "$(of run device)" = cpu
    RINGSIDE_CUDA_PLUGIN=$PWD/$build/tests/plugins/old.so expect "a plugin of another version" 3 train --ranks 1 \
        "${mlp[@]}" --device cuda
    check "is named" grep -q 'old.so is of version 99' <<<"$err"
    RINGSIDE_CUDA_PLUGIN=$scratch/none.so expect "a plugin that is not there" 3 train --ranks 1 "${mlp[@]}" --device cuda
    check "is named, too" grep -q 'none.so, which is not there' <<<"$err"
}
# What a driver, or the lack of it, makes the plugin say.
missing() { # NAME VARIABLE=VALUE SENTENCE
    expect "$1" 0 env "$2" "$build/ringside-rank" --gpus
    check "$1: what is missing and what to do" grep -qE "\"missing\":\"no GPU: $3; [^\"]+\"" <<<"$out"
}
drivers() {
    missing "no driver" RINGSIDE_EMULATION_DRIVER=0 'this host has no NVIDIA driver \(libcuda.so.1\)'
    missing "an old driver" RINGSIDE_EMULATION_DRIVER=12040 \
        'the NVIDIA driver of this host is good for CUDA 12.4 and the plugin was built with CUDA [0-9.]+'
    missing "no GPU for this job" RINGSIDE_EMULATION_DEVICES=0 'the NVIDIA driver is here, but it shows this job no GPU'
}
# A GPU that the plugin's code was not compiled for: found when it is looked at, not in the middle of a job.
other_gpu() {
    local unfit='no GPU: GPU 0 \(cuda \(emulation\)\) does not take this plugin.s kernels: '
    export RINGSIDE_EMULATION_LAUNCH=222
    expect "PTX that is too new for the driver" 3 train --ranks 1 "${mlp[@]}" --device cuda
    check "is told with its cure" grep -qE "${unfit}the provided PTX .*\(make CUDA_ARCHS=80\)" <<<"$err"
    expect "auto takes the CPU then" 0 train --ranks 1 "${mlp[@]}" --steps 1 --device auto
    check "and says so" grep -qE "device auto takes the CPU \($unfit" <<<"$out"
    RINGSIDE_EMULATION_LAUNCH=209 expect "doctor on a GPU that has no code" 0 "$ringside" doctor --json
    check "does not call it found" grep -qE '"what":"CUDA plugin","result":"missing".*no kernel image.*CUDA_ARCHS=80' <<<"$out"
}
doctor() {
    expect "doctor" 0 "$ringside" doctor --json
    check "finds the emulated GPU" grep -q '"what":"CUDA plugin","result":"found".*1 GPU: cuda (emulation)' <<<"$out"
    RINGSIDE_CUDA_PLUGIN=$PWD/$build/tests/plugins/declines.so expect "doctor without one" 0 "$ringside" doctor --json
    check "says why not" grep -q '"what":"CUDA plugin","result":"missing".*"cause":"this plugin has never seen one"' <<<"$out"
    if [ ! -e "$build/ringside-cuda.so" ]; then
        skip "the plugin for GPUs declines politely" "it was not built here"
    elif [ -e /dev/nvidiactl ]; then
        skip "the plugin for GPUs declines politely" "there is a GPU"
    else
        unset RINGSIDE_CUDA_PLUGIN
        expect "the plugin for GPUs loads, and there is none" 3 train --ranks 1 "${mlp[@]}" --device cuda
        check "it declines politely" grep -q 'no GPU: this host has no NVIDIA driver' <<<"$err"
    fi
}
beside models
beside ranks
beside relative
beside readings
beside refusals
beside doctor
beside drivers
beside other_gpu
together
