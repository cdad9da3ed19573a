#!/bin/bash
# Models as descriptions: the table of a file, what is wrong with one, and a learner's file that is trained.
. "$(dirname "$0")/lib.sh"

says() { # NAME TEXT: what the last `expect` printed
    if [[ "$out$err" == *"$2"* ]]; then pass "$1"; else fail "$1" "expected: $2" "got: $out" "$err"; fi
}
model() { cat >"$scratch/mine.lua"; }

expect "a described model is shown" 0 "$ringside" run exercises/models/resnet50.lua
says "its parameters are the published ones" "25 557 032"
check "a line a layer, and the total" [ "$(grep -cE '[0-9]$|-$' <<<"$out")" -ge 175 ]
check "it fits 80 columns" [ "$(LC_ALL=C.UTF-8 awk '{ if (length($0) > most) most = length($0) } END { print most }' <<<"${out//×/x}")" -le 80 ]
expect "as events" 0 "$ringside" run exercises/models/gan.lua --json
check "one a layer, of both networks" [ "$(grep -c '"ev":"layer"' <<<"$out")" -eq 7 ]
check "with what is needed to draw it" grep -q '"model":"generator","layer":"0","text":"dense 256","output":"256".*"parameters":25856' <<<"$out"

model <<<'return model{ conv2d{8, 3}, dense{10} }'
expect "shapes are checked before anything runs" 2 "$ringside" run "$scratch/mine.lua"
says "the file, the layer and the cure are named" 'mine.lua: model "mine", layer 2 (dense 10) in line 1: it takes a flat input and gets 8×26×26; put flatten{} in front of it'
expect "and before a training" 2 "$ringside" train --model "$scratch/mine.lua"
says "in the same words" "put flatten{} in front of it"
check "no training was left behind" [ -z "$(compgen -G "$RINGSIDE_HOME/runs/*-mnist")" ]
model <<<$'\nreturn model{ flatten{}, dense{units = 10, unit = 3} }'
expect "a misspelt field is bad input" 2 "$ringside" train --model "$scratch/mine.lua"
says "with file and line" "mine.lua:2: dense{...} does not know 'unit'"
expect "a name that is none" 2 "$ringside" train --model lenet
says "all names are listed" "the models are alexnet, char_lstm, cnn, gan, inception_v3, mlp, resnet101, resnet152, resnet20, resnet50, text_lstm, text_rnn, vgg16 and wide_mlp"

model <<'END'
local function block(n) return { dense{n}, relu{} } end
return model{ flatten{}, block(32), block(16), dense{10} }
END
expect "a learner's model is trained" 0 "$ringside" train --model "$scratch/mine.lua" --steps 3 --ranks 1 --out "$scratch/run"
check "ranks got its description" grep -q '"units": 16' "$scratch/run/job.json"
check "its name is kept" grep -q '"model": "mine"' "$scratch/run/job.json"
cat >"$scratch/script.lua" <<'END'
local r = train{ model = "mine.lua", steps = 2, ranks = 1 }
print(r.ok and "trained" or r.error)
END
expect "a script names a file beside it" 0 "$ringside" run "$scratch/script.lua"
says "and trains it" "trained"
