#!/bin/bash
# Lesson 02's exercise: the starter fails, the solution passes, each cheat fails. Its check trains for real (an epoch at
# batch 512, and one at batch 32 where the first was any good); cheats that fail before any training come cheap.
source "$(dirname "$0")/lib.sh"

judge() { # NAME CODE FILE
    expect "$1" "$2" "$ringside" exercise check 02-first-training --file "$3"
}
training=exercises/02-first-training
judge "02: the starter fails" 1 $training/start.lua
for cheat in $training/cheats/*.lua; do
    judge "02: fails: $(basename "$cheat" .lua)" 1 "$cheat"
done
# The solution by plain mode: the lesson, its exercise and the check over a pipe. Enter goes on at the lesson's live blocks.
mapfile -t enters < <(printf '\n%.0s' {1..30})
plain() { printf '%s\n' 2 "${enters[@]}" e w "$(cat $training/solution.lua)" . c b b q | "$ringside" --plain; }
plain >"$scratch/said" 2>&1
check "02: the solution passes over a pipe" grep -q "^02-first-training: passed$" "$scratch/said"
check "02: and is noted" grep -q "First training (35 min, done)" "$scratch/said"
