#!/bin/bash
# Runs side by side on the command line and on the screen, and their export: recordings made for tests, one of them a
# second time with another seed. After a wanted change of a screen: UPDATE=1 tests/e2e/test_compare.sh, and look.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

runs=$RINGSIDE_HOME/runs
mkdir -p "$runs"
cp -R tests/fixtures/runs/train-done tests/fixtures/runs/train-four tests/fixtures/runs/train-failed "$runs/"
cp -R tests/fixtures/runs/train-done "$runs/train-again"
sed -i 's/"seed": 1/"seed": 2/; s/"label": "[^"]*"/"label": "train-again"/' "$runs/train-again/job.json"
sed -i 's/"samples_per_s": 6213\(\.0\)\?\([,}]\)/"samples_per_s": 6113\2/; s/"accuracy": 0.9891/"accuracy": 0.9881/' \
    "$runs/train-again/events.jsonl"
cp -R tests/fixtures/runs/train-four "$runs/train-sim"
sed -i 's/"origin": "real"/"origin": "sim"/' "$runs/train-sim/events.jsonl"

screen() { # NAME SIZE VIEW:RUN KEYS [OPTION...]
    local name=$1 size=$2 open=$3 keys=$4
    shift 4
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --open "$open" --dump "$@"
}

# --- the command line

"$ringside" runs compare train-four train-done train-again >"$scratch/table"
check "the mean of two runs and its interval: 6163 +- 12.706 x 50" grep -q '^samples/s  *6160 ± 640 \|^samples/s  *6163 ± 635 ' "$scratch/table"
check "columns by ranks, differences first" grep -q '^ranks  *2  *4$' "$scratch/table"
check "which runs a column holds" grep -q '^A: train-done (measured) train-again (measured)$' "$scratch/table"
check "speed-up names its base" grep -q '^speed-up  *1 (base) ' "$scratch/table"
"$ringside" runs compare --all --json >"$scratch/lines"
check "as JSON: a line a run and a group" python3 - "$scratch/lines" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
runs = {l["run"]: l for l in lines if l["ev"] == "compared"}
groups = {l["group"]: l for l in lines if l["ev"] == "comparison"}
assert set(runs) == {"train-done", "train-again", "train-four", "train-failed", "train-sim"}, runs
both = groups[runs["train-done"]["group"]]
assert runs["train-again"]["group"] == both["group"] and both["samples_per_s_n"] >= 2
assert runs["train-sim"]["origin"] == "simulated" and runs["train-sim"]["group"] != runs["train-four"]["group"]
PY
cp -R tests/fixtures/runs/allreduce "$runs/"
cp -R tests/fixtures/runs/allreduce "$runs/allreduce-slow"
sed -i 's/"iters": 10/"iters": 20/' "$runs/allreduce-slow/job.json"
sed -i 's/"time_s": 0.009/"time_s": 0.018/' "$runs/allreduce-slow/events.jsonl"
check "operations that were timed, a row each" grep -q '^ring, 32.0 MiB  9.000 ms  18.00 ms$' \
    <("$ringside" runs compare "$runs/allreduce" allreduce-slow)
rm -rf "$runs"/allreduce*
for words in "compare train-done" "compare train-done train-done" "compare train-done nothing-like-it" \
    "export --format xml train-done" "export train-done train-four"; do
    # shellcheck disable=SC2086
    "$ringside" runs $words >"$scratch/out" 2>"$scratch/err"
    check "refused with one line: runs $words" test "$? $(wc -l <"$scratch/err") $(wc -c <"$scratch/out")" = "2 1 0"
done

"$ringside" runs export train-done >"$scratch/csv"
check "the CSV holds every step, exactly" python3 - "$scratch/csv" "$runs/train-done/events.jsonl" <<'PY'
import csv, json, sys
rows = [r for r in csv.DictReader(open(sys.argv[1]))]
events = [json.loads(l) for l in open(sys.argv[2])]
events = [e for e in events if e["ev"] in ("step", "rank", "eval", "collective", "point")]
assert len(rows) == len(events) > 100
for r, e in zip(rows, events):
    assert r["event"] == e["ev"]
    for key, value in r.items():
        if key == "event":
            continue
        assert (value == "") == (key not in e), (key, value, e)
        if value and isinstance(e[key], float):
            assert float(value) == e[key], (key, value, e[key])
PY
"$ringside" runs export train-done --format text --out "$scratch/report" >"$scratch/out"
check "the report as text, and where it lies" grep -qx "written to $scratch/report" "$scratch/out"
check "the report tells the accuracy" grep -q '^test accuracy  98.91 %' "$scratch/report"
check "nothing half-written is left" test ! -e "$scratch/report.part"
"$ringside" runs export train-done --out /nowhere/at/all.csv 2>"$scratch/err"
check "a file that cannot be written" test $? = 2
check "as JSON: the events as they are" cmp <("$ringside" runs export train-done --json) "$runs/train-done/events.jsonl"

# --- the screens

screen run-cursor-80x24 80x24 run:train-done "Left Left Left"
screen run-zoom-160x45 160x45 run:train-done "Left PageUp PageUp + + +"
screen run-zoom-and-back 80x24 run:train-done "Left + + Escape"
screen run-mouse-80x24 80x24 run:train-done "wheelup 8,30 wheelup 8,30 click 9,20"
screen run-time-80x24 80x24 run:train-done "Tab Tab Tab Tab Left"
screen run-time-ascii 80x24 run:train-done "Tab Tab Tab Tab" --ascii
screen run-overlay-list-80x24 80x24 run:train-four "o"
screen run-overlay-80x24 80x24 run:train-four "o Space Down Space Enter"
screen run-overlay-160x45 160x45 run:train-four "o Space Down Space Enter Left Left"
screen run-overlay-40x12 40x12 run:train-four "o Space Down Space Enter"
screen run-overlay-ascii 80x24 run:train-four "o Space Down Space Enter Left Tab" --ascii
screen run-scaling-80x24 80x24 run:train-four "o Down Down Down Enter Tab Tab Tab Tab Tab"
screen compare-80x24 80x24 compare:train-done,train-again,train-four ""
screen compare-160x45 160x45 compare:train-done,train-again,train-four,train-sim ""
screen compare-40x12 40x12 compare:train-done,train-again,train-four ""
screen compare-ascii 80x24 compare:train-done,train-again,train-four "" --ascii
screen compare-scaling-80x24 80x24 compare:train-done,train-four "Tab"
screen compare-list-80x24 80x24 compare: "Space Down Space"
screen compare-none-80x24 80x24 compare: "Tab"
screen compare-from-run 80x24 run:train-four "o Space c"
"$ringside" --script 'e until "exports/train-done.csv"' --size 120x30 --open run:train-done --dump >/dev/null
check "e writes the table and says where" cmp "$RINGSIDE_HOME/exports/train-done.csv" "$scratch/csv"
