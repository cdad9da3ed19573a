#!/bin/bash
# Runs as directories: list, watch, stop, replay, delete, prune; a job outlives who started it.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "runs" "mpirun is not installed"
    exit
fi

expect "an empty list" 0 "$ringside" runs
check "says that there are none" grep -q "no runs yet" <<<"$out"

expect "allreduce" 0 "$ringside" allreduce --bytes 4K,64K --iters 3 --check --label first
check "prints a row for each size and algorithm" test "$(grep -cE '^ +(4096|65536) .*(ring|mpi)' <<<"$out")" -eq 4
expect "allreduce --json" 0 "$ringside" allreduce --bytes 4K --iters 3 --algo ring --json --label second
second=$(ls "$runs" | grep second)
check "--json prints the stream as it is" cmp "$scratch/out" "$runs/$second/events.jsonl"
check "the last line is done" grep -q '"ev":"done"' <<<"$(tail -n 1 <<<"$out")"
check "before it, the job's last state" grep -q '"ev":"job","state":"done"' <<<"$(tail -n 2 <<<"$out" | head -n 1)"

expect "runs list" 0 "$ringside" runs list
check "lists both" test "$(grep -cE 'first|second' <<<"$out")" -eq 2
check "newest first" grep -q second <<<"$(sed -n 2p <<<"$out")"
expect "runs --json" 0 "$ringside" runs --json
check "one object a run" test "$(grep -c '^{"ev":"run","id":' <<<"$out")" -eq 2
expect "watching a run that has ended" 0 "$ringside" runs watch first --json
check "prints its stream" cmp "$scratch/out" "$runs/$(ls "$runs" | grep first)/events.jsonl"

# A run of one's own folder
expect "allreduce --out" 0 "$ringside" allreduce --bytes 4K --iters 2 --algo ring --out "$scratch/own dir/run"
check "the run lies there" test -s "$scratch/own dir/run/events.jsonl"
expect "an --out that is taken" 2 "$ringside" allreduce --bytes 4K --iters 2 --out "$scratch/own dir/run"
expect "runs knows of it" 0 "$ringside" runs --json
check "in the list" grep -q 'own dir/run\|-allreduce' <<<"$out"

# Stopping
run=$(endless --label long)
check "--detach prints an id" test -d "$runs/$run"
check "it runs" await has_event "$run" run
expect "a run that runs is not deleted" 2 "$ringside" runs delete "$run"
check "it is still there" test -d "$runs/$run"
expect "runs prune --keep 0 leaves it alone" 0 "$ringside" runs prune --keep 0
check "alone" test "$(ls "$runs" | wc -l)" -eq 1
check "with all its files" test -s "$runs/$run/events.jsonl"
expect "runs stop" 0 "$ringside" runs stop "$run"
check "it ends" await has_ended "$run"
check "as cancelled" state_is "$run" cancelled
check "its last line is done" last_event_is "$run" done
check "no TERM was needed" sh -c "! grep -qi 'signal 15' '$runs/$run/log'"
expect "stopping it again" 0 "$ringside" runs stop "$run"
check "says that it has ended" grep -q "has ended already" <<<"$out"
no_process_left "a stopped run"

# A terminal that closes: the job goes on, and watching it is a matter of coming back.
script=$scratch/terminal.sh
printf '#!/bin/bash\n"%s" allreduce --bytes 64K --iters 1000000 --algo ring --label survivor\n' "$ringside" >"$script"
setsid bash "$script" >/dev/null 2>&1 &
terminal=$!
check "a run is started in another session" await sh -c "ls '$runs' | grep survivor"
run=$(ls "$runs" | grep survivor)
check "and begins" await has_event "$run" run
kill -HUP -- "-$terminal" 2>/dev/null
wait "$terminal" 2>/dev/null
sleep 0.5
check "it goes on after the hangup" state_is "$run" running
"$ringside" runs watch "$run" >"$scratch/watch" 2>&1 &
watcher=$!
check "watching leaves a note" await test -s "$runs/$run/attached.jsonl"
kill -INT $watcher
wait $watcher
check "Ctrl-C ends the watching well" test $? -eq 0
check "and the run goes on" state_is "$run" running
expect "stop it" 0 "$ringside" runs stop survivor
check "it has ended" await has_ended "$run"
expect "watching a stopped run" 1 "$ringside" runs watch "$run"

# Ctrl-C in the foreground
"$ringside" allreduce --bytes 64K --iters 1000000 --algo ring --label foreground >/dev/null 2>"$scratch/err" &
own=$!
check "a run in the foreground" await sh -c "ls '$runs' | grep foreground"
run=$(ls "$runs" | grep foreground)
check "has begun" await has_event "$run" run
kill -INT $own
wait $own
check "Ctrl-C gives exit code 1" test $? -eq 1
check "says what it does" grep -q "stopping the run" "$scratch/err"
check "and stops the run" state_is "$run" cancelled
no_process_left "a run stopped by Ctrl-C"

# Replay
expect "a run to play again" 0 "$ringside" allreduce --bytes 4K --iters 3 --algo ring --label record
recording=$(ls "$runs" | grep record)
expect "runs replay" 0 "$ringside" runs replay record --speed 0 --json
check "says that it is a replay" grep -q '"ev":"run","origin":"replay"' <<<"$out"
strip() { grep -vE '"ev":"(job|run)"' "$1" | sed 's/"wall_s":[0-9.e-]*//'; }
replay=$(ls "$runs" | grep replay)
check "with the recording's events and times" cmp <(strip "$runs/$recording/events.jsonl" | grep -v '"ev":"done"') \
    <(strip "$runs/$replay/events.jsonl" | grep -v '"ev":"done"')
check "and its end" last_event_is "$replay" done
expect "a replay can be played" 0 "$ringside" runs replay "$replay" --speed 1000
expect "a speed that is none" 2 "$ringside" runs replay record --speed fast
expect "replay needs no mpirun" 0 env PATH=/nonexistent "$ringside" runs replay "$recording" --speed 0

# The pace of a replay that plays: paused, it tells nothing more; as fast as it goes, it ends at once.
paced=$("$ringside" runs replay first-training --speed 1 --detach)
check "a recording plays" await has_event "$paced" run
expect "runs speed: pause" 0 "$ringside" runs speed "$paced" pause
sleep 0.5
before=$(wc -l <"$runs/$paced/events.jsonl")
sleep 0.8
check "nothing comes while it is paused" test "$(wc -l <"$runs/$paced/events.jsonl")" -eq "$before"
"$ringside" --open "run:$paced" --script 'sleep 0.3 > p' >/dev/null
check "its view goes on, twice as fast" bash -c 'grep -q "\"speed\": 2" "$1" && grep -q "\"paused\": false" "$1"' - \
    "$runs/$paced/replay.json"
expect "a pace that is none" 2 "$ringside" runs speed "$paced" quickly
expect "runs speed: as fast as it goes" 0 "$ringside" runs speed "$paced" 0
check "and ends" await has_ended "$paced"
expect "an ended replay has no speed to change" 2 "$ringside" runs speed "$paced" 2
expect "nor has what is no replay" 2 "$ringside" runs speed "$recording" 2
check "and says so" grep -q "is no replay" <<<"$err"
"$ringside" runs delete "$paced" >/dev/null

# Deleting
expect "runs delete" 0 "$ringside" runs delete "$recording"
check "it is gone" test ! -e "$runs/$recording"
expect "a run that is not there" 2 "$ringside" runs delete "$recording"
"$ringside" runs replay ring-4 --speed 0 --json >/dev/null
newest=$("$ringside" runs --json | grep -v replay | head -n 1 | sed 's/.*"id":"\([^"]*\)".*/\1/')
before=$(ls "$runs" | wc -l)
expect "runs prune --dry-run" 0 "$ringside" runs prune --keep 1 --dry-run
check "says what would go" test "$(grep -c ': would be deleted$' <<<"$out") $(ls "$runs" | wc -l)" = "$((before - 1)) $before"
expect "runs prune" 0 "$ringside" runs prune --keep 1
check "a replay goes before a run that was measured" test -d "$runs/$newest"
check "one is left" test "$(ls "$runs" | wc -l)" -eq 1
expect "runs delete --all" 0 "$ringside" runs delete --all
check "none is left" test -z "$(ls "$runs")"
no_process_left "all of it"
