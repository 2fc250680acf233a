#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the Fortran module graft_c (constants, bind(C) types, interfaces) from graft/types.h, graft/comm.h
and graft/api.h.

The C headers are the one table: a line this script cannot read is an error, never skipped, so that the module cannot
fall behind the header in silence. Struct sizes are those of the LP64 ABI and are tested against C's sizeof.

usage: generate_bindings.py INCLUDE_FOLDER OUTPUT.f90
"""
import re
import sys
from pathlib import Path

SCALARS = {  # C type -> (Fortran declaration, bytes)
    "int32_t": ("integer(c_int32_t)", 4),
    "uint32_t": ("integer(c_int32_t)", 4),
    "int64_t": ("integer(c_int64_t)", 8),
    "uint64_t": ("integer(c_int64_t)", 8),
    "double": ("real(c_double)", 8),
    "float": ("real(c_float)", 4),
}
CALLBACKS = {"graft_sink", "graft_log_function", "graft_split_function"}
NULLABLE = {"allocator", "box", "communicator"}  # pointers to structs that api.h allows to be NULL: c_ptr by value

ARRAYS = {"comms"}  # handles of which the caller gets several
BY_NAME_ONLY = [  # functions of graft/functions.h that are no entries of the table
    ("open", ["const char *path"]),
    ("mpi_comm", ["int32_t fortran_handle", "graft_comm_v1 **comm"]),
    ("mpi_comm_destroy", ["graft_comm_v1 **comm"]),
]


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def constants(text):
    """(name, value) of every #define of types.h that has a number or a text, in order."""
    found = re.findall(r"^#define\s+(GRAFT_\w+)\s+(\(?-?\d+u?\)?|\"[^\"\n]*\")\s*$", without_comments(text), flags=re.M)
    defined = re.findall(r"^#define\s+(GRAFT_\w+)[ \t]+\S", without_comments(text), flags=re.M)
    missed = set(defined) - {name for name, _ in found}
    if missed:
        raise SystemExit(f"generate_bindings: cannot read the value of {sorted(missed)}")
    return [(name, value if value[0] == '"' else int(value.strip("()u"))) for name, value in found]


def constant(name, value):
    if isinstance(value, str):
        return f"    character(len=*), parameter :: {name} = {value}"
    return f"    integer(c_int32_t), parameter :: {name} = {value}_c_int32_t"


def member(declaration):
    """(name, Fortran declaration, bytes, count) of one struct member."""
    function = re.fullmatch(r".*\(\s*\*\s*(\w+)\s*\)\s*\(.*\)", declaration, flags=re.S)
    if function:
        return function[1], "type(c_funptr)", 8, 1
    match = re.fullmatch(r"(?:const\s+)?(\w+)\s*(\*?)\s*(\w+)\s*(?:\[(\d+)\])?", declaration.strip())
    if not match:
        raise SystemExit(f"generate_bindings: cannot read the member '{declaration.strip()}'")
    c_type, star, name, count = match[1], match[2], match[3], int(match[4] or 1)
    if star:
        return name, "type(c_ptr)", 8, count
    if c_type in CALLBACKS:
        return name, "type(c_funptr)", 8, count
    if c_type not in SCALARS:
        raise SystemExit(f"generate_bindings: unknown type '{c_type}' of member '{name}'")
    return (name, *SCALARS[c_type], count)


def structs(text):
    """(name, members) of every struct of types.h with a body."""
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\1;", without_comments(text), flags=re.S):
        yield name, [member(part) for part in body.split(";") if part.strip()]


def size_of(members):
    offset = 0
    for _, _, size, count in members:
        offset = (offset + size - 1) // size * size + size * count
    return (offset + 7) // 8 * 8


def default(name, fortran_type, struct_size):
    if name == "struct_size":
        return f" = {struct_size}_c_int32_t"
    return {"type(c_ptr)": " = c_null_ptr", "type(c_funptr)": " = c_null_funptr", "real(c_double)": " = 0.0_c_double",
            "integer(c_int32_t)": " = 0_c_int32_t", "integer(c_int64_t)": " = 0_c_int64_t"}[fortran_type]


def write_type(name, members):
    size = size_of(members)
    yield f"    type, bind(C) :: {name} ! {size} bytes"
    for member_name, fortran_type, _, count in members:
        shape = f"({count})" if count > 1 else ""
        yield f"        {fortran_type} :: {member_name}{shape}{default(member_name, fortran_type, size)}"
    yield f"    end type {name}"
    yield ""


def argument(declaration, types):
    """(name, Fortran declaration) of one C parameter."""
    array = re.fullmatch(r"const\s+\w+\s*\*\s*const\s*\*\s*(\w+)", declaration.strip())
    if array:  # pointers to structs, as many as another parameter says
        return array[1], "type(c_ptr), intent(in)", "(*)"
    match = re.fullmatch(r"(const\s+)?(\w+)\s*(\**)\s*(\w+)", declaration.strip())
    if not match:
        raise SystemExit(f"generate_bindings: cannot read the parameter '{declaration.strip()}'")
    const, c_type, stars, name = bool(match[1]), match[2], len(match[3]), match[4]
    intent = "intent(in)" if const else "intent(inout)"
    if stars == 2:
        return name, "type(c_ptr), intent(inout)", "(*)" if name in ARRAYS else ""
    if stars == 1 and c_type == "char":
        return name, f"character(kind=c_char), {intent}", "(*)"
    if stars == 1 and c_type in types and name not in NULLABLE:
        return name, f"type({c_type}), {intent}", ""
    if stars == 1 and c_type in SCALARS:
        return name, f"{SCALARS[c_type][0]}, {intent}", ""
    if stars == 1:
        return name, "type(c_ptr), value", ""
    if c_type in CALLBACKS:
        return name, "type(c_funptr), value", ""
    if c_type in SCALARS:
        return name, f"{SCALARS[c_type][0]}, value", ""
    raise SystemExit(f"generate_bindings: unknown parameter type in '{declaration.strip()}'")


def entries(text):
    """(result, name, parameters) of every entry of the table."""
    body = re.search(r"typedef struct graft_api_v1 \{(.*?)\}\s*graft_api_v1;", without_comments(text), flags=re.S)[1]
    for part in body.split(";"):
        match = re.fullmatch(r"\s*(const char \*|int32_t )\s*\(\*(\w+)\)\s*\((.*)\)\s*", part, flags=re.S)
        if match:
            yield match[1].strip(), match[2], [p for p in match[3].split(",") if p.strip() != "void"]
        elif "(" in part:
            raise SystemExit(f"generate_bindings: cannot read the entry '{part.strip()}'")


def write_interface(result, name, parameters, types):
    arguments = [argument(p, types) for p in parameters]
    yield f"        function graft_{name}({', '.join(a[0] for a in arguments)}) &"
    yield f"            bind(C, name=\"graft_{name}\") result(answer)"
    yield "            import"
    for argument_name, declaration, shape in arguments:
        yield f"            {declaration} :: {argument_name}{shape}"
    yield f"            {'type(c_ptr)' if result == 'const char *' else 'integer(c_int32_t)'} :: answer"
    yield f"        end function graft_{name}"


def module(types_text, comm_text, api_text):
    struct_list = list(structs(types_text)) + list(structs(comm_text))
    names = {name for name, _ in struct_list}
    yield "! The C interface of Graft as Fortran sees it: constants, structs, functions by name (libgraft_api.a)."
    yield "! Made by generate_bindings.py from graft/types.h, comm.h and api.h, where everything is documented: do not edit."
    yield "! Hosts want module graft, which is made of this one."
    yield "module graft_c"
    yield "    use, intrinsic :: iso_c_binding"
    yield "    implicit none"
    yield "    public"
    yield ""
    for name, value in constants(types_text) + constants(comm_text):
        yield constant(name, value)
    yield ""
    for name, members in struct_list:
        yield from write_type(name, members)
    yield "    interface"
    for result, name, parameters in entries(api_text):
        yield from write_interface(result, name, parameters, names)
    for name, parameters in BY_NAME_ONLY:
        yield from write_interface("int32_t", name, parameters, names)
    yield "    end interface"
    yield "end module graft_c"


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1]) / "graft"
    lines = module(*((folder / name).read_text() for name in ("types.h", "comm.h", "api.h")))
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
