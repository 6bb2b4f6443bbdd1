#!/bin/sh
# SPDX-License-Identifier: MIT
# copied.sh INCLUDE COMPONENT COMPILER...: the headers copied into a folder, and a program compiled with -I of it.
set -eu
include=$1 component=$2
shift 2
libraries=""
[ "$component" = core ] || libraries="-lSQLiteCpp -lsqlite3 -pthread"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$include" "$folder/include"
# shellcheck disable=SC2086 # a list of flags
"$@" -std=c++20 -I "$folder/include" -MD -MF "$folder/included" "$(dirname "$0")/programs/$component.cpp" \
    $libraries -o "$folder/program"
"$folder/program" "$folder/jobs.db"
# The core includes nobody's headers but its own and the language's.
if [ "$component" = core ] && grep -iE 'sqlite|libpq|postgres' "$folder/included"; then
    echo "the core includes a database"
    exit 1
fi
