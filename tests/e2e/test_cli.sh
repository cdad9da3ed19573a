#!/bin/bash
# The command line: help, versions, exit codes, and sentences about mistakes.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"

one_line() { [ "$(printf '%s\n' "$err" | wc -l)" -eq 1 ] && [ -n "$err" ]; }
says() { case $err in *"$1"*) return 0 ;; *) printf '%s\n' "$err"; return 1 ;; esac }

expect "--version" 0 "$ringside" --version
check "--version names the program" grep -qE '^ringside [0-9]+\.[0-9]+' <<<"$out"
expect "--help" 0 "$ringside" --help
for command in lesson exercise run train allreduce runs doctor; do
    check "--help lists $command" grep -qw "$command" <<<"$out"
done
for command in train allreduce runs doctor; do
    expect "$command --help" 0 "$ringside" "$command" --help
    check "$command --help shows usage and options" grep -q -- "usage: ringside $command" <<<"$out"
    check "$command --help explains --json" grep -q -- '--json' <<<"$out"
    expect "$command: an unknown option is bad input" 2 "$ringside" "$command" --no-such-option
    check "$command: it says so in one line" one_line
done
expect "an unknown command is bad input" 2 "$ringside" trian
check "and is named" says "'trian'"

mistake() { # SENTENCE COMMAND...
    local sentence=$1
    shift
    expect "$* is bad input" 2 "$ringside" "$@"
    check "$*: one line" one_line
    check "$*: it says what was expected" says "$sentence"
}
mistake "--ranks: expected a whole number from 1 to 4096, got '0'" train --ranks 0
mistake "--ranks: expected a whole number from 1 to 4096, got 'two'" train --ranks two
mistake 'there is no model "vgg"; the models are' train --model vgg
mistake "--data: expected mnist, cifar10" train --data imagenet
mistake "got 'imagenet', which is not there" train --data imagenet
mistake "train-images-idx3-ubyte" train --data "$scratch"
mistake "is a file, but neither a folder with the files of MNIST or CIFAR nor a FILE.shards" train --data /etc/passwd
mistake "is a folder; expected text-words:FILE" train --data "text-words:$scratch"
mistake "out: the folder /proc/foo cannot be made: " train --out /proc/foo
mistake "--optimizer: expected sgd, adam, adamw, lars or lamb, got 'lion'" train --optimizer lion
mistake "--nesterov: only sgd has it, but the optimizer is adam" train --nesterov
mistake "--momentum: only sgd and lars have it" train --optimizer lamb --momentum 0.5
mistake "--gamma: only the schedule step has it, but the schedule is onecycle" train --gamma 0.5
mistake "--warmup: the schedule onecycle warms up by itself" train --warmup 0.1
mistake "--weight-decay: expected" train --weight-decay -1
mistake "--algo: there is no allreduce algorithm \"star\" (there are: " train --algo star
mistake "--launcher: expected local, got 'slurm'" train --launcher slurm
mistake "--tensor: this version cannot do that yet" train --tensor 2
mistake "--epochs: expected" train --epochs 0
mistake "did you mean --epochs?" train --epoch 1
mistake "got 'x'" train x
mistake "--batch: expected B after it" train --batch
mistake "--bytes: 6 is not a multiple of 4" allreduce --bytes 6
mistake "--bytes: expected sizes in bytes such as 1K,1M,64M or 8..128M, got '1Q'" allreduce --bytes 1Q
mistake "--algo: there is no allreduce algorithm \"star\"" allreduce --algo ring,star
mistake "there is no run 'nothing'" runs watch nothing
mistake "which run?" runs stop
mistake "expected list, watch" runs frobnicate
check "no run was started by any of these" test -z "$(ls "$runs" 2>/dev/null)"

expect "train where mpirun is missing" 3 env PATH=/nonexistent "$ringside" train
check "names the package for Debian" says "apt install openmpi-bin"
check "and for Fedora" says "dnf install openmpi"
check "and the module" says "module load"
expect "doctor where mpirun is missing" 3 env PATH=/nonexistent "$ringside" doctor --json
check "doctor finds mpirun missing" grep -q '"what":"mpirun","result":"missing"' <<<"$out"
check "doctor finds no scheduler, which nothing needs" grep -q '"what":"scheduler","result":"missing","needed":false' <<<"$out"
mkdir "$scratch/slurm"
printf '#!/bin/sh\necho "debug up 1/3/0/4"\n' >"$scratch/slurm/sinfo"
chmod +x "$scratch/slurm/sinfo"
expect "doctor where there is Slurm" 3 env PATH="$scratch/slurm" "$ringside" doctor
check "doctor finds it" grep -qE '^found +scheduler +Slurm is here and answers' <<<"$out"
printf '#!/bin/sh\necho "no controller" >&2\nexit 1\n' >"$scratch/slurm/sinfo"
expect "doctor where Slurm does not answer" 3 env PATH="$scratch/slurm" "$ringside" doctor
check "doctor warns of it, in its words" grep -qE 'why: +sinfo ended with 1: no controller' <<<"$out"
if have_mpi; then
    expect "doctor" 0 "$ringside" doctor
    check "doctor started two ranks" grep -qE '^found +ranks +2 ranks' <<<"$out"
    check "doctor knows oneDNN's version" grep -qE '^found +oneDNN +version [0-9]' <<<"$out"
    check "doctor looks for the CUDA plugin" grep -q 'CUDA plugin' <<<"$out"
    expect "doctor --json" 0 "$ringside" doctor --json
    check "doctor --json prints findings and nothing else" test "$(grep -vc '^{"ev":"finding",' <<<"$out")" -eq 0
else
    skip "doctor" "mpirun is not installed"
fi
expect "doctor without a home to write to" 3 env RINGSIDE_HOME=/proc/nowhere "$ringside" doctor --json
check "doctor names the home" grep -q '"what":"home","result":"missing"' <<<"$out"
expect "train without a home to write to" 3 env RINGSIDE_HOME=/proc/nowhere "$ringside" train
check "and it says what to set" says "RINGSIDE_HOME"

# Starting is cheap: compared with starting a shell in the same moment, so that a loaded machine does not matter.
times() { # COMMAND...: milliseconds for 20 starts
    local begin=${EPOCHREALTIME/./} i
    for ((i = 0; i < 20; i++)); do "$@" >/dev/null; done
    echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}
if [ -n "${RINGSIDE_SANITIZE:-}" ]; then
    skip "--version starts about as fast as a shell" "sanitized programs start slowly"
    exit
fi
own=$(times "$ringside" --version) shell=$(times bash -c :)
echo "# 20 starts of ringside --version: $own ms, of bash: $shell ms"
check "--version starts about as fast as a shell" test "$own" -lt $((10 * shell + 200))
