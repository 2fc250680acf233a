#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the examples that README.md and pages of docs/user show into them: the code block after a line that names one,
"(`examples/...`)". With --check: exit 1 when a block differs from its file.

usage: make_readme.py [--check]
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(\(`(examples/\S+)`\)\n\n```\w+\n)(.*?)(```\n)", flags=re.S)
PAGES = {"README.md": 2, "docs/user/quickstart.md": 4, "docs/user/afternoon.md": 7} # least number of examples shown


def shown_text(path):
    """An example without the line that names its licence."""
    return re.sub(r"\A.*SPDX-License-Identifier.*\n", "", (ROOT / path).read_text())


def update(page, least, check):
    text = (ROOT / page).read_text()
    shown = [match[2] for match in BLOCK.finditer(text)]
    if len(shown) < least:
        raise SystemExit(f"{page} shows {len(shown)} examples ({shown}); at least {least} were expected")
    updated = BLOCK.sub(lambda match: match[1] + shown_text(match[2]) + match[4], text)
    if not check:
        (ROOT / page).write_text(updated)
    elif updated != text:
        raise SystemExit(f"{page} differs from {', '.join(shown)}; run examples/readme/make_readme.py")


def main():
    for page, least in PAGES.items():
        update(page, least, "--check" in sys.argv)


if __name__ == "__main__":
    main()
