# The application in a real pseudo-terminal (tmux): sourced by tests that need one, behind lib.sh. Each case waits for a text on the
# screen, never for a time. What the application is to find in its environment is exported before.
# shellcheck shell=bash
command -v tmux >/dev/null || { skip "terminal tests" "tmux is not installed"; exit 0; }
mux() { tmux -L "ringside-test-$$" -f /dev/null "$@"; }
ended() {
    mux kill-server 2>/dev/null
    finish
}
trap ended EXIT
mux new-session -d -s base "sleep 1000"
# Opens a window of 80x24 with a shell, whose prompt is "shell>", and types a command.
window() { # COMMAND
    mux kill-session -t t 2>/dev/null
    mux new-session -d -x 80 -y 24 -s t "PS1='shell> ' bash --norc --noprofile"
    until_shown "shell>"
    keys "$1"
}
keys() { mux send-keys -t t -l "$1" && mux send-keys -t t Enter; }
press() { mux send-keys -t t "$@"; }
raw() { mux send-keys -t t -l "$(printf '%b' "$1")"; }
screen() { mux capture-pane -p -t t; }
until_true() { # COMMAND...: at most ten seconds
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.05
    done
    screen | sed 's/^/| /'
    return 1
}
shows() { screen 2>/dev/null | grep -qF -- "$1"; }
hidden() { ! shows "$1"; }
until_shown() { until_true shows "$1"; }
until_gone() { until_true hidden "$1"; }
