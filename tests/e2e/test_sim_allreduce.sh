#!/bin/bash
# ringside sim --allreduce: its answers, its table, its hops, and what it refuses.
. "$(dirname "$0")/lib.sh"

sim() { "$ringside" sim --allreduce "$@"; }
number() { grep -o "\"$1\":[^,}]*" <<<"$2" | head -n 1 | cut -d: -f2; }
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { exit !(a > b * (1 - by) && a < b * (1 + by)) }'; }

# SimGrid's two figures, from the command line, in every tier
for tier in auto closed rounds events; do
    expect "a ring of 8 ranks, $tier" 0 sim ring --ranks 8 --bytes 1M --bandwidth 10Gb/s --latency 25us --tier $tier --json
    check "2.1682 ms ($tier)" near "$(number time_s "$out")" 0.0021682 0.005
    check "it says that it is simulated" grep -q '"origin":"sim"' <<<"$out"
done
expect "recursive doubling on 64 ranks" 0 sim recursive_doubling --ranks 64 --bytes 100M --latency 25e-6 --bandwidth 1.25e9 --json
check "503.6 ms" near "$(number time_s "$out")" 0.5036 0.005
check "one event and nothing else" [ "$(wc -l <<<"$out")" -eq 1 ]

# plain answers name the link, the formula and what is left out
expect "a plain answer" 0 sim ring --ranks 16 --topology fattree:4x4:2 --explain
for word in simulated closed 'port 3 -> leaf 0' 'not modelled: incast' latency '2(n-1)'; do
    check "it says $word" grep -qF -- "$word" <<<"$out"
done
expect "a table of all algorithms" 0 sim all --cluster teaching --bytes 1M
for algo in ring tree nccl_ring nccl_tree hierarchical:4; do
    check "with $algo" grep -q "^  $algo " <<<"$out"
done
expect "the fastest" 0 sim auto --ranks 64 --bytes 64K --json
check "is named" grep -q '"chosen":"recursive_doubling"' <<<"$out"
expect "100 000 ranks" 0 sim ring --ranks 100000 --bytes 100M --json
check "a closed form" grep -q '"tier":"closed"' <<<"$out"

# sizes as people read them, and nothing that takes minutes without a word
expect "sizes" 0 sim ring --ranks 1 --bytes 100M
check "100 MiB on 1 rank" grep -q 'of 100 MiB on 1 rank,' <<<"$out"
expect "16 million ranks" 0 sim tree --ranks 16777216
check "the formula counts its rounds" grep -qF '2k (a + S/B), n = 16777216, k = lg n = 24' <<<"$out"
expect "all to all, by a formula" 0 sim alltoall --ranks 4096 --bytes 64M --json
check "closed" grep -q '"tier":"closed"' <<<"$out"
expect "a table of 100 000 ranks" 0 sim ring,central,nccl_ring --ranks 100000 --topology fattree:1000x100:2
check "an estimate is marked" grep -q 'nccl_ring .*closed~ ' <<<"$out"
check "with central" grep -q '^  central ' <<<"$out"

# hops, in time, and as many as the ring has messages
expect "hops" 0 sim ring --ranks 4 --bytes 4K --json --hops
check "2(n-1) n hops" [ "$(grep -c '"ev":"hop"' <<<"$out")" -eq 24 ]

# what cannot be, in one sentence
refuse() { # WORDS ARGUMENTS...
    local words=$1
    shift
    expect "refused: $*" 2 sim "$@"
    check "  $words" grep -qF -- "$words" <<<"$err"
    check "  in one line, and nothing else" [ "$(wc -l <<<"$err")" -eq 1 -a -z "$out" ]
}
refuse 'has 16 ports, but 17 nodes need 17' ring --ranks 17 --topology torus:4x4
refuse 'has 8 ports, but 9 ranks' ring --ranks 9 --topology fattree:2x4:1
refuse 'there is no topology "mesh"' ring --topology mesh
refuse '--bandwidth: expected a rate above 0' ring --bandwidth 0
refuse '--bandwidth: expected a rate above 0' ring --bandwidth=-3
refuse '--latency: expected a time' ring --latency soon
refuse '--bytes: expected a size' ring --bytes none
refuse 'there is no tier "exact"' ring --tier exact
refuse 'ringside: there is no allreduce algorithm "rong"' rong
refuse 'there is no allreduce algorithm "rong"' ring,rong
refuse 'a name is missing' ring,,tree
refuse 'nccl_tree takes a whole number' nccl_tree:abc
refuse 'longer than a number can hold' ring --bandwidth 1e-308
refuse 'do not fill hosts of 3' hierarchical:3 --ranks 8
refuse 'no closed form' alltoall --ranks 16 --topology torus:4x4 --tier closed
refuse 'one by one the simulator follows at most' ring --ranks 100000 --tier events
refuse 'give --json too' ring --hops
refuse 'there is no cluster "nowhere"' ring --cluster nowhere
printf 'return cluster {\n  nodes = 2,\n  bandwidth = 0,\n}\n' >"$scratch/zero.lua"
refuse "$scratch/zero.lua:" ring --cluster "$scratch/zero.lua"
printf 'return cluster { nodes = 2, bandwidth = 0/0 }\n' >"$scratch/nan.lua"
refuse 'bandwidth' ring --cluster "$scratch/nan.lua"
printf -- '-- a cycle\nreturn cluster { nodes = 2, bandwidth = 1e9, links = { {"node0", "s"}, {"node1", "s"}, {"node0", "node1"} } }\n' >"$scratch/cycle.lua"
refuse "$scratch/cycle.lua:2: cluster: link 3 (node0 - node1) closes a cycle" ring --cluster "$scratch/cycle.lua"
printf 'return cluster { nodes = 2, bandwidth = 1e9, links = { {"node0", "s"}, {"node1", "t"} } }\n' >"$scratch/apart.lua"
refuse "$scratch/apart.lua:1: cluster: node1 cannot be reached from node0" ring --cluster "$scratch/apart.lua"
