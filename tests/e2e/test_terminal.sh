#!/bin/bash
# The application in a real pseudo-terminal (tmux): what a key script cannot show. Each case waits for a text on the
# screen instead of for a time.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export RINGSIDE_DATA=$PWD/tests/fixtures/course RINGSIDE_MACHINE="login1 8 64 mpirun scheduler"
# shellcheck source=tests/e2e/terminal.sh
. "$(dirname "$0")/terminal.sh"

# The process of the application in the window.
application() { pgrep -n -P "$(mux display-message -p -t t '#{pane_pid}')" ringside; }
# The terminal's modes as a shell likes them.
restored() {
    keys 'stty -a | grep -qE "(^| )icanon" && stty -a | grep -qE "(^| )echo( |;)" && echo modes=$((40 + 2))'
    until_shown "modes=42"
}

window "$ringside; echo code=\$?"
check "it starts" until_shown "The first lesson"
check "the cursor is hidden" [ "$(mux display-message -p -t t '#{cursor_flag}')" = 0 ]
press Enter
check "Enter opens the lesson" until_shown "A job is a program"
press q
check "q goes back" until_shown "Recent runs"
press q
check "and leaves" until_shown "code=0"
check "the screen of the shell is back" bash -c '! grep -q "Recent runs"' <<<"$(screen)"
check "the modes are restored" restored
check "the cursor is shown again" [ "$(mux display-message -p -t t '#{cursor_flag}')" = 1 ]

window "$ringside; echo code=\$?"
until_shown "Recent runs" >/dev/null
for size in 1x1 3x2 200x60 40x12 39x40 80x24; do
    mux resize-window -t t -x "${size%x*}" -y "${size#*x}"
    sleep 0.15
done
check "it survives any size" until_shown "Recent runs"
mux resize-window -t t -x 30 -y 10
check "a small window says so" until_shown "too small"
mux resize-window -t t -x 100 -y 30
check "and shows the screen again when it grows" until_shown "The first lesson"
press C-l
check "Ctrl-L keeps the screen" until_shown "The first lesson"
press C-z
check "Ctrl-Z goes back to the shell" until_shown "Stopped"
check "with its modes" restored
keys fg
check "fg brings the screen back" until_shown "Recent runs"
press Down
press Enter
check "and its keys" until_shown "Short."
press C-c
keys 'echo back=$((40 + 2))'
check "Ctrl-C leaves" until_shown "back=42"

# Pasted text is no keys: the q in it must not leave, the ring must not open.
window "$ringside; echo code=\$?"
until_shown "Recent runs" >/dev/null
mux set-buffer "$(printf 'q quit\nq\n%.0s' $(seq 300))"
mux paste-buffer -p -t t
sleep 0.5
press '?'
check "long pasted text does nothing" until_shown "this list of keys"
press Escape
until_gone "this list of keys" >/dev/null
mux set-buffer "$(printf 'qqqqqqqqqq%.0s' $(seq 30))"
mux paste-buffer -t t
sleep 0.3
check "not even where the terminal does not mark it" until_shown "Recent runs"

for signal in TERM HUP INT; do
    window "$ringside; echo code=\$?"
    until_shown "Recent runs" >/dev/null
    kill -s $signal "$(application)"
    check "SIG$signal ends it in order" until_shown "code=0"
    check "SIG$signal: the modes are restored" restored
done
window "$ringside; echo code=\$?"
until_shown "Recent runs" >/dev/null
kill -s SEGV "$(application)"
check "a crash gives the terminal back" until_shown "code=139"
check "with its modes and the cursor" restored
check "and the shell's screen" bash -c '! grep -q "Recent runs"' <<<"$(screen)"

# Terminal types.
window "TERM=dumb $ringside"
check "TERM=dumb: plain mode, with the reason" until_shown "Plain mode: TERM=dumb cannot place text"
keys q
window "TERM=no-such-terminal $ringside"
check "an unknown TERM: plain mode, with the reason" until_shown "TERM=no-such-terminal is unknown"
keys 1
check "which works" until_shown "next lesson"
keys q
window "TERM= $ringside"
check "no TERM: plain mode" until_shown "Plain mode: TERM is not set"
keys q
for term in linux vt100 xterm screen; do
    if ! infocmp "$term" >/dev/null 2>&1; then
        skip "TERM=$term" "its description is not installed"
        continue
    fi
    window "TERM=$term $ringside; echo code=\$?"
    check "TERM=$term" until_shown "The first lesson"
    press q
    until_shown "code=0" >/dev/null
done
window "LC_ALL=C $ringside; echo code=\$?"
check "a locale without Unicode: ASCII" until_shown "Second: Grose"
check "only" bash -c '! LC_ALL=C grep -q "[^ -~]"' <<<"$(screen)"
press q

# Colour, and none.
colours() { mux capture-pane -p -e -t t | grep -cE $'\033\\[([0-9;]*;)?([349][0-7]|[34]8;)'; }
window "$ringside"
until_shown "Recent runs" >/dev/null
check "there are colours" [ "$(colours)" -gt 3 ]
press q
window "NO_COLOR=1 $ringside"
until_shown "Recent runs" >/dev/null
check "with NO_COLOR there are none" [ "$(colours)" -eq 0 ]
check "the selection is still seen: reverse" bash -c 'grep -q "$(printf "\033")\[[0-9;]*7m.*first lesson"' \
    <<<"$(mux capture-pane -p -e -t t)"
press q

# Bytes on the way to the terminal.
window "$ringside --open lesson:01-first"
until_shown "A job is" >/dev/null
sleep 1.5 # the reading position is noted after a second
mux pipe-pane -t t "cat >$scratch/bytes"
sleep 2
check "an idle screen sends nothing" [ "$(stat -c %s "$scratch/bytes")" -eq 0 ]
press Down
until_gone "A job is a program that runs without you, and" >/dev/null
sleep 0.3
check "a key sends something" [ "$(stat -c %s "$scratch/bytes")" -gt 0 ]
press q q

# A metric tick of the run view: one step event and one of each rank, on a run that seems to go on.
run=$RINGSIDE_HOME/runs/20260101-000000-ticks
mkdir -p "$run"
cp tests/fixtures/runs/train-done/job.json "$run"
grep -E '"ev": "(run)"' tests/fixtures/runs/train-done/events.jsonl >"$run/events.jsonl"
printf '{"state": "running", "host": "elsewhere", "pid": 1, "started": %s, "heartbeat": 4102444800, "version": 1, "reason": ""}' \
    "$(date +%s)" >"$run/status.json"
window "$ringside --open run:$run"
until_shown "running" >/dev/null
tick() { # N: a loss that falls, speeds that vary
    awk -v n="$1" 'BEGIN {
        srand(n)
        t = n * 0.2
        printf "{\"t\": %.1f, \"ev\": \"step\", \"step\": %d, \"epoch\": %.3f, \"loss\": %.4f, \"samples_per_s\": %.1f, ", t, n * 9, 1 + n * 9 / 469, 2.2 * exp(-n / 10) + 0.1 + rand() * 0.08, 9000 + rand() * 300
        printf "\"compute_s\": %.5f, \"comm_s\": 0.001, \"exposed_comm_s\": 0.001, \"data_s\": 0.0002, \"lr\": 0.003}\n", 0.012 + rand() / 1000
        for (r = 0; r < 2; r++)
            printf "{\"t\": %.1f, \"ev\": \"rank\", \"rank\": %d, \"host\": \"elsewhere\", \"device\": \"cpu\", \"samples_per_s\": %.1f, \"compute_s\": 0.012, \"comm_s\": 0.001, \"data_s\": 0.0002, \"rss_bytes\": 200000000}\n", t, r, 4500 + rand() * 150
    }' >>"$run/events.jsonl"
}
tick 1
until_shown "4 5" >/dev/null
sleep 0.5
mux pipe-pane -t t "cat >$scratch/ticks"
ticks=50
for n in $(seq 2 $((ticks + 1))); do
    tick "$n"
    sleep 0.2
done
sleep 0.3
bytes=$(stat -c %s "$scratch/ticks")
echo "# $((bytes / ticks)) bytes a tick on average, 80x24"
check "a metric tick costs little (tests/bench/terminal measures it)" [ "$bytes" -le $((250 * ticks)) ]
check "and was drawn" [ "$bytes" -ge $((20 * ticks)) ]
press q q
rm -r "$run"

# A job outlives the application and is found again.
unset RINGSIDE_DATA
if command -v mpirun >/dev/null && [ -x "$build/ringside-rank" ]; then
    "$ringside" train --ranks 1 --steps 600 --pause 0.1 --detach >"$scratch/id" 2>"$scratch/err"
    window "$ringside; echo code=\$?"
    check "home shows a running job" until_shown "1 running"
    press Tab
    press Enter
    check "Enter opens it" until_shown "Training loss"
    press q
    until_shown "Recent runs" >/dev/null
    press q
    check "leaving says that it goes on" until_shown "will go on without Ringside. Leave?"
    press n
    check "n stays" until_gone "Leave?"
    press q
    until_shown "Leave?" >/dev/null
    press y
    check "y leaves" until_shown "code=0"
    window "$ringside"
    check "a new one finds it running" until_shown "1 running"
    expect "at the shell, too" 0 "$ringside" runs list
    check "it is listed as running" grep -q running <<<"$out"
    "$ringside" runs stop last >/dev/null 2>&1
    check "stopped, it is shown so" until_shown "cancelled"
    press q
else
    skip "a job outlives the application" "mpirun or ringside-rank is missing"
fi
export RINGSIDE_DATA=$PWD/tests/fixtures/course

# The terminal goes away.
window "$ringside"
until_shown "Recent runs" >/dev/null
pid=$(application)
mux kill-session -t t
for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
done
check "it ends when its terminal is closed" bash -c '! kill -0 "$1" 2>/dev/null' - "$pid"
