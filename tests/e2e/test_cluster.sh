#!/bin/bash
# The cluster view beside batch systems: commands made for tests that print what was recorded (tests/fixtures/schedulers), one that
# hangs, none at all; and a real Slurm of three pretended nodes, where this user may start one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

fixtures=$PWD/tests/fixtures/schedulers
say() { # FOLDER NAME TEXT...: a command that prints what was recorded
    mkdir -p "$scratch/$1"
    printf '#!/bin/sh\n%s\n' "${*:3}" >"$scratch/$1/$2"
    chmod +x "$scratch/$1/$2"
}
for system in slurm pbs sge; do
    for file in "$fixtures/$system"/*; do
        say $system "${file##*/}" "echo \"\$@\" >>$scratch/$system.asked; exec /bin/cat $file"
    done
done
screen() { # NAME SIZE VIEW:ARGUMENT KEYS PATH [OPTION...]
    local name=$1 size=$2 open=$3 keys=$4 path=$5
    shift 5
    golden_screen "$name" env PATH="$path" "$ringside" --script "$keys" --size "$size" --open "$open" --dump "$@"
}
none=$scratch/none

# Simulated: links under load, the queue.
screen cluster-80x24 80x24 cluster:teaching "" "$none"
screen cluster-160x45 160x45 cluster:teaching "" "$none" --roles
screen cluster-40x12 40x12 cluster:teaching "" "$none"
screen cluster-ascii 80x24 cluster:teaching "a a a" "$none" --ascii
screen cluster-training 80x24 cluster:teaching "m" "$none"
screen cluster-large 160x45 cluster:cpu-omnipath "n n" "$none"
screen cluster-switch 80x24 cluster:horovod-benchmark "A" "$none"
screen cluster-torus 80x24 cluster:tests/fixtures/clusters/torus.lua "" "$none"
screen cluster-dragonfly 80x24 cluster:tests/fixtures/clusters/dragonfly.lua "a a a a a" "$none"
screen cluster-unknown 80x24 cluster:nowhere "" "$none"
screen cluster-queue-80x24 80x24 cluster:queue "Right Right" "$none"
screen cluster-queue-160x45 160x45 cluster:queue "" "$none"
screen cluster-queue-40x12 40x12 cluster:queue "p Down" "$none"
screen cluster-queue-ascii 80x24 cluster:queue "Space wait 1 wait 1" "$none" --ascii

# The batch system of this machine, as its commands tell.
screen cluster-none 80x24 cluster:real "" "$none"
screen cluster-slurm-80x24 80x24 cluster:real "" "$scratch/slurm"
screen cluster-slurm-40x12 40x12 cluster:real "" "$scratch/slurm"
screen cluster-pbs-80x24 80x24 cluster:real "" "$scratch/pbs"
screen cluster-sge-ascii 80x24 cluster:real "" "$scratch/sge" --ascii
rm -f "$scratch/slurm.asked"
screen cluster-asked-once 80x24 cluster:teaching "Tab Tab wait 5 u Tab Tab Tab wait 5" "$scratch/slurm"
check "in all this it was asked once" [ "$(wc -l <"$scratch/slurm.asked")" -eq 2 ]
say failing sinfo "exec /bin/cat $fixtures/slurm/sinfo"
say failing squeue "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
PATH=$scratch/failing "$ringside" --open cluster:real --dump >"$scratch/screen"
check "what a command says when it fails is shown" grep -q "squeue ended with 1: slurm_load_jobs error" "$scratch/screen"

# A command that hangs holds nothing up.
if command -v tmux >/dev/null; then
    say hanging sinfo "exec /bin/sleep 5"
    say hanging squeue "exec /bin/sleep 5"
    session=ringside-cluster-$$
    tmux -L "$session" -f /dev/null new-session -d -x 80 -y 24 -s x \
        "PATH=$scratch/hanging RINGSIDE_HOME=$RINGSIDE_HOME LC_ALL=C.UTF-8 $ringside --open cluster:real"
    shows() {
        local i
        for ((i = 0; i < 20; i++)); do
            tmux -L "$session" capture-pane -p -t x | grep -q "$1" && return 0
            sleep 0.1
        done
        return 1
    }
    check "a command that hangs is waited for" shows "Asking the batch system"
    tmux -L "$session" send-keys -t x Tab
    check "and meanwhile another pane opens at once" shows "ring of 100 MiB"
    tmux -L "$session" kill-server 2>/dev/null
else
    skip "a command that hangs holds nothing up" "tmux is not here"
fi

# A real Slurm: its own munge socket, ports and folders.
real_slurm() {
    local d=$scratch/real host daemon
    host=$(hostname -s)
    mkdir -p "$d/munge" "$d/sock" "$d/state" "$d/spool" && chmod 755 "$scratch" "$d"
    head -c 1024 /dev/urandom >"$d/munge/key" && chmod 400 "$d/munge/key" && chmod 700 "$d/munge" &&
        chown -R munge: "$d/munge" "$d/sock" || return 1
    runuser -u munge -- munged --force --socket="$d/sock/socket" --key-file="$d/munge/key" --pid-file="$d/munge/munged.pid" \
        --log-file="$d/munge/log" --seed-file="$d/munge/seed" >/dev/null 2>&1 || return 1
    cat >"$d/slurm.conf" <<CONF
ClusterName=ringside
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$d/sock/socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmUser=root
SlurmdUser=root
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
ReturnToService=2
MpiDefault=none
SlurmctldPort=17830
SlurmdSpoolDir=$d/spool/%n
StateSaveLocation=$d/state
SlurmctldPidFile=$d/ctld.pid
SlurmdPidFile=$d/slurmd.%n.pid
SlurmctldLogFile=$d/ctld.log
SlurmdLogFile=$d/slurmd.%n.log
NodeName=n[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17831-17833] CPUs=2 RealMemory=100
PartitionName=batch Nodes=n[1-3] Default=YES MaxTime=60 State=UP
CONF
    export SLURM_CONF=$d/slurm.conf
    slurmctld -f "$SLURM_CONF" || return 1
    for daemon in n1 n2 n3; do slurmd -N $daemon -f "$SLURM_CONF" || return 1; done
    local i
    for ((i = 0; i < 50; i++)); do
        [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" -eq 3 ] && return 0
        sleep 0.2
    done
    return 1
}
stop_slurm() {
    local file i
    scancel -u root >/dev/null 2>&1
    for ((i = 0; i < 20; i++)); do
        pgrep -f "slurmstepd: \\[" >/dev/null || break # it is gone soon after its job
        sleep 0.1
    done
    for file in "$scratch"/real/*.pid "$scratch"/real/munge/*.pid; do
        [ -f "$file" ] && kill -9 "$(cat "$file")" 2>/dev/null
    done
}
if [ "$(id -u)" -ne 0 ] || ! command -v slurmctld munged slurmd runuser >/dev/null; then
    skip "a real Slurm's nodes and jobs" "needs root and Slurm's daemons"
elif ! real_slurm; then
    stop_slurm
    skip "a real Slurm's nodes and jobs" "Slurm did not start here within 10 s"
else
    (cd "$scratch" && sbatch -n6 -J "whole cluster" --wrap "sleep 60" && sbatch -n2 -J "a|b" --wrap "sleep 60") >/dev/null
    scontrol update NodeName=n3 State=DRAIN Reason="fan broken"
    "$ringside" --open cluster:real --size 100x24 --dump >"$scratch/screen"
    check "a real Slurm: its name" grep -q "^ Slurm, as it answered" "$scratch/screen"
    check "its nodes" grep -q "n1 .*n2 .*n3" "$scratch/screen"
    check "one is drained, and why" grep -q "n3 drained: fan broken" "$scratch/screen"
    check "its jobs, names with blanks and bars too" bash -c 'grep -q "root .*whole cluster" "$1" && grep -q "root .*a|b" "$1"' - "$scratch/screen"
    stop_slurm
fi
