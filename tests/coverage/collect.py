#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""collect.py BUILD INCLUDE OUT [LLVM_SUFFIX]: what the programs under BUILD reached of the headers under INCLUDE, as a
tracefile for gcovr.

Counted by clang, at the branches that stand in the source. What g++ counts are the branches of the machine code: most of
them are ways of exceptions, and each copy of a template has its own, so that its figure says little about headers. Here
the copies of a template count as one: a way is taken where any of them took it. A condition that is known at compile time
has no branch. What a child process that is killed has counted is not lost: counters lie in a mapped file.
"""

import json
import os
import pathlib
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def programs(build):
    return sorted(str(path) for path in build.rglob("*")
                  if path.is_file() and os.access(path, os.X_OK) and path.read_bytes()[:4] == b"\x7fELF"
                  and "CMakeFiles" not in path.parts and b"__llvm_covmap" in path.read_bytes())


def lines_of(text, found):
    """Adds to {file: {line: count}}."""
    here = {}
    for entry in text.splitlines():
        if entry.startswith("SF:"):
            here = found.setdefault(entry[3:], {})
        elif entry.startswith("DA:"):
            line, count = map(int, entry[3:].split(",")[:2])
            here[line] = here.get(line, 0) + count


def branches_of(text, found):
    """Adds to {file: {line: {(column, end): [taken, not taken]}}}."""
    for file in json.loads(text)["data"][0]["files"]:
        here = found.setdefault(file["filename"], {})
        for line, column, end_line, end, yes, no, *_ in file["branches"]:
            known = here.setdefault(line, {}).setdefault((column, end_line, end), [0, 0])
            known[0] += yes
            known[1] += no


def ways(path, number, code, branches):
    if "if constexpr" in code[number - 1]:
        return []
    return [{"count": taken, "fallthrough": False, "throw": False}
            for at in sorted(branches.get(path, {}).get(number, {}).items()) for taken in at[1]]


def main(build, include, out, suffix=""):
    build, include = pathlib.Path(build).resolve(), pathlib.Path(include).resolve()
    merged = str(build / "profiles" / "all.profdata")
    run("llvm-profdata" + suffix, "merge", "-o", merged, *map(str, (build / "profiles").glob("*.profraw")))
    lines, branches = {}, {}
    for program in programs(build):
        export = ("llvm-cov" + suffix, "export", "-instr-profile=" + merged, program)
        lines_of(run(*export, "-format=lcov"), lines)
        branches_of(run(*export, "-format=text"), branches)
    files = []
    for path, counted in sorted(lines.items()):
        if include in pathlib.Path(path).parents:
            code = pathlib.Path(path).read_text().splitlines()
            files.append({"file": path, "functions": [], "lines": [
                {"line_number": number, "count": count, "gcovr/noncode": False, "gcovr/excluded": False,
                 "branches": ways(path, number, code, branches)} for number, count in sorted(counted.items())]})
    pathlib.Path(out).write_text(json.dumps({"gcovr/format_version": "0.3", "files": files}))


if __name__ == "__main__":
    main(*sys.argv[1:])
