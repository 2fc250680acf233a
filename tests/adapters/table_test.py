#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/user/languages.md against api.h and the sources: a row for each entry, calls named there that are there, and what is
said to be lacking is not called. Nothing is dropped in silence.

usage: table_test.py SOURCE_FOLDER
"""
import re
import sys
from pathlib import Path


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def entries(root):
    table = without_comments((root / "capi/include/graft/api.h").read_text()).split("} graft_api_v1;")[0]
    return re.findall(r"\(\*(\w+)\)\(", table)


def rows(root):
    page = (root / "docs/user/languages.md").read_text().split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", page, flags=re.M)


def sources(root, pattern):
    return "\n".join(path.read_text() for path in sorted(root.glob(pattern)))


def wrong_cell(entry, cell, calls, source):
    """What is wrong with what a language's cell says of an entry; calls: the entry is called in that source."""
    if cell.startswith("lacks"):
        return f"{entry} is said to be lacking, and is called" if calls else ""
    if not calls:
        return f"{entry} is called nowhere, and the page does not say that it is lacking"
    names = [name.split("::")[-1].split("<")[0].rstrip("=") for name in re.findall(r"`([^`]*)`", cell)]
    missing = [name for name in names if not re.search(rf"\b{name}\b", source)]
    return f"{entry}: {missing} of the page is not in the sources" if missing else ""


def main():
    root = Path(sys.argv[1])
    cxx, fortran = sources(root, "adapters/cxx/include/graft/*.hpp"), sources(root, "adapters/fortran/*.f90.in")
    table, said = entries(root), rows(root)
    wrong = []
    if [row[0] for row in said] != table:
        wrong.append(f"the page's rows are not the entries of api.h in order: {set(table) ^ {row[0] for row in said}}")
    for entry, in_cxx, in_fortran in said:
        wrong.append(wrong_cell(entry, in_cxx, re.search(rf"(api\(\)\.|api_->){entry}\b", cxx), cxx))
        wrong.append(wrong_cell(entry, in_fortran, re.search(rf"\b(graft|c)_{entry}\(", fortran), fortran))
    wrong = [text for text in wrong if text]
    if wrong:
        raise SystemExit("table_test: " + "; ".join(wrong))
    lacking = sum("lacks" in row[2] for row in said)
    print(f"table_test: passed, {len(table)} entries, all in C++, {len(table) - lacking} in Fortran")


if __name__ == "__main__":
    main()
