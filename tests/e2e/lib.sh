# Sourced by the end-to-end tests: each check prints one TAP line; the script ends with status 1 where one failed.
#   check NAME COMMAND...          passes where the command does
#   expect NAME CODE COMMAND...    passes where the exit code is CODE; its output is in $out and $err
#   skip NAME REASON
#   beside FUNCTION    runs it in the background, in a scratch folder and a home of its own;
#   together           waits for all such and prints their lines, one function's after the other's
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
build=${BUILD:-build}
ringside=$PWD/$build/ringside
scratch=$(mktemp -d)
export RINGSIDE_HOME=$scratch/home OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C.UTF-8
failures=0 out= err=
finish() {
    rm -rf "$scratch"
    [ "$failures" -eq 0 ] || exit 1
}
trap finish EXIT
pass() { echo "ok - $1"; }
fail() {
    echo "not ok - $1"
    shift
    [ $# -gt 0 ] && printf '%s\n' "$@" | sed 's/^/# /'
    failures=$((failures + 1))
}
skip() { echo "ok - $1 # SKIP $2"; }
check() {
    local name=$1
    shift
    if "$@" >"$scratch/check.out" 2>&1; then pass "$name"; else fail "$name" "$(tail -n 20 "$scratch/check.out")"; fi
}
expect() {
    local name=$1 code=$2 got
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    if [ "$got" -eq "$code" ]; then pass "$name"; else
        fail "$name" "exit code $got, expected $code" "$(tail -n 15 "$scratch/out")" "$(tail -n 15 "$scratch/err")"
    fi
}
golden=tests/golden/screens
# The output of a command, held to tests/golden/screens/NAME.txt; with UPDATE=1 written there: look at the difference then.
golden_screen() { # NAME COMMAND...
    local name=$1
    shift
    if ! "$@" >"$scratch/screen" 2>"$scratch/err"; then
        fail "$name" "$(cat "$scratch/err" "$scratch/screen")"
    elif [ -n "${UPDATE:-}" ]; then
        cp "$scratch/screen" "$golden/$name.txt"
        pass "$name (written)"
    else
        check "$name" diff -u "$golden/$name.txt" "$scratch/screen"
    fi
}
lanes=()
beside() {
    lanes+=("$1:")
    (
        scratch=$scratch/$1.d # no path is the beginning of another
        export RINGSIDE_HOME=$scratch/home RINGSIDE_SLOTS_DIR=$scratch/slots
        runs=$RINGSIDE_HOME/runs failures=0
        mkdir "$scratch"
        "$1"
        exit $((failures > 0))
    ) >"$scratch/$1.out" 2>&1 &
    lanes[-1]+=$!
}
together() {
    local lane
    for lane in "${lanes[@]}"; do
        wait "${lane#*:}" || failures=$((failures + 1))
        cat "$scratch/${lane%:*}.out"
    done
    lanes=()
}
