#!/bin/bash
# Training end to end: the data order makes ranks and batch interchangeable, two epochs reach the accuracy, a loss that
# is no number stops the run.
. "$(dirname "$0")/lib.sh"

# The losses of the first 50 steps, one a line.
losses() { # RANKS BATCH
    "$ringside" train --ranks "$1" --batch "$2" --threads 1 --steps 50 --seed 3 --json </dev/null 2>"$scratch/err" |
        sed -nE '/"ev":"step"/s/.*"loss":([-0-9.e]+).*/\1/p'
}

# Whether two files of 50 numbers agree to the given relative difference; prints the largest.
agree() { # FILE FILE BOUND
    paste "$1" "$2" | awk -v bound="$3" '
        NF == 2 { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { printf "%d losses, largest relative difference %g\n", n, worst; exit !(n == 50 && worst <= bound) }'
}

losses 1 128 >"$scratch/one"
losses 2 64 >"$scratch/two"
losses 4 32 >"$scratch/four"
check "2 ranks x 64 train like 1 rank x 128 (50 steps, 1e-4)" agree "$scratch/one" "$scratch/two" 1e-4
check "4 ranks x 32 train like 1 rank x 128 (50 steps, 1e-4)" agree "$scratch/one" "$scratch/four" 1e-4
losses 2 64 >"$scratch/again"
check "the same run twice: the same losses" agree "$scratch/two" "$scratch/again" 1e-6

expect "a diverging run ends with 1" 1 "$ringside" train --model mlp --ranks 2 --optimizer sgd --lr 1e30 \
    --schedule constant --steps 50 --json
if [[ $err$out =~ "the loss became" && $err$out =~ "in step " ]]; then pass "it names the step"; else
    fail "it names the step" "$(tail -n 3 <<<"$out")" "$err"
fi

# Sanitized code takes ten times as long and computes the same.
if [ -n "${RINGSIDE_SANITIZE:-}" ]; then
    skip "cnn, 2 ranks, 2 epochs: at least 98.5 %" "too long under the sanitizers"
    exit 0
fi
expect "cnn, 2 ranks, 2 epochs" 0 "$ringside" train --model cnn --data mnist --ranks 2 --epochs 2 --json
accuracy=$(tail -n 1 <<<"$out" | sed -nE 's/.*"ev":"done".*"accuracy":([0-9.]+).*|.*"accuracy":([0-9.]+).*"ev":"done".*/\1\2/p')
if awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.985) }'; then pass "test accuracy at least 98.5 % ($accuracy)"; else
    fail "test accuracy at least 98.5 %" "it is ${accuracy:-absent}"
fi
