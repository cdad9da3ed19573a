#!/bin/bash
# Training on a simulated cluster, through the whole way: simulate{} in a script, the run it leaves behind, its screens.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

script() { cat >"$scratch/$1.lua"; }
says() { # NAME TEXT: what the last `expect` printed
    if [[ "$out$err" == *"$2"* ]]; then pass "$1"; else fail "$1" "expected: $2" "got: $out" "$err"; fi
}

# Eight nodes of four GPUs that compute at 2 TFLOP/s (half of the peak), on 10 Gb/s.
cluster='local c = cluster{ name = "toy", topology = "switch", nodes = 8, gpus = 4,
    gpu = { name = "toy GPU", f32 = "4T", memory = "16GB", memory_bandwidth = "400GB/s" },
    pcie = "12GB/s", bandwidth = "10Gb/s", latency = "5us" }'

script scaling <<LUA
$cluster
for _, ranks in ipairs{ 1, 4, 32 } do
    local r = simulate{ cluster = c, job = { model = "resnet50", batch = 64, ranks = ranks, lr = 0.1 }, steps = 20,
                        label = "toy-" .. ranks }
    print(string.format("%d ok=%s efficient=%s exposed=%s steps=%d tier=%s origin=%s why=%s", ranks, r.ok,
          r.efficiency > 0.5 and r.efficiency <= 1, r.exposed_comm_s >= 0, #r.steps, r.tier, r.origin, #r.explain > 4))
    assert(math.abs(r.samples_per_s - 64 * ranks / r.step_s) < 1e-6 * r.samples_per_s)
    assert(ranks > 1 or math.abs(r.efficiency - 1) < 1e-9)
end
LUA
expect "a script simulates" 0 "$ringside" run --explain "$scratch/scaling.lua"
for ranks in 1 4 32; do
    says "$ranks ranks" "$ranks ok=true efficient=true exposed=true steps=20"
done
says "its text says simulated, and the tier" "simulated, not measured (network: "
says "why: the formula with its numbers" "one rank"
says "why: the bottleneck" "bottleneck"

run=$("$ringside" runs list | awk '$1 ~ /toy-32/ { print $1; exit }')
expect "the run is listed" 0 "$ringside" runs list
says "as a simulation of so many ranks" "sim          32"
events=$RINGSIDE_HOME/runs/$run/events.jsonl
has() { if grep -q -- "$2" "$events"; then pass "$1"; else fail "$1" "no $2 in" "$(head -c 600 "$events")"; fi; }
has "its origin is sim" '"ev":"run".*"origin":"sim"'
has "it has steps" '"ev":"step","step":20'
has "it has sums" '"ev":"collective".*"origin":"sim"'
has "it has messages" '"ev":"hop"'
has "it has ranks" '"ev":"rank","rank":0'
has "it ends with done" '"ev":"done".*"efficiency"'
times=$(sed 's/^{"t":\([0-9.e+-]*\).*/\1/' "$events")
check "times never go back" sh -c "printf '%s\n' '$times' | sort -gc"

expect "watching an ended run shows its figures" 0 "$ringside" runs watch "$run"
says "labelled" "simulated, not measured"
expect "it can be replayed" 0 "$ringside" runs replay "$run" --speed 0
expect "the run's screen" 0 "$ringside" --script "" --size 80x24 --open "run:$run" --dump
says "says simulated" "Simulated run $run"
says "and the tier" "Simulated (network: "
says "and why" "bottleneck: "
expect "the ring's screen" 0 "$ringside" --script "r" --size 80x24 --open "run:$run" --dump
says "says simulated, too" "simulated: "

# Screens, as text; after a wanted change UPDATE=1 writes them anew.
cp -R "$RINGSIDE_HOME/runs/$run" "$RINGSIDE_HOME/runs/sim-toy"
for size in 80x24 160x45 40x12; do
    golden=tests/golden/screens/run-sim-$size.txt
    "$ringside" --script "" --size $size --open run:sim-toy --dump >"$scratch/screen" 2>&1
    [ -n "${UPDATE:-}" ] && cp "$scratch/screen" "$golden"
    check "run-sim-$size" diff -u "$golden" "$scratch/screen"
done
"$ringside" --script "" --size 80x24 --open run:sim-toy --dump --ascii >"$scratch/screen" 2>&1
[ -n "${UPDATE:-}" ] && cp "$scratch/screen" tests/golden/screens/run-sim-ascii.txt
check "run-sim-ascii" diff -u tests/golden/screens/run-sim-ascii.txt "$scratch/screen"

# The same answer each time, and stragglers drawn from the seed.
script repeat <<LUA
$cluster
local function once(seed)
    local r = simulate{ cluster = c, job = { model = "cnn", batch = 32, ranks = 8, straggler = { kind = "exponential", spread = 0.1 } },
                        steps = 5, seed = seed }
    local times = {}
    for i, s in ipairs(r.steps) do times[i] = s.samples_per_s end
    return table.concat(times, " "), r.straggler_s
end
local a, b, other = once(1), once(1), once(2)
print("same", a == b, "other", a ~= other)
LUA
expect "repeats" 0 "$ringside" run "$scratch/repeat.lua"
says "bit for bit" "same	true	other	true"

# What does not fit is told, and where.
script wrong <<LUA
$cluster
print(pcall(simulate, { cluster = c, job = { model = "resnet50", btch = 3 } }))
print(pcall(simulate, { cluster = c }))
print(pcall(simulate, { cluster = c, job = { ranks = 33 } }))
print(pcall(simulate, { cluster = c, job = { ranks = 4, allreduce = "no such" } }))
print(pcall(simulate, { cluster = c, job = { ranks = 4, batch = 10, microbatches = 3 } }))
print(pcall(simulate, { cluster = "no-such-cluster", job = { ranks = 4 } }))
print(pcall(simulate, { cluster = c, job = { ranks = 4 }, tier = "exact" }))
print(pcall(simulate, { cluster = c, job = { ranks = 4, straggler = { spred = 1 } } }))
print(pcall(simulate, { cluster = c, job = { ranks = 6, tensor = 4 } }))
local r = simulate{ cluster = c, job = { model = "vgg16", batch = 512, ranks = 4 } }
print("fits", r.fits, r.ok, r.error)
LUA
expect "mistakes end the script with 1 only where a run failed" 1 "$ringside" run "$scratch/wrong.lua"
for text in "job{...} does not know 'btch'; did you mean 'batch'?" "simulate{...} lacks job" \
    "has room for 32 ranks" "no such" "microbatches: 3 do not divide the batch of 10" "no-such-cluster" \
    "tier: expected auto, closed, rounds or events" "straggler: does not know 'spred'" \
    "6 cannot be a mesh of 4 tensor x 1 pipeline ranks"; do
    says "told: $text" "$text"
done
says "a model that does not fit is told" "fits	false	false	a rank needs "

# A mistake in simulate{} is told once, with the script's line, and the script's run has failed.
script mistake <<'LUA'
simulate{ cluster = cluster{ nodes = 2, topology = "torus:3x3", bandwidth = "10Gb/s" }, job = { ranks = 2 } }
LUA
expect "a mistake in a cluster" 2 "$ringside" run "$scratch/mistake.lua"
says "its file and line" "mistake.lua:1: cluster: topology"
check "told once" test "$(grep -c 'has 9 ports' <<<"$err")" = 1
says "whose run has failed" ": failed"
out=$("$ringside" runs list | grep mistake)
says "as the script's has" "failed"
for job in "ranks = 0" "rate = 0" "input = 0"; do
    script zero <<LUA
simulate{ cluster = "horovod-vm", job = { $job } }
LUA
    expect "$job" 2 "$ringside" run "$scratch/zero.lua"
    says "is told" "job: $job: expected"
done
script lacks <<<'simulate{ job = { ranks = 2 } }'
expect "no cluster" 2 "$ringside" run "$scratch/lacks.lua"
says "what simulate{} takes" "storage =, checkpoint = and schedule ="

# Data from the cluster's storage, clusters by name, and tables that serve train{} as well.
script named <<'LUA'
local r = simulate{ cluster = "horovod-vm", job = { model = "resnet101", batch = 64, lr = 0.1, epochs = 90, allreduce = "auto",
                    optimizer = sgd{ momentum = 0.9 }, data = { samples = 1281167, sample_bytes = 1e6 } } }
print(r.ranks, r.bound_by, r.data_s > 0, r.samples_per_s < 501)
print(pcall(simulate, { cluster = "horovod-vm", job = { data = { sampels = 1 } } }))
print(pcall(simulate, { cluster = cluster{ nodes = 2, gpus = 1, gpu = "K80", network = "10GbE" }, job = { data = { samples = 1 } } }))
LUA
expect "a cluster by name" 0 "$ringside" run "$scratch/named.lua"
says "is bound by its NFS server where samples are large" "8	input	true	true"
says "data without samples" "data: expected samples ="
says "no storage is told" "has no storage"

expect "published runs beside their simulation" 0 "$ringside" sim --published --markdown
check "cluster-sim/PUBLISHED.md is what the simulator says" diff -u cluster-sim/PUBLISHED.md "$scratch/out"
