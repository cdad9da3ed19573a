#!/bin/bash
# Recipes of training: optimisers, schedules, accumulation, clipping, scaling, and runs whose numbers end.
. "$(dirname "$0")/lib.sh"

train() { # OPTION... : the events of a run of mlp on one rank
    "$ringside" train --model mlp --ranks 1 --threads 1 --epochs 1 --json "$@" </dev/null 2>"$scratch/err"
}
numbers() { # EVENT FIELD <EVENTS: that field, one a line
    sed -nE "/\"ev\":\"$1\"/s/.*\"$2\":([-+0-9.e]+).*/\1/p"
}
# Whether two files of numbers agree to the given difference; prints the largest.
agree() { # FILE FILE BOUND [NUMBERS]
    paste "$1" "$2" | awk -v bound="$3" -v count="${4:-50}" '
        NF == 2 { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { printf "%d losses, largest difference %g\n", n, worst; exit !(n == count && worst <= bound) }'
}
above() { awk -v a="${1:-0}" -v b="$2" 'BEGIN { exit !(a > b) }'; }

# Batches that are summed for a step are one large batch: the same samples, the same mean.
sgd=(--optimizer sgd --nesterov --weight-decay 1e-4 --clip 0.5 --schedule cosine --warmup 0.05 --steps 50)
train "${sgd[@]}" --batch 128 | numbers step loss >"$scratch/whole"
train "${sgd[@]}" --batch 32 --accumulate 4 | numbers step loss >"$scratch/parts"
train "${sgd[@]}" --batch 32 --accumulate 2 --ranks 2 | numbers step loss >"$scratch/ranks"
check "4 accumulated batches of 32 train like one of 128 (50 steps, 1e-5)" agree "$scratch/whole" "$scratch/parts" 1e-5
check "2 ranks x 2 batches of 32 too" agree "$scratch/whole" "$scratch/ranks" 1e-5

# Layers that look at the whole batch, or draw for each of its samples, see the same one however it is split. The curves of
# batchnorm part soon, since it divides by what rounding has touched; kept to each rank it is off from the first step on.
cat >"$scratch/norm.lua" <<'END'
return model{ conv2d{8, 3, bias = false}, batchnorm{sync = true}, relu{}, maxpool{2}, dropout{0.3},
              conv2d{16, 3}, batchnorm{sync = true}, relu{}, maxpool{2}, flatten{}, dropout{0.5}, dense{10},
              input = {1, 28, 28} }
END
cat >"$scratch/drop.lua" <<'END'
return model{ flatten{}, dropout{0.2}, dense{64}, relu{}, dropout{0.5}, dense{10}, input = {1, 28, 28} }
END
sed 's/sync = true//' "$scratch/norm.lua" >"$scratch/local.lua"
slow=(--optimizer sgd --momentum 0.5 --lr 0.005 --schedule constant --steps 10)
for file in norm local; do
    train --model "$scratch/$file.lua" "${slow[@]}" --batch 64 | numbers step loss >"$scratch/$file-1"
    train --model "$scratch/$file.lua" "${slow[@]}" --batch 32 --ranks 2 | numbers step loss >"$scratch/$file-2"
done
check "synchronised batchnorm and dropout: 2 ranks x 32 train like 1 x 64 (10 steps, 1e-5)" \
    agree "$scratch/norm-1" "$scratch/norm-2" 1e-5 10
check "batchnorm of each rank by itself does not (1e-4)" eval '! agree "$scratch/local-1" "$scratch/local-2" 1e-4 10'
train --model "$scratch/drop.lua" "${sgd[@]}" --batch 128 | numbers step loss >"$scratch/drop-1"
train --model "$scratch/drop.lua" "${sgd[@]}" --batch 32 --ranks 2 --accumulate 2 | numbers step loss >"$scratch/drop-4"
check "dropout: 2 ranks x 2 batches of 32 train like one of 128 (50 steps, 1e-5)" \
    agree "$scratch/drop-1" "$scratch/drop-4" 1e-5

# Each optimiser learns: chance is 0.1, a step that never moved stays there.
for recipe in "sgd --nesterov" "sgd --momentum 0 --schedule step --step-size 0.25 --gamma 0.5" adam \
    "adamw --schedule constant" "lars --schedule cosine --warmup 0.1" "lamb --schedule cosine"; do
    # shellcheck disable=SC2086  # a recipe is several words
    accuracy=$(train --optimizer $recipe --steps 200 | numbers eval accuracy)
    check "$recipe: accuracy above 0.8 after 200 steps ($accuracy)" above "$accuracy" 0.8
done

# A gradient cut to next to nothing moves next to nothing.
train --optimizer sgd --schedule constant --clip 1e-9 --steps 50 | numbers step loss >"$scratch/still"
check "clip 1e-9: the loss stays where it begins" awk '{ if ($1 < 2.2 || $1 > 2.5) exit 1 } END { exit NR != 50 }' "$scratch/still"

train --optimizer sgd --schedule cosine --lr 0.02 --scale-lr 64 --warmup 0.1 --batch 256 --steps 40 >"$scratch/scaled"
check "scale-lr: the peak is 4 times the rate for 4 times the batch" test "$(numbers run lr <"$scratch/scaled")" = 0.08
check "and the warm-up begins at the rate itself" test "$(numbers step lr <"$scratch/scaled" | head -n 1)" = 0.02
check "the run tells its recipe" grep -q '"optimizer":"sgd","momentum":0.9,"schedule":"cosine"' "$scratch/scaled"

expect "a batch larger than the data is bad input" 2 "$ringside" train --ranks 1 --batch 32768 --accumulate 2
check "and is told with all its factors" grep -q "65536 samples (batch 32768 x accumulate 2 x ranks 1)" <<<"$err"

# bf16 where the processor has it, else a sentence.
if grep -qE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then
    accuracy=$(train --dtype bf16 --steps 200 | numbers eval accuracy)
    check "bf16: accuracy above 0.8 after 200 steps ($accuracy)" above "$accuracy" 0.8
else
    expect "bf16 is refused where the processor has none" 3 "$ringside" train --dtype bf16 --steps 1
    check "what it lacks is named, and what to take" grep -q "AVX512_BF16 or AMX, and it has .*; use dtype fp32" <<<"$err"
fi

# A loss that is no number stops the run, and step and layer are named.
expect "a rate of 1e6 ends a run with 1" 1 "$ringside" train --model cnn --ranks 2 --optimizer sgd --lr 1e6 \
    --schedule constant --steps 50
check "it names the step" grep -q "the loss became .* in step [0-9]" <<<"$err"
check "and the first layer whose output is not finite" grep -qE "is number [0-9]+ \((conv2d|dense) " <<<"$err"
expect "so does one that its last step has ruined" 1 "$ringside" train --model mlp --optimizer sgd --lr 1e30 \
    --schedule constant --steps 1
check "which the test set shows" grep -q "the loss on the test set became .* in step 1, .* number [24] (dense" <<<"$err"
# Batchnorm brings back into range what weights of 1e16 make, but its gradient does not survive them.
expect "a gradient that is no number ends a run whose loss still is one" 1 "$ringside" train \
    --model "$scratch/local.lua" --ranks 2 --batch 16 --optimizer sgd --lr 1e17 --schedule constant --steps 20
check "its layer is named too" grep -qE "the gradient became .* in step [0-9]+, and the first layer whose gradient is not finite is number [0-9]" <<<"$err"
check "the same sentence is the run's reason" grep -q "first layer" "$RINGSIDE_HOME"/runs/*/status.json

# A script says the same with the same words.
cat >"$scratch/recipe.lua" <<'END'
local r = train{ model = "mlp", ranks = 1, batch = 16, steps = 3, accumulate = 2, clip = 1.5, schedule = "step",
                 step_size = 0.5, gamma = 0.25, warmup = 0.2, scale_lr = 16,
                 optimizer = sgd{ lr = 0.01, momentum = 0.8, nesterov = true, weight_decay = 0.001 } }
assert(r.ok, r.error)
END
expect "a script with the whole recipe" 0 "$ringside" run "$scratch/recipe.lua" --json
job=$(grep -l '"kind": *"train"' "$RINGSIDE_HOME"/runs/*/job.json | tail -n 1)
check "its job is what it says" python3 - "$job" <<'END'
import json, sys
train = json.load(open(sys.argv[1]))["train"]
wanted = {"accumulate": 2, "clip": 1.5, "schedule": "step", "step_size": 0.5, "gamma": 0.25, "warmup": 0.2,
          "scale_lr": 16, "optimizer": "sgd", "lr": 0.01, "momentum": 0.8, "nesterov": True, "weight_decay": 0.001}
wrong = [(key, train[key]) for key in wanted if train[key] != wanted[key]]
sys.exit(wrong or 0)
END
cat >"$scratch/wrong.lua" <<'END'
train{ model = "mlp", optimizer = adam{ momentum = 0.9 } }
END
expect "adam{} takes no momentum" 2 "$ringside" run "$scratch/wrong.lua"
check "and the sentence names its arguments" grep -q "adam{...} does not know 'momentum'; it knows: lr, weight_decay" <<<"$err"
