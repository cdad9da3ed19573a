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

cannot() { # TEXT: of a file that has no model, whoever reads it
    expect "run: $1" 2 "$ringside" run "$scratch/mine.lua"
    says "is said" "mine.lua: $1"
    expect "train: $1" 2 "$ringside" train --model "$scratch/mine.lua"
    says "in the same words" "mine.lua: $1"
}
model <<<'local m = { dense{10} } for i = 1, 3000 do m = { residual(m) } end return model(m)'
cannot "the table contains itself, or is nested too deeply"
model <<<'return model{ flatten{}, dense{10}, name = "a\xff" }'
cannot "a text is not valid UTF-8"
model <<<'return 5'
cannot "it returns a number, which is no model; let it end with return model{ ... }"
model <<<'return { flatten{}, dense{10} }'
cannot "it returns a table, which is no model"
model <<<'return model{ flatten{}, dense{1e12} }'
expect "a number beyond any layer" 2 "$ringside" run "$scratch/mine.lua"
says "is told what it may be" '"units" must be a whole number of at most 2147483647'

model <<'END'
local function block(n) return { dense{n}, relu{} } end
return model{ flatten{}, block(32), block(16), dense{10} }
END
expect "a learner's model is trained" 0 "$ringside" train --model "$scratch/mine.lua" --steps 3 --ranks 1 --out "$scratch/run"
check "ranks got its description" grep -q '"units": 16' "$scratch/run/job.json"
check "its name is kept" grep -q '"model": "mine"' "$scratch/run/job.json"
cat >"$scratch/script.lua" <<'END'
local r = train{ model = "mine.lua", steps = 8 / 4, ranks = 2 / 2, batch = 2^5, seed = 4 / 2, threads = 2 / 2, label = "first" }
print(r.ok and "trained" or r.error)
print(#r.steps, train{ resume = "last", steps = 3, label = "second" }.steps[1].step)
print(train{ eval = "last" }.ok)
END
expect "a script names a file beside it" 0 "$ringside" run "$scratch/script.lua"
says "and trains it" "trained"
check "with whole numbers from a division" grep -q '"batch": 32,' "$RINGSIDE_HOME"/runs/*-first/job.json
check "of every kind" grep -q '"seed": 2,' "$RINGSIDE_HOME"/runs/*-first/job.json
says "goes on with its last training" $'2\t3'
expect "and so does the command line, past the test" 0 "$ringside" train --resume last --steps 4 --json
check "from its last step" grep -q 'second","first_step":3' <<<"$out"
