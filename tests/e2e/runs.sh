# Sourced beside lib.sh by tests that start runs: waiting for a run, reading its state, finding what it left behind.
export RINGSIDE_SLOTS_DIR=$scratch/slots
runs=$RINGSIDE_HOME/runs
# await COMMAND...: tries for at most a minute until the command succeeds.
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
state_is() { grep -q "\"state\": \"$2\"" "$runs/$1/status.json"; }
has_ended() { grep -qE '"state": "(done|failed|cancelled)"' "$runs/$1/status.json"; }
has_event() { grep -q "\"ev\":\"$2\"" "$runs/$1/events.jsonl"; }
last_event_is() { tail -n 1 "$runs/$1/events.jsonl" | grep -q "\"ev\":\"$2\""; }
supervisor_of() { sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$runs/$1/status.json"; }
# The processes that name this test's scratch folder; zombies have no command line and do not count.
processes() (
    cd "$scratch" || exit
    printf '%s' "$scratch" >pattern
    grep -alF -f pattern /proc/[0-9]*/cmdline 2>/dev/null | sed 's|/proc/||; s|/cmdline||'
)
rank_pids() { # RUN: the processes of its ranks
    local pid
    for pid in $(processes); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qE "ringside-rank [^ ]*$1 \$" &&
            ! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q mpirun && echo "$pid"
    done
}
rank_pid() { # RUN RANK
    local pid
    for pid in $(rank_pids "$1"); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && echo "$pid" && return
    done
    return 1
}
nothing_left() { [ -z "$(processes)" ]; }
no_process_left() {
    if await nothing_left; then pass "$1: no process is left"; else
        fail "$1: no process is left" "$(for p in $(processes); do tr '\0' ' ' <"/proc/$p/cmdline"; echo; done)"
    fi
}
# A run of many small allreduces, long enough to be interfered with; prints its id.
endless() { "$ringside" allreduce --detach --bytes 64K --iters 1000000 --algo ring "$@" 2>/dev/null; }
have_mpi() { command -v mpirun >/dev/null; }
