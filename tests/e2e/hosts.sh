# shellcheck shell=bash
# Sourced by tests and benches that need several hosts: network namespaces of this machine, each with a host name, an
# address and a cable of a limited rate to one switch. Needs root (or what lets `ip netns` work).
#   hosts_possible            else $hosts_why says what is missing
#   hosts_up COUNT RATE       makes them: rate as tc has it (1gbit)
#   hosts_mpirun PER COMMAND  on PER ranks of each host, numbered host by host; MPI's messages by TCP
#   hosts_down                removes them; fine where there are none
hosts_id=rs$$ hosts_count=0 hosts_why=
hosts_dir=$(mktemp -d)

hosts_possible() {
    local tool
    for tool in ip tc unshare mpirun; do
        command -v $tool >/dev/null || { hosts_why="$tool is not installed (Debian: iproute2, util-linux, openmpi-bin)" && return 1; }
    done
    if ! ip netns add "$hosts_id-try" 2>"$hosts_dir/why"; then
        hosts_why="no network namespaces here: $(tr -d '\n' <"$hosts_dir/why")"
        return 1
    fi
    ip netns exec "$hosts_id-try" unshare --uts true 2>"$hosts_dir/why" &&
        ip -n "$hosts_id-try" link add name try type bridge 2>>"$hosts_dir/why" &&
        ip -n "$hosts_id-try" link add name try0 type veth peer name try1 2>>"$hosts_dir/why" &&
        tc -n "$hosts_id-try" qdisc add dev try0 root tbf rate 1gbit burst 256kb latency 2s 2>>"$hosts_dir/why"
    local status=$?
    ip netns del "$hosts_id-try"
    hosts_why="several hosts cannot be pretended here: $(tr '\n' ' ' <"$hosts_dir/why")"
    return $status
}

hosts_up() {
    local i host switch=$hosts_id-switch rate=$2
    hosts_count=$1
    ip netns add "$switch" && ip -n "$switch" link add name bridge type bridge && ip -n "$switch" link set bridge up || return 1
    for ((i = 0; i < hosts_count; i++)); do
        host=$hosts_id-h$i
        ip netns add "$host" &&
            ip -n "$switch" link add name "port$i" type veth peer name eth0 netns "$host" &&
            ip -n "$switch" link set "port$i" master bridge up &&
            ip -n "$host" addr add "10.77.0.$((i + 1))/24" dev eth0 &&
            ip -n "$host" link set eth0 up && ip -n "$host" link set lo up &&
            tc -n "$host" qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 2s &&
            tc -n "$switch" qdisc add dev "port$i" root tbf rate "$rate" burst 256kb latency 2s || return 1
    done
    # What mpirun calls in place of ssh: the command in that host's namespaces.
    cat >"$hosts_dir/agent" <<AGENT
#!/bin/sh
n=\$((\${1##*.} - 1))
shift
exec ip netns exec "$hosts_id-h\$n" unshare --uts sh -c "hostname host\$n; \$*"
AGENT
    chmod +x "$hosts_dir/agent"
}

hosts_mpirun() {
    local per=$1 list= i
    shift
    for ((i = 0; i < hosts_count; i++)); do list+=${list:+,}10.77.0.$((i + 1)):$per; done
    ip netns exec "$hosts_id-h0" unshare --uts sh -c 'hostname host0; exec "$@"' sh \
        mpirun --allow-run-as-root -n $((per * hosts_count)) -H "$list" --map-by slot --bind-to none --oversubscribe \
        --mca plm_rsh_agent "$hosts_dir/agent" --mca plm rsh --mca btl "${hosts_btl:-self,vader,tcp}" --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 --mca mpi_yield_when_idle 1 "$@"
}

hosts_down() {
    local i
    for ((i = 0; i < hosts_count; i++)); do
        ip netns pids "$hosts_id-h$i" 2>/dev/null | xargs -r kill -KILL # whoever is still there, were we interrupted
        ip netns del "$hosts_id-h$i" 2>/dev/null
    done
    ip netns del "$hosts_id-switch" 2>/dev/null
    hosts_count=0
    rm -rf "$hosts_dir"
}
