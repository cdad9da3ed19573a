#!/bin/bash
# Rank scripts and exercises from the command line, over MPI where it is installed and as coroutines.
. "$(dirname "$0")/lib.sh"

says() { # NAME TEXT
    if [[ "$out$err" == *"$2"* ]]; then pass "$1"; else fail "$1" "expected: $2" "got: $out" "$err"; fi
}
rank=tests/fixtures/rank
modes=--coroutines
command -v mpirun >/dev/null && modes="--coroutines mpi" || skip "rank scripts over MPI" "mpirun is not installed"
for mode in $modes; do
    option=$mode name=${mode#--}
    [ "$mode" = mpi ] && option=
    run=(timeout 120 "$ringside" run $option)
    expect "$name: a ring at 4 ranks" 0 "${run[@]}" $rank/ring.lua
    expect "$name: a ring at 5 ranks, 3 elements" 0 "${run[@]}" $rank/ring.lua --ranks 5 --length 3
    expect "$name: one rank, no elements" 0 "${run[@]}" $rank/ring.lua --ranks 1 --length 0
    expect "$name: everybody to everybody has the right sum" 0 "${run[@]}" $rank/naive.lua --ranks 3
    expect "$name: right on rank 0 only" 1 "${run[@]}" $rank/rank0.lua
    says "$name: the first wrong rank is named" "right on 1 of 4 ranks; the first that is wrong is rank 1"
    expect "$name: a cycle" 1 "${run[@]}" $rank/cycle.lua --ranks 3
    says "$name: the cycle is named" "rank 0 waits to send to rank 1, rank 1 waits to send to rank 2, rank 2 waits to send to rank 0: nobody can go on"
    expect "$name: a rank that has finished" 1 "${run[@]}" $rank/finished.lua --ranks 2
    says "$name: it is named" "rank 1 waits to receive from rank 0, but rank 0 has finished: nobody sends it"
    expect "$name: a neighbour that is not there" 2 "${run[@]}" $rank/neighbour.lua
    says "$name: and the ranks there are" "there is no rank 4"
    says "$name: with its line" "neighbour.lua:4:"
    expect "$name: lengths that differ" 2 "${run[@]}" $rank/mismatch.lua
    says "$name: both are named" "rank 0 sent 16 elements, but rank 1 receives into a vector of 8"
    expect "$name: forged answers" 1 "${run[@]}" $rank/forge.lua
    # A loop is ended by the sandbox in that rank, a pattern by whoever watches it; rank 0 is a case of its own.
    for stuck in loop pattern pattern0; do
        RINGSIDE_SCRIPT_SECONDS=1 expect "$name: a rank that never comes back: $stuck" 2 "${run[@]}" $rank/$stuck.lua
        says "$name: $stuck is named" "look for a loop that never ends"
    done
    expect "$name: hops as events" 0 "${run[@]}" $rank/ring.lua --ranks 3 --json
    check "$name: 2(N-1) hops from each rank, each to its right" python3 -c '
import json, sys, collections
hops = [e for e in map(json.loads, open(sys.argv[1])) if e["ev"] == "hop"]
assert len(hops) == 12, len(hops)
assert all(h["to"] == (h["from"] + 1) % 3 and 0 <= h["chunk"] < 3 and h["t1"] >= h["t0"] for h in hops), hops
assert all(n == 4 for n in collections.Counter(h["from"] for h in hops).values())
assert sorted({h["phase"] for h in hops}) == ["allgather", "reduce_scatter"]
' "$scratch/out"
done

expect "the list" 0 "$ringside" exercise list
says "names the exercises" "04-ring-allreduce"
expect "the list as events" 0 "$ringside" exercise list --json
expect "start" 0 "$ringside" exercise start ring
file=$out
check "prints where the file is" test -f "$file"
check "the file is the starter" cmp "$file" exercises/04-ring-allreduce/start.lua
echo "-- mine" >>"$file"
expect "start again" 0 "$ringside" exercise start 4
check "never overwrites" grep -q -- "-- mine" "$file"
expect "hint" 0 "$ringside" exercise hint 04
says "the first" "Hint 1 of"
expect "hint again" 0 "$ringside" exercise hint 04
says "the second" "Hint 2 of"
expect "a hint by number" 0 "$ringside" exercise hint 04 1
expect "a hint that is not there" 2 "$ringside" exercise hint 04 99
expect "reset" 0 "$ringside" exercise reset 04-ring-allreduce
check "the starter is back" cmp "$file" exercises/04-ring-allreduce/start.lua
check "and mine is kept" grep -q -- "-- mine" "$file.1"
expect "solution" 0 "$ringside" exercise solution 04
check "is the solution" cmp "$scratch/out" exercises/04-ring-allreduce/solution.lua
(cat exercises/04-ring-allreduce/solution.lua && echo "-- mine") >"$scratch/mine.lua"
expect "how another differs from it" 1 "$ringside" exercise solution 04 --diff --file "$scratch/mine.lua"
check "is one line" [ "$(grep -c '^[-+]' <<<"$out")$(grep '^[-+]' <<<"$out")" = "1- -- mine" ]
expect "and itself not at all" 0 "$ringside" exercise solution 04 --diff --file exercises/04-ring-allreduce/solution.lua
expect "an unknown exercise" 2 "$ringside" exercise check 99-nothing
says "names those there are" "01-welcome"
expect "a name that fits several" 2 "$ringside" exercise check 0
expect "an unreadable file" 2 "$ringside" exercise check 04 --file "$scratch/absent.lua"
expect "an unknown verb" 2 "$ringside" exercise frobnicate 04

expect "the starter does not pass" 1 "$ringside" exercise check 04
says "and says what is next" "next"
check "that is no success" bash -c "! grep -q passed_at '$RINGSIDE_HOME/progress.json'"
expect "the solution passes" 0 "$ringside" exercise check 04 --file exercises/04-ring-allreduce/solution.lua
check "and is noted" grep -q passed_at "$RINGSIDE_HOME/progress.json"
runs_before=$(ls "$RINGSIDE_HOME/runs" | wc -l)
expect "the instant check of the solution" 0 "$ringside" exercise check 04 --instant --file exercises/04-ring-allreduce/solution.lua
check "leaves one run behind" test "$(ls "$RINGSIDE_HOME/runs" | wc -l)" -eq $((runs_before + 1))
for cheat in exercises/04-ring-allreduce/cheats/*.lua; do
    expect "cheat: $(basename "$cheat")" 1 "$ringside" exercise check 04 --instant --file "$cheat"
done
printf 'function allreduce(comm, x)\n  x += 1\nend\n' >"$scratch/syntax.lua"
expect "a syntax error is a check not passed" 1 "$ringside" exercise check 04 --file "$scratch/syntax.lua" --json
check "with file, line, text and cure" python3 -c '
import json, sys
checks = [e for e in map(json.loads, open(sys.argv[1])) if e["ev"] == "check"]
assert len(checks) == 1, checks
c = checks[0]
assert c["result"] == "fail" and c["name"] == "your file runs" and c["line"] == 2, c
assert "x += 1" in c["measured"] and "x = x + " in c["next"], c
' "$scratch/out"
printf 'while true do end\n' >"$scratch/loop.lua"
RINGSIDE_SCRIPT_SECONDS=1 expect "an endless loop is a check not passed" 1 timeout 60 "$ringside" exercise check 04 --file "$scratch/loop.lua"
RINGSIDE_SCRIPT_SECONDS=1 expect "nor does a rank that never comes back pass" 1 timeout 60 "$ringside" exercise check 04 --file $rank/pattern0.lua
says "and it is named" "rank 0 has computed"
# The check itself cannot be reached from the learner's file.
cat >"$scratch/reach.lua" <<'LUA'
check, string.format, table.concat, ipairs = print, print, print, print
getmetatable("").__index = {}
rank_script = function() return { cases = {} } end
function allreduce(comm, x) end
cycle = setmetatable({}, { __index = function() return 0 end, __len = function() return 5 end })
LUA
expect "a file that replaces functions does not pass" 1 "$ringside" exercise check 04 --instant --file "$scratch/reach.lua"
