#!/bin/bash
# The exercises as a learner meets them: each starter fails, each solution passes, each cheat fails, and the lint of
# the course notices what is wrong. Lesson 02, whose check trains, is in test_course_training.sh.
source "$(dirname "$0")/lib.sh"

check "the course hangs together" tests/check/course

# --- the lint sees faults ------------------------------------------------------------------------------------
mkdir "$scratch/course"
cp -R lessons "$scratch/course/"
mkdir "$scratch/course/exercises"
cp -R exercises/[0-9][0-9]-* "$scratch/course/exercises/"
expect "lint: a copy of the course is as good" 0 tests/check/course "$scratch/course"
lint_sees() { # NAME SED-COMMAND FILE
    local file=$scratch/course/$3
    cp "$file" "$scratch/saved"
    sed -i "$2" "$file"
    expect "lint: $1" 1 tests/check/course "$scratch/course"
    cp "$scratch/saved" "$file"
}
lint_sees "a line that is too long" '5s/$/ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/' \
    lessons/en/01-welcome.md
lint_sees "a link that leads nowhere" '5s/$/ [x](99-nothing.md)/' lessons/en/01-welcome.md
lint_sees "a title that is not the course's" '1s/.*/# Something else/' lessons/en/04-ring-allreduce.md
lint_sees "a code block that is not closed" '$a ```' lessons/en/02-first-training.md
lint_sees "a live block that is none" 's/^scale: .*/scale: 3 2 1/' lessons/en/01-welcome.md
lint_sees "a lesson without a quiz" 's/^```quiz .*/```/' lessons/en/01-welcome.md
lint_sees "a lesson that requires what is not there" 's/"01-welcome" },/"00-nothing" },/' lessons/course.lua
mv "$scratch/course/exercises/04-ring-allreduce/hints.md" "$scratch/saved"
expect "lint: an exercise without hints" 1 tests/check/course "$scratch/course"
rm -r "$scratch/course"

judge() { # NAME CODE EXERCISE FILE
    expect "$1" "$2" "$ringside" exercise check "$3" --file "$4"
}

# --- 04 ring-allreduce ---------------------------------------------------------------------------------------
ring=exercises/04-ring-allreduce
judge "04: the starter fails" 1 04-ring-allreduce $ring/start.lua
case $(tr -s '\n ' ' ' <<<"$out") in
    *"second loop"*) pass "04: the starter is told to write the second half" ;;
    *) fail "04: the starter is told to write the second half" "$out" ;;
esac
judge "04: the solution passes" 0 04-ring-allreduce $ring/solution.lua
for cheat in $ring/cheats/*.lua; do
    judge "04: fails: $(basename "$cheat" .lua)" 1 04-ring-allreduce "$cheat"
    if [[ $cheat == */all_send_first.lua ]]; then
        case $(tr -s '\n ' ' ' <<<"$out") in
            *"rank 0 waits"*"rank 3 waits"*) pass "04: the deadlock names who waits for whom" ;;
            *) fail "04: the deadlock names who waits for whom" "$out" ;;
        esac
    fi
done
printf 'function allreduce(comm, x)\n    for k = 0, do\nend\n' >"$scratch/broken.lua"
judge "04: a syntax error is a failed check" 1 04-ring-allreduce "$scratch/broken.lua"

# --- 01 welcome ----------------------------------------------------------------------------------------------
welcome=exercises/01-welcome
host=$(hostname)
sed "s/HOST/$host/" $welcome/solution.lua >"$scratch/answered.lua"
sed 's/steps = 180/steps = 5000/; s/pause = 1,/pause = 0.05,/' $welcome/start.lua >"$scratch/quick.lua"

begin() { # NAME FILE: starts the file's run; its name is in $run
    expect "$1" 0 "$ringside" run "$2"
    run=$(sed -nE 's/^train ([^ ]+): started.*/\1/p' <<<"$out")
}
look() { # watches $run for a moment, as a process of its own
    timeout --signal=INT 2 "$ringside" runs watch "$run" >/dev/null 2>&1
    return 0
}
until_event() { # PATTERN: waits, at most a minute, until such an event of $run is there
    local i
    for ((i = 0; i < 120; i++)); do
        grep -qE "$1" "$RINGSIDE_HOME/runs/$run/events.jsonl" && return 0
        sleep 0.5
    done
    return 1
}
judge "01: fails: there is no run" 1 01-welcome "$scratch/answered.lua"
begin "01: the starter starts a run and returns" "$scratch/quick.lua"
check "01: the run makes steps" until_event '"step"'
judge "01: fails: nobody has watched" 1 01-welcome "$scratch/answered.lua"
look
judge "01: fails: one visit only" 1 01-welcome "$scratch/answered.lua"
look
judge "01: the starter fails, its questions are open" 1 01-welcome $welcome/start.lua
judge "01: the solution passes" 0 01-welcome "$scratch/answered.lua"
for cheat in $welcome/cheats/*.lua; do
    sed "s/HOST/$host/" "$cheat" >"$scratch/cheat.lua"
    [[ $cheat == */invented.lua ]] && continue
    judge "01: fails: $(basename "$cheat" .lua)" 1 01-welcome "$scratch/cheat.lua"
done
"$ringside" runs stop "$run" >/dev/null 2>&1
check "01: the run ends when it is asked to" until_event '"done"'
judge "01: what was seen counts when the run is over, too" 0 01-welcome "$scratch/answered.lua"
# A run that was over before anybody came.
sed 's/steps = 180/steps = 3/; s/pause = 1,/pause = 0.05,/' $welcome/start.lua >"$scratch/short.lua"
begin "01: a short run starts" "$scratch/short.lua"
check "01: the short run ends" until_event '"done"'
look
look
judge "01: fails: watched only after its end" 1 01-welcome "$scratch/answered.lua"
sed "s/HOST/$host/" $welcome/cheats/invented.lua >"$scratch/cheat.lua"
judge "01: fails: invented" 1 01-welcome "$scratch/cheat.lua"
