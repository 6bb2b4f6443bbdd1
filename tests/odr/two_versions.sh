#!/bin/sh
# SPDX-License-Identifier: MIT
# two_versions.sh INCLUDE COMPILER...: one unit with these headers and one with the headers of another version link and run,
# and share no function and no variable of this library's.
set -eu
include=$1 here=$(cd "$(dirname "$0")" && pwd)
shift
command -v nm >/dev/null || { echo "skipped: nm is not here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp -r "$include" newer
find newer -name '*.hpp' -exec sed -i 's/::inline v[0-9_]*/::inline v99_0_0/' {} +

# What a unit brings along, of this library or made of its types.
compile() {
    unit=$1 headers=$2
    shift 2
    "$@" -std=c++20 -I "$headers" -c "$here/$unit.cpp" -o "$unit.o"
    nm --defined-only "$unit.o" | sed -n 's/^.* \(.*9leasehold.*\)$/\1/p' | sort -u >"$unit.names"
}
compile one "$include" "$@"
compile two newer "$@"
"$@" "$here/main.cpp" one.o two.o -lSQLiteCpp -lsqlite3 -pthread -o program
./program

comm -12 one.names two.names >shared
echo "figure: versions: $(wc -l <one.names) names of one, $(wc -l <two.names) of the other, $(wc -l <shared) shared"
[ "$(wc -l <one.names)" -gt 100 ]
[ ! -s shared ] || { head shared; exit 1; }
