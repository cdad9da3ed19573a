#!/bin/bash
# `ringside sim`: a scheduler on a trace, views of its queue, reading a dataset, checkpoints where nodes fail.
. "$(dirname "$0")/lib.sh"

has() { [[ $out == *"$1"* ]]; }
says() { [[ $err == *"$1"* ]]; }
# FIELD of the one event that was printed
field() { python3 -c 'import json, sys; print(json.loads(sys.stdin.read())[sys.argv[1]])' "$1" <<<"$out"; }

trace=$scratch/small.swf
# four processors: 1 and 2 run at 0; 3 wants all four at 10; 4 and 5 fit before it
cat >"$trace" <<'EOF'
; Version: 2.2
; MaxProcs: 4
; UnixStartTime: 843480031
1 0 -1 10 2 -1 -1 2 10 -1 1 3 1 1 1 -1 -1 -1
2 0 -1  5 2 -1 -1 2  5 -1 1 4 1 1 1 -1 -1 -1
3 1 -1  4 4 -1 -1 4  4 -1 1 3 1 2 1 -1 -1 -1
4 2 -1  1 1 -1 -1 1  1 -1 1 4 1 1 1 -1 -1 -1
5 3 -1  2 1 -1 -1 1  2 -1 1 4 1 1 1 -1 -1 -1
EOF

expect "a trace's schedule" 0 "$ringside" sim --trace "$trace" --policy easy
check "is labelled simulated" has "simulated: $trace on 4 processors, policy easy"
expect "as an event" 0 "$ringside" sim --json --trace "$trace" --policy easy
check "one done event" test "$(wc -l <<<"$out")" -eq 1
check "jobs" test "$(field jobs)" = 5
check "mean wait: 14 / 5" test "$(field mean_wait_s)" = 2.8
check "bounded slowdown" test "$(field bounded_slowdown)" = 1.06
check "utilisation: 49 / 56" test "$(field utilisation)" = 0.875
check "makespan" test "$(field makespan_s)" = 14.0
check "origin" test "$(field origin)" = sim
expect "first come, first served" 0 "$ringside" sim --json --trace "$trace" --policy fifo
check "waits longer: (9 + 12 + 11) / 5" test "$(field mean_wait_s)" = 6.4
for policy in priority fairshare; do
    expect "policy $policy" 0 "$ringside" sim --json --trace "$trace" --policy $policy --exact-runtimes
    check "runs all" test "$(field jobs)" = 5
done
expect "explain" 0 "$ringside" sim --trace "$trace" --explain
check "the formula with its numbers" has "= 49 / (4 x 14) = 87.50 %"

gzip -k "$trace"
expect "a compressed trace" 0 "$ringside" sim --json --trace "$trace.gz"
check "is the same" test "$(field mean_wait_s)" = 2.8
expect "the schedule as a trace" 0 "$ringside" sim --trace "$trace" --out "$scratch/out.swf"
check "has its waits" grep -qx '3 1 9 4 4 -1 -1 4 4 -1 1 3 1 2 1 -1 -1 -1' "$scratch/out.swf"
expect "and is a trace" 0 "$ringside" sim --json --trace "$scratch/out.swf"
check "with the same waits" test "$(field mean_wait_s)" = 2.8

expect "what if I asked for 10 s" 0 "$ringside" sim --trace "$trace" --submit '1:10:2@5'
check "in nobody's way, but too long for the hole" has "started at 14 s, after 9 s"
expect "and for 3 s" 0 "$ringside" sim --trace "$trace" --submit '1:3:2@6'
check "it starts at once" has "started at 6 s, after 0 s: it overtook others"
expect "an array that overruns its limit" 0 "$ringside" sim --trace "$trace" --submit '2:3:9*4%1@20' --enforce-limits
check "each is killed" has "killed at its limit at 23 s"
check "one after the other" has "the last of its 4 tasks ended at 32 s"
expect "a job that cannot be read" 2 "$ringside" sim --trace "$trace" --submit 4@now
expect "why a job waited" 0 "$ringside" sim --trace "$trace" --job 3
check "what it was promised" has "as the first of the queue it was promised 10 s"
expect "no such job" 2 "$ringside" sim --trace "$trace" --job 9

expect "squeue" 0 "$ringside" sim --trace "$trace" --at 6 --view squeue
check "its head" has "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
check "who waits" has "                 3     batch     app2    user3 PD       0:00      4 (Resources)"
check "who runs" has "                 5     batch     app1    user4  R       0:01      1 n4"
expect "sinfo" 0 "$ringside" sim --trace "$trace" --at 6 --view sinfo
check "a node is idle" has "batch*       up   infinite      1   idle n3"
expect "qstat of PBS" 0 "$ringside" sim --trace "$trace" --at 6 --view pbs
check "its head" has "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time"
expect "qstat of Grid Engine" 0 "$ringside" sim --trace "$trace" --at 6 --view sge
check "its head" has "job-ID  prior   name       user         state submit/start at     queue "

expect "a job larger than the cluster" 2 "$ringside" sim --trace "$trace" --procs 3
check "names file and line" says "small.swf:6: job 3 asks for 4 processors and the cluster has 3"
sed -i '6s/^3 1/3 0/;7s/^4 2/4 0.5/;8s/^5 3/5 0.25/' "$trace"
expect "times that go backwards" 2 "$ringside" sim --trace "$trace"
check "names file and line" says "small.swf:8: submitted at 0.25 s, before the job of line 7"
echo "6 9 1" >"$scratch/short.swf"
expect "too few fields" 2 "$ringside" sim --trace "$scratch/short.swf" --procs 4
check "names file and line" says "short.swf:1: 3 fields where a job has 18"
expect "no such file" 2 "$ringside" sim --trace "$scratch/none.swf" --procs 4
expect "an unknown policy" 2 "$ringside" sim --trace "$scratch/out.swf" --policy best
expect "an unknown view" 2 "$ringside" sim --trace "$scratch/out.swf" --at 1 --view qsub
expect "processors that nobody tells" 2 "$ringside" sim --trace /dev/null
expect "partitions" 0 "$ringside" sim --json --trace "$scratch/out.swf" --partitions a=4:1h,b=2
expect "a limit of a partition" 2 "$ringside" sim --trace "$scratch/out.swf" --partitions a=4:8
check "names file and line" says "job 1 asks for 10 s and partition a allows 8 s"

expect "100 000 made-up jobs" 0 "$ringside" sim --json --trace made-up:100000:0.7:1 --procs 256
check "all of them" test "$(field jobs)" = 100000
again=$(field mean_wait_s)
expect "once more" 0 "$ringside" sim --json --trace made-up:100000:0.7:1 --procs 256
check "the same bits" test "$(field mean_wait_s)" = "$again"

expect "50 000 jobs, more than the cluster can do, by priority" 0 "$ringside" sim --json --trace made-up:50000:1.3:1 \
    --procs 1000 --policy priority
check "all of them" test "$(field jobs)" = 50000

expect "reading a dataset" 0 "$ringside" sim --json --storage nfs --files 5000 --file-bytes 28MB --clients 8
check "held up by the server's link" test "$(field bottleneck)" = "server link"
check "10 Gb/s" test "$(field bytes_per_s)" = 1250000000.0
expect "as small files" 0 "$ringside" sim --json --storage nfs --files 1400000 --file-bytes 100kB --clients 8
check "held up by metadata" test "$(field bottleneck)" = metadata
expect "explained" 0 "$ringside" sim --storage parallel --stage --compute-rate 1000 --explain
check "simulated" has "simulated: 1281167 files"
check "with the stations" has "disk seek    <= "
expect "of a described cluster" 0 "$ringside" sim --json --storage horovod-vm --files 5000 --file-bytes 28MB
check "its NFS server" test "$(field bottleneck) $(field bytes_per_s)" = "target 500000000.0"
expect "an unknown kind" 2 "$ringside" sim --storage floppy
expect "no size" 2 "$ringside" sim --storage nfs --file-bytes many

expect "checkpoints" 0 "$ringside" sim --json --checkpoint 5min --mtbf 24h --work 500h --restart 10min
check "Daly's 117 minutes" python3 -c 'import json, sys; sys.exit(abs(json.loads(sys.argv[1])["daly_s"] / 60 - 117) > 0.5)' "$out"
check "random runs agree" python3 -c '
import json, sys
e = json.loads(sys.argv[1])
sys.exit(abs(e["simulated_s"] - e["wall_s"]) > 4 * e["simulated_error_s"])' "$out"
expect "a size and a rate" 0 "$ringside" sim --checkpoint 2TB --write-rate 100GB/s --nodes 2048 --explain
check "Young and Daly" has "Daly 2006:  tau = "
expect "a size alone" 2 "$ringside" sim --checkpoint 2TB
expect "a job that never ends" 2 "$ringside" sim --checkpoint 100s --mtbf 1s
check "says so" says "the job would never end"

# what would be left aside is refused, or told where it merely changes nothing
refused() { # TEXT OPTION...
    local text=$1
    shift
    expect "$*" 2 "$ringside" sim "$@"
    check "is told" says "$text"
}
refused "how large the cache is" --storage nvme --warm
refused "only a parallel file system" --storage nfs --stripe-count 100
refused "local disks have no server" --storage ssd --servers 2
refused "--client-link: expected a rate above 0" --storage nfs --client-link 0
refused "give --compute-rate" --storage nfs --no-prefetch
refused "longer than a number can say" --storage nvme --seek 1e308
refused "--interval: expected a time above 0" --checkpoint 5min --interval 0
refused "the policy easy knows no priorities" --trace made-up:10 --weights age=1
refused "the partitions have 3 processors" --trace made-up:10 --procs 4 --partitions a=3
refused "--procs-per-node is for the views" --trace made-up:10 --procs-per-node 2
refused "one job at a time" --trace made-up:10 --job 1 --submit 1:60@0
echo "1 0 -1 -1 2 -1 -1 2 10 -1 1 3 1 1 1 -1 -1 -1" >"$scratch/unknown.swf"
refused "none of its 1 jobs says" --trace "$scratch/unknown.swf" --procs 4
expect "more stripes than a file has" 0 "$ringside" sim --storage parallel --stripe-count 4
check "change nothing" has "note: a stripe count of 4 is the same as 1 here"
expect "an interval longer than the work" 0 "$ringside" sim --checkpoint 5min --interval 1000h --json
check "is the work" test "$(field interval_s)" = 2592000.0
check "as it says" grep -q "longer than the work" <<<"$(field note)"
check "by which tier" test "$(field tier)" = closed
expect "an output that is a link" 0 sh -c "touch '$scratch/kept.swf' && ln -s kept.swf '$scratch/link.swf' &&
    '$ringside' sim --trace made-up:10 --out '$scratch/link.swf'"
check "keeps it" test -L "$scratch/link.swf" -a -s "$scratch/kept.swf"
if [ -c /dev/full ]; then
    expect "a device" 2 "$ringside" sim --trace made-up:10 --out /dev/full
    check "is still one" test -c /dev/full
    expect "an output that does not arrive" 1 sh -c "'$ringside' sim --trace made-up:10 >/dev/full"
fi

cp "$scratch/kept.swf" "$scratch/same.swf"
expect "the trace as its own output" 2 "$ringside" sim --trace "$scratch/same.swf" --procs 128 --out "$scratch/same.swf"
check "is left alone" cmp "$scratch/kept.swf" "$scratch/same.swf"
refused "too long to be added up" --trace made-up:5 --submit 1:1e308@1e308

# the same questions from a script
cat >"$scratch/ask.lua" <<'EOF'
local r = simulate { schedule = { procs = 4, policy = "easy", jobs = {
    { submit = 0, run = 10, procs = 2 }, { submit = 0, run = 5, procs = 2 }, { submit = 1, run = 4, procs = 4 },
    { submit = 2, run = 1 }, { submit = 3, run = 2 } } } }
print(r.ok, r.mean_wait_s, #r.schedule, r.schedule[4].start_s, r.schedule[4].backfilled)
print(simulate { storage = { files = 5000, file_bytes = "28MB" }, cluster = "horovod-vm" }.bottleneck)
print(math.floor(simulate { checkpoint = { cost = "5min", mtbf = "24h", work = "500h" } }.daly_s / 60 + 0.5))
print(pcall(simulate, { storage = { kind = "floppy" } }))
print(pcall(simulate, { storage = {}, checkpoint = {} }))
print(pcall(simulate, { storage = { kind = "nvme", warm = true } }))
print(pcall(simulate, { storage = { kind = "nfs", stripe_count = 4 } }))
print(pcall(simulate, { checkpoint = { cost = 300, interval = 0 } }))
print(simulate { storage = { kind = "parallel", stripe_count = 4 } }.note)
EOF
expect "a script asks" 0 "$ringside" run "$scratch/ask.lua"
check "a schedule" has $'true\t2.8\t5\t5.0\ttrue'
check "storage of a cluster" has $'\ntarget\n'
check "an interval" has $'\n117\n'
check "a kind that is none" has $'false\tstorage: kind: expected nvme'
check "a warm cache of nothing" has "a warm cache must have a size"
check "stripes of NFS" has "stripe_count: only a parallel file system"
check "no interval" has "interval: expected a time above 0"
check "stripes without effect" has "a stripe count of 4 is the same as 1 here"
check "one question at a time" has $'false\tsimulate: one question at a time'
run=$("$ringside" runs | sed -n 's/ .*//;/sim-schedule/p' | head -n 1)
expect "its screen" 0 "$ringside" --script "" --size 80x24 --open "run:$run" --dump
check "says simulated" has "Simulated run $run"
check "says why" has "bottleneck: processors"
