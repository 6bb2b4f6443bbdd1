#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A page as Doxygen reads it: with links that it can follow, and without what it does not know.

Headings get names of their own, and links to pages and headings lead to those names. Names of blocks and remarks go;
links to what is no page become plain text.
"""
import pathlib
import re
import sys

BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def slug(heading):
    """As GitHub names a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def name_of(page, part=""):
    # (Doxygen takes neither underscores at both ends nor anything that is no word.)
    return re.sub(r"\W", "_", "page-" + page.stem + ("-" + part if part else ""))


def heading(page):
    def named(found):
        part = "" if found[1] == "#" else slug(found[2])
        return f"{found[1]} {found[2].replace('`', '')} {{#{name_of(page, part)}}}"
    return named


def link(page):
    def followed(found):
        text, target = found[1], found[2]
        path, _, part = target.partition("#")
        if re.match(r"\w+:", target):
            return found[0]
        to = (page.parent / path).resolve() if path else page
        if to.suffix != ".md" or not to.exists():
            return text
        # (A reference of Doxygen's own loses its way where the text has spaces and stands at a line's beginning.)
        return f'<a href="{name_of(to)}.html{"#" + name_of(to, part) if part else ""}">{text}</a>'
    return followed


def prose(page, text):
    text = re.sub(r"^(#+) (.*)$", heading(page), text, flags=re.MULTILINE)
    return re.sub(r"(?<!!)\[([^\[\]]+)\]\(([^()\s]+)\)", link(page), text)


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    text = re.sub(r"^<!--.*?^-->\n", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    parts = BLOCK.split(text)
    for at, part in enumerate(parts):
        parts[at] = re.sub(r"\A```([\w+-]*).*", r"```\1", part) if at % 2 else prose(page, part)
    sys.stdout.write("".join(parts))


if __name__ == "__main__":
    main()
