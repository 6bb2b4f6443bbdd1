#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs every program in a page.

Each ```cpp block is a whole program. Where a ```text block comes next, it is what the program prints; a ... in it
stands for any text within the line.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page):
    """Yields the line, the source and the expected output (or None) of each program of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    for at, block in enumerate(blocks):
        if block[1] != "cpp":
            continue
        follower = blocks[at + 1] if at + 1 < len(blocks) else None
        expected = follower[2] if follower and follower[1] == "text" else None
        yield text.count("\n", 0, block.start()) + 1, block[2], expected


def fits(printed, expected):
    pattern = "".join(".*" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", expected))
    return re.fullmatch(pattern, printed) is not None


def check(page, line, source, expected, arguments):
    where = f"{page.name}:{line}"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "program.cpp").write_text(source, encoding="utf-8")
        command = [arguments.compiler, "-std=c++20", *arguments.flags.split(), f"-I{arguments.include.resolve()}", "program.cpp",
                   "-o", "program", *arguments.libraries.split()]
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        if built.returncode != 0:
            print(f"{where}: does not compile\n{built.stderr}")
            return False
        ran = subprocess.run([folder / "program"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        if ran.returncode != 0 or ran.stderr:
            print(f"{where}: ended with {ran.returncode}\n{ran.stdout}{ran.stderr}")
            return False
        if expected is not None and not fits(ran.stdout, expected):
            print(f"{where}: printed\n{ran.stdout}and not\n{expected}")
            return False
    print(f"{where}: fine")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--flags", default="")
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", default="-lSQLiteCpp -lsqlite3 -pthread")
    parser.add_argument("page", type=pathlib.Path)
    arguments = parser.parse_args()
    results = [check(arguments.page, *each, arguments) for each in programs(arguments.page)]
    if not results:
        print(f"{arguments.page.name}: has no programs")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
