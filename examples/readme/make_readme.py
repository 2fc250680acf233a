#!/usr/bin/env python3
"""README.md from README.md.in: a line @path@ stands for that file. With --check: exit 1 when README.md is not that.

usage: make_readme.py [--check]
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    text = (Path(__file__).parent / "README.md.in").read_text()
    text = re.sub(r"^@(.+)@\n", lambda match: (ROOT / match[1]).read_text(), text, flags=re.M)
    readme = ROOT / "README.md"
    if "--check" not in sys.argv:
        readme.write_text(text)
    elif readme.read_text() != text:
        raise SystemExit("README.md differs from examples/readme/README.md.in and the examples it shows; "
                         "run examples/readme/make_readme.py")


if __name__ == "__main__":
    main()
