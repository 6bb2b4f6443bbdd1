#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the core, the store in a SQLite file, the ledger and the worker as one file: single_file.py OUTPUT.

Each header stands where it is first included, each foreign one is included once.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
ALWAYS = ["leasehold/leasehold.hpp", "leasehold/manual_clock.hpp", "leasehold/memory_store.hpp",
          "leasehold/sqlite.hpp", "leasehold/receiver_ledger.hpp"]
# Last, so that what it alone includes goes with it.
WITH_STOP_TOKEN = ["leasehold/worker.hpp"]
OURS = re.compile(r"#include <(leasehold/[^>]+)>")
CONDITION = re.compile(r"\s*#\s*(if|endif)")


class Writer:
    def __init__(self):
        self.lines = []
        self.seen = set()

    def write(self, header):
        """A header's lines, with the headers of ours that it includes in their places."""
        if header in self.seen:
            return
        self.seen.add(header)
        depth = 0
        for line in (INCLUDE / header).read_text().splitlines():
            condition = CONDITION.match(line)
            if condition:
                depth += 1 if condition[1] == "if" else -1
            ours = OURS.match(line)
            if ours and depth:
                sys.exit(f"{header}: includes {ours[1]} under a condition")
            if ours:
                self.write(ours[1])
            elif line.startswith("// SPDX") or line == "#pragma once":
                continue
            elif line.startswith("#include") and not depth and line in self.seen:
                continue
            else:
                if line.startswith("#include") and not depth:
                    self.seen.add(line)
                self.lines.append(line)


def version():
    text = (INCLUDE / "leasehold" / "version.hpp").read_text()
    return ".".join(re.findall(r"VERSION_\w+ (\d+)", text))


def main():
    writer = Writer()
    for header in ALWAYS:
        writer.write(header)
    writer.lines.append("#ifdef __cpp_lib_jthread")
    for header in WITH_STOP_TOKEN:
        writer.write(header)
    writer.lines.append("#endif")
    head = ["// SPDX-License-Identifier: MIT",
            f"// leasehold {version()} in one file: the core, the store in a SQLite file, the ledger and the worker.",
            "// Needs SQLiteCpp and SQLite 3.37 or newer. Made by a script: changes belong to the project's headers.",
            "//"]
    licence = [f"// {line}".rstrip() for line in (ROOT / "LICENSE").read_text().splitlines()]
    text = "\n".join(head + licence + ["#pragma once", ""] + writer.lines) + "\n"
    pathlib.Path(sys.argv[1]).write_text(re.sub(r"\n{3,}", "\n\n", text))


main()
