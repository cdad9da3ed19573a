#!/bin/bash
# What goes wrong: killed, stopped and silent ranks, a killed supervisor, a full disk, a small /dev/shm, a queue.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "faults" "mpirun is not installed"
    exit
fi
fault_is() { grep '"ev":"fault"' "$runs/$1/events.jsonl" | grep "\"rank\":$2" | grep -q "\"kind\":\"$3\""; }
begin() { # NAME: starts an endless run, sets $run, waits for its ranks
    run=$(endless --label "$1")
    check "$1: the ranks have started" await rank_pid "$run" 1
    check "$1: the run has begun" await has_event "$run" run
}

begin killed
kill -KILL "$(rank_pid "$run" 1)"
check "killed: the run ends" await has_ended "$run"
check "killed: it has failed" state_is "$run" failed
check "killed: the rank is named" fault_is "$run" 1 dead
check "killed: the reason names it, too" grep -q '"reason": "rank 1 ' "$runs/$run/status.json"
check "killed: the last line is done" last_event_is "$run" done
expect "killed: who watches learns it" 1 "$ringside" runs watch "$run"
check "killed: in one sentence" grep -q "rank 1 on .* was ended by signal 9" <<<"$err"
no_process_left killed

begin stopped
kill -STOP "$(rank_pid "$run" 1)"
check "stopped: the run ends" await has_ended "$run"
check "stopped: the rank is named" fault_is "$run" 1 stopped
check "stopped: it has failed" state_is "$run" failed
no_process_left stopped

begin term
kill -TERM "$(supervisor_of "$run")"
check "SIGTERM to the supervisor: the run ends" await has_ended "$run"
check "SIGTERM to the supervisor: cancelled" state_is "$run" cancelled
check "SIGTERM to the supervisor: the last line is done" last_event_is "$run" done
no_process_left term

begin lost
kill -KILL "$(supervisor_of "$run")"
is_lost() { "$ringside" runs --json | grep "\"id\":\"$run\"" | grep -q '"state":"lost"'; }
check "a killed supervisor: the run shows as lost" await is_lost
expect "a killed supervisor: watching says so" 1 "$ringside" runs watch "$run"
check "a killed supervisor: in one sentence" grep -q "the run is lost" <<<"$err"
no_process_left "a killed supervisor"
expect "a lost run can be deleted" 0 "$ringside" runs delete "$run"

begin orphans
mpirun=$(for p in $(processes); do tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^[^ ]*mpirun " && echo "$p"; done)
kill -KILL $mpirun
check "a killed mpirun: the run ends" await has_ended "$run"
check "a killed mpirun: it has failed" state_is "$run" failed
no_process_left "a killed mpirun"

# Two runs of two ranks on a node that allows two
export RINGSIDE_LOCAL_RANKS=2
expect "more ranks than the node allows" 2 "$ringside" allreduce --ranks 3
check "says how to raise it" grep -q "local_ranks = 3" <<<"$err"
first=$(endless --label queue-a)
check "the first of two runs" await has_event "$first" run
second=$(endless --label queue-b)
third=$(endless --label queue-c)
check "the second waits" state_is "$second" pending
check "and says where in the queue" await grep -q '"state":"pending","position":1' "$runs/$second/events.jsonl"
check "the third is behind it" await grep -q '"state":"pending","position":2' "$runs/$third/events.jsonl"
check "a run that waits starts no ranks" test -z "$(rank_pids "$second")"
"$ringside" runs stop "$second" >/dev/null
check "a run that waits can be stopped" await state_is "$second" cancelled
check "the next one moves up" await grep -q '"state":"pending","position":1' "$runs/$third/events.jsonl"
"$ringside" runs stop "$first" >/dev/null
check "and runs when the first has ended" await has_event "$third" run
kill -KILL "$(supervisor_of "$third")"
fourth=$(endless --label queue-d)
check "a crash leaves no slot taken" await has_event "$fourth" run
"$ringside" runs stop --all >/dev/null
check "stop --all" await has_ended "$fourth"
unset RINGSIDE_LOCAL_RANKS
no_process_left "the queue"

# Disks that are full or read-only, in a mount namespace of our own
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
    skip "full and read-only disks, a small /dev/shm" "needs root and mount namespaces"
    exit
fi
cat >"$scratch/full.sh" <<'SCRIPT'
set -u
mount -t tmpfs -o size=1m tmpfs "$RINGSIDE_HOME" || exit 9
run=$("$ringside" allreduce --detach --bytes 64K --iters 1000000 --algo ring) || exit 8
dir=$RINGSIDE_HOME/runs/$run
for i in $(seq 600); do grep -q '"ev":"run"' "$dir/events.jsonl" && break; sleep 0.1; done
cat /dev/zero >"$RINGSIDE_HOME/fill" 2>/dev/null
"$ringside" allreduce --bytes 4K 2>"$copy/start.err"
echo $? >"$copy/start.code"
ls "$RINGSIDE_HOME/runs" >"$copy/start.runs"
for i in $(seq 600); do grep -qE '"state": "failed"' "$dir/status.json" && break; sleep 0.1; done
cp "$dir"/* "$copy"
SCRIPT
export ringside copy=$scratch/copy
mkdir -p "$copy" "$scratch/full"
RINGSIDE_HOME=$scratch/full unshare -m bash "$scratch/full.sh" >"$scratch/full.out" 2>&1
check "a disk that fills up: the run ends as failed" grep -q '"state": "failed"' "$copy/status.json"
check "a disk that fills up: the reason says so" grep -qi '"reason": ".*no space' "$copy/status.json"
check "a disk that fills up: the last line is whole, and done" grep -q '"ev":"done"' <<<"$(tail -n 1 "$copy/events.jsonl")"
check "a disk that fills up: every line is whole" sh -c "! grep -qvE '^\{.*\}\$' '$copy/events.jsonl'"
check "a start on a full disk: exit code 3" test "$(cat "$copy/start.code")" = 3
check "a start on a full disk: one sentence" grep -qi 'no space' "$copy/start.err"
check "a start on a full disk: nothing half-written" test "$(wc -l <"$copy/start.runs")" -eq 1
no_process_left "a full disk"

mkdir -p "$scratch/readonly"
expect "a read-only home" 3 unshare -m sh -c \
    "mount -t tmpfs -o ro tmpfs '$scratch/readonly' && RINGSIDE_HOME='$scratch/readonly/home' '$ringside' allreduce"
check "a read-only home: one sentence with the cure" grep -q "Read-only file system; set RINGSIDE_HOME" <<<"$err"

expect "a tiny /dev/shm" 0 unshare -m sh -c \
    "mount -t tmpfs -o size=1m tmpfs /dev/shm && '$ringside' allreduce --bytes 1K,8M --iters 3 --check"
check "a tiny /dev/shm: it says what it does" grep -q "/dev/shm has" <<<"$out"
check "a tiny /dev/shm: the sums are there" test "$(grep -cE '^ +(1024|8388608) ' <<<"$out")" -eq 4
expect "no /dev/shm to write to" 0 unshare -m sh -c \
    "mount -t tmpfs -o ro tmpfs /dev/shm && '$ringside' allreduce --bytes 1K,8M --iters 3 --check"
no_process_left "a tiny /dev/shm"
