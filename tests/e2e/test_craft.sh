#!/bin/bash
# What makes an application a good guest in a terminal: mouse, Esc, sizes, colours, locales, wide characters, pastes. In
# a real pseudo-terminal (tmux), like test_terminal.sh; each case waits for a text on the screen.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export RINGSIDE_DATA=$PWD/tests/fixtures/course RINGSIDE_MACHINE="login1 8 64 mpirun scheduler"
unset LANGUAGE COLORFGBG RINGSIDE_THEME NO_COLOR
# shellcheck source=tests/e2e/terminal.sh
. "$(dirname "$0")/terminal.sh"

flag() { [ "$(mux display-message -p -t t "#{$1}")" = "$2" ]; }
has() { infocmp "$1" >/dev/null 2>&1; }
row_of() { screen | grep -nF -- "$1" | head -n 1 | cut -d: -f1; } # from 1, as terminals count
leave() { # q until the shell is back
    for _ in 1 2 3; do
        shows "code=" && return 0
        press q
        shows "Leave?" && press y
        sleep 0.1
    done
    until_shown "code="
}

# --- the mouse ---
if has xterm-256color; then
    click() { raw "\\033[<0;$2;$1M\\033[<0;$2;$1m"; } # ROW COLUMN, from 1: pressed and let go
    window "TERM=xterm-256color $ringside; echo code=\$?"
    until_shown "Recent runs" >/dev/null
    check "the mouse is asked for" until_true flag mouse_standard_flag 1
    click "$(row_of "Second: Gr")" 12
    check "a press selects a row" until_shown "▸ ○  2"
    raw '\033[<65;12;6M'
    check "the wheel moves on" until_shown "▸ ○  3"
    raw '\033[<64;12;6M\033[<64;12;6M'
    check "and back" until_shown "▸ ○  1"
    click 24 "$(($(screen | tail -n 1 | grep -o '.*?' | wc -m) - 1))"
    check "a press on the footer is its key" until_shown "this list of keys"
    press Escape
    until_gone "this list of keys" >/dev/null
    row=$(row_of "▸ ○  1")
    pressed="\\033[<0;12;${row}M\\033[<0;12;${row}m"
    raw "$pressed$pressed" # at once: on a busy machine two calls of tmux may be too far apart for a double press
    check "a double press opens" until_shown "A job is a program"
    press q
    until_shown "Recent runs" >/dev/null
    press C-z
    until_shown "Stopped" >/dev/null
    check "suspended, the mouse is the shell's" until_true flag mouse_standard_flag 0
    keys fg
    until_shown "Recent runs" >/dev/null
    check "and ours again afterwards" until_true flag mouse_standard_flag 1
    press , Down Down Down Right
    until_shown "Mouse         ◂ off" >/dev/null
    check "turned off, the terminal has it" until_true flag mouse_standard_flag 0
    press Right
    check "turned on, we have it" until_true flag mouse_standard_flag 1
    kill -s SEGV "$(pgrep -n -P "$(mux display-message -p -t t '#{pane_pid}')" ringside)"
    check "a crash gives it back" until_true flag mouse_standard_flag 0
    check "with the shell's cursor" until_true flag cursor_flag 1
    rm -f "$RINGSIDE_HOME/settings.json"
else
    skip "the mouse" "xterm-256color is not installed"
fi

# --- sizes: in order, and at random while a run goes on ---
run=$RINGSIDE_HOME/runs/20260101-000000-sizes
mkdir -p "$run"
cp tests/fixtures/runs/train-done/job.json "$run"
grep -E '"ev": "run"' tests/fixtures/runs/train-done/events.jsonl >"$run/events.jsonl"
printf '{"state": "running", "host": "elsewhere", "pid": 1, "started": %s, "heartbeat": 4102444800, "version": 1, "reason": ""}' \
    "$(date +%s)" >"$run/status.json"
window "$ringside --open run:$run; echo code=\$?"
until_shown "running" >/dev/null
sizes=(80x24 200x60 40x12 1x1 80x24)
RANDOM=7
for _ in $(seq 30); do sizes+=("$((RANDOM % 200 + 1))x$((RANDOM % 60 + 1))"); done
n=0
for size in "${sizes[@]}" 80x24; do
    mux resize-window -t t -x "${size%x*}" -y "${size#*x}"
    n=$((n + 1))
    printf '{"t": %d, "ev": "step", "step": %d, "epoch": 1, "loss": 0.5, "samples_per_s": %d, "compute_s": 0.01, "comm_s": 0.001, "exposed_comm_s": 0.001, "data_s": 0.0002, "lr": 0.003}\n' \
        $n $n $((9000 + n)) >>"$run/events.jsonl"
    sleep 0.02
done
check "$n sizes while a run goes on" until_shown "$((9000 + n)) samples/s"
press C-l
check "Ctrl-L draws it anew" until_shown "$((9000 + n)) samples/s"
check "and it leaves in order" leave
words=
for _ in $(seq 1000); do words+="size $((RANDOM % 220 + 1))x$((RANDOM % 70 + 1)) wait 0.1 "; done
"$ringside" --open "run:$run" --script "$words size 80x24" --dump >"$scratch/screen"
check "1000 random sizes of a canvas while it goes on" grep -q "$((9000 + n)) samples/s" "$scratch/screen"
rm -r "$run"

# --- kinds of terminal, colours ---
for term in xterm-256color screen-256color tmux-256color linux vt100; do
    if ! has "$term"; then
        skip "TERM=$term" "its description is not installed"
        continue
    fi
    window "TERM=$term $ringside; echo code=\$?"
    check "TERM=$term: the screen" until_shown "The first lesson"
    press Down
    check "TERM=$term: arrow keys" until_shown "▸ ○  2"
    check "TERM=$term: it leaves in order" leave
done
count() { # how often the screen has the regular expression among its colours
    mux capture-pane -p -e -t t | grep -oE $'\033\\[[0-9;:]*m' | grep -cE "$1"
}
coloured() { [ "$(count "$1")" -gt 0 ]; }
seen() { # COMMAND REGEX: shown, and its colours are of the kind
    window "$1; echo code=\$?"
    until_shown "The first lesson" && until_true coloured "$2"
}
check "256 colours" seen "TERM=xterm-256color $ringside" '[34]8[;:]5[;:]'
check "8 colours" seen "TERM=screen $ringside" '[\[;]3[1-6]'
check "8 colours: no more than these" [ "$(count '[34]8[;:]')" -eq 0 ]
# True colour through terminfo: the description of a terminal whose colours are numbers 0xRRGGBB.
cat >"$scratch/direct" <<'TI'
ringside-direct|true colour, RGB, colors#0x1000000, pairs#0x7fff,
	setaf=\E[%?%p1%{8}%<%t3%p1%d%e38;2;%p1%{65536}%/%d;%p1%{256}%/%{255}%&%d;%p1%{255}%&%d%;m,
	setab=\E[%?%p1%{8}%<%t4%p1%d%e48;2;%p1%{65536}%/%d;%p1%{256}%/%{255}%&%d;%p1%{255}%&%d%;m,
	use=xterm-256color,
TI
if tic -x -o "$scratch/terminfo" "$scratch/direct" 2>/dev/null; then
    check "true colour" seen "TERMINFO=$scratch/terminfo TERM=ringside-direct $ringside" '[34]8[;:]2[;:]'
else
    skip "true colour" "tic cannot compile a description"
fi
window "TERM=xterm-256color NO_COLOR=1 $ringside; echo code=\$?"
until_shown "The first lesson" >/dev/null
check "NO_COLOR: none" [ "$(count '[\[;](3[0-7]|4[0-7]|9[0-7]|[34]8)')" -eq 0 ]
# A theme that was chosen paints its page; 231 is white.
window "TERM=xterm-256color RINGSIDE_THEME=light $ringside; echo code=\$?"
until_shown "The first lesson" >/dev/null
check "the light theme paints a white page" [ "$(count '48[;:]5[;:]231')" -gt 3 ]
window "TERM=xterm-256color RINGSIDE_THEME=contrast $ringside; echo code=\$?"
until_shown "The first lesson" >/dev/null
check "the high-contrast theme a black one" [ "$(count '48[;:]5[;:]16')" -gt 3 ]

# --- locales ---
window "env -u LANG LC_ALL=C $ringside; echo code=\$?"
check "LC_ALL=C: ASCII" until_shown "Second: Grose"
check "LC_ALL=C: nothing else" bash -c '! LC_ALL=C grep -q "[^ -~]"' <<<"$(screen)"
leave >/dev/null
window "env -u LANG LC_ALL=C.UTF-8 $ringside; echo code=\$?"
check "LC_ALL=C.UTF-8: Unicode" until_shown "Second: Größe"
leave >/dev/null
if [ -f "$build/locale/de/LC_MESSAGES/ringside.mo" ]; then
    # Whether or not this machine has the locale: the language and the characters are those it asks for.
    window "env -u LC_ALL LANG=de_DE.UTF-8 $ringside; echo code=\$?"
    check "LANG=de_DE.UTF-8: German" until_shown "Hilfe"
    check "LANG=de_DE.UTF-8: Unicode" until_shown "Second: Größe"
    leave >/dev/null
else
    skip "LANG=de_DE.UTF-8" "there is no catalogue: msgfmt is not installed"
fi

# --- wide and combining characters: what stands behind them keeps its column ---
cp -R tests/fixtures/course "$scratch/course"
cat >"$scratch/course/lessons/en/01-first.md" <<'MD'
# Breite 世界 Zeichen

```table
plain | wide
abcd | one
你好 | two
áéíó | three
```

A line with é (combined), 日本語 and ①.
MD
sed -i 's/áéíó/a\xcc\x81e\xcc\x81i\xcc\x81o\xcc\x81/; s/with é/with e\xcc\x81/' "$scratch/course/lessons/en/01-first.md"
window "RINGSIDE_DATA=$scratch/course $ringside --open lesson:01-first; echo code=\$?"
until_shown "three" >/dev/null
columns() { # the column of each word, as the terminal counts
    screen | python3 -c '
import sys, unicodedata
for line in sys.stdin:
    for word in ("one", "two", "three"):
        at = line.find(word)
        if at >= 0:
            print(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line[:at]))' | sort -u | wc -l
}
check "wide and combining characters keep a table's columns" [ "$(columns)" -eq 1 ]
press Down Down Up Up C-l
check "also after scrolling" until_shown "你好"
check "and still in their columns" [ "$(columns)" -eq 1 ]
check "combining marks arrive" bash -c 'grep -q "$(printf "e\xcc\x81")"' <<<"$(screen)"
leave >/dev/null

# --- a paste of 100 KB ---
window "$ringside; echo code=\$?"
until_shown "Recent runs" >/dev/null
printf 'q quit, t train\nq\n%.0s' $(seq 6000) >"$scratch/paste"
mux load-buffer "$scratch/paste"
mux paste-buffer -p -t t
press '?'
check "$(stat -c %s "$scratch/paste") bytes pasted do nothing; keys work at once afterwards" until_shown "this list of keys"
press Escape
until_gone "this list of keys" >/dev/null
press Enter
until_shown "A job is a program" >/dev/null
press /
mux paste-buffer -p -t t
press Escape
check "pasted into a search they end in it" until_shown "A job is a program"
check "and it leaves in order" leave

# --- Esc, and two presses in one reading: on a pseudo-terminal of our own, where bytes come when we say ---
cat >"$scratch/guest.py" <<'PY'
import fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time
class Guest:
    def __init__(self, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = {k: v for k, v in os.environ.items() if k != "ESCDELAY"}
        self.child = subprocess.Popen([sys.argv[1]], stdin=slave, stdout=slave, stderr=slave,
                                      env=dict(env, TERM="xterm-256color", **more), start_new_session=True)
        os.close(slave)
        self.until(b"Recent", 0.2)
    def until(self, text, quiet):  # what is written up to the text, and until nothing has come for so long
        seen, end = b"", time.monotonic() + 20
        while time.monotonic() < end and select.select([self.master], [], [], quiet if text in seen else 1)[0]:
            seen += os.read(self.master, 65536)
        return text in seen
    def press(self, text):
        os.write(self.master, text)
    def esc(self):  # seconds from Esc to the screen's first byte
        self.press(b"?")
        self.until(b"", 0.2)
        begun = time.monotonic()
        self.press(b"\033")
        select.select([self.master], [], [], 20)
        took = time.monotonic() - begun
        self.until(b"", 0.1)
        return took
    def end(self):
        self.child.terminate()
        self.child.wait()
guest, slow = Guest(), Guest(ESCDELAY="700")
least, most = 0.7, slow.esc()
slow.end()
for _ in range(5):  # the machine may be busy
    least = min(least, guest.esc())
    if least < most / 2:
        break
print(f"# Esc acts after {1000 * least:.0f} ms, with ESCDELAY=700 after {1000 * most:.0f} ms")
os.kill(guest.child.pid, signal.SIGSTOP)
guest.press(b"\033[<0;12;%dM\033[<0;12;%dm" % (int(sys.argv[2]), int(sys.argv[2])) * 2)
os.kill(guest.child.pid, signal.SIGCONT)
double = guest.until(b"events.jsonl", 0)
guest.end()
for name, good in (("Esc acts long before a slow terminal's ESCDELAY would", least < most / 2),
                   ("ESCDELAY is honoured", most >= 0.7),
                   ("two presses in one reading open", double)):
    print("ok" if good else "not ok", "-", name)
sys.exit(not (least < most / 2 and most >= 0.7 and double))
PY
"$ringside" --dump --size 80x24 >"$scratch/screen"
python3 "$scratch/guest.py" "$ringside" "$(grep -nF "▸ " "$scratch/screen" | cut -d: -f1)" || failures=$((failures + 1))
