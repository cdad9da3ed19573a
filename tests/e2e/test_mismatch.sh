#!/bin/bash
# Ranks that call other collectives than the others, on purpose: both are named, nothing hangs, no sum is wrong.
source "$(dirname "$0")/lib.sh"
if ! command -v mpirun >/dev/null; then
    skip "collectives that do not fit together" "mpirun is not installed"
    exit
fi
program=$PWD/$build/tests/mpi/mismatch
ranks() { # N ALGO HOW ELEMENTS
    timeout 60 mpirun -n "$1" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 "$program" "${@:2}"
}
# wrong N ALGO HOW ELEMENTS FIRST SECOND: what rank 0 or another called, and what the last rank called
wrong() {
    local name="$1 ranks, $2, $3"
    expect "$name: the job ends by itself, exit code 1" 1 ranks "$1" "$2" "$3" "$4"
    # Whichever rank notices, and rank 0's judgement: all name both collectives and both ranks.
    check "$name: both are named, and who called them" \
        grep -qE "collective number [0-9]+ is $5 on rank [0-9], but $6 on rank $(($1 - 1)): all ranks" <<<"$out"
    check "$name: as a fault on the stream" \
        grep -q "\"ev\":\"fault\",\"rank\":$(($1 - 1)),\"host\":\"[^\"]*\",\"kind\":\"mismatch\",\"waiting_for\":\"[^\"]" <<<"$out"
    check "$name: the last rank goes on with nothing" sh -c "! grep -q 'rank $(($1 - 1)) went on' '$scratch/out'"
}

fitting() {
    expect "ranks that agree" 0 ranks 3 ring same 100
    check "have the right sum" test "$(grep -c 'went on: 3' <<<"$out")" = 3
    check "and no fault" sh -c "! grep -q fault '$scratch/out'"
}
in_memory_and_messages() {
    wrong 2 shm length 4096 'allreduce \(shm\) of 4096 f32 elements' 'allreduce \(shm\) of 4097 f32 elements'
    wrong 4 ring length 1 'allreduce \(ring\) of 1 f32 element' 'allreduce \(ring\) of 2 f32 elements'
    wrong 3 ring broadcast 1024 'allreduce \(ring\) of 1024 f32 elements' 'broadcast of 1024 f32 elements'
    wrong 2 halving_doubling type 300000 'allreduce \(halving_doubling\) of 300000 f32 elements' 'allreduce \(halving_doubling\) of 300000 bf16 elements'
}
in_the_library() {
    wrong 2 mpi length 1 'allreduce \(mpi\) of 1 f32 element' 'allreduce \(mpi\) of 2 f32 elements'
    # All are inside MPI and wait there for ever: only the heartbeats can tell.
    wrong 2 mpi broadcast 1024 'allreduce \(mpi\) of 1024 f32 elements' 'broadcast \(mpi\) of 1024 f32 elements'
}
at_the_end() {
    expect "a rank that has finished while others wait for it: exit code 1" 1 ranks 3 ring early 1024
    check "it is named, and what they wait in" \
        grep -qE '"rank":2,"host":"[^"]*","kind":"deadlock","waiting_for":"allreduce \(ring\) of 1024 f32 elements"' <<<"$out"
    check "in words" grep -qE 'rank 2 on [^ ]+ has finished, but rank [01] waits for it in allreduce' <<<"$out"
}
for lane in at_the_end in_the_library in_memory_and_messages fitting; do beside $lane; done
together
left() {
    local p
    for p in /proc/[0-9]*; do [ "$(readlink "$p/exe" 2>/dev/null)" = "$program" ] && return 0; done
    return 1
}
for ((i = 0; i < 100; i++)); do left || break; sleep 0.1; done
if left; then fail "no process is left"; else pass "no process is left"; fi
