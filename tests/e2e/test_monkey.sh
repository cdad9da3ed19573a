#!/bin/bash
# Random keys over all screens: some hundred, always the same ones. `make monkey` presses many more.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
for seed in 1 2; do
    check "800 random keys from seed $seed leave every screen sound" \
        env BUILD="$build" SEED=$seed MONKEY_KEYS=800 tests/monkey/run
done
