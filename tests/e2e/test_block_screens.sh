#!/bin/bash
# The live blocks of a lesson: a lesson made of them (tests/fixtures/blocks), driven by key scripts and compared with
# tests/golden/screens as text; a whole lesson by keys, with a real run; what is kept; the lint. After a wanted change:
# UPDATE=1 tests/e2e/test_block_screens.sh, and look at the difference before committing it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export RINGSIDE_DATA=$scratch/course RINGSIDE_MACHINE="login1 8 64 mpirun"
cp -R tests/fixtures/blocks "$RINGSIDE_DATA" && mkdir "$RINGSIDE_DATA/exercises"

screen() { # NAME SIZE KEYS [OPTION...]
    local name=$1 size=$2 keys=$3
    shift 3
    rm -rf "$RINGSIDE_HOME"
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --open lesson:1 --dump "$@"
}

# Predict, simulate, and the prediction beside what came out.
screen blocks-80x24 80x24 "Tab Right" --roles
screen blocks-40x12 40x12 "Tab Down"
screen blocks-waits 80x24 "Tab Tab Enter"
screen blocks-measured-80x24 80x24 "Tab Right Right Right Enter Tab Enter wait 1 Home"
screen blocks-measured-ascii 80x24 "Tab Right Right Right Enter Tab Enter wait 1 Home" --ascii
screen blocks-160x45 160x45 "Tab Right Right Right Enter Tab Enter Tab Enter wait 1 Home"
screen blocks-curve-80x24 80x24 "Tab Tab Tab Enter wait 1"
screen blocks-quiz-80x24 80x24 "Tab Tab Tab Tab Tab Down Enter"
screen blocks-quiz-wrong 80x24 "Tab Tab Tab Tab Tab 1 Enter"
screen blocks-ring-80x24 80x24 "Tab Tab Tab Tab Tab Tab Right Right"
screen blocks-ring-40x12 40x12 "Tab Tab Tab Tab Tab Tab Right Right"
screen blocks-ring-ascii 80x24 "Tab Tab Tab Tab Tab Tab Right Right" --ascii
screen blocks-end-80x24 80x24 "End"
screen blocks-contents 80x24 "Space m Home c Down"
screen blocks-marked 80x24 "Space m Home c Down Enter"
screen blocks-clicked 80x24 "click 10,32 Enter"
screen blocks-leaves 80x24 "Tab Esc Esc"

# A whole lesson by keys: commit, start a real run and wait for it, look at its view, answer the quiz, read to the end.
rm -rf "$RINGSIDE_HOME"
expect "a lesson is done by keys" 0 "$ringside" --open lesson:1 --size 80x45 --script \
    'Tab 3 Enter Tab Enter wait 1 Tab Enter wait 1 Tab Down Enter Tab Down Enter Tab Right Tab Enter until "ring 4 KiB" 90 dump Enter until "Bus bandwidth" 60 dump q End wait 2'
check "the run says what it measured" grep -qE 'ring 4 KiB: [0-9.]+ ([mnu]|µ)?s' <<<"$out"
check "Enter then opens its view, and says so" grep -q "Enter open run" <<<"$out"
check "Enter opens its view" grep -q "Collectives" <<<"$out"
check "it is a run like any other" [ "$(find "$RINGSIDE_HOME/runs" -maxdepth 1 -name '*block*' | wc -l)" -eq 1 ]
check "the answers are kept" grep -q '"answer": "14"' "$RINGSIDE_HOME/progress.json"
check "the lesson is read" grep -q '"read_at"' "$RINGSIDE_HOME/progress.json"
expect "opened again it shows them" 0 "$ringside" --open lesson:1 --size 80x45 --dump --script "End"
check "and the run" grep -qE 'ring 4 KiB: [0-9.]+ ([mnu]|µ)?s' <<<"$out"
check "and the questions as answered" grep -q "Right." <<<"$("$ringside" --open lesson:1 --size 160x60 --dump --script 'Tab Tab Tab Tab Tab')"

# What cannot be kept is said where it happens; and no two parts of a step look alike without colours.
lost=$(RINGSIDE_HOME=/proc/nope "$ringside" --open lesson:1 --size 160x45 --dump --script 'Tab Enter')
check "an answer that cannot be kept" grep -q "This answer is not kept" <<<"$lost"
check "is not called committed" bash -c 'grep -q "Predict ─.* not kept ─" <<<"$1" && ! grep -q " committed ─" <<<"$1"' - "$lost"
check "the parts of a step without Unicode" grep -qE 'F+B+A+U+' \
    <<<"$(RINGSIDE_DATA=$PWD "$ringside" --ascii --open lesson:2 --size 80x300 --dump --script '')"

# As text: the questions without their answers, commands, a table in place of a plot.
expect "blocks as text" 0 "$ringside" lesson 1
for text in "Question: How many messages" " 2) 14" " 6) don't know" "Simulate: Two ways" "Plot: What one rank sends" \
    "ringside allreduce --ranks 2" "A note below."; do
    check "text has: $text" grep -qF -- "$text" <<<"$out"
done
check "explanations wait until the end of the text" [ "$(grep -n 'Two halves of seven rounds' <<<"$out" | cut -d: -f1)" -gt "$(grep -n 'There is no more' <<<"$out" | cut -d: -f1)" ]

# The lint names file and line.
expect "the lint finds the broken block" 1 "$ringside" lint tests/fixtures/blocks
check "by file and line" grep -q "lessons/en/01-blocks.md:[0-9]*: command: --ranks: expected a whole number" <<<"$out"
expect "the course has none" 0 "$ringside" lint .
expect "a folder without lessons is told" 2 "$ringside" lint tests
expect "findings as JSON" 1 "$ringside" lint tests/fixtures/blocks --json
check "are JSON lines" grep -q '^{.*"ev":"finding"' <<<"$out"
