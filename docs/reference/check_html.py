#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link and picture of the made pages leads somewhere, and every page of docs is there."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("id", "name"):
                self.anchors.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


def main():
    folder = pathlib.Path(sys.argv[1])
    pages = {path.name: Page(path) for path in folder.glob("*.html")}
    faults = []
    for name, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            # (Doxygen makes a link to nested classes also where all of them are private.)
            if parts.scheme or link.startswith("$") or link == "#nested-classes":
                continue
            path, part = urllib.parse.unquote(parts.path) or name, urllib.parse.unquote(parts.fragment)
            if not (folder / path).exists() or (part and path in pages and part not in pages[path].anchors):
                faults.append(f"{name}: {link} leads nowhere")
    print("\n".join(sorted(set(faults))))
    print(f"figure: {len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(faults)} lead nowhere")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
