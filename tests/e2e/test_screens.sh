#!/bin/bash
# Home, lesson and help, driven by key scripts with a fixed clock on a course made for tests (tests/fixtures/course),
# compared with tests/golden/screens as text. After a wanted change: UPDATE=1 tests/e2e/test_screens.sh, and look at
# the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export RINGSIDE_DATA=$PWD/tests/fixtures/course RINGSIDE_MACHINE="login1 8 64 mpirun scheduler"

fresh() { rm -rf "$RINGSIDE_HOME"; } # what one screen did must not show on the next
with_runs() {
    mkdir -p "$RINGSIDE_HOME/runs"
    cp -R tests/fixtures/runs/*/ "$RINGSIDE_HOME/runs/"
    touch -d 2026-01-01T00:00:00Z "$RINGSIDE_HOME"/runs/*
}
screen() { # NAME SIZE KEYS [OPTION...]
    local name=$1 size=$2 keys=$3
    shift 3
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --dump "$@"
    fresh
}

screen home-80x24 80x24 "" --roles
screen home-160x45 160x45 "Down"
screen home-40x12 40x12 "Down Down"
screen home-ascii 80x24 "" --ascii
screen home-help 80x24 "?"
screen home-help-40x12 40x12 "? Down Down"
screen home-too-small 39x12 ""
screen home-one-cell 1x1 "Down size 80x24 size 1x1"
screen home-back-from-lesson 80x24 "Enter End wait 2 q" # read, but the exercise is still to do
screen home-third-done 80x24 "Down Down Enter wait 2 q"
with_runs && screen home-runs-80x24 80x24 "Tab Down"
with_runs && screen home-runs-160x45 160x45 "Tab"
with_runs && screen home-runs-40x12 40x12 "End"
screen home-escape-stays 80x24 "Esc"
screen lesson-80x24 80x24 "Enter" --roles
screen lesson-160x45 160x45 "Enter Down Down"
screen lesson-40x12 40x12 "Enter Space"
screen lesson-ascii 80x24 "Enter Space" --ascii
screen lesson-end 80x24 "Enter End"
screen lesson-search-typing 80x24 "Enter / \"ring\""
screen lesson-search 80x24 "Enter / \"ring\" Enter n"
screen lesson-search-missing 80x24 "Enter / \"nowhere\" Enter"
screen lesson-reflow 80x24 "Enter Space size 50x20"
screen lesson-next 80x24 "Enter n"
screen lesson-last 80x24 "Enter n n n"
screen lesson-help 80x24 "Enter ?"

# What a key script can be told.
expect "an unknown key is named" 2 "$ringside" --script "Dwon" --dump
check "its message names the key" grep -q "'Dwon' in the key script is no key" <<<"$err"
expect "an unknown screen is named" 2 "$ringside" --open nothing:x --dump
expect "a wrong size is refused" 2 "$ringside" --size 80 --dump
expect "an unknown option is refused" 2 "$ringside" --nonsense
expect "until fails where the text never comes" 1 "$ringside" --script 'until "nowhere" 0.2'
expect "q leaves" 0 "$ringside" --script "q Down" --dump
check "nothing is drawn after that" [ -z "$out" ]

# The place in a lesson is kept, also at another width.
"$ringside" --script 'Enter Space Space wait 2' --size 80x24
"$ringside" --script 'c' --size 60x20 --dump >"$scratch/after"
check "a lesson opens where it was left" bash -c 'grep -q "messages  time" "$1" && ! grep -q "A job is" "$1"' - "$scratch/after"
fresh

# The lesson command and plain mode.
expect "lessons are listed" 0 "$ringside" lesson
check "all of them" [ "$(wc -l <<<"$out")" -eq 3 ]
expect "a lesson is printed" 0 "$ringside" lesson 1
check "as text" grep -q "A job is a program that runs without you" <<<"$out"
expect "lessons as JSON" 0 "$ringside" lesson --json
check "are JSON lines with a name" [ "$(grep -c '^{.*"ev":"lesson".*"name":"0[123]-' <<<"$out")" -eq 3 ]
expect "an unknown lesson is refused" 2 "$ringside" lesson nothing
check "and the way to the list is told" grep -q "'ringside lesson' lists them" <<<"$err"
plain() { printf '%s\n' "$@" | "$ringside" --plain; }
check "plain mode reaches a lesson and the next" bash -c '
    printf "1\nn\nb\nq\n" | "$0" --plain | grep -q "^Short\.$"' "$ringside"
check "plain mode ends at the end of the input" bash -c 'printf "1\n" | "$0" --plain >/dev/null' "$ringside"
check "plain mode names a wrong choice" bash -c '
    printf "9\nq\n" | "$0" --plain | grep -q "is none of the choices"' "$ringside"
check "without a terminal plain mode comes by itself" bash -c '
    printf "q\n" | "$0" | grep -q "^Plain mode: standard input is no terminal"' "$ringside"
check "plain mode without Unicode is ASCII" bash -c '
    ! printf "2\nq\n" | LC_ALL=C "$0" --plain | LC_ALL=C grep -q "[^ -~]"' "$ringside"

# Trouble with files.
fresh
mkdir -p "$RINGSIDE_HOME"
echo broken >"$RINGSIDE_HOME/progress.json"
"$ringside" --dump >"$scratch/screen"
check "a broken progress is kept aside and says so" grep -q "your progress file was broken" "$scratch/screen"
check "and is kept" grep -q broken "$RINGSIDE_HOME/progress.json.broken"
RINGSIDE_DATA=$scratch/course
cp -R tests/fixtures/course "$RINGSIDE_DATA"
echo 'return { lessons = {' >"$RINGSIDE_DATA/lessons/course.lua"
"$ringside" --dump --size 200x24 >"$scratch/screen"
check "a broken course says where it is broken" grep -q "course.lua:2: unexpected symbol" "$scratch/screen"
expect "and on the command line" 2 "$ringside" lesson
