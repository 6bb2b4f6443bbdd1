#!/bin/sh
# SPDX-License-Identifier: MIT
# copied.sh INCLUDE COMPONENT COMPILER...: the headers copied into a folder, and a program compiled with -I of it.
set -eu
include=$1 component=$2
shift 2
libraries=""
[ "$component" = core ] || libraries="-lSQLiteCpp -lsqlite3 -pthread"
rm -rf "copied_$component.include" "copied_$component.db"
cp -r "$include" "copied_$component.include"
# shellcheck disable=SC2086 # a list of flags
"$@" -std=c++20 -I "copied_$component.include" -MD -MF "copied_$component.d" "$(dirname "$0")/programs/$component.cpp" \
    $libraries -o "copied_$component"
"./copied_$component" "copied_$component.db"
# The core includes nobody's headers but its own and the language's.
if [ "$component" = core ] && grep -iE 'sqlite|libpq|postgres' "copied_$component.d"; then
    echo "the core includes a database"
    exit 1
fi
