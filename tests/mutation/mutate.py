#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flips each comparison, sum, minimum and maximum of the rules, one at a time, and compiles the static tests against it.

A mutant is killed where a static assertion fails. One that compiles has survived, and the run fails: the rules are
written so that no mutant is the same function as the original, and none is excused.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = TESTS.parent / "include"
MUTATED = ["leasehold/rules.hpp", "leasehold/time.hpp"]

# A token as it stands in formatted code, and what it becomes.
FLIPS = [
    (r" <(?=\s)", [" <=", " >="]),
    (r" <=(?=\s)", [" <", " >"]),
    (r" >(?=\s)", [" >=", " <="]),
    (r" >=(?=\s)", [" >", " <"]),
    (r" ==(?=\s)", [" !="]),
    (r" !=(?=\s)", [" =="]),
    (r" &&(?=\s)", [" ||"]),
    (r" \|\|(?=\s)", [" &&"]),
    (r" \+(?=\s)", [" -"]),
    (r" -(?=\s)", [" +"]),
    (r" \*(?=\s)", [" +"]),
    (r" /(?=\s)", [" *"]),
    (r" \+=(?=\s)", [" -="]),
    (r"\b1\b(?=[;,)])", ["0", "2"]),
    (r"std::min\b", ["std::max"]),
    (r"std::max\b", ["std::min"]),
    (r"::min\(\)", ["::max()"]),
    (r"::max\(\)", ["::min()"]),
    (r"cmp_greater\b", ["cmp_greater_equal"]),
    (r"cmp_less\b", ["cmp_less_equal"]),
    (r"saturating_add\((?!std::int64_t a|std::chrono)", ["saturating_subtract("]),
    (r"saturating_subtract\((?!std::int64_t a|std::chrono)", ["saturating_add("]),
    (r"(?<=[ (])!(?=\w)", [""]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
]
ASSERTION = re.compile(r"static assertion failed|static_assert failed|non-constant condition|not an integral constant")
SKIPPED = re.compile(r"^\s*(//|#|template|friend|using|struct|requires)|operator")


def mutants():
    for header in MUTATED:
        lines = (INCLUDE / header).read_text().splitlines(keepends=True)
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            if SKIPPED.search(code):
                continue
            for pattern, replacements in FLIPS:
                for found in re.finditer(pattern, code):
                    for replacement in replacements:
                        changed = line[: found.start()] + replacement + line[found.end():]
                        yield header, number + 1, line.strip(), changed.strip(), lines[:number] + [changed] + lines[number + 1:]


def read_once(compiler, sources, folder):
    """Has the compiler read the standard's headers that the mutants and their tests include; returns the flags to use it."""
    files = [INCLUDE / header for header in MUTATED] + sources
    standard = sorted({name for file in files for name in re.findall(r"^#include (<\w+>)$", file.read_text(), re.MULTILINE)})
    prelude = pathlib.Path(folder) / "prelude.hpp"
    prelude.write_text("".join(f"#include {name}\n" for name in standard))
    subprocess.run([*compiler, "-x", "c++-header", str(prelude), "-o", f"{prelude}.gch"], check=True)
    return ["-include", str(prelude)]


def compile_against(compiler, header, text, sources):
    """Whether all sources compile with the mutated header, and what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / header
        path.parent.mkdir(parents=True)
        path.write_text("".join(text))
        said = ""
        for source in sources:
            run = subprocess.run(
                [*compiler, "-fsyntax-only", f"-I{folder}", f"-I{INCLUDE}", str(source)],
                capture_output=True, text=True, check=False)
            if run.returncode != 0:
                return False, run.stderr
            said += run.stderr
        return True, said


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--compiler", default="c++")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--verbose", action="store_true")
    given = options.parse_args()

    sources = [TESTS / "static" / "rules_test.cpp", TESTS / "static" / "time_test.cpp"]

    compiler = [given.compiler, "-std=c++20"]

    def tried(mutant):
        header, _, _, _, text = mutant
        compiles, said = compile_against(compiler, header, text, sources)
        if compiles:
            return "survived", mutant, ""
        return ("killed" if ASSERTION.search(said) else "invalid"), mutant, said

    counts = {"killed": 0, "survived": 0, "invalid": 0}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        compiler += read_once(compiler, sources, folder)
        for outcome, (header, number, original, changed, _), said in pool.map(tried, mutants()):
            counts[outcome] += 1
            if outcome != "killed" or given.verbose:
                print(f"{outcome}: {header}:{number}\n    {original}\n    {changed}")
            if outcome == "invalid":
                print(said)
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    sys.exit(0 if counts["survived"] == 0 and counts["invalid"] == 0 and counts["killed"] > 100 else 1)


if __name__ == "__main__":
    main()
