#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C file and a Fortran program that compare size and member offsets of every bind(C) type of graft_c.f90.

The C side asks the C compiler (sizeof, offsetof), the Fortran side asks the Fortran compiler (c_sizeof, c_loc), so the
arithmetic of generate_bindings.py is not trusted. A member missing on one side fails to compile or changes the size.

usage: make_layout_test.py GRAFT_C.f90 OUTPUT.c OUTPUT.f90
"""
import re
import sys
from pathlib import Path


def types(text):
    for name, body in re.findall(r"type, bind\(C\) :: (\w+)[^\n]*\n(.*?)end type", text, flags=re.S):
        yield name, re.findall(r"::\s*(\w+)", body)


def main():
    found = list(types(Path(sys.argv[1]).read_text()))
    if len(found) < 7:
        raise SystemExit(f"make_layout_test: only {len(found)} types found")
    c_rows, fortran_rows, count = [], [], 0
    for name, members in found:
        c_rows.append(f"    sizeof({name}),")
        count += 1
        fortran_rows += ["    block", f"        type({name}), target :: s",
                         f"        call compare('{name}', {count}, c_sizeof(s))",
                         f"        if (s%struct_size /= c_sizeof(s)) error stop 'struct_size of {name}'"]
        for member in members:
            c_rows.append(f"    offsetof({name}, {member}),")
            count += 1
            fortran_rows.append(f"        call compare('{name}%{member}', {count}, offset(c_loc(s), c_loc(s%{member})))")
        fortran_rows.append("    end block")
    Path(sys.argv[2]).write_text("#include <graft/graft.h>\n#include <stddef.h>\nconst int64_t c_layout[] = {\n"
                                 + "\n".join(c_rows) + "\n};\n")
    Path(sys.argv[3]).write_text(f"""module c_side
    use, intrinsic :: iso_c_binding
    implicit none
    integer(c_int64_t), bind(C, name='c_layout') :: c_layout({count})
end module c_side
program layout_test
    use c_side
    use graft_c
    implicit none
    logical :: failed
    failed = .false.
{chr(10).join(fortran_rows)}
    if (failed) error stop 'layout_test failed'
    print '(a,i0,a)', 'layout_test: passed, ', {count}, ' sizes and offsets equal'
contains
    subroutine compare(name, row, found)
        character(len=*), intent(in) :: name
        integer, intent(in) :: row
        integer(c_int64_t), intent(in) :: found
        if (found == c_layout(row)) return
        print '(2a,i0,a,i0)', name, ': C ', c_layout(row), ', Fortran ', found
        failed = .true.
    end subroutine compare
    integer(c_int64_t) function offset(first, second)
        type(c_ptr), intent(in) :: first, second
        offset = transfer(second, 0_c_int64_t) - transfer(first, 0_c_int64_t)
    end function offset
end program layout_test
""")


if __name__ == "__main__":
    main()
