#!/bin/sh
# SPDX-License-Identifier: MIT
# single_file.sh PYTHON SCRIPT COMPILER...: two units that include the one file and nothing else of ours link and run.
set -eu
python=$1 script=$2 programs=$(cd "$(dirname "$0")" && pwd)/programs
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$python" "$script" leasehold_sqlite_single.hpp
if grep -n '^ *#include <leasehold' leasehold_sqlite_single.hpp; then exit 1; fi
strict="-std=c++20 -I. -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror"
# shellcheck disable=SC2086 # a list of flags
"$@" $strict -c "$programs/single_file.cpp" -o one.o
# shellcheck disable=SC2086
"$@" $strict -DSECOND_UNIT -c "$programs/single_file.cpp" -o two.o
"$@" one.o two.o -lSQLiteCpp -lsqlite3 -pthread -o program
./program jobs.db
echo "figure: single file: $(wc -l <leasehold_sqlite_single.hpp) lines"
