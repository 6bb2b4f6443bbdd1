#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh FUZZER NAME KEPT FOUND SECONDS: fuzzes from the kept inputs for so long (times LEASEHOLD_SOAK). New inputs go to
# FOUND, and so does one that fails: move it to KEPT once it is repaired.
set -eu
fuzzer=$1 name=$2 kept=$3 found=$4 seconds=$(($5 * ${LEASEHOLD_SOAK:-1}))

mkdir -p "$found"
[ -d /dev/shm ] && export TMPDIR=/dev/shm # the files that a target makes
seed=${LEASEHOLD_SEED:+-seed=$LEASEHOLD_SEED} # else libFuzzer takes one, and says which
log=$found.log
# shellcheck disable=SC2086 # no seed, no argument
"$fuzzer" $seed -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$found/failing-" "$found" "$kept" >"$log" 2>&1 || { tail -n 60 "$log"; exit 1; }
grep -E '^(INFO: Seed|stat::peak_rss_mb)' "$log"
reached=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1)
ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
echo "figure: fuzz $name: $ran inputs in $seconds s, $reached, none failed"
