#!/bin/bash
# Random keys over all screens: some hundred, always the same ones. `make monkey` presses many more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
monkey() { # SEED
    check "1500 random keys from seed $1 leave every screen sound" env BUILD="$build" SEED="$1" MONKEY_KEYS=1500 tests/monkey/run
    cp "$scratch/check.out" "$said.$1"
}
said=$scratch/said
one() { monkey 1; }
two() { monkey 2; }
beside one
beside two
together
cat "$said".[12] >"$said"
for view in home settings doctor compare; do
    check "the real cursor was on the selected row of $view" \
        grep -qE "cursor was on the selected row:.* $view [1-9]" "$scratch/said"
done
