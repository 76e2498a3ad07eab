# Shared by the tests of the command line; sourced. Needs COMMBOUND, the program under test.
# Every case runs in an empty folder of its own, which must still be empty afterwards.
# shellcheck shell=bash
: "${COMMBOUND:?path of the program under test}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cases=0

complain() {
    printf 'FAILED %s\n' "$1"
    shift
    printf '       %s\n' "$@"
    failures=$((failures + 1))
}

# run_case ARG...: runs the program; sets status; leaves $work/out and $work/err.
run_case() {
    cases=$((cases + 1))
    rm -rf "$work/here"
    mkdir "$work/here"
    status=0
    (cd "$work/here" && exec "$COMMBOUND" "$@") >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# left_behind: names of files that the last case made where it ran.
left_behind() {
    find "$work/here" -mindepth 1 -printf '%P '
}

# refuses STATUS TEXT ARG...: the program must exit with STATUS, say exactly one line that holds
# TEXT on stderr, print nothing on stdout and make no file.
refuses() {
    local expected=$1 text=$2
    shift 2
    run_case "$@"
    local lines
    lines=$(wc -l <"$work/err")
    if [[ $status -ne $expected || $lines -ne 1 || -s $work/out || -n $(left_behind) ]] ||
        ! grep -qF -- "$text" "$work/err" || ! grep -q '^commbound' "$work/err"; then
        complain "commbound $*" "expected status $expected and '$text'" \
            "got status $status, $lines lines: $(head -c 400 "$work/err")" \
            "stdout: $(head -c 200 "$work/out")" "files: $(left_behind)"
    fi
}

# serves TEXT ARG...: exit 0, TEXT on stdout, nothing on stderr, no file.
serves() {
    local text=$1
    shift
    run_case "$@"
    if [[ $status -ne 0 || -s $work/err || -n $(left_behind) ]] ||
        ! grep -qF -- "$text" "$work/out"; then
        complain "commbound $*" "expected status 0 and '$text' on stdout" \
            "got status $status: $(head -c 400 "$work/out")" "stderr: $(head -c 400 "$work/err")"
    fi
}

finish() {
    printf '%d cases, %d failed\n' "$cases" "$failures"
    [[ $cases -gt 0 && $failures -eq 0 ]]
}
