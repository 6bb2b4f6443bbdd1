#!/bin/sh
# SPDX-License-Identifier: MIT
# keep_schema.sh PROGRAM [POSTGRES_PROGRAM]: keeps a store of this version's schema in tests/release/schemas, for later
# versions to be tested on: PROGRAM is release_tests, the other is postgres_tests. To be run once, when a version with a new
# schema is released; what is there already is left alone.
set -eu
schemas=$(cd "$(dirname "$0")" && pwd)/schemas
include=$(cd "$(dirname "$0")/../../include/leasehold" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number_in() { sed -n 's/.*int schema_version = \([0-9]*\);.*/\1/p' "$1"; }

kept=$schemas/sqlite_$(number_in "$include/sqlite/sql.hpp").sql
if [ ! -e "$kept" ]; then
    LEASEHOLD_KEPT_FILE=$folder/jobs.db "$1" "[.keep]" | grep '^-- held: ' >"$folder/kept.sql"
    sqlite3 "$folder/jobs.db" .dump >>"$folder/kept.sql"
    mv "$folder/kept.sql" "$kept"
    echo "kept: $kept"
fi

kept=$schemas/ledger_1.sql # there has been one only
if [ ! -e "$kept" ]; then
    LEASEHOLD_KEPT_FILE=$folder/ledger.db "$1" "[.keep_ledger]" >/dev/null
    sqlite3 "$folder/ledger.db" .dump >"$kept"
    echo "kept: $kept"
fi

kept=$schemas/postgres_$(number_in "$include/postgres/sql.hpp").sql
if [ $# -gt 1 ] && [ ! -e "$kept" ]; then
    LEASEHOLD_KEPT_FILE=$folder/kept.sql "$2" "[.keep]"
    mv "$folder/kept.sql" "$kept"
    echo "kept: $kept"
fi
