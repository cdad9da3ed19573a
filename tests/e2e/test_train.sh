#!/bin/bash
# `ringside train` as a command: report, events, bounds, folders, and training that is interfered with.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "train" "mpirun is not installed"
    exit
fi
quick=(--model mlp --ranks 2 --batch 16 --threads 1)

expect "train as text" 0 "$ringside" train "${quick[@]}" --steps 40 --label text
check "says what it trains" grep -q "^mlp on mnist: 2 ranks, batch 16 each (global batch 32), 101 770 parameters" <<<"$out"
check "the report has the accuracy" grep -qE '^test accuracy +[0-9.]+ %' <<<"$out"
check "and the whole job's speed" grep -qE '^samples/s +[0-9 ]+ \(whole job' <<<"$out"
check "and where a step's time goes" grep -qE "^a step's time +compute [0-9]+ %, communication" <<<"$out"
check "and a row for each rank" test "$(grep -cE '^ +[01]  .* ms' <<<"$out")" -eq 2
check "and a plot of the loss" test "$(grep -c '│' <<<"$out")" -eq 12
check "no control characters without a terminal" sh -c "! grep -q '[[:cntrl:]]' '$scratch/out'"
expect "the same in a locale without UTF-8" 0 env LC_ALL=C "$ringside" runs watch text
check "the plot is ASCII" test "$(grep -c '^ .*|.*' <<<"$out")" -eq 12
check "all of it" sh -c "! LC_ALL=C grep -q '[^ -~]' '$scratch/out'"

expect "train --json" 0 "$ringside" train "${quick[@]}" --steps 12 --json --label json
check "prints the stream as it is" cmp "$scratch/out" "$runs/$(ls "$runs" | grep json)/events.jsonl"
check "every line is an event with a time" test "$(grep -cvE '^\{"t":[0-9.e-]+,"ev":"[a-z_]+"' <<<"$out")" -eq 0
check "done comes last" grep -q '"ev":"done"' <<<"$(tail -n 1 <<<"$out")"
check "with ok, wall time, accuracy and loss" grep -qE '"ok":true.*"wall_s":' <<<"$(tail -n 1 <<<"$out")"
check "one step event for each of the first steps" test "$(grep -c '"ev":"step"' <<<"$out")" -eq 12
check "no heartbeats in the stream" test "$(grep -c heartbeat <<<"$out")" -eq 0
times=$(sed -nE 's/^\{"t":([0-9.]+),"ev":"step".*/\1/p' <<<"$out")
check "steps in order of time" test "$times" = "$(sort -g <<<"$times")"

expect "train --seconds" 0 "$ringside" train "${quick[@]}" --seconds 1 --json
check "trains for that long" awk '{ exit !($1 >= 1) }' <<<"$(sed -nE 's/.*"wall_s":([0-9.]+).*/\1/p' <<<"$out")"
expect "one rank" 0 "$ringside" train --model mlp --ranks 1 --steps 5
expect "more ranks than cores" 0 "$ringside" train --model mlp --ranks $(($(nproc) + 1)) --steps 5 --threads 1
check "says that the figures show no scaling" grep -q "nothing about scaling" <<<"$out"
expect "--out" 0 "$ringside" train "${quick[@]}" --steps 3 --out "$scratch/elsewhere/run"
check "a run of one's own folder" test -s "$scratch/elsewhere/run/events.jsonl"
expect "a folder of data that is wrong" 2 "$ringside" train --data "$scratch/elsewhere"
mkdir -p "$scratch/torn"
cp exercises/data/mnist/*.gz "$scratch/torn"
for file in "$scratch"/torn/t*images*; do truncate -s 1000 "$file"; done
expect "data that are torn" 2 "$ringside" train "${quick[@]}" --steps 3 --data "$scratch/torn"
check "one sentence names the file" grep -q "$scratch/torn/.*images" <<<"$err"

# A terminal: one line of progress that is rewritten, and none of it left at the end.
if command -v script >/dev/null; then
    script -qec "'$ringside' train ${quick[*]} --steps 300 --label terminal" "$scratch/typescript" >/dev/null 2>&1 </dev/null
    check "a terminal sees progress" grep -qE 'step [0-9]+/300  loss' "$scratch/typescript"
    check "and the report" grep -q "test accuracy" "$scratch/typescript"
else
    skip "a terminal sees progress" "there is no script(1)"
fi

# Interference
long=(train --model mlp --ranks 2 --batch 16 --threads 1 --steps 1000000 --pause 0.02)
begin() {
    run=$("$ringside" "${long[@]}" --detach --label "$1")
    check "$1: trains" await has_event "$run" step
}
begin stop
"$ringside" runs stop "$run" >/dev/null
check "stop: ends" await has_ended "$run"
check "stop: cancelled" state_is "$run" cancelled
check "stop: the last step is kept" grep -q '"ev":"step"' "$runs/$run/events.jsonl"
begin killed
kill -KILL "$(rank_pid "$run" 1)"
check "killed: ends" await has_ended "$run"
check "killed: the rank is named" grep -q '"reason": ".*rank 1' "$runs/$run/status.json"
begin zero
kill -KILL "$(rank_pid "$run" 0)"
check "rank 0 killed: ends" await has_ended "$run"
check "rank 0 killed: the rank is named" grep -q '"reason": ".*rank 0' "$runs/$run/status.json"
check "rank 0 killed: the last line is done" last_event_is "$run" done
begin halted
kill -STOP "$(rank_pid "$run" 0)"
check "rank 0 stopped: ends" await has_ended "$run"
check "rank 0 stopped: it is named" grep -q '"kind":"stopped"' "$runs/$run/events.jsonl"
no_process_left "training"
