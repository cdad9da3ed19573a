#!/bin/bash
# Plain mode over a pipe: a whole lesson and its exercise to "passed", every other place it reaches, and the end of the
# input anywhere. (Lesson 02, whose check trains for real: test_course_training.sh.)
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

plain() { # LINE...: what it says to them, in $scratch/said
    printf '%s\n' "$@" | timeout 60 "$ringside" --plain >"$scratch/said" 2>"$scratch/err"
}
says() { grep -qF -- "$1" "$scratch/said"; }

# Enter goes on at each of the lesson's live blocks; once it is at its end, Enter is no choice and nothing happens.
mapfile -t enters < <(printf '\n%.0s' {1..30})
lesson=exercises/04-ring-allreduce
check "a lesson and its exercise over a pipe" plain 4 "${enters[@]}" e f c h w "$(cat $lesson/solution.lua)" . c d b b q
check "the lesson is read" says "Look at the first column of figures"
check "the task is told" says "Exercise 04-ring-allreduce"
check "the file is named" says "Your file: $RINGSIDE_HOME/work/04-ring-allreduce.lua"
check "the starter does not pass" says "04-ring-allreduce: not passed yet"
check "a hint" says "Hint 1 of"
check "what was there is kept" test -s "$RINGSIDE_HOME/work/04-ring-allreduce.lua.1"
check "the file is what was typed" cmp $lesson/solution.lua "$RINGSIDE_HOME/work/04-ring-allreduce.lua"
check "passed" says "04-ring-allreduce: passed"
check "it does not differ from the solution" says "Your file is the solution, line by line."
check "the course knows" grep -qE "Ring-allreduce \(40 min, done\)" "$scratch/said"
check "nothing was said beside it" bash -c '! grep -v "real ranks could not be used" "$1"' - "$scratch/err"

# README's example as it is printed, by someone who has never been here.
example=$(sed -n "s/.*\`\(printf '[^\`]*| ringside --plain\)\`.*/\1/p" README.md)
check "README has an example" test -n "$example"
RINGSIDE_HOME=$scratch/new PATH=$(dirname "$ringside"):$PATH timeout 60 bash -c "$example" >"$scratch/said" 2>"$scratch/err"
check "it checks the exercise" says "04-ring-allreduce: not passed yet"
check "and each of its lines is a choice" bash -c '! grep "is none of the choices" "$1"' - "$scratch/said"

# The lesson's live blocks, in their order: three predictions, a simulation, a run (of small buffers), a question.
rm "$RINGSIDE_HOME/progress.json"
mkdir "$scratch/course"
cp -R lessons "$scratch/course"
ln -s "$PWD/exercises" "$scratch/course/exercises"
sed -i 's/--bytes 4K,64K,1M,8M/--bytes 4K,64K/' "$scratch"/course/lessons/en/04-*.md
export RINGSIDE_DATA=$scratch/course
plain 4 9 2 2 3 s "" s "" 2 b q
check "a choice that is none" says "'9' is none of the choices"
check "a prediction" says "As you said. Each of the N ranks sends N−1 vectors."
check "a simulation, at once" grep -q "^ring 679.9 µs" "$scratch/said" # 6 x 20 us + 1.5 x 373 288 B / 1 GB/s
check "a question" says "Right. Two halves of"
if command -v mpirun >/dev/null; then
    check "a run, to its end" grep -qE "^ *65536 +16384 ring" "$scratch/said"
else
    skip "a run, to its end" "mpirun is not installed"
fi
export RINGSIDE_DATA=$PWD
plain 4 "${enters[@]}" b q
check "answers are kept" says "As you said. Each of the N ranks sends N−1 vectors."
"$ringside" exercise check 04 >/dev/null
plain 4 "${enters[@]}" e w "half a file"
check "an input that ends within a file changes nothing" cmp $lesson/solution.lua "$RINGSIDE_HOME/work/04-ring-allreduce.lua"
check "and says so" says "The input ended before the dot"
plain 4 "${enters[@]}" e r v b b q
check "reset keeps the file" test -s "$RINGSIDE_HOME/work/04-ring-allreduce.lua.2"
check "the file is read aloud with line numbers" grep -qE '^  1  --' "$scratch/said"

"$ringside" runs replay first-training --speed 0 --json >/dev/null
"$ringside" runs replay ring-4 --speed 0 --json >/dev/null
plain r 1 h v b 2 w v l b b q
check "runs: messages round by round" says "Round 6 of 6, allgather"
check "each with its chunk" says "rank 3 sends chunk 3"
check "curves as tables" grep -qE '^ +step +loss$' "$scratch/said"
check "a run's report" says "accuracy"
plain a "ring 3 12" nonsense "ring 1000" b q
check "a collective by its schedule" says "ring, 3 ranks, 4 rounds, 12 messages"
check "an unknown one" says 'no allreduce algorithm "nonsense"'
check "too many ranks" says "not 'ring 1000'"
plain c s 9 "" l "teaching ring 8 1MiB" nonsense "" b q
check "a simulated queue in words" says "Simulated: 16 nodes"
check "what a collective puts on links" says "Simulated: ring over 1 MiB on 8 ranks of teaching takes"
check "an unknown cluster" grep -q "^error: .*nonsense" "$scratch/said"
plain s 2 3 b d q
check "settings are kept" grep -q '"glyphs": "ascii"' "$RINGSIDE_HOME/settings.json"
check "the doctor" says "mpirun"
plain '?' nothing
check "? lists the choices again, a wrong one is named" says "'nothing' is none of the choices"

# Nothing is drawn: lines and boxes mean nothing to a screen reader. (ASCII was chosen above.)
check "ASCII alone" bash -c '! LC_ALL=C grep -q "[^ -~]" "$1"' - "$scratch/said"
# The end of the input ends it at any point, without an error.
script=(4 "${enters[@]}" e h w line . r 1 b b a b s 1)
for ((i = 0; i < ${#script[@]}; i += 2)); do
    check "the input ends after $i answers" plain "${script[@]:0:i}"
done
