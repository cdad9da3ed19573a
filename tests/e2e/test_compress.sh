#!/bin/bash
# Gradients that travel as 16 bits: half the bytes, in one allreduce and in buckets, and a training that hardly notices.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

train() { "$ringside" train --steps 6 --batch 16 --threads 1 --trace 0 --json "$@"; }
steps() { grep '"ev":"step"' <<<"$out"; }
last() { steps | tail -n 1 | sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }
close() { awk "BEGIN { d = $1 - $2; exit !(d < $3 && -d < $3) }"; }

expect "float32" 0 train
loss=$(last loss)
# 2(n-1)/n of four bytes for 93 322 gradients and two words, on two ranks.
check "each rank sends four bytes for each parameter and word" test "$(last sent_bytes)" = "$(((93322 + 2) * 4)).0"
check "and nothing is said of compression" test "$(grep -c compress <<<"$out")" = 0
compressed() { # TYPE MOST OPTION...: MOST: half a last bit, relative, twice; 11 bits of mantissa, or 8
    local type=$1 most=$2 error
    shift 2
    expect "$type" 0 train --compress "$type" --out "$scratch/$type" "$@"
    check "$type: two bytes for each parameter" test "$(last sent_bytes)" = "$((93322 * 2 + 2 * 4)).0"
    check "$type: the run says so" grep -q "\"ev\":\"run\".*\"compress\":\"$type\"" <<<"$out"
    error=$(steps | head -n 1 | sed -n 's/.*"compress_error":\([0-9.e+-]*\).*/\1/p')
    check "$type: the error is measured, and what rounding makes" awk "BEGIN { exit !($error > 0 && $error < $most) }"
    check "$type: the loss is that of float32, nearly" close "$(last loss)" "$loss" 0.05
}
compressed fp16 1e-3
compressed bf16 8e-3 --bucket 64K --trace 2
check "the trace has the bytes that travel" python3 - "$scratch/bf16/trace.json" <<'END'
import json, sys
spans = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "allreduce"]
steps = {(e["pid"], e["args"]["step"]) for e in spans}
assert len(steps) == 4 and sum(e["args"]["bytes"] for e in spans) == 4 * (93322 * 2 + 2 * 4), spans
END
check "in several allreduces, beside backward" grep -q '"buckets":[2-9]' <<<"$(steps)"
expect "as text" 0 "$ringside" runs watch "$scratch/fp16"
check "the report tells the bytes" grep -qE '^sent +187 kB a step by each rank, gradients as fp16$' <<<"$out"
check "and the error" grep -qE '^error +[0-9.]+e-0[0-9] of the gradients. sum, by sending fp16$' <<<"$out"

expect "another type is refused" 2 "$ringside" train --compress fp8
check "and the types there are named" grep -q -- '--compress: expected none, fp16 or bf16' <<<"$err"
expect "nothing is compressed where sums are reproducible" 2 "$ringside" train --compress fp16 --reproducible
