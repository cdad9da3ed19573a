#!/bin/bash
# Settings and doctor, driven by key scripts and compared with tests/golden/screens as text; what is chosen is kept.
# After a wanted change: UPDATE=1 tests/e2e/test_settings_screens.sh, and look at the difference.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

export RINGSIDE_DATA=$PWD/tests/fixtures/course RINGSIDE_MACHINE="login1 8 64 mpirun scheduler"
unset LANGUAGE
export HOME=$scratch RINGSIDE_LOCAL_RANKS=8 # "~/home" is on the screen

fresh() { rm -rf "$RINGSIDE_HOME"; }
screen() { # NAME SIZE KEYS [OPTION...]
    local name=$1 size=$2 keys=$3
    shift 3
    golden_screen "$name" "$ringside" --script "$keys" --size "$size" --dump "$@"
}
settings="$RINGSIDE_HOME/settings.json"
fresh

screen settings-80x24 80x24 "," --roles
fresh
screen settings-160x45 160x45 ", Right Right Down"
fresh
screen settings-40x12 40x12 ", End Down Down"
fresh
screen settings-ascii 80x24 ", Down Down Down Right" --ascii
check "a choice is kept" grep -q '"mouse": false' "$settings"
screen settings-kept 80x24 ", Down Down Down"
check "the file has its fields" bash -c 'python3 -c "
import json, sys
s = json.load(open(sys.argv[1]))
assert s == {\"version\": 1, \"theme\": \"auto\", \"glyphs\": \"auto\", \"language\": \"auto\", \"mouse\": False}, s" "$1"' - "$settings"
printf '{"version": 1, "theme": "light", "colour_of_my_own": "green", "mouse": "yes", "glyphs": 7}' >"$settings"
"$ringside" --script ', Right' --dump >"$scratch/screen"
check "a choice changes what was kept" grep -q '"theme": "contrast"' "$settings"
check "and keeps what it does not know" grep -q '"colour_of_my_own": "green"' "$settings"
check "nonsense counts as not chosen" grep -q '"mouse": true' "$settings"
for broken in '{"theme": ' '[1, 2]' 'theme=dark' ''; do
    printf '%s' "$broken" >"$settings"
    "$ringside" --size 120x24 --dump >"$scratch/screen"
    check "broken settings ($broken) say so and where" grep -q "settings.json, line 1: " "$scratch/screen"
    check "and are left alone" [ "$(cat "$settings")" = "$broken" ]
done
printf '{"theme": ' >"$settings"
"$ringside" --script ', Right'
check "until something is chosen anew" grep -q '"theme": "dark"' "$settings"
check "the broken one is kept aside" grep -q '{"theme": ' "$settings.broken"
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w "$RINGSIDE_HOME"
    "$ringside" --script ', Right' --dump >"$scratch/screen"
    check "a home that cannot be written is told" grep -q "could not be kept" "$scratch/screen"
    chmod u+w "$RINGSIDE_HOME"
fi
fresh

# The mouse: rows, the footer, the wheel.
screen settings-click 80x24 "click 23,56 click 4,20"
check "a click on a setting changes nothing" [ ! -e "$settings" ]
"$ringside" --script ', click 4,20 click 4,30'
check "a second one changes it" grep -q '"language": "en"' "$settings"
fresh

report=$PWD/tests/fixtures/doctor.jsonl
screen doctor-80x24 80x24 "Down Down Down" --open "doctor:$report" --roles
screen doctor-160x45 160x45 "Down" --open "doctor:$report"
screen doctor-40x12 40x12 "End Up Up" --open "doctor:$report"
screen doctor-ascii 80x24 "" --open "doctor:$report" --ascii
grep -E '"found"|"CUDA plugin"' "$report" >"$scratch/report"
"$ringside" --open "doctor:$scratch/report" --size 80x24 --dump >"$scratch/screen"
check "what is lacking but not needed is counted, and nothing to mend" grep -q "nothing to mend; 1 not here" "$scratch/screen"
"$ringside" --script 'd until "oneDNN" 60' --dump >"$scratch/screen" 2>"$scratch/err"
check "it really looks at this machine" grep -qE "course +fine" "$scratch/screen"
"$ringside" --script 'd q d q d' --dump >"$scratch/screen"
check "leaving it early harms nothing" grep -q "looking" "$scratch/screen"
expect "no report: refused in words" 0 "$ringside" --open doctor:/nowhere --size 120x24 --dump
check "that name the file" grep -q "the report /nowhere cannot be read" <<<"$out"
