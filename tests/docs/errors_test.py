#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/errors.md names every error, refusal and argument of the headers, and nothing that they do not have."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "include/leasehold").rglob("*.hpp"))
           if "testing" not in path.parts}
SOURCE = "\n".join(HEADERS.values())
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")


def enumerators(name):
    body = re.search(rf"enum class {name} : std::uint8_t \{{(.*?)\}};", SOURCE, re.DOTALL)[1]
    return re.findall(r"^\s*(\w+)", re.sub(r",(?!\n)", ",\n", re.sub(r"///<.*", "", body)), re.MULTILINE)


def section(title):
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def first_cells(title):
    """What the first cell of each row of a section's table names."""
    cells = re.findall(r"^\| (.*?) \|", section(title), re.MULTILINE)[2:]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def without_splits(text):
    """Literals that stand side by side are one."""
    return re.sub(r'"\s*\n?\s*"', "", text)


def main():
    errors = re.findall(r"^(?:class|struct) (store_\w+) : ", (ROOT / "include/leasehold/errors.hpp").read_text(), re.MULTILINE)
    told = enumerators("task")
    arguments = set(re.findall(r'(?:refuse|check_(?:name|length|between))\("([\w.]+)"', SOURCE))
    arguments |= set(re.findall(r'\? "(\w+)" : "(\w+)"', "".join(re.findall(r"refuse\(when\..*", SOURCE)))[0])
    arguments |= {"path"} if 'invalid_argument{"path: ' in SOURCE else set()

    faults = []

    def same(what, page, source):
        if not source:
            faults.append(f"{what}: nothing was found in the headers")
        missing = [name for name in source if name not in page]
        stale = [name for name in page if name not in source]
        if missing or stale:
            faults.append(f"{what}: not on the page: {missing}; not in the headers: {stale}")
        elif isinstance(source, list) and page != source:
            faults.append(f"{what}: in another order than in the headers, {source}")

    same("errors", first_cells("Faults of the store"), errors)
    same("refusals", first_cells("Refusals of a holder's verb"), enumerators("verdict"))
    same("answers to enqueue", first_cells("What became of a job that was enqueued"), enumerators("intake"))
    same("reasons", first_cells("Why the queue set a job aside"), enumerators("dead_end"))
    same("a receiver's answers", first_cells("What the receiver said"), enumerators("delivery"))
    same("a worker's errors", first_cells("What a worker tells"), told)
    same("arguments", set(first_cells("`std::invalid_argument`")), arguments)

    texts = without_splits(SOURCE)
    for title in ("`store_unsupported`, by its text", "`std::logic_error`"):
        for quoted in first_cells(title):
            if quoted not in texts:
                faults.append(f"{title}: no header says '{quoted}'")
    logic = [text.split(" (")[0] for text in re.findall(r'logic_error\{\s*"([^"]+)"', texts)]
    for text in logic:
        if text not in section("`std::logic_error`"):
            faults.append(f"logic_error: not on the page: '{text}'")

    print("\n".join(faults))
    print(f"figure: errors.md: {len(errors)} errors, {len(enumerators('verdict'))} answers of verbs, {len(arguments)} "
          f"arguments, {len(logic)} misuses, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
