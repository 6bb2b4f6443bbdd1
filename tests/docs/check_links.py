#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link of README and docs to a file, or to a heading in one, leads there."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def faults_of(page):
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", link):
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists():
            yield f"{page.relative_to(ROOT)}: {link}: there is no such file"
        elif part and part not in headings(target):
            yield f"{page.relative_to(ROOT)}: {link}: there is no such heading"


def main():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    faults = [fault for page in pages for fault in faults_of(page)]
    links = sum(len(LINK.findall(page.read_text(encoding="utf-8"))) for page in pages)
    print("\n".join(faults))
    print(f"figure: {links} links of {len(pages)} pages, {len(faults)} lead nowhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
