#!/bin/bash
# The run and ring views on recordings made for tests (tests/fixtures/runs), driven by key scripts with a fixed clock,
# compared with tests/golden/screens as text. After a wanted change: UPDATE=1 tests/e2e/test_run_screens.sh, and look
# at the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$RINGSIDE_HOME/runs"
cp -R tests/fixtures/runs/*/ "$RINGSIDE_HOME/runs/"

screen() { # NAME SIZE VIEW:RUN KEYS [OPTION...]
    local name=$1 size=$2 open=$3 keys=$4
    shift 4
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --open "$open" --dump "$@"
}

screen run-train-80x24 80x24 run:train-done ""
screen run-train-160x45 160x45 run:train-done ""
screen run-train-40x12 40x12 run:train-done ""
screen run-train-ascii 80x24 run:train-done "" --ascii
screen run-train-running 80x24 run:train-four ""
screen run-train-loss-pane 80x24 run:train-four "Tab"
screen run-train-log-scale 80x24 run:train-four "y Tab"
screen run-train-time-pane 40x12 run:train-four "Tab Tab Tab Tab"
screen run-train-ranks-pane 40x12 run:train-four "Tab Tab Tab Tab Tab"
screen samples-images-80x24 80x24 run:samples-images "m"
screen samples-images-160x45 160x45 run:samples-images "m"
screen samples-images-ascii 80x24 run:samples-images "m" --ascii
screen samples-images-shades 80x24 run:samples-images "m i"
screen samples-images-40x12 40x12 run:samples-images "m"
screen samples-maps-80x24 80x24 run:samples-images "m Right"
screen samples-maps-160x45 160x45 run:samples-images "m Right"
screen samples-maps-ascii 80x24 run:samples-images "m Right" --ascii
screen samples-gan-80x24 80x24 run:samples-gan "m"
screen samples-gan-160x45 160x45 run:samples-gan "m"
screen samples-gan-earlier 80x24 run:samples-gan "m Up Up Up Up Up"
screen samples-gan-overview 160x45 run:samples-gan ""
screen samples-text-80x24 80x24 run:samples-text "m"
screen samples-text-160x45 160x45 run:samples-text "m"
screen samples-text-ascii 80x24 run:samples-text "m" --ascii
screen samples-text-earlier 80x24 run:samples-text "m Up"
screen samples-gates-80x24 80x24 run:samples-text "m Right"
screen samples-gates-160x45 160x45 run:samples-text "m Right"
screen samples-gates-ascii 80x24 run:samples-text "m Right" --ascii
screen samples-none 80x24 run:train-pending "m"
screen samples-and-back 80x24 run:samples-images "m m"
screen run-train-failed 80x24 run:train-failed ""
screen run-train-pending 80x24 run:train-pending ""
screen run-train-lost 80x24 run:train-lost ""
screen run-stop-asks 80x24 run:train-four "s"
screen run-ended-stop 80x24 run:train-done "s"
screen run-allreduce-80x24 80x24 run:allreduce ""
screen run-allreduce-160x45 160x45 run:allreduce ""
screen run-allreduce-ascii 80x24 run:allreduce "" --ascii
screen run-script-80x24 80x24 run:script ""
screen run-model-80x24 80x24 run:model ""
screen run-model-160x45 160x45 run:model ""
screen run-model-ascii 80x24 run:model "" --ascii
screen run-check-80x24 80x24 run:check ""
screen run-check-40x12 40x12 run:check ""
screen run-ranks-80x24 80x24 run:ranks-star ""
screen ring-first-80x24 80x24 ring:allreduce ""
screen ring-moving-80x24 80x24 ring:allreduce "wait 0.4 wait 0.3"
screen ring-allgather-80x24 80x24 ring:allreduce "Right Right Right Right"
screen ring-end-80x24 80x24 ring:allreduce "Right Right Right Right Right Right"
screen ring-back-80x24 80x24 ring:allreduce "Right Right Left"
screen ring-moving-160x45 160x45 ring:allreduce "wait 0.4 wait 0.3"
screen ring-40x12 40x12 ring:allreduce "Right"
screen ring-ascii 80x24 ring:allreduce "Right" --ascii
screen ring-strangers 80x24 ring:ranks-star "Right wait 0.3"
screen ring-two-80x24 80x24 ring:train-done "Right"
screen ring-none 80x24 ring:train-pending ""
# Opened from the run view, and left again.
screen ring-from-run 80x24 run:allreduce "r"
screen ring-and-back 80x24 run:allreduce "r q"
