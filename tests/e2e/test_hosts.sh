#!/bin/bash
# Ranks on two hosts, which are network namespaces of this one: whatever happens to a rank of the other host is noticed.
source "$(dirname "$0")/lib.sh"
one=rsf-$$-a two=rsf-$$-b
leave() {
    ip netns del $one
    ip netns del $two
    finish
} 2>/dev/null
if ! command -v mpirun >/dev/null || [ "$(id -u)" -ne 0 ] || ! ip netns add $one 2>/dev/null; then
    skip "faults across hosts" "needs mpirun, root and network namespaces"
    exit
fi
trap leave EXIT
ip netns add $two && ip link add v1 netns $one type veth peer name v2 netns $two || exit 1
ip -n $one addr add 10.213.7.1/24 dev v1 && ip -n $two addr add 10.213.7.2/24 dev v2 || exit 1
for n in "$one v1" "$two v2"; do
    ip -n ${n% *} link set lo up && ip -n ${n% *} link set ${n#* } up || exit 1
done
# Each namespace has a host name of its own; mpirun starts its daemon on the other one with this in place of ssh.
cat >"$scratch/agent" <<END
#!/bin/bash
shift
exec ip netns exec $two unshare --uts sh -c 'hostname host-b; exec sh -c "\$*"' sh "\$@"
END
chmod +x "$scratch/agent"
rank=$PWD/$build/ringside-rank job=$scratch/job events=$scratch/events
mkdir -p "$job"
cat >"$job/job.json" <<END
{"version": 1, "kind": "allreduce", "label": "test", "parent": "", "ranks": 3, "hosts": "", "launcher": "local",
 "allreduce": {"algos": "ring", "bytes": [65536], "iters": 1000000, "check": false, "buffer": "private"}}
END
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
rank_pid() { # RANK
    local p
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/exe" 2>/dev/null)" = "$rank" ] && tr '\0' '\n' <"$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" &&
            grep -qF "$job" <(tr '\0' ' ' <"$p/cmdline") && echo "${p#/proc/}" && return
    done
    return 1
}
no_rank() { ! rank_pid 0 && ! rank_pid 1 && ! rank_pid 2; }
begin() { # NAME: two ranks here, rank 2 over there
    : >"$events"
    timeout 60 ip netns exec $one unshare --uts sh -c 'hostname host-a; exec "$@"' sh mpirun --host host-a:2,host-b:1 \
        -n 3 --bind-to none --mca plm_rsh_agent "$scratch/agent" --mca mpi_yield_when_idle 1 \
        "$rank" "$job" >"$events" 2>"$scratch/log" &
    mpirun=$!
    check "$1: the ranks have begun, on two hosts" await grep -q '"ev":"run".*"hosts":\["host-a","host-b"\]' "$events"
}
ends() { # NAME KIND
    wait $mpirun
    check "$1: the job ends with an error by itself" test $? -ne 0 -a $? -ne 124
    check "$1: the rank is named, its host, and what the others wait for" \
        grep -qE "\"ev\":\"fault\",\"rank\":2,\"host\":\"host-b\",\"kind\":\"$2\",\"waiting_for\":\"(allreduce \(ring\)|barrier|maximum|the measurement of the links|nothing yet \(rank)" "$events"
    check "$1: no rank is left" await no_rank
}

begin "a rank of another host that is stopped"
kill -STOP "$(rank_pid 2)"
ends "stopped on another host" silent
check "in words" grep -q 'rank 2 on host-b has given no sign of life for [0-9]* s: it was stopped, or its host or the network to it hangs' "$events"

begin "a rank of another host that is killed"
kill -KILL "$(rank_pid 2)"
ends "killed on another host" dead
