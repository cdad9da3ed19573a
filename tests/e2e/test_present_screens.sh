#!/bin/bash
# Slides and an instructor's notes, compared with tests/golden/screens; the notes follow in a second terminal and steer.
# After a wanted change: UPDATE=1 tests/e2e/test_present_screens.sh, and look at the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export RINGSIDE_DATA=$PWD/tests/fixtures/course RINGSIDE_MACHINE="login1 8 64 mpirun scheduler" TZ=UTC

with_runs() {
    mkdir -p "$RINGSIDE_HOME/runs"
    cp -R tests/fixtures/runs/train-done "$RINGSIDE_HOME/runs/"
}
screen() { # NAME SIZE KEYS [OPTION...]
    local name=$1 size=$2 keys=$3
    shift 3
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --dump "$@"
}
slides() { screen "$@" --open present:05-slides; }

with_runs
slides present-title-80x24 80x24 "" --roles
slides present-title-160x45 160x45 ""
slides present-title-40x12 40x12 ""
slides present-title-ascii 160x45 "" --ascii
slides present-picture-80x24 80x24 "Right"
slides present-picture-160x45 160x45 "Space"
slides present-picture-40x12 40x12 "PgDn"
slides present-picture-ascii 80x24 "Right" --ascii
slides present-table-160x45 160x45 "Right Right"
slides present-own-words-80x24 80x24 "Right Right Right" --roles
slides present-question-80x24 80x24 "Right Right Right Right 2 Enter"
slides present-recording-80x24 80x24 "g 6 Enter + +"
slides present-list-80x24 80x24 "End"
slides present-list-40x12 40x12 "End"
slides present-list-scrolled-40x12 40x12 "End Right Right"
slides present-jump-80x24 80x24 "Right Right g"
slides present-jump-40x12 40x12 "g Down Down Down Down"
slides present-jump-search 80x24 "g \"REC\""
slides present-jump-nothing 80x24 "g \"zebra\""
slides present-blank 80x24 "Right ."
slides present-blank-and-back 80x24 "Right b Left"
slides present-help 80x24 "?"
slides present-last 80x24 "End Right"

# Of the course's own: a title that takes two lines, and a drawing that is wider than the window.
ring() { RINGSIDE_DATA=$PWD "$ringside" --open present:04-ring-allreduce "$@" --dump; }
check "minutes in a line of their own have no dot before them" grep -qE '^ +40 minutes$' <<<"$(ring --size 80x24 --script '')"
ring --size 40x12 --script 'g 5 Enter Down Down Down' >"$scratch/screen"
check "a drawing is cut at the window's end" grep -q '1                 0 ─── 1     …' "$scratch/screen"
check "and not wrapped" bash -c '! grep -qE "^ *to 1" "$1"' - "$scratch/screen"

# A recording plays within its slide, and stops with it.
"$ringside" --open present:05-slides --script 'g "recording" Enter Enter until "epoch 2" 20' --size 120x40 >"$scratch/screen" 2>&1
check "a recording plays within its slide" test $? -eq 0
check "as a run of its own" compgen -G "$RINGSIDE_HOME/runs/*replay-*" >/dev/null

# The notes: of a presentation that this shell stands for, since half a minute before the fixed clock.
present=$RINGSIDE_HOME/present
presentation() { # PID SLIDE LESSON STARTED
    mkdir -p "$present"
    printf '{"lesson":"%s","host":"%s","pid":%d,"slide":%d,"slides":8,"blank":false,"started":%d,"beat":1767225599}' \
        "$3" "$(hostname)" "$1" "$2" "$4" >"$present/$(hostname)-$1.json"
}
screen notes-nothing 80x24 "" --open notes
presentation $$ 0 05-slides 1767225570
screen notes-80x24 80x24 "wait 1" --open notes
presentation $$ 3 05-slides 1767225570
screen notes-own-160x45 160x45 "wait 1" --open notes
screen notes-40x12 40x12 "wait 1" --open notes
screen notes-ascii 80x24 "wait 1" --open notes --ascii
presentation $$ 0 01-first 1767224970
screen notes-over-time-80x24 80x24 "wait 1" --open notes
screen notes-scrolled-40x12 40x12 "wait 1 Down Down Down" --open notes
screen notes-jump-80x24 80x24 "g" --open notes
"$ringside" --open notes --script 'wait 1 Right Right' --size 80x24
check "the notes ask for a slide" grep -q '"slide":2' "$present/$(hostname)-$$.want"
"$ringside" --open notes --script 'wait 1 .' --size 80x24
check "and for a blank screen" grep -q '"blank":1' "$present/$(hostname)-$$.want"

# Two at once: the one that began last; w goes to the other.
sleep 30 &
other=$!
presentation $other 1 02-second 1767225590
"$ringside" --open notes --script 'wait 1 dump w' --size 100x24 --dump >"$scratch/screen"
kill $other
check "of two presentations the notes follow the later" bash -c 'head -24 "$1" | grep -q "Notes: Second"' - "$scratch/screen"
check "w follows the other" bash -c 'tail -24 "$1" | grep -q "Notes: The first lesson"' - "$scratch/screen"
wait $other 2>/dev/null
rm "$present"/*
presentation $other 1 02-second 1767225590
"$ringside" --open notes --script 'wait 1' --size 100x24 --dump >"$scratch/screen"
check "one that was left behind is named" grep -q "(process $other)" "$scratch/screen"
check "and what to do" grep -q "'ringside present LESSON'" "$scratch/screen"
rm -r "$present"

# The command.
expect "slides on a pipe" 0 "$ringside" present 01
check "all of them" grep -q '^3/4  ' <<<"$out"
expect "notes as text" 0 "$ringside" present 01 --notes
check "are the section's text" grep -q "a supervisor" <<<"$out"
expect "slides as JSON" 0 "$ringside" present 01 --json
check "a line a slide" [ "$(grep -c '^{.*"ev":"slide".*"heading":' <<<"$out")" -eq "$(wc -l <<<"$out")" ]
expect "which lesson" 2 "$ringside" present
expect "an unknown lesson" 2 "$ringside" present nothing
check "and the way to the list is told" grep -q "'ringside lesson' lists them" <<<"$err"
expect "notes that follow need a terminal" 2 "$ringside" present --notes

# Two terminals.
command -v tmux >/dev/null || { skip "two terminals" "tmux is not installed"; exit 0; }
mux() { tmux -L "ringside-present-$$" -f /dev/null "$@"; }
ended() {
    mux kill-server 2>/dev/null
    finish
}
trap ended EXIT
shows() { # WINDOW TEXT: at most ten seconds
    for _ in $(seq 200); do
        mux capture-pane -p -t "$1" | grep -qF -- "$2" && return 0
        sleep 0.05
    done
    mux capture-pane -p -t "$1" | sed 's/^/| /'
    return 1
}
mux new-session -d -x 80 -y 24 -s notes "$ringside present --notes"
check "notes wait for a presentation" shows notes "Nothing is presented yet"
mux new-session -d -x 80 -y 24 -s slides "$ringside present 01"
check "slides" shows slides "? shows the keys"
check "the notes follow" shows notes "slide 1 of 4"
mux send-keys -t slides Right Right
check "to the next slides" shows notes "slide 3 of 4"
# From a key in one terminal to the other's screen: counted in polls of both, so that a busy machine passes too.
mux send-keys -t notes Left
check "and steer" shows slides "2/4"
mux send-keys -t notes .
check "blank from the notes" shows notes "the screen is blank"
mux send-keys -t notes .
check "and back" shows slides "2/4"
mux send-keys -t slides q q
check "the end is told" shows notes "is over"
mux send-keys -t notes q
