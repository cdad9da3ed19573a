#!/bin/bash
# A link that is slowed on purpose: what is asked for comes about, and whatever shows such a run says so.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
words='slowed on purpose: 200 Mbit/s, 1 ms'

refused() { # NAME WORD OPTION...
    local name=$1 word=$2
    shift 2
    expect "$name" 2 "$ringside" "$@"
    check "$name, in one line" test "$(grep -c . <<<"$err")" = 1
    check "$name, named" grep -qF -e "$word" <<<"$err"
}
refused "a rate without a unit is refused" "--link: expected a rate" allreduce --link 1000
refused "so is a latency without one" "--link-latency: expected a time" train --link-latency 50
refused "so is a rank that is not there" "--link: there is no rank 2" allreduce --link 1Gbps,2=1Mbps
refused "so is what goes past the link" "--algo: shm goes past the link" train --link 1Gbps --algo shm
refused "so is the library's own" "--algo: mpi goes past the link" allreduce --link 1Gbps --algo ring,mpi
refused "so is a table of it" "--tune:" allreduce --link 1Gbps --tune

expect "an allreduce over a slowed link" 0 "$ringside" allreduce --link 200Mbps --link-latency 1ms --algo all \
    --bytes 16K --iters 2 --check --out "$scratch/run"
check "its table says so" grep -qxF "$words" <<<"$out"
check "and so does the cost of a message" grep -q '^.*(slowed on purpose): a message takes' <<<"$out"
check "in at most 80 columns" test -z "$(awk 'length > 80 && !/^allreduce auto|^mpi|^shared/' <<<"$out")"
events=$scratch/run/events.jsonl
check "every event says so" test "$(wc -l <"$events")" -gt 10 -a "$(grep -vcF "$words" "$events")" = 0
for ev in job run rank cost collective hop note done; do
    check "there is a $ev event" grep -q "\"ev\":\"$ev\"" "$events"
done
check "auto goes by the slowed link" grep -q 'by the cost model of the slowed link' <<<"$out"
# Two messages of 8 KiB, one after the other, each 1 ms and 0.33 ms: no less, and predicted.
ring=$(grep '"algo":"ring"' "$events" | grep collective)
took=$(sed 's/.*"time_s":\([0-9.e-]*\).*/\1/' <<<"$ring") model=$(sed 's/.*"predicted_s":\([0-9.e-]*\).*/\1/' <<<"$ring")
check "a ring is predicted to take 2.66 ms or what this machine takes" awk "BEGIN { exit !($model > 0.0026 && $model < 0.01) }"
check "and takes no less" awk "BEGIN { exit !($took > 0.0025) }"

screen() { "$ringside" --script "$2" --size "$3" --open "$1:$scratch/run" --dump 2>&1; }
for size in 80x24 160x45 40x12; do
    check "the run view says so at $size" grep -qF "slowed on purpose: 200 Mbit/s" <<<"$(screen run "" $size)"
    check "the ring view says so at $size" grep -qF "slowed on purpose: 200 Mbit/s" <<<"$(screen ring "" $size)"
done
check "each pane of the run view says so" grep -qF "$words" <<<"$(screen run "Tab Tab" 80x24)"

cat >"$scratch/two.lua" <<'LUA'
local r = train { ranks = 2, steps = 4, batch = 8, link = "200Mbps", link_latency = "1ms" }
plot { title = "Loss", x = "step", y = "loss", series = { trained = { { 4, r.loss } } } }
LUA
expect "a script trains over a slowed link" 0 "$ringside" run "$scratch/two.lua"
check "and its lines say so" grep -qF "$words" <<<"$out"
check "its plot, too" grep -qE "^Loss: trained, $words\$" <<<"$out"
check "the list of runs marks it" grep -q 'slowed on purpose' <<<"$("$ringside" runs list)"
trained=$("$ringside" runs list | awk '$3 == "train" { print $1 }')
expect "the report at its end" 0 "$ringside" runs watch "$trained"
check "says so beside the speed" grep -qE "^link +$words\$" <<<"$out"
check "and above the curve" grep -q "training loss (slowed on purpose)" <<<"$out"
check "every event says so, too" test "$(grep -vcF "$words" "$RINGSIDE_HOME/runs/$trained/events.jsonl")" = 0
