#!/bin/sh
# SPDX-License-Identifier: MIT
# with_pkg_config.sh PREFIX COMPONENT COMPILER...: a program compiled with what pkg-config says.
set -eu
prefix=$1 component=$2
shift 2
command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not here"; exit 77; }
package=leasehold
[ "$component" = core ] || package=leasehold-$component
PKG_CONFIG_PATH=$prefix/share/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs "$package")
echo "$package $(pkg-config --modversion "$package"): $flags"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2086 # a list of flags
"$@" -std=c++20 "$(dirname "$0")/programs/$component.cpp" $flags -o "$folder/program"
"$folder/program" "$folder/jobs.db"
