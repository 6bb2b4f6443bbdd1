#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""missing.py COUNTED SOURCE WHY OUT: what no test reached, line by line, with the reasons that WHY gives.

WHY has a line for each reason: header | a part of the line of code | why nothing reaches it, or reaches one way only. A
reason that fits nothing any more is named too.
"""

import json
import pathlib
import sys


def reasons_in(path):
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split(" | ")]


def main(counted, source, why, out):
    source = pathlib.Path(source)
    reasons = [(*each, []) for each in reasons_in(why)]
    told, untold, missed = [], [], 0
    for file in json.loads(pathlib.Path(counted).read_text())["files"]:
        name = str(pathlib.Path(file["file"]).relative_to(source / "include" / "leasehold"))
        code = pathlib.Path(file["file"]).read_text().splitlines()
        for line in file["lines"]:
            ways = sum(branch["count"] == 0 for branch in line["branches"])
            if line["count"] > 0 and ways == 0:
                continue
            text = code[line["line_number"] - 1].strip()
            if text == "}":  # says no more than the line before it
                continue
            missed += 1
            what = "never" if line["count"] == 0 else f"{ways} of {len(line['branches'])} ways never"
            entry = f"{name}:{line['line_number']}: {what}: {text}"
            fitting = [r for r in reasons if r[0] == name and r[1] in text]
            for reason in fitting:
                reason[3].append(entry)
            (told if fitting else untold).append(entry)
    with open(out, "w") as file:
        print(f"{missed} lines were not reached, or not both ways.\n", file=file)
        for name, part, reason, entries in reasons:
            print(f"{reason}:" if entries else f"(fits nothing any more: {name} | {part})", file=file)
            print(*(f"    {entry}" for entry in entries), sep="\n", end="\n\n", file=file)
        print("Without a reason:" if untold else "Each has its reason.", *untold, sep="\n    ", file=file)
    print(f"figure: coverage: {missed} lines not reached or not both ways, {len(untold)} of them without a reason; "
          f"see {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
