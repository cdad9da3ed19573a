#!/bin/bash
# ringside-rank by itself: the probe, the allreduce job's events, and what is said where it fails.
. "$(dirname "$0")/lib.sh"
rank=$PWD/$build/ringside-rank
ranks() { mpirun -n "$1" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 "$rank" "$2"; }
job() { # DIR ALGOS SIZES
    mkdir -p "$1"
    cat >"$1/job.json" <<END
{"version": 1, "kind": "allreduce", "label": "test", "parent": "", "ranks": 3, "hosts": "", "launcher": "local",
 "allreduce": {"algos": "$2", "bytes": [$3], "iters": 3, "check": true, "buffer": "private"}}
END
}
count() { grep -c "\"ev\":\"$1\"" <<<"$out"; }

expect "the probe needs no mpirun" 0 "$rank" --probe
check "the probe names MPI and oneDNN" grep -qE '^\{"mpi":"[^"]+","dnnl":"[0-9.]+","size":0,"ranks":\[\]\}$' <<<"$out"
expect "the probe starts on two ranks" 0 ranks 2 --probe
check "each rank answered, in one line" grep -qE '"size":2,"ranks":\[\{"rank":0,"size":2,.*\{"rank":1,"size":2,' <<<"$out"

job "$scratch/good" mpi,ring 4,1024,1200000
RINGSIDE_STARTED=$(date +%s)
export RINGSIDE_STARTED
expect "an allreduce job on three ranks" 0 ranks 3 "$scratch/good"
check "nothing but events on standard output" test "$(grep -cvE '^\{.*"ev":"[a-z]+".*\}$' <<<"$out")" = 0
check "one run event" test "$(count run)" = 1
check "one rank event per rank" test "$(count rank)" = 3
check "one collective event per size and algorithm" test "$(count collective)" = 6
# 1 element: one chunk, 4 rounds; else three chunks in each.
check "one hop event per transfer of a sampled ring" test "$(count hop)" = $((4 + 12 + 12))
check "every sum is within its bound" awk -F'[:,]' '
    /"ev":"collective"/ {
        n++
        for (i = 1; i <= NF; i++) { if ($i == "\"error\"") off = $(i + 1); if ($i == "\"error_bound\"") bound = $(i + 1) }
        if (!(bound > 0 && off <= bound)) exit 1
    }
    END { exit n != 6 }' <<<"$out"
check "the last event but heartbeats is done, and it is well" \
    grep -q '"ev":"done","ok":true' <<<"$(grep -v heartbeat <<<"$out" | tail -n 1)"

touch "$scratch/good/stop"
expect "a stop file ends the job" 0 ranks 2 "$scratch/good"
check "and nothing is reported as measured" test "$(count collective)" = 0

job "$scratch/unknown" ring,star 4
expect "an unknown algorithm" 1 ranks 2 "$scratch/unknown"
check "is named in an event" grep -q '"ev":"note","level":"error","text":".*star' <<<"$out"
expect "a directory without a job" 1 ranks 2 "$scratch/nowhere"
check "is named in an event" grep -q '"ev":"note","level":"error","text":"[^"]*nowhere' <<<"$out"
expect "no directory at all" 2 "$rank"
check "gives the usage" grep -q '^usage: ' <<<"$err"
