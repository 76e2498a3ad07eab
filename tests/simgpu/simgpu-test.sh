# shellcheck shell=bash
# What the tests of simulated runs share. Sourced; $1 is commbound_simgpu, $2 the folder of the
# simulated libraries. What they need and lack is said, with status 77.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
commbound=$(readlink -f "${1:?usage: TEST COMMBOUND_SIMGPU LIBRARIES}")
libraries=$(readlink -f "${2:?usage: TEST COMMBOUND_SIMGPU LIBRARIES}")
# shellcheck disable=SC2034 # for the tests that source this
config=$here # of the configurations
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # many ranks on few cores
export SIMGPU_CONFIG=$here/dgx-a100.conf
export ASAN_OPTIONS=detect_leaks=0 # Open MPI keeps memory until the end
export PMIX_MCA_psec=^munge # see tests/mpi/lib.bash
unset CUDA_VISIBLE_DEVICES SIMGPU_FAULT NCCL_DEBUG NCCL_DEBUG_FILE COMMBOUND_NCCL_LIB

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
for tool in mpirun python3; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
done

# RANKS ARGUMENTS...: commbound run in so many ranks on this host; its output in $work/output, its
# status in $status.
run() {
    local ranks=$1
    shift
    status=0
    timeout 200 mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca btl vader,self -n "$ranks" "$commbound" run --transport nccl --quiet "$@" \
        >"$work/output" 2>&1 || status=$?
}

expect_status() {
    [[ "|$1|" == *"|$status|"* ]] && return 0
    cat "$work/output" >&2
    fail "status $status, expected $1"
}

# TEXT...: each must stand in the output, which breaks lines where it likes.
expect_text() {
    local text
    tr -s ' \n' '  ' <"$work/output" >"$work/flat"
    for text; do
        grep -qF -- "$text" "$work/flat" && continue
        cat "$work/output" >&2
        fail "not said: $text"
    done
}

# RESULT EXPRESSION: a Python expression over a result file that must be true (lab/result-value).
expect() {
    local got
    got=$("$here/../lab/result-value" "$1" "$2") || fail "could not evaluate $2"
    [ "$got" = True ] || fail "$2 is $got"
    echo "ok: $2"
}
