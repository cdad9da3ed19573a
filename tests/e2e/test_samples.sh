#!/bin/bash
# What models show of themselves: every kind of sample that a training emits, whole, bounded and repeatable; and as text in
# a pipe and on a screen.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/runs.sh
. "$(dirname "$0")/runs.sh"
have_mpi || { skip "samples of trainings" "mpirun is not installed"; exit 0; }

cat >"$scratch/conv.lua" <<'LUA'
return model{ conv2d{40, 3, padding=1}, relu{}, flatten{}, dense{4}, input={3, 96, 96} }
LUA
cat >"$scratch/writer.lua" <<'LUA'
return model{ embedding{65, 8}, lstm{12}, dense{65}, input={tokens=64} }
LUA
cat >"$scratch/reader.lua" <<'LUA'
return model{ embedding{10000, 4}, lstm{6, last=true}, dense{1}, input={tokens=100}, loss="bce" }
LUA
train() { "$ringside" train --ranks 1 --threads 1 --json "$@" 2>"$scratch/err"; }

train --model cnn --batch 32 --steps 30 >"$scratch/cnn"
train --model "$scratch/conv.lua" --data synthetic:3x96x96:4:64 --batch 8 --steps 2 >"$scratch/conv"
train --model "$scratch/writer.lua" --data text-chars --batch 64 --steps 10 >"$scratch/writer"
train --model "$scratch/writer.lua" --data text-chars --batch 64 --steps 10 >"$scratch/again"
train --model "$scratch/reader.lua" --data text-classes --batch 32 --steps 10 >"$scratch/reader"

(cd "$scratch" && python3 - cnn conv writer again reader) <<'PY' >"$scratch/found" 2>&1
import json, sys
runs = {}
for name in sys.argv[1:]:
    runs[name] = [json.loads(line) for line in open(name)]
def say(name, ok): print(("yes " if ok else "no ") + name)
def kind(run, k): return [e for e in runs[run] if e["ev"] == "sample" and e["kind"] == k]
say("no line is longer than 16 KiB", all(len(line) < 16384 for name in runs for line in open(name)))

images = kind("cnn", "image")
wrong = [e for e in images if e["label"] != e["predicted"]]
say("a classifier shows 4 images it gets right and 4 it does not", (len(images) - len(wrong), len(wrong)) == (4, 4))
say("each with a probability", all(0.1 < e["probability"] <= 1 for e in images))
say("the first test image of MNIST is a 7", [e["label"] for e in images if e["row"] == 0] == [7])
say("its bytes are those of the file", sum(bytes.fromhex([e for e in images if e["row"] == 0][0]["data"])) == 18454)
maps = kind("cnn", "feature_map")
say("and the maps of its first convolution", len(maps) == 1 and maps[0]["channels"] == 32 == maps[0]["of"])
m = maps[0]
data = bytes.fromhex(m["data"])
say("of which lo and hi are the least and the greatest", len(data) == 32 * m["rows"] * m["cols"] and min(data) == 0 and max(data) == 255)
say("after relu nothing is below 0", m["lo"] == 0 < m["hi"])

big = kind("conv", "image")
say("large colour images are shown smaller", big and all((e["channels"], e["rows"], e["cols"]) == (3, 48, 48) and len(e["data"]) == 2 * 3 * 48 * 48 for e in big))
m = kind("conv", "feature_map")[0]
say("of 40 large maps as many as fit", m["of"] == 40 and m["channels"] <= 32 and len(m["data"]) == 2 * m["channels"] * m["rows"] * m["cols"])

gates = kind("writer", "gate")
g = gates[0]
say("an LSTM shows its gates", len(gates) == 1 and [x["name"] for x in g["gates"]] == ["input", "forget", "candidate", "output", "cell", "hidden"])
say("8 units of 12 along 64 steps", (g["units"], g["of"], g["steps"], len(g["data"])) == (8, 12, 64, 2 * 6 * 8 * 64))
# h = o tanh(c), from the bytes and their scales, to their rounding.
import math
data, each = bytes.fromhex(g["data"]), 8 * 64
def value(gate, i):
    lo, hi = g["gates"][gate]["lo"], g["gates"][gate]["hi"]
    return lo + (hi - lo) * data[gate * each + i] / 255
say("the hidden state is the output gate times tanh of the cell", all(abs(value(5, i) - value(3, i) * math.tanh(value(4, i))) < 0.02 for i in range(each)))
texts = kind("writer", "text")
say("a model of characters writes at two temperatures", [e["temperature"] for e in texts] == [0.5, 1.0] and all(e["generated"] and len(e["data"]) > 100 for e in texts))
say("the same again from the same seed", [e["data"] for e in texts] == [e["data"] for e in kind("again", "text")])
say("and nothing that steers a terminal", all(c == "\n" or " " <= c != "\x7f" for e in texts for c in e["data"] + e["prompt"]))
read = kind("reader", "text")
say("a model that judges texts shows them with its verdict", read and all(e["token"] == "word" and e["label"] and e["predicted"] and len(e["data"]) > 100 for e in read))
PY
while read -r answer name; do
    if [ "$answer" = yes ]; then pass "$name"; elif [ "$answer" = no ]; then fail "$name"; else fail "the stream" "$answer $name"; fi
done <"$scratch/found"

run=$(basename "$(ls -d "$runs"/*cnn*)")
"$ringside" runs watch "$run" >"$scratch/plain" 2>&1 </dev/null
check "a pipe gets the images as text" grep -q "test images after step 30" "$scratch/plain"
check "with the verdicts" grep -qE "✗ [0-9], is [0-9]" "$scratch/plain"
check "and the feature maps" grep -q "feature maps after step 30" "$scratch/plain"
"$ringside" --script "m" --size 80x24 --open "run:$run" --dump >"$scratch/screen" 2>&1 </dev/null
check "the samples' pane shows them" grep -q "test images\]  feature maps" "$scratch/screen"
run=$(basename "$(ls -d "$runs"/*writer* | head -n 1)")
"$ringside" --script "m Right" --size 160x45 --open "run:$run" --dump --ascii >"$scratch/screen" 2>&1 </dev/null
check "gates on a screen without Unicode" grep -q "candidate" "$scratch/screen"
if LC_ALL=C grep -q "[^ -~]" "$scratch/screen"; then fail "and nothing but ASCII"; else pass "and nothing but ASCII"; fi
