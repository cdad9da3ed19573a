#!/bin/bash
# The views that are pictures (collectives, timeline, cluster) on recordings made for tests, driven by key scripts with a fixed
# clock, compared with tests/golden/screens as text. After a wanted change: UPDATE=1 tests/e2e/test_picture_screens.sh, and look
# at the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$RINGSIDE_HOME/runs"
cp -R tests/fixtures/runs/*/ "$RINGSIDE_HOME/runs/"

screen() { # NAME SIZE VIEW:ARGUMENT KEYS [OPTION...]
    local name=$1 size=$2 open=$3 keys=$4
    shift 4
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --open "$open" --dump "$@"
}

# What is wrong with a ring is named.
screen ring-broken-80x24 80x24 ring:ring-broken "Right"
screen ring-broken-160x45 160x45 ring:ring-broken "Right"
screen ring-broken-end 80x24 ring:ring-broken "End"
screen ring-broken-ascii 80x24 ring:ring-broken "Right" --ascii
screen ring-twice 80x24 ring:ranks-twice "Right"
# From the schedule, without a run.
screen collective-halving-80x24 80x24 ring:schedule:8:halving_doubling "Right Space wait 0.5"
screen collective-tree-160x45 160x45 ring:schedule:7:tree "Right Space wait 0.5"
screen collective-alltoall-40x12 40x12 ring:schedule:6:alltoall "Right"
screen collective-everyone-ascii 80x24 ring:schedule:4:everyone "Space Space wait 0.5" --ascii
screen collective-hosts-80x24 80x24 ring:schedule:8:hierarchical:4 "Right Right Right"
screen collective-many 80x24 ring:schedule:40:halving_doubling "Right Right"
screen collective-layout 80x24 ring:schedule:8:ring "l Right"
screen collective-next 80x24 ring:schedule:8:ring "a a n N N b End"
screen collective-from-run 80x24 ring:allreduce "a A o"

# The timeline: of a trace, and of what events say.
screen timeline-80x24 80x24 timeline:train-traced ""
screen timeline-160x45 160x45 timeline:train-traced "" --roles
screen timeline-40x12 40x12 timeline:train-traced "Down"
screen timeline-ascii 80x24 timeline:train-traced "" --ascii
screen timeline-zoomed 80x24 timeline:train-traced "Down Left + + PgDn"
screen timeline-span 80x24 timeline:train-traced "Enter"
screen timeline-path 80x24 timeline:train-traced "n c c"
screen timeline-all 80x24 timeline:train-traced "w Up Up"
screen timeline-last-step 80x24 timeline:train-traced "n n"
screen timeline-mean-80x24 80x24 timeline:train-four ""
screen timeline-operation 80x24 timeline:allreduce "Right h"
screen timeline-none 80x24 timeline:train-pending ""
screen timeline-from-run 80x24 run:train-traced "T"
