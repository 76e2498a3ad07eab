#!/usr/bin/env bash
# doctor.sh COMMBOUND: what `commbound doctor` says of hosts made up here.
set -euo pipefail

commbound=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export HOME=$root NO_COLOR=1
unset OMPI_MCA_pml
failures=0

# expect STATUS PATTERN COMMAND...: exit status, and a pattern in what it prints (either stream, one
# blank between words, so that line breaks do not matter). With a ! before it, it must not be there.
expect() {
    local status=0 wanted=$1 pattern=$2 output matched
    shift 2
    output=$("$@" 2>&1) || status=$?
    matched=$(tr -s '[:space:]' ' ' <<<"$output" | grep -c -e "${pattern#!}" || true)
    if [[ $pattern == !* ]]; then
        [ "$matched" -eq 0 ] && matched=1 || matched=0
    fi
    if [ "$status" -ne "$wanted" ] || [ "$matched" -eq 0 ]; then
        printf 'expected exit %s and "%s", got exit %s:\n%s\n' "$wanted" "$pattern" "$status" "$output"
        failures=$((failures + 1))
    fi
}

tool() { # NAME LINE: a program of that name that says so
    mkdir -p "$root/bin"
    printf '#!/bin/sh\necho "%s"\n' "$2" >"$root/bin/$1"
    chmod +x "$root/bin/$1"
}

put() { # FILE TEXT
    mkdir -p "$(dirname "$root/$1")"
    echo "$2" >"$root/$1"
}

# An InfiniBand port, as in a container that it was not handed to.
put sys/class/infiniband/mlx5_0/ports/1/link_layer InfiniBand
put sys/class/infiniband/mlx5_0/ports/1/state "4: ACTIVE"
put sys/class/infiniband/mlx5_0/ports/1/rate "100 Gb/sec (4X EDR)"
put .openmpi/mca-params.conf "pml = ob1"
doctor() { PATH=$root/bin:/usr/bin:/bin "$commbound" doctor --sysroot "$root"; }
doctor_with_pml() { OMPI_MCA_pml=$1 doctor; }
doctor_alone() { PATH=$root/empty "$commbound" doctor; }

tool mpirun "mpirun (Open MPI) 4.1.4"
expect 0 "run can work here" doctor
expect 0 "mlx5_0:1 InfiniBand up 12.5 GB/s nominal" doctor
expect 0 'is active, but Open MPI is told "pml = ob1"' doctor
expect 0 'no /dev/infiniband/uverbs\* can be opened' doctor
expect 0 "!pml =" doctor_with_pml ucx
expect 0 'told "pml = ^ucx" (OMPI_MCA_pml)' doctor_with_pml ^ucx
expect 0 "!every rank would think" doctor
mkdir -p "$root/dev/infiniband" && : >"$root/dev/infiniband/uverbs0"
expect 0 "!uverbs" doctor
put sys/class/infiniband/mlx5_0/ports/1/state "1: DOWN"
expect 0 "!pml =" doctor

tool mpirun "HYDRA build details:"
expect 0 "mpirun is .HYDRA build details:. but commbound is linked with .Open MPI" doctor
expect 3 "neither mpirun nor srun works here" doctor_alone
expect 3 "missing mpirun starts one process per rank; package openmpi-bin" doctor_alone
expect 2 "sysroot .*/nowhere.*No such file" "$commbound" doctor --sysroot "$root/nowhere"
expect 2 "unexpected argument 'now'" "$commbound" doctor now
expect 0 "Exit status: 0 when commbound run can work here" "$commbound" doctor --help

[ "$failures" -eq 0 ]
