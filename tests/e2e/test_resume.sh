#!/bin/bash
# Checkpoints and --resume: the loss curve goes on bit for bit, from any end; what is refused; what a kill leaves behind.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "resume" "mpirun is not installed"
    exit
fi
train=("$ringside" train --threads 1 --json)
plan=(--model mlp --ranks 2 --batch 32 --epochs 2)
# Step, loss, rate and gradient of every step, and the parameters' hash of every test.
curve() { sed -nE '/"ev":"(step|eval)"/{s/.*"(step)":([0-9]+),/\2 /;s/"(samples_per_s|compute_s|comm_s|exposed_comm_s|data_s)":[^,}]*,?//g;p}'; }
id_of() { basename "$runs"/*-"$1"; }
saved() { (cd "$runs/$(id_of "$1")/checkpoints" && echo step-*); }

expect "40 steps" 0 "${train[@]}" "${plan[@]}" --steps 40 --label straight
curve <<<"$out" >"$scratch/straight"
expect "20 steps" 0 "${train[@]}" "${plan[@]}" --steps 20 --label half
curve <<<"$out" | grep -v hash >"$scratch/parts"
expect "and 20 more" 0 "${train[@]}" --resume half --steps 40 --label rest
curve <<<"$out" >>"$scratch/parts"
check "is the curve of 40, bit for bit" cmp "$scratch/straight" "$scratch/parts"
check "of 40 steps and a test" test "$(wc -l <"$scratch/parts")" -eq 41
check "the run says what it goes on with" grep -q '"ev":"run".*"resumed":"[^"]*half","first_step":20' <<<"$out"
check "a checkpoint at the end" test "$(saved rest)" = "step-40.safetensors"
check "of a tenth of a million numbers, thrice" test "$(stat -c %s "$runs/$(id_of rest)/checkpoints/step-40.safetensors")" -gt 1221240

# Plain sums of other ranks round otherwise; after 20 steps that is still little.
expect "on 4 ranks" 0 "${train[@]}" --resume half --ranks 4 --steps 40 --label four
check "the global batch stays" grep -q '"batch":16,"global_batch":64' <<<"$out"
losses() { sed -nE '/"ev":"step"/s/.*"loss":([-0-9.e]+).*/\1/p'; }
losses <"$runs/$(id_of rest)/events.jsonl" >"$scratch/two"
losses <"$runs/$(id_of four)/events.jsonl" >"$scratch/four"
check "equal but for rounding" sh -c "paste '$scratch/two' '$scratch/four' |
    awk '{ d = \$1 - \$2; if (d < 0) d = -d; if (d > w) w = d; n++ } END { print n, w; exit !(n == 20 && w <= 1e-4) }'"
expect "3 ranks cannot share it" 2 "$ringside" train --resume half --ranks 3 --steps 40
check "one sentence says so" grep -q "global batch of 64, which 3 ranks cannot share evenly" <<<"$err"

expect "all steps done already" 2 "$ringside" train --resume straight
check "one sentence says what to give" grep -q "has done 40 steps, and this one is to end after 40: choose more" <<<"$err"
expect "another model" 2 "$ringside" train --resume half --steps 40 --model cnn
check "one sentence names what differs" grep -q "^ringside: .* is of another model: layer" <<<"$err"
as_events=$err
expect "another model, without events" 2 "$ringside" train --threads 1 --resume half --steps 40 --model cnn
check "the same sentence" test "$err" = "$as_events"
expect "another optimiser" 2 "$ringside" train --resume half --steps 40 --optimizer sgd
check "one sentence names both" grep -q "state of adam, but this run's optimizer is sgd" <<<"$err"
expect "another global batch" 2 "$ringside" train --resume half --steps 40 --batch 16
check "one sentence names both" grep -q "64 samples a step, this one has 32" <<<"$err"
expect "another seed" 0 "${train[@]}" --resume half --steps 21 --seed 9 --label seed
check "a note says what that changes" grep -q '"ev":"note".*went by seed 1 and goes on by 9' <<<"$out"
expect "data that have grown" 0 "${train[@]}" --model mlp --data synthetic:1x28x28:10:400 --steps 3 --batch 8 --label grown
expect "are refused" 2 "$ringside" train --resume grown --data synthetic:1x28x28:10:500 --steps 6
check "one sentence tells both sizes" grep -q "a run on 400 samples, and the data have 500 now" <<<"$err"
expect "no such run" 2 "$ringside" train --resume nothing
expect "a run that trains nothing" 0 "$ringside" allreduce --bytes 4K --iters 2 --algo tree --label sums
expect "has no checkpoint" 2 "$ringside" train --resume sums
check "one sentence says so" grep -q "trained no model" <<<"$err"

cat >"$scratch/resume.lua" <<'LUA'
local rest = train { resume = "half", steps = 40, threads = 1 }
print(string.format("loss %.10f after %d steps", rest.loss, #rest.steps))
LUA
expect "the same from Lua" 0 "$ringside" run "$scratch/resume.lua"
loss=$(sed -nE '/"ev":"eval"/s/.*"loss":([0-9.]+).*/\1/p' "$runs/$(id_of rest)/events.jsonl")
check "ends with the same loss" grep -q "^loss $(printf %.10f "$loss") after 20 steps" <<<"$out"

expect "every 3 steps" 0 "${train[@]}" "${plan[@]}" --steps 10 --checkpoint-every 3 --label often
check "the last two are kept" test "$(saved often)" = "step-10.safetensors step-9.safetensors"
check "each was told" test "$(grep -c '"ev":"checkpoint"' <<<"$out")" -eq 4
truncate -s -1000 "$runs/$(id_of often)/checkpoints/step-10.safetensors"
expect "the last one is torn" 0 "${train[@]}" --resume often --steps 20 --label torn
check "a note tells of it" grep -q '"ev":"note".*step-10.*going on from the checkpoint of step 9' <<<"$out"
curve <<<"$out" | head -n 11 >"$scratch/torn"
check "the one before does it too" cmp "$scratch/torn" <(sed -n 10,20p "$scratch/straight")

rm "$runs/$(id_of often)"/checkpoints/*
mkdir "$runs/$(id_of often)/checkpoints/step-10.safetensors"
expect "a checkpoint that is a folder" 2 "${train[@]}" --resume often --steps 20
check "is told so" grep -q "^ringside: .*step-10.safetensors is a folder" <<<"$err"

# Where nothing can be written the training goes on, and says so.
run=$("$ringside" train "${plan[@]}" --threads 1 --pause 0.02 --steps 60 --checkpoint-every 50 --out "$scratch/full" --detach)
touch "$scratch/full/checkpoints"
full_ended() { grep -q '"state": "done"' "$scratch/full/status.json"; }
check "a full disk: the training ends well" await full_ended
expect "a full disk: who follows it" 0 "$ringside" runs watch "$scratch/full"
check "a full disk: standard error says so once" test "$(grep -c "^ringside: no checkpoint after step 50" <<<"$err")" = "$(wc -l <<<"$err")"
check "a full disk: the last line says that nothing was kept" grep -q "^nothing was kept" <<<"$(tail -n 1 <<<"$out")"
check "a full disk: a note says what is missing" grep -q '"level":"warn","text":"no checkpoint after step 50' "$scratch/full/events.jsonl"

# A stop keeps the last step; a kill, whatever was written last.
run=$("$ringside" train "${plan[@]}" --threads 1 --pause 0.02 --checkpoint-every 5 --label stopped --detach)
check "a long run" await has_event "$run" checkpoint
"$ringside" runs stop "$run" >/dev/null
check "stopped" await has_ended "$run"
last=$(grep '"ev":"step"' "$runs/$run/events.jsonl" | tail -n 1 | sed -E 's/.*"step":([0-9]+).*/\1/')
check "is kept up to its last step" test -s "$runs/$run/checkpoints/step-$last.safetensors"
run=$("$ringside" train "${plan[@]}" --threads 1 --pause 0.02 --checkpoint-every 5 --label killed --detach)
check "another" await has_event "$run" checkpoint
kill -KILL "$(rank_pid "$run" 1)"
check "killed" await has_ended "$run"
expect "goes on" 0 "${train[@]}" --resume killed --steps 40 --pause 0
check "to the same end" test "$(curve <<<"$out" | tail -n 1 | grep -o '"hash.*')" = "$(tail -n 1 "$scratch/straight" | grep -o '"hash.*')"
no_process_left "resume"
