#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Expands the kind loops of a Fortran template: Fortran has generics but no way to write one body for several kinds.

    !@ for R in real32 real64; I in int32 int64
    subroutine scale_{R}(x, n)          <- written four times, {R} and {I} replaced
    !@ end

The loop variable E in `stop int32 int64` is the way a procedure ends: without ierr (stops on failure), or with an ierr of
that kind. It also defines {E_arguments} and, on a line of their own, {E_declarations} and {E_finish}.

A loop variable T over real32, real64, int32, int64 also defines {T_type}: real(real32) ... integer(int64).

`!@ include FILE` stands for a file beside the template.

usage: expand_template.py TEMPLATE OUTPUT.f90
"""
import itertools
import re
import sys
from pathlib import Path

TYPES = {"real32": "real(real32)", "real64": "real(real64)", "int32": "integer(int32)", "int64": "integer(int64)"}


def ending(kind):
    if kind == "stop":
        return {"E_arguments": "", "E_declarations": [], "E_finish": ["call stop_if_failed(failure)"]}
    return {
        "E_arguments": ", ierr, errmsg",
        "E_declarations": [f"integer({kind}), intent(out) :: ierr",
                           "character(len=*), intent(inout), optional :: errmsg"],
        "E_finish": ["call report(failure, ierr, errmsg)"],
    }


def combinations(header):
    loops = []
    for part in header.split(";"):
        name, kinds = part.split(" in ")
        loops.append([(name.strip(), kind) for kind in kinds.split()])
    for chosen in itertools.product(*loops):
        values = dict(chosen)
        for name, kind in chosen:
            if kind in TYPES:
                values[f"{name}_type"] = TYPES[kind]
        if "E" in values:
            values.update(ending(values["E"]))
        yield values


def replace(line, values):
    whole = re.fullmatch(r"(\s*)\{(\w+)\}", line)
    if whole and isinstance(values.get(whole[2]), list):
        return [whole[1] + text for text in values[whole[2]]]
    return [re.sub(r"\{(\w+)\}", lambda match: values[match[1]], line)]


def expand(lines):
    block, header = [], None
    for line in lines:
        if line.strip().startswith("!@ for "):
            block, header = [], line.strip()[len("!@ for "):]
        elif line.strip() == "!@ end":
            for values in combinations(header):
                for inner in block:
                    yield from replace(inner, values)
            header = None
        elif header is not None:
            block.append(line)
        else:
            yield line


def with_includes(path):
    for line in path.read_text().splitlines():
        if line.startswith("!@ include "):
            yield from with_includes(path.parent / line[len("!@ include "):])
        else:
            yield line


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    Path(sys.argv[2]).write_text("\n".join(expand(with_includes(Path(sys.argv[1])))) + "\n")


if __name__ == "__main__":
    main()
