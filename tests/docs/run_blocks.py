#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs every block of a page.

| block            | what is done with it                                                                   |
| ---------------- | -------------------------------------------------------------------------------------- |
| ```cpp           | a whole program: compiled and run, in a folder of its own                              |
| ```cpp NAME      | a file of the page's folder, like any other block with a name but an sql one           |
| ```sh            | run in the page's folder, line by line, until one fails                                |
| ```sql FILE      | given to the sqlite3 shell, which only reads the file                                  |
| ```text          | after one of those: what it prints; a ... and spaces after it stand for any text in the line |
| ```console       | typed by a person only: installs something, or runs a whole workflow, as CI does       |
| ```mermaid       | a picture                                                                              |

Any other block is refused, so that none is left out by mistake. In the shell `git clone` gives the project as it lies
here, and CXX, CXXFLAGS and CMAKE_GENERATOR are what the tests are built with.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```([\w+-]*)(?: +(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "console", "mermaid"}
SKIPPED = 77
CLONE = 'git() { if [ "$1" = clone ]; then ln -s "$2" "$3"; else command git "$@"; fi; }\n'


@dataclasses.dataclass
class Block:
    where: str
    language: str
    name: str
    text: str
    expected: str | None  # what it prints

    @property
    def is_file(self):
        return bool(self.name) and self.language != "sql"


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    if 2 * len(fences) != len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE)):
        sys.exit(f"{page.name}: has a block that does not begin or end as others do")
    for fence, follower in zip(fences, [*fences[1:], None]):
        line = text.count("\n", 0, fence.start()) + 1
        expected = follower[3] if follower and follower[1] == "text" else None
        yield Block(f"{page.name}:{line}", fence[1], fence[2] or "", fence[3], expected)


def fits(printed, expected):
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\. *", expected))
    return re.fullmatch(pattern, printed) is not None


class Runner:
    """Runs the blocks of one page, in their order."""

    def __init__(self, folder, arguments):
        self.folder = folder
        self.arguments = arguments
        self.environment = {**os.environ, "LEASEHOLD": str(arguments.include.resolve().parent),
                            "CXX": arguments.compiler, "CXXFLAGS": arguments.flags, "CMAKE_GENERATOR": "Ninja"}

    def passes(self, block):
        if block.is_file:
            (self.folder / block.name).write_text(block.text, encoding="utf-8")
            return True
        if block.language in SHOWN:
            return True
        run = {"cpp": self.program, "sh": self.shell, "sql": self.sql}.get(block.language)
        if run is None:
            print(f"{block.where}: a block of '{block.language}' is neither run nor marked as shown only")
            return False
        status, printed = run(block)
        if status != 0:
            print(f"{block.where}: ended with {status}\n{printed}")
            return False
        if block.expected is not None and not fits(printed, block.expected):
            print(f"{block.where}: printed\n{printed}and not\n{block.expected}")
            return False
        print(f"{block.where}: fine")
        return True

    def program(self, block):
        with tempfile.TemporaryDirectory() as own:
            own = pathlib.Path(own)
            (own / "program.cpp").write_text(block.text, encoding="utf-8")
            command = [self.arguments.compiler, "-std=c++20", *self.arguments.flags.split(),
                       f"-I{self.arguments.include.resolve()}", "program.cpp", "-o", "program",
                       *self.arguments.libraries.split()]
            status, printed = self.run(command, own)
            return (status, printed) if status != 0 else self.run([own / "program"], own)

    def shell(self, block):
        return self.run(["sh", "-euc", CLONE + block.text], self.folder)

    def sql(self, block):
        return self.run(["sqlite3", "-bail", "-readonly", "-box", block.name], self.folder, block.text)

    def run(self, command, folder, text=""):
        """The exit status, and all that was printed. What a block left running is ended."""
        with (tempfile.TemporaryFile("w+", encoding="utf-8") as given,
              tempfile.TemporaryFile("w+", encoding="utf-8") as printed):
            given.write(text)
            given.seek(0)
            child = subprocess.Popen(command, cwd=folder, env=self.environment, stdin=given, stdout=printed,
                                      stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = child.wait(timeout=300)
            except subprocess.TimeoutExpired:
                status = "a timeout"
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            printed.seek(0)
            return status, printed.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--flags", default="")
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", default="-lSQLiteCpp -lsqlite3 -pthread")
    parser.add_argument("page", type=pathlib.Path)
    arguments = parser.parse_args()

    blocks = list(blocks_of(arguments.page))
    asks = any("sqlite3 " in block.text if block.language == "sh" else block.language == "sql" for block in blocks)
    if asks and shutil.which("sqlite3") is None:
        print(f"{arguments.page.name}: skipped, since the sqlite3 shell is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(pathlib.Path(folder), arguments)
        # The blocks of a page build on one another: after one that fails, the rest says nothing.
        if not all(runner.passes(block) for block in blocks):
            return 1
    run = sum(block.language not in SHOWN for block in blocks)
    print(f"figure: {arguments.page.name}: {run} blocks compiled, run or used, {len(blocks) - run} shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())
