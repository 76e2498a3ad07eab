# What the tests under mpirun share. Sourced; usage of each: TEST COMMBOUND MPIEXEC [INTERPOSER].
# A test that cannot run here says why and ends with 77, which CTest counts as skipped.
# shellcheck shell=bash
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
commbound=$(readlink -f "${1:?usage: TEST COMMBOUND MPIEXEC [INTERPOSER]}")
mpiexec=${2:?usage: TEST COMMBOUND MPIEXEC [INTERPOSER]}
# shellcheck disable=SC2034 # for the tests that source this
interposer=${3:-}
work=$(mktemp -d)
out=$work/out
result=$out/result.json
launcher=

# What a user of this machine has set must not change what the ranks find.
for name in "${!OMPI_@}" "${!OMP_@}" "${!NCCL_@}" "${!UCX_@}"; do unset "$name"; done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# mpirun asks the machine's munged, and where one is installed but does not run, waits for it.
export PMIX_MCA_psec=^munge
export HOME=$work/home
mkdir "$HOME"
# Under the sanitizers: MPI's own leaks are not ours, and the interposer may be loaded first.
export UBSAN_OPTIONS=halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# Steps that take a known time: nothing settles at such a target, so each lasts its whole time box.
# shellcheck disable=SC2034
slow=(--no-kernels --ops all --min-bytes 64 --max-bytes 4K --target 1e-9 --step-limit 500ms)
# Steps that take as little time as can be, and a workload that any bandwidth suffices for.
# shellcheck disable=SC2034
quick=(--no-kernels --max-bytes 1K --step-factor 16 --step-limit 1ms)
# shellcheck disable=SC2034
easy=(--parameters 1M --compute-time 1000h)

end_test() {
    local status=$?
    trap - EXIT
    if [ -n "$launcher" ]; then kill -KILL "$launcher" 2>/dev/null || true; fi
    rm -rf "$work"
    exit "$status"
}
trap end_test EXIT
trap 'exit 1' INT TERM

skip() {
    echo "skipped: $*"
    exit 77
}

# fail TEXT: shows what the last run said, too.
fail() {
    echo "FAILED: $*" >&2
    for file in "$work/stderr" "$work/stdout"; do
        if [ -s "$file" ]; then
            echo "---- ${file##*/}" >&2
            tail -n 60 "$file" >&2
        fi
    done
    exit 1
}

# launch RANKS WORD...: sets words, mpirun's command line for `commbound run` with its result in
# $out. pre (an array) goes between mpirun and the program: options, or a program that starts ours.
pre=()
launch() {
    local ranks=$1
    shift
    words=("$mpiexec" -np "$ranks" --oversubscribe "${pre[@]}" "$commbound" run --out "$out" "$@")
}

# job RANKS ARG...: runs it; sets status; leaves $work/stdout and $work/stderr.
job() {
    launch "$@"
    status=0
    "${words[@]}" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
}

# start RANKS ARG...: the same in the background; await_job waits for its end.
start() {
    launch "$@"
    "${words[@]}" >"$work/stdout" 2>"$work/stderr" </dev/null &
    launcher=$!
}

await_job() {
    status=0
    wait "$launcher" || status=$?
    launcher=
}

expect_status() {
    [ "$status" = "$1" ] || fail "status $status, expected $1"
    echo "ok: status $1"
}

# value RESULT EXPRESSION, expect EXPRESSION: Python over a result file (see result-value).
value() { "$here/../lab/result-value" "$@"; }
expect() {
    local got
    got=$(value "$result" "$1") || fail "could not evaluate $1"
    [ "$got" = True ] || fail "$1 is $got"
    echo "ok: $1"
}

# says FILE TEXT, says_not FILE TEXT: fixed strings in the output of the last run.
says() { grep -qF -- "$2" "$work/$1" || fail "$1 does not say '$2'"; }
says_not() { if grep -qF -- "$2" "$work/$1"; then fail "$1 says '$2'"; fi; }

# The result can be read and rendered, whatever state it is in, and nothing else was left beside it.
expect_renders() {
    local format
    for format in text json csv; do
        "$commbound" report "$result" --format "$format" >"$work/rendered" 2>"$work/complaint" ||
            fail "report --format $format: $(cat "$work/complaint")"
        [ -s "$work/rendered" ] || fail "report --format $format prints nothing"
        [ ! -s "$work/complaint" ] || fail "report --format $format: $(cat "$work/complaint")"
    done
    [ "$(ls "$out")" = result.json ] || fail "left in --out: $(ls "$out")"
    echo "ok: renders"
}

# Rows so far: measured ones, and how many there are in all.
measured() { value "$result" 'len(rows())'; }

# await_rows COUNT: until the file holds that many measured collectives.
await_rows() {
    local tries=0
    until [ -e "$result" ] && [ "$(measured)" -ge "$1" ]; do
        kill -0 "$launcher" 2>/dev/null || fail "the job ended before it had $1 rows"
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "no $1 rows after 60 s"
        sleep 0.1
    done
}

# pid_of RANK: the process of that rank of the job in the background.
pid_of() {
    local pid
    for pid in $(pgrep -P "$launcher"); do
        if grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$pid/environ"; then
            echo "$pid"
            return
        fi
    done
    fail "rank $1 is not there"
}
