#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A header as Doxygen reads it: without the version's inline namespace, and what says of itself what it is needs no
comment of its own."""
import pathlib
import re
import sys

GONE = re.compile(r"^ *[^/\n]*= (?:default|delete);.*$|^ *using \w+::\w+;$|^\w+\([^;{}]*\) -> [^;{}]*;$", re.MULTILINE)
KNOWN = [
    (r"^((?:constexpr|inline) [\w:]+ to_text\()", "As it prints."),
    (r"^( +explicit operator bool\()", "As one asks for it: `if (answer)`."),
    (r"^( +static constexpr clock_axis axis)", "Whose axis its instants are on."),
    (r"^( +static constexpr reach holds)", "How far its answer holds."),
    (r"^( +static constexpr reach reaches)", "How far the store reaches."),
    (r"^( +(?:auto|paced) pace\(\) const noexcept \{ return detail::machine_pace)", "The machine's own, which counts time asleep."),
    (r"^( +std::chrono::\S+ now\(\) const noexcept)", "What it shows now."),
]


def main():
    text = re.sub(r"::inline v[0-9_]+", "", pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    lines = GONE.sub("", text).split("\n")
    for at, line in enumerate(lines):
        has_one = at > 0 and lines[at - 1].lstrip().startswith("///") or "///<" in line
        for pattern, says in KNOWN:
            if re.match(pattern, line) and not has_one:
                lines[at] = f"/** {says} */ {line}"  # on the same line, so that line numbers stay
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
