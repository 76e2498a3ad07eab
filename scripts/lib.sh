# shellcheck shell=bash
# What quickstart and test share: finding and installing packages, building. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages_table=$root/scripts/packages.tsv

say() { printf '%s\n' "==> $*"; }
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# The system as the table's columns name it, such as debian-12. Told by COMMBOUND_OS_RELEASE in tests.
system_name() {
    local file=${COMMBOUND_OS_RELEASE:-/etc/os-release}
    [ -r "$file" ] || {
        echo unknown
        return
    }
    # shellcheck source=/dev/null
    (. "$file" && echo "${ID:-unknown}-${VERSION_ID:-}")
}

# GROUP...: names of the packages that the table holds for this system, one a line.
packages_wanted() {
    awk -F '\t' -v name="$(system_name)" -v groups=" $* " '
        /^#/ { next }
        column == 0 && $1 == "group" { for (i = 3; i <= NF; i++) if ($i == name) column = i
                                       if (column == 0) exit 3
                                       next }
        index(groups, " " $1 " ") && $column != "-" { split($column, cell, " "); print cell[1] }
    ' "$packages_table"
}

# Of the packages on stdin, those that are not installed.
packages_missing() {
    local name
    while read -r name; do
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || echo "$name"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# GROUP...: installs what is missing of those groups, saying what before it does.
# COMMBOUND_INSTALL=no installs nothing: for systems that the table does not know.
packages_install() {
    if [ "${COMMBOUND_INSTALL:-yes}" = no ]; then
        say "COMMBOUND_INSTALL=no: installing nothing"
        return
    fi
    local wanted missing name
    wanted=$(packages_wanted "$@") ||
        die "$(system_name) is not in scripts/packages.tsv;" \
            "install what that table names, then run again with COMMBOUND_INSTALL=no"
    mapfile -t missing < <(packages_missing <<<"$wanted")
    if [ ${#missing[@]} -eq 0 ]; then
        say "every package needed is installed ($*)"
        return
    fi
    say "will install: ${missing[*]}"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        die "neither root nor sudo here; as root run: apt-get install ${missing[*]}"
    as_root apt-get update -q || die "apt-get update failed: no package list, so nothing was installed"
    for name in "${missing[@]}"; do
        apt-cache show "$name" >/dev/null 2>&1 ||
            die "package $name cannot be had from this system's package sources; nothing was installed"
    done
    # sudo drops the environment, hence env.
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}" ||
        die "installing failed; what apt-get says above names the package"
    mapfile -t missing < <(packages_missing <<<"$wanted")
    [ ${#missing[@]} -eq 0 ] || die "still missing after installing: ${missing[*]}"
}

# PRESET [CMAKE OPTIONS]: configures and builds build/PRESET.
build() {
    local preset=$1
    shift
    # Only a fresh build folder heeds the variable, so a folder made by hand keeps its generator.
    (cd "$root" && CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja} cmake --preset "$preset" "$@") &&
        cmake --build "$root/build/$preset" --parallel "$(nproc)"
}
