# shellcheck shell=bash
# What the tests in the lab share. Sourced; $1 is the commbound to test, $2 the build folder.
# A test that cannot run here says why and ends with 77, which CTest counts as skipped.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
commbound=$(readlink -f "${1:?usage: TEST COMMBOUND BUILD_DIR}")
# shellcheck disable=SC2034 # for the tests that source this
source_dir=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
# One lab for a build folder, so that what a killed test left is found and removed by the next.
# Short and in /tmp, for the sockets made below it.
LAB_DIR=/tmp/commbound-lab-$(printf %s "${2:?usage: TEST COMMBOUND BUILD_DIR}" | cksum | cut -d' ' -f1)
export LAB_DIR

lab() { "$here/lab" "$@"; }

skip() {
    echo "skipped: $*"
    exit 77
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# [TOOL...]: what the lab needs, and the tools named.
require() {
    local tool
    [ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
    for tool in ip tc unshare taskset mpirun python3 "$@"; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

end_test() {
    local status=$?
    trap - EXIT INT TERM
    lab down || true
    rm -rf "$work"
    exit "$status"
}

# lab up's arguments: a fresh lab, gone again when the test ends, however it ends.
start_lab() {
    trap end_test EXIT
    trap 'exit 1' INT TERM
    lab down
    lab up "$@"
}

# RESULT EXPRESSION: a Python expression over a result file (see result-value).
value() { "$here/result-value" "$@"; }
expect() {
    local got
    got=$(value "$@") || fail "could not evaluate $2"
    [ "$got" = True ] || fail "$2 is $got in $(basename "$(dirname "$1")")"
    echo "ok: $2"
}

# STATUS COMMAND...: runs it, its output in $work/output, and fails unless it ends with STATUS
# (several: "0|1").
expect_status() {
    local wanted=$1 status=0
    shift
    "$@" >"$work/output" 2>&1 || status=$?
    [[ "|$wanted|" == *"|$status|"* ]] && return 0
    cat "$work/output" >&2
    fail "status $status, expected $wanted: $*"
}

# A result is valid when commbound itself reads it strictly and renders it.
expect_readable() { expect_status 0 "$commbound" report "$1"; }

# Goodput of the link n0 -> n1 in byte/s, as another program reads it.
iperf3_bytes_per_s() {
    lab run n1 iperf3 -s -1 >/dev/null 2>&1 &
    local server=$!
    sleep 0.5
    lab run n0 iperf3 -c n1 -t 3 -J >"$work/iperf3.json" || fail "iperf3: $(cat "$work/iperf3.json")"
    wait "$server"
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["end"]["sum_received"]["bits_per_second"] / 8)' "$work/iperf3.json"
}

# OUT: pids of the ranks that write below OUT (not of the launchers that name it as well).
ranks_of() {
    local pid
    for pid in $(pgrep -x commbound); do
        if grep -qF -- "--out $1" <<<"$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"; then echo "$pid"; fi
    done
}

# RESULT COUNT: waits until the file holds COUNT measured collectives.
wait_for_rows() {
    local tries=0
    until [ -e "$1" ] && [ "$(value "$1" 'len(rows())')" -ge "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || fail "no $2 rows in $1 after 60 s"
        sleep 0.2
    done
}
