#!/usr/bin/env bash
# doctor_gpu.sh COMMBOUND FAKES: what `commbound doctor` says of copies of NCCL made for the test.
set -euo pipefail

commbound=$1 fakes=$2
export NO_COLOR=1 HOME=/nowhere
unset LD_LIBRARY_PATH NCCL_HOME NCCL_ROOT CONDA_PREFIX VIRTUAL_ENV CUDA_HOME CUDA_PATH COMMBOUND_NCCL_LIB
failures=0

# expect PATTERN VARIABLE=VALUE...: a pattern in what doctor prints, one blank between words.
expect() {
    local pattern=$1 output
    shift
    output=$(env "$@" "$commbound" doctor 2>&1 || true)
    if ! tr -s '[:space:]' ' ' <<<"$output" | grep -q -e "$pattern"; then
        printf '%s: expected "%s", got:\n%s\n' "$*" "$pattern" "$output"
        failures=$((failures + 1))
    fi
}

expect "found CUDA runtime" A=b
expect "found NCCL 2.30.1, from COMMBOUND_NCCL_LIB: the one that run takes $fakes/new/lib/libnccl.so.2" \
    COMMBOUND_NCCL_LIB="$fakes/new/lib/libnccl.so.2"
expect "broken NCCL from NCCL_HOME: NCCL 2.10.3 is too old: 2.14.0 or later is needed $fakes/old/lib" \
    NCCL_HOME="$fakes/old"
expect "broken NCCL from NCCL_ROOT: NCCL 2.20.5 without ncclReduceScatter" NCCL_ROOT="$fakes/lacking"
expect "broken NCCL from COMMBOUND_NCCL_LIB: .*cannot open shared object file" \
    COMMBOUND_NCCL_LIB=/nowhere/libnccl.so.2
# Every copy is listed, not only the best.
expect "found NCCL 2.30.1.* found NCCL 2.19.5, from NCCL_ROOT $fakes/other" \
    NCCL_HOME="$fakes/new" NCCL_ROOT="$fakes/other"

exit $((failures > 0))
