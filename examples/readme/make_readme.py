#!/usr/bin/env python3
"""Puts the examples that README.md shows into it: the code block after a line that names one, "(`examples/...`)".
With --check: exit 1 when a block differs from its file.

usage: make_readme.py [--check]
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(\(`(examples/\S+)`\)\n\n```\w+\n)(.*?)(```\n)", flags=re.S)


def main():
    readme = ROOT / "README.md"
    text = readme.read_text()
    shown = [match[2] for match in BLOCK.finditer(text)]
    if len(shown) < 3:
        raise SystemExit(f"README.md shows {len(shown)} examples ({shown}); a Fortran, a C and a C++ one were expected")
    updated = BLOCK.sub(lambda match: match[1] + (ROOT / match[2]).read_text() + match[4], text)
    if "--check" not in sys.argv:
        readme.write_text(updated)
    elif updated != text:
        raise SystemExit(f"README.md differs from {', '.join(shown)}; run examples/readme/make_readme.py")


if __name__ == "__main__":
    main()
