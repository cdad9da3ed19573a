#!/bin/bash
# Scripts in the sandbox, through the whole way: command line, supervisor, host, child. Whatever a script does, it ends
# with a sentence and the right exit code, and no process is left.
. "$(dirname "$0")/lib.sh"

script() { # NAME: standard input becomes $scratch/NAME.lua
    cat >"$scratch/$1.lua"
}
says() { # NAME TEXT: what the last `expect` printed
    if [[ "$out$err" == *"$2"* ]]; then pass "$1"; else fail "$1" "expected: $2" "got: $out" "$err"; fi
}
# The supervisors' environment holds this test's own home: nobody else's processes are looked at.
left_over() {
    local pid count=0
    for pid in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$pid/environ" | grep -qx "RINGSIDE_HOME=$RINGSIDE_HOME" &&
            tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -qE -- '--supervise|--lua-host|--coroutine-ranks|ringside-rank'; then
            count=$((count + 1))
        fi
    done
    echo $count
}
nothing_left() {
    for _ in $(seq 50); do
        [ "$(left_over)" -eq 0 ] && return 0
        sleep 0.1
    done
    return 1
}
# The sandbox's own limit is 10 s. What ends by itself is given more, what does not less, so that nobody waits.
export RINGSIDE_SCRIPT_SECONDS=120

script plain <<'LUA'
print("hello", 1 + 1)
note("a note")
local guess = predict("how many times as fast?", 1.5)
plot { title = "T", x = "n", y = "s", series = { a = { { 1, 2 }, { 2, guess } }, empty = {} } }
local ok, why = pcall(train, { model = "cnn", btch = 3 })
print(ok, why)
print(pcall(train, { ranks = "two" }))
print(pcall(train, { ranks = 0 }))
print(pcall(train, { model = model { dense { 10 } } }))
print(pcall(conv2d, { 3 }))
print(pcall(train, { batch = 10.5 }))
print(pcall(train, { label = print }))
for _, args in ipairs { { ranks = 1e9 }, { batch = 1e15 }, { seed = -5 }, { steps = 2 ^ 50 } } do print(pcall(train, args)) end
for _, key in ipairs { "lr", "clip", "warmup", "seconds", "pause", "gamma" } do
    print(pcall(train, { [key] = 0 / 0 }))
    print(pcall(train, { [key] = -1 / 0 }))
end
print(pcall(sgd, { momentum = 0 / 0 }))
print(pcall(dropout, { 1 / 0 }))
print(pcall(allreduce, { bytes = { 1024, 10.5 } }))
print(pcall(allreduce, { iters = 0 / 1 }))
print(pcall(train, { resume = "last" }))
print(pcall(train, { model = { flatten {}, dense { 10 } } }))
print("before\0after")
LUA
expect "a script runs" 0 "$ringside" run "$scratch/plain.lua"
says "print" "hello	2"
says "predict" "predicted: how many times as fast?: 1.5"
says "an unknown key names the nearest" "train{...} does not know 'btch'; did you mean 'batch'?"
says "a wrong type is told" "train{ ranks = ... } needs a whole number, but got the text \"two\""
says "a value out of range is told" "ranks: expected"
says "layers that do not fit are told" "flatten"
says "a layer without its numbers is told" "conv2d{...} lacks its kernel"
says "so is a number that is not whole" "train{ batch = ... } needs a whole number, but got the number 10.5"
says "and a function, without its address" "train{ label = ... } needs a text in quotes, but got a function"$'\n'
for range in "ranks: expected a number from 1 to 4096, got 1000000000" "batch: expected a number from 1 to 65536, got 1e+15" \
    "seed: expected a number from 0 to 9.2e+18, got -5" "steps: expected a number from 0 to 1e+12, got 1.1258999" \
    "iters: expected a number from 1 to 1000000, got 0"; do
    says "out of range: ${range%%:*}" "$range"
done
for key in lr clip warmup seconds pause gamma; do
    says "$key is no NaN" "train{ $key = ... } needs a finite number, but got the number nan"
    says "$key is finite" "train{ $key = ... } needs a finite number, but got the number -inf"
done
says "nor is an optimiser's number" "sgd{ momentum = ... } needs a finite number, but got the number nan"
says "nor a layer's" "dropout{ rate = ... } needs a finite number, but got the number inf"
says "sizes are whole" "bytes: expected a whole number"
says "a list of layers is no model" "model: expected a name such as"
says "a script is not its own last training" "resume: no run has trained yet"
says "a zero byte does not end a line" $'before\xef\xbf\xbdafter'
expect "the same as events" 0 "$ringside" run "$scratch/plain.lua" --json
check "events only, the last is done" python3 -c '
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert events[-1]["ev"] == "done" and events[-1]["ok"] is True, events[-1]
points = [e for e in events if e["ev"] == "point"]
assert [(p["series"], p.get("x"), p["y"]) for p in points] == [("predicted", None, 1.5), ("a", 1, 2), ("a", 2, 1.5)], points
assert points[1]["title"] == "T" and points[1]["xlabel"] == "n" and points[1]["ylabel"] == "s"
' "$scratch/out"

printf 'x = 1\nif x = 1 then\nend\n' | script syntax
expect "a syntax error" 2 "$ringside" run "$scratch/syntax.lua"
says "names file, line, text and cure" "syntax.lua:2: = assigns, it does not compare; compare with == (line 2: if x = 1 then)"
check "and starts no run" test -z "$(ls "$RINGSIDE_HOME/runs" | grep syntax)"
printf 'print("x")\nlocal t = nil\nt.x = 1\n' | script runtime
expect "a run-time error" 2 "$ringside" run "$scratch/runtime.lua"
says "names the line" "runtime.lua:3:"
expect "a run-time error, as events" 2 "$ringside" run "$scratch/runtime.lua" --json
check "the line is one sentence on standard error" grep -q "^ringside: .*runtime.lua:3:" <<<"$err"
check "no more than one" test "$(wc -l <<<"$err")" -eq 1
if command -v mpirun >/dev/null; then
    printf 'r = train { model = "resnet20", steps = 1 }\nprint(r.ok, r.error)\n' | script nested
    expect "a training that fails" 1 "$ringside" run "$scratch/nested.lua"
    says "the script learns why" 'false	model "resnet20" takes samples of 3×32×32, dataset "mnist" has 1×28×28'
    check "standard error names the run and why" grep -q '^ringside: train .*-resnet20-mnist: model "resnet20" takes' <<<"$err"
    says "and the cure" "take --data cifar10 or synthetic:3x32x32:10:2000"
    expect "the same, as events" 1 "$ringside" run "$scratch/nested.lua" --json
    check "the nested event has the reason" grep -q '"ev":"nested".*"state":"ended","ok":false,"reason":"model ' <<<"$out"
    check "standard error, too, in one line" test "$(grep -c '^ringside: train .*takes samples of' <<<"$err")" = "$(wc -l <<<"$err")"
else
    skip "a training that fails" "mpirun is not installed"
fi
expect "a file that is not there" 2 "$ringside" run "$scratch/absent.lua"
expect "a folder" 2 "$ringside" run "$scratch"
expect "no file" 2 "$ringside" run
script nothing </dev/null
expect "an empty file" 0 "$ringside" run "$scratch/nothing.lua"
says "is said to show nothing" "nothing.lua ran to its end and shows nothing"
odd=$scratch/$'bad\xffname.lua'
echo 'print(1)' >"$odd"
expect "a file whose name is not UTF-8" 2 "$ringside" run "$odd"
says "is told so" "is not UTF-8; rename it"
printf '\x1bLuaS' | script bytecode
expect "bytecode" 2 "$ringside" run "$scratch/bytecode.lua"

i=0
hostile() { # standard input: SCRIPT|PART OF THE SENTENCE
    local code part
    while IFS='|' read -r code part; do
        i=$((i + 1))
        printf '%s\n' "$code" | script "hostile$i"
        expect "hostile: ${code:0:60}" 2 timeout 100 "$ringside" run "$scratch/hostile$i.lua"
        out=$(tail -n 3 <<<"$out")
        says "hostile $i is explained" "$part"
    done
}
export RINGSIDE_SCRIPT_SECONDS=1
hostile <<'CASES'
while true do end|look for a loop that never ends
while true do pcall(function() while true do end end) end|look for a loop that never ends
string.find(("a"):rep(100000), (".-"):rep(20) .. "b")|was stopped
CASES
export RINGSIDE_SCRIPT_SECONDS=120
hostile <<'CASES'
os.execute("touch /tmp/x")|'os' is not available
io.open("/etc/passwd")|'io' is not available
load("\27Lua")|'load' is not available
string.dump(print)|there is no function 'dump'
debug.sethook()|'debug' is not available
require("socket")|'require' is not available
collectgarbage("stop")|only "collect" and "count"
local s = ("x"):rep(1e10)|more memory than the 256 MiB
while true do print("flood") end|prints too much
while true do predict("q", 1) end|more than 1000 calls
train("cnn")|train takes a table in braces
setmetatable(_G, { __index = function(t, k) return t[k] end }) local y = zzz|functions call each other without end
local t = {} for i = 1, 1e9 do t[i] = {} end|more memory than the 256 MiB
local function f() return 1 + f() end f()|functions call each other without end
CASES
check "no process is left" nothing_left

# TERM to the run ends the script and what it started.
script nested <<'LUA'
train { model = "mlp", ranks = 1, steps = 100000, pause = 0.2 }
LUA
if command -v mpirun >/dev/null; then
    RINGSIDE_SCRIPT_SECONDS=1 "$ringside" run "$scratch/nested.lua" --detach >"$scratch/id"
    id=$(cat "$scratch/id")
    trained=
    for _ in $(seq 300); do
        trained=$(ls "$RINGSIDE_HOME/runs" | grep -- '-mlp-mnist' | head -n 1)
        [ -n "$trained" ] && grep -q '"ev":"step"' "$RINGSIDE_HOME/runs/$trained/events.jsonl" 2>/dev/null && break
        sleep 0.1
    done
    check "a script's train{} is a run of its own" test -n "$trained"
    sleep 2 # longer than the script's own time: waiting for a run is not counted
    check "waiting for a run is not counted" grep -q '"state":"running"\|"state": "running"' "$RINGSIDE_HOME/runs/$id/status.json"
    expect "the script is stopped" 0 "$ringside" runs stop "$id"
    check "with all it started" nothing_left
    check "the training was cancelled" grep -q cancelled "$RINGSIDE_HOME/runs/$trained/status.json"
else
    skip "a script's train{} is a run of its own" "mpirun is not installed"
fi
