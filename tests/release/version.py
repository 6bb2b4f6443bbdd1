#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that one version is said everywhere, or says another one: version.py [MAJOR.MINOR.PATCH].

It stands in leasehold/version.hpp, in the name of the inline namespace that every header's names are in, and on top of the
changelog. All of a header-only library is compiled into whoever includes it: with the version in their names, the functions
of two versions in one program are two.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include" / "leasehold"
CHANGELOG = ROOT / "docs" / "changelog.md"
NUMBER = re.compile(r"(#define LEASEHOLD_VERSION_(?:MAJOR|MINOR|PATCH)) (\d+)")
NAMESPACE = re.compile(r"^((?:\}  // )?namespace leasehold)(?:::inline (v\w+))?(?=::|$| \{)", re.MULTILINE)


def headers():
    return sorted(INCLUDE.rglob("*.hpp"))


def stated():
    return [number for _, number in NUMBER.findall((INCLUDE / "version.hpp").read_text())]


def change(numbers):
    rest = iter(numbers)
    version = INCLUDE / "version.hpp"
    version.write_text(NUMBER.sub(lambda line: f"{line[1]} {next(rest)}", version.read_text()))
    namespace = "v" + "_".join(numbers)
    for header in headers():
        text = header.read_text()
        header.write_text(NAMESPACE.sub(lambda line: f"{line[1]}::inline {namespace}", text))


def faults():
    numbers = stated()
    if len(numbers) != 3:
        yield "version.hpp: no three numbers"
        return
    namespace = "v" + "_".join(numbers)
    for header in headers():
        for found in NAMESPACE.finditer(header.read_text()):
            if found[2] != namespace:
                yield f"{header.relative_to(ROOT)}: '{found[0]}' without ::inline {namespace}"
    released = re.findall(r"^## (.*)$", CHANGELOG.read_text(), re.MULTILINE)
    if not released or not re.match(re.escape(".".join(numbers)) + r"\b", released[0]):
        yield f"{CHANGELOG.relative_to(ROOT)}: {'.'.join(numbers)} is not the topmost version"


def main():
    if len(sys.argv) > 1:
        if not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
            sys.exit(__doc__)
        change(sys.argv[1].split("."))
    found = list(faults())
    for fault in found:
        print(fault)
    print(f"figure: version: {'.'.join(stated())} in {len(headers())} headers, {len(found)} elsewhere")
    sys.exit(1 if found else 0)


main()
