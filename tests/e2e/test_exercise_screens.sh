#!/bin/bash
# The exercise view on a course made for tests (tests/fixtures/course), driven by key scripts. The checks are real:
# runs with a supervisor and a sandboxed check.lua. Screens are compared with tests/golden/screens as text; after a
# wanted change: UPDATE=1 tests/e2e/test_exercise_screens.sh, and look at the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export RINGSIDE_DATA=$PWD/tests/fixtures/course
work=$RINGSIDE_HOME/work/04-sum.lua

screen() { # NAME SIZE KEYS [OPTION...]
    local name=$1 size=$2 keys=$3
    shift 3
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --open exercise:04-sum --dump "$@"
}

screen exercise-80x24 80x24 ""
check "the starter is the learner's file" cmp tests/fixtures/course/exercises/04-sum/start.lua "$work"
screen exercise-160x45 160x45 ""
screen exercise-40x12 40x12 ""
screen exercise-code-80x24 80x24 "Tab"
screen exercise-code-40x12 40x12 "Tab"
screen exercise-ascii 80x24 "Tab" --ascii
screen exercise-hint 80x24 "h"
screen exercise-hint-two 80x24 "h h"
screen exercise-task-again 80x24 "h t"
screen exercise-ring-none 80x24 "w"
screen exercise-reset-asks 80x24 "R"

# The starter fails, with real ranks or without; what is accepted and what to do next is said.
screen exercise-fails-80x24 80x24 'c until "1 of 3 checks pass" 30'
screen exercise-fails-160x45 160x45 'c until "1 of 3 checks pass" 30'
screen exercise-fails-40x12 40x12 'Tab Tab c until "1 of 3 checks pass" 30'
check "a failed check is counted" grep -q '"checks": *3' "$RINGSIDE_HOME/progress.json"

# Saving checks at once: the file changes under the view.
# (Saved again and again, so that it does not matter how long the program takes to start.)
(while sleep 3; do cp "$RINGSIDE_DATA/exercises/04-sum/solution.lua" "$work"; done) &
saver=$!
screen exercise-saved-80x24 80x24 'until "2 of 3 checks pass" 60'
kill "$saver"
wait "$saver" 2>/dev/null
if [ "$(find "$RINGSIDE_HOME/runs" -maxdepth 1 -name '*instant*' | wc -l)" -eq 0 ]; then
    pass "an instant check leaves no run behind"
else
    fail "an instant check leaves no run behind" "$(ls "$RINGSIDE_HOME/runs")"
fi
screen exercise-passes-80x24 80x24 'c until "Well done" 30'
check "a passed exercise stays passed" grep -q passed_at "$RINGSIDE_HOME/progress.json"

# How it differs from the solution may be seen only then: not at all, and after a change that passes as well.
screen exercise-same-80x24 80x24 "d"
sed 's/local total = 0/local total = 0 -- of all/' "$RINGSIDE_DATA/exercises/04-sum/solution.lua" >"$work"
screen exercise-diff-80x24 80x24 "d"
screen exercise-diff-160x45 160x45 "d"
screen exercise-diff-40x12 40x12 "d"
screen exercise-diff-ascii 80x24 "d" --ascii
screen exercise-diff-and-back 80x24 "d d"
for key in q Esc; do
    screen exercise-diff-and-back 80x24 "d $key"
done
mv "$RINGSIDE_HOME/progress.json" "$scratch/progress.json"
rm -f "$RINGSIDE_HOME/progress.json.bak"
screen exercise-diff-not-yet 80x24 "Tab d"
mv "$scratch/progress.json" "$RINGSIDE_HOME/progress.json"

# A run that it starts stays beside it where there is room; Enter opens it, Esc puts it away.
expect "a run is shown beside the exercise" 0 "$ringside" --open exercise:04-sum --size 160x45 --script \
    'r until "Run 2" 60 dump Enter until "Ringside · Run" 60 q Esc dump'
check "both are on the screen" grep -qE "Task.*Run 2[0-9]+-" <<<"$out"
check "a narrow window opens it on its own" grep -q "Ringside · Run" <<<"$("$ringside" --open exercise:04-sum --size 80x24 --script 'r' --dump)"

cp "$RINGSIDE_DATA/exercises/04-sum/solution.lua" "$work"

# A mistake in the file is named by its line, and the line is marked.
cp "$work" "$scratch/kept.lua"
echo 'x = = 3' >>"$work"
screen exercise-syntax-80x24 80x24 'c until "0 of 1 checks pass" 30 Tab'

# Begin anew: the starter is back, the learner's file is kept.
screen exercise-reset 80x24 "R y Tab"
check "the backup holds what there was" grep -q '^x = = 3' "$work.1"
check "the starter is back" cmp "$RINGSIDE_DATA/exercises/04-sum/start.lua" "$work"

# An endless loop can be cancelled, and leaves no process.
echo 'while true do end' >"$work"
screen exercise-cancelled 80x24 'c sleep 0.5 x until "was stopped" 20'
sleep 0.5
check "no process is left" sh -c "! pgrep -f '[l]ua-host $RINGSIDE_HOME'"
expect "an unknown exercise is said" 0 "$ringside" --script "" --dump --open exercise:99-none
check "… in a sentence" grep -q "no exercise" "$scratch/out"
