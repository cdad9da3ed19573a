#!/bin/bash
# Random keys over all screens: some hundred, always the same ones. `make monkey` presses many more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
for seed in 1 2; do
    check "1500 random keys from seed $seed leave every screen sound" \
        env BUILD="$build" SEED=$seed MONKEY_KEYS=1500 tests/monkey/run
    cat "$scratch/check.out" >>"$scratch/said"
done
for view in home settings doctor compare; do
    check "the real cursor was on the selected row of $view" \
        grep -qE "cursor was on the selected row:.* $view [1-9]" "$scratch/said"
done
