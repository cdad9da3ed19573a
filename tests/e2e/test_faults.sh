#!/bin/bash
# What goes wrong: killed, stopped and silent ranks, a killed supervisor, a full disk, a small /dev/shm, a queue.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "faults" "mpirun is not installed"
    exit
fi
fault_is() { grep '"ev":"fault"' "$runs/$1/events.jsonl" | grep "\"rank\":$2" | grep -q "\"kind\":\"$3\""; }
# What the others wait for, as the fault event says it; DRE is a basic regular expression.
waits_for() { grep '"ev":"fault"' "$runs/$1/events.jsonl" | grep -q "\"waiting_for\":\"$2"; }
begin() { # NAME [COMMAND...]: starts an endless run, sets $run, waits for its ranks
    local name=$1
    shift
    run=$("${@:-endless}" --label "$name" 2>/dev/null)
    check "$name: the ranks have started" await rank_pid "$run" 1
    check "$name: the run has begun" await has_event "$run" run
}
# ends NAME RANK KIND WAITING-FOR: the run, by itself, and says why
ends() {
    check "$1: the run ends by itself" await has_ended "$run"
    check "$1: it has failed" state_is "$run" failed
    check "$1: the rank is named, as $3" fault_is "$run" "$2" "$3"
    check "$1: with its host" grep -q "\"ev\":\"fault\",\"rank\":$2,\"host\":\"$(hostname)\"" "$runs/$run/events.jsonl"
    check "$1: and what the others wait for" waits_for "$run" "$4"
    check "$1: there is one fault" test "$(grep '"ev":"fault"' "$runs/$run/events.jsonl" | grep -vc '"kind":"slow"')" = 1
    check "$1: the reason names the rank, too" grep -q "\"reason\": \"rank $2 on " "$runs/$run/status.json"
    check "$1: the last line is done" last_event_is "$run" done
    expect "$1: who watches learns it" 1 "$ringside" runs watch "$run"
    check "$1: in one sentence, with what the others wait for" grep -q "rank $2 on .*; the others wait for: $4" <<<"$err"
    no_process_left "$1"
}
training() { "$ringside" train --detach --ranks 2 --batch 16 --seconds 300 "$@"; }
# In a bench they also meet between two operations, in training also to compare notes.
summing='\(barrier beside \|maximum of [0-9]* numbers* beside \|gathering .* beside \)*allreduce (ring) of 16384 f32 elements, \(before \)*iteration [0-9]'
learning='\(allreduce (ring) of [0-9]* f32 elements\|gathering of [0-9]* bytes from each rank\|maximum of 2 numbers\), in step [0-9]'
# Where a rank dies the job ends at once: on a busy machine the others may not have come as far.
yet='\(nothing yet (rank [0-9] [a-z ]*\|the measurement of the links\|barrier\|maximum of\|broadcast of\|gathering of\|sum of\)'

# Cases that mostly wait go on beside each other, each function in a home of its own.
deaths() {
    begin killed
    kill -KILL "$(rank_pid "$run" 1)"
    ends killed 1 dead "\($summing\|$yet\)"
    check "killed: with the signal" grep -q "rank 1 on .* was ended by signal 9" <<<"$err"

    begin killed-0
    kill -KILL "$(rank_pid "$run" 0)"
    ends killed-0 0 dead "\($summing\|$yet\)"

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
}

stops() {
    begin stopped
    check "stopped: it has measured the links" await has_event "$run" cost
    kill -STOP "$(rank_pid "$run" 1)"
    sleep 1
    kill -CONT "$(rank_pid "$run" 1)"
    sleep 2
    check "a rank that was stopped for a moment goes on" state_is "$run" running
    # The whole run, its supervisor too, as when a laptop sleeps, for longer than anybody may be silent or stopped. Who
    # watches comes back first, and still sees the others stopped.
    everybody=$(processes)
    kill -STOP $everybody
    sleep 8
    kill -CONT "$(supervisor_of "$run")" "$(rank_pid "$run" 0)"
    sleep 0.7
    kill -CONT $everybody
    sleep 1.5
    check "nobody is named where everybody was stopped" sh -c "! grep -q '\"ev\":\"fault\"' '$runs/$run/events.jsonl'"
    check "and the run goes on" state_is "$run" running
    kill -STOP "$(rank_pid "$run" 1)"
    ends stopped 1 stopped "$summing"
}

stops_in_training() {
    begin training-stopped training
    check "training: it takes steps" await has_event "$run" step
    kill -STOP "$(rank_pid "$run" 0)"
    ends training-stopped 0 stopped "$learning"

    # The learner's function: a loop that never ends, and a circle of ranks that wait for each other
    cat >"$scratch/loop.lua" <<'END'
function allreduce(comm, x)
    if comm.rank == 1 then
        while true do end
    end
    comm.recv((comm.rank + comm.size - 1) % comm.size, x)
end
END
    RINGSIDE_SCRIPT_SECONDS=1 expect "a rank that never comes back from the learner's function" 2 "$ringside" run "$scratch/loop.lua" --ranks 3 --json
    check "it is named, and who waits for whom" grep -q '"ev":"fault","rank":1,"host":"[^"]*","kind":"stuck","waiting_for":"rank 0 waits to receive from rank 2, rank 2 waits to receive from rank 1"' <<<"$out"
    check "with file and line" grep -q '"kind":"stuck".*loop.lua:3: ' <<<"$out"
    sed -i 's/while true do end/comm.recv(0, x)/' "$scratch/loop.lua"
    expect "ranks that wait for each other" 1 "$ringside" run "$scratch/loop.lua" --ranks 3 --json
    check "the circle is named" grep -qE '"ev":"fault","rank":[0-9],.*"kind":"deadlock".*rank 0 waits to receive from rank 2, rank 2 waits to receive from rank 1, rank 1 waits to receive from rank 0: nobody can go on' <<<"$out"
    no_process_left "the learner's function"
}

queues() {
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
}

disks() {
    # Disks that are full or read-only, in a mount namespace of our own
    if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
        skip "full and read-only disks, a small /dev/shm" "needs root and mount namespaces"
        return
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
}

for lane in stops stops_in_training deaths queues disks; do beside $lane; done
together

# A rank that gets a quarter of its core: the others wait for it in each step. The run goes on.
begin slow training
slow_down() { while kill -STOP "$1" && sleep 0.06 && kill -CONT "$1"; do sleep 0.02; done; }
slow_down "$(rank_pid "$run" 1)" 2>/dev/null &
slowing=$!
check "slow: the rank is named" await fault_is "$run" 1 slow
check "slow: the run goes on" state_is "$run" running
kill $slowing
kill -CONT "$(rank_pid "$run" 1)"
check "slow: it is said when that is over" await grep -q 'rank 1 on .* keeps pace with the others again' "$runs/$run/events.jsonl"
check "slow: it was said once" test "$(grep -c '"kind":"slow"' "$runs/$run/events.jsonl")" = 1
check "slow: in words, with cause and consequence" grep -q 'rank 1 on .* computes [0-9.]* times as long as the others .*; the run goes on' "$runs/$run/events.jsonl"
kill -KILL "$(rank_pid "$run" 1)"
ends slow 1 dead "\($learning\|$yet\)"
