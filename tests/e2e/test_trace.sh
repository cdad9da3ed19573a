#!/bin/bash
# trace.json of real runs, as a strict reader sees it: JSON, spans that nest, every rank, allreduces of all ranks that
# overlap in aligned time, nearly all of a step accounted for; and what `ringside runs trace` says of it.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/runs.sh"
if ! have_mpi; then
    skip "traces" "mpirun is not installed"
    exit
fi

# FILE RANKS STEPS THREADS: of each rank so many threads, transfers aside.
cat >"$scratch/strict.py" <<'END'
import json, statistics, sys
path, ranks, steps, threads = sys.argv[1], *map(int, sys.argv[2:5])

def no_twins(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice in {keys}"
    return dict(pairs)

trace = json.load(open(path), object_pairs_hook=no_twins, parse_constant=lambda name: sys.exit(f"{name} is no JSON"))
other, events = trace["otherData"], trace["traceEvents"]
assert len(other["offset_s"]) == len(other["bound_s"]) == len(other["hosts"]) == ranks
assert all(o == 0 for o in other["offset_s"]), "the ranks of one host read one clock"
assert other["dropped"] == 0 and "incomplete" not in other
assert other["last_step"] - other["first_step"] + 1 == steps, other
named = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert named == set(range(ranks)), named
rows, sums = {}, {}
for e in events:
    if e["ph"] != "X":
        assert e["ph"] == "M", e
        continue
    t0 = round(e["ts"] * 1000)
    t1 = t0 + round(e["dur"] * 1000)
    assert t0 > 0 and t1 >= t0 and e["name"] and e["args"]["step"] > 0, e
    rows.setdefault((e["pid"], e["tid"]), []).append((t0, -t1, e["cat"], e["name"], e["args"]))
for r in range(ranks):
    assert sum(1 for p, tid in rows if p == r and tid < 16) == threads, (r, sorted(rows))
for (rank, tid), spans in rows.items():
    assert spans == sorted(spans, key=lambda s: s[:2]), "in order of time, outer spans first"
    stack, covered, whole = [], {}, {}
    for t0, t1, cat, name, args in spans:
        t1 = -t1
        while stack and stack[-1][1] <= t0:
            stack.pop()
        assert not stack or t1 <= stack[-1][1], (rank, tid, name, "ends behind what it lies in")
        if tid == 0 and stack and stack[-1][2] == "step":
            covered[args["step"]] = covered.get(args["step"], 0) + t1 - t0
        if tid == 0 and cat == "step":
            assert not stack
            whole[args["step"]] = t1 - t0
        if cat == "allreduce":
            sums.setdefault((args["step"], args.get("bucket")), {}).setdefault(rank, []).append((t0, t1))
            assert args["bytes"] > 0 and args["algo"], args
        stack.append((t0, t1, cat))
    if tid == 0:
        assert len([s for s in spans if s[2] == "step"]) == steps
        share = statistics.median(covered[s] / whole[s] for s in whole)  # a step may be interrupted anywhere
        assert share >= 0.95, f"rank {rank}: {share:.3f} of a step is accounted for"
        kinds = {s[2] for s in spans}
        assert {"data", "optimizer"} <= kinds, kinds
    if tid in (0, 2):
        layers = {s[3] for s in spans if s[2] == "forward_layer"}
        assert layers == {s[3] for s in spans if s[2] == "backward_layer"}
        assert not layers or any(name.startswith("1 dense 128") for name in layers), layers
assert {step for step, _ in sums} == set(range(other["first_step"], other["last_step"] + 1))
for key, by_rank in sums.items():
    assert set(by_rank) == set(range(ranks)), key
    for parts in zip(*by_rank.values()):  # nobody leaves before the last has come
        assert max(t0 for t0, _ in parts) <= min(t1 for _, t1 in parts) + 2e9 * max(other["bound_s"]), (key, parts)
if ranks > 1:
    hops = [s for (_, tid), spans in rows.items() if tid >= 16 for s in spans]
    assert len(hops) > 0 and all(s[2] == "hop" for s in hops)
END

trained() { # NAME RANKS STEPS THREADS OPTION...
    local name=$1 ranks=$2 steps=$3 threads=$4
    expect "$name: it trains" 0 "$ringside" train --model mlp --batch 16 --ranks "$ranks" --threads 1 --label "$name" "${@:5}"
    run=$(basename "$(ls -d "$runs"/*"-$name")")
    check "$name: a strict reader takes the trace" python3 "$scratch/strict.py" "$runs/$run/trace.json" "$ranks" "$steps" "$threads"
}
trained plain 2 50 1 --steps 70
check "the stream tells of it" grep -qE '"ev":"trace","file":"trace.json","ranks":2,"steps":50,"first_step":11,"offset_s":0.0,"bound_s":[0-9.e-]+,"spans":[0-9]+,"dropped":0' "$runs/$run/events.jsonl"
expect "what it says" 0 "$ringside" runs trace "$run"
check "shares of every rank" test "$(grep -cE '^ +[01] +[0-9.]+ ms( +[0-9.]+ %){7}$' <<<"$out")" = 2
check "the longest layers" grep -qE '^1 dense 128 \+ relu +[0-9.]+ ms +[0-9.]+ ms +[0-9.]+ %$' <<<"$out"
check "a step of both, 80 columns wide" test "$(grep -cE '^rank [01]    [A-Za-z.-]{70}$' <<<"$out")" = 2
legend=$(sed '/^critical path/,$d' <<<"$out" | tail -n 1) unnamed=
for letter in $(grep '^rank [01] ' <<<"$out" | cut -c 11- | fold -w 1 | sort -u); do
    grep -qF -- "$letter " <<<"$legend" || unnamed+=$letter
done
check "with a legend that names each letter" test -n "$legend" -a -z "$unnamed"
expect "one step by its number" 0 "$ringside" runs trace "$run" --step 60
check "which it names" grep -q '^step 60$' <<<"$out"
expect "a step that was not recorded" 2 "$ringside" runs trace "$run" --step 61
check "one sentence says which were" grep -q 'has steps 11 to 60, not 61' <<<"$err"
expect "the figures as events" 0 "$ringside" runs trace "$run" --json
check "of each rank they add up to the whole" python3 -c '
import json, sys
ranks = [e for e in map(json.loads, open(sys.argv[1])) if e["ev"] == "trace_rank"]
assert len(ranks) == 2
for r in ranks:
    assert abs(sum(r[k] for k in ("compute", "exposed_comm", "data", "between", "idle")) - 1) < 1e-6, r
    assert r["compute"] > 0 and r["exposed_comm"] > 0' "$scratch/out"

trained overlapped 2 20 2 --steps 40 --trace 20 --bucket 1K
trained four 4 6 1 --steps 12 --trace 100
trained alone 1 3 1 --steps 6 --accumulate 2
trained shards 2 8 2 --steps 20 --trace 8 --reproducible
expect "a run without a trace" 0 "$ringside" train --model mlp --ranks 1 --steps 2 --trace 0 --label none
run=$(basename "$(ls -d "$runs"/*-none)")
check "has no file and no event of one" sh -c "! test -e '$runs/$run/trace.json' && ! grep -q '\"trace\"' '$runs/$run/events.jsonl'"
expect "and that is said" 2 "$ringside" runs trace "$run"
check "in one sentence" grep -q 'trace.json cannot be read' <<<"$err"

run=$("$ringside" train --model mlp --batch 16 --ranks 2 --steps 100000 --trace 100000 --pause 0.01 --detach)
await has_event "$run" step
await grep -q '"step":20,' "$runs/$run/events.jsonl"
"$ringside" runs stop "$run" >/dev/null
await has_ended "$run"
check "a run that is stopped has a trace of what there was" "$ringside" runs trace "$run"

# Its loss grows some thirty steps long until it is no number any more.
echo 'return model { input = {1, 28, 28}, flatten{}, dense{10}, loss = "mse" }' >"$scratch/linear.lua"
expect "a training that fails" 1 "$ringside" train --model "$scratch/linear.lua" --optimizer sgd --momentum 0 \
    --schedule constant --lr 0.1 --batch 16 --steps 300 --trace 200 --label failed
expect "leaves what rank 0 saw" 0 "$ringside" runs trace failed
check "and says that this is all" grep -q '^the run failed: this is only what rank 0 saw$' <<<"$out"

expect "an allreduce's operations" 0 "$ringside" allreduce --algo ring,tree --bytes 1K,1M --iters 4 --trace 12 --label sums
expect "are told, too" 0 "$ringside" runs trace sums
check "12 of them" grep -q '^operations 1 to 12 of 2 ranks' <<<"$out"
check "each algorithm at each size" test "$(grep -cE '^allreduce( x 10)? +(ring|tree) +1.00 [KM]iB +[0-9]+( +[0-9.]+ ms){3}$' <<<"$out")" = 6
check "and one of them drawn by its name" grep -qE '^operation [0-9]+: allreduce( x 10)? of 1.00 [KM]iB by (ring|tree)$' <<<"$out"
check "their spans and what lies between account for the time, and each is as long as it was" python3 - "$(ls -d "$runs"/*-sums)/trace.json" <<'END'
import json, statistics, sys
spans = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]
for rank in (0, 1):
    mine = [e for e in spans if e["pid"] == rank]
    of = {c: [e for e in mine if e["cat"] == c] for c in ("step", "wait", "allreduce", "between", "idle")}
    assert len(of["step"]) == len(of["wait"]) == len(of["allreduce"]) == 12 and len(of["between"]) == 11, rank
    for step, wait, sum_ in zip(of["step"], of["wait"], of["allreduce"]):
        assert abs(wait["ts"] + wait["dur"] - sum_["ts"]) < 0.01, "the sum begins where the barrier ends"
    left = [s["dur"] - w["dur"] - a["dur"] for s, w, a in zip(of["step"], of["wait"], of["allreduce"])]
    assert statistics.median(l / s["dur"] for l, s in zip(left, of["step"])) < 0.1, (rank, left)
    assert all(e["name"] != "between steps" for e in of["between"])
    whole = mine[-1]["ts"] + mine[-1]["dur"] - mine[0]["ts"]
    assert sum(e["dur"] for e in of["idle"]) < 0.3 * whole, rank
END
head -c 3000 "$(ls -d "$runs"/*-sums)/trace.json" >"$scratch/torn"
cp "$scratch/torn" "$(ls -d "$runs"/*-sums)/trace.json"
expect "a torn file" 2 "$ringside" runs trace sums
check "is refused with its line" grep -qE 'trace.json, line [0-9]+: ' <<<"$err"
