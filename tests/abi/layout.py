#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and offsets of every public struct: equal in C99 and C++, and equal to the recorded layout.txt.

usage: layout.py C_COMPILER CXX_COMPILER INCLUDE_FOLDER RECORDED.txt WORK_FOLDER
       layout.py --record ...(the same)...     writes RECORDED.txt

One line a field: "graft_array.dtype offset 16 size 4". Other languages' bindings are compared with the same file. Fields may
be appended (new lines) and may take reserved words, whose line then changes; any other line that vanishes or changes
breaks hosts.
"""
import os
import re
import subprocess
import sys

HEADERS = ("types.h", "comm.h", "api.h")


def read_structs(include):
    """{struct name: [field names]} of all structs defined in the public headers."""
    structs = {}
    for header in HEADERS:
        with open(os.path.join(include, "graft", header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
            fields = []
            for declaration in body.split(";"):
                pointer = re.search(r"\(\*(\w+)\)\(", declaration)
                plain = re.search(r"(\w+)\s*(?:\[\w+\])?\s*$", declaration)
                if pointer or plain:
                    fields.append((pointer or plain).group(1))
            structs[name] = fields
    return structs


def program(structs):
    lines = ["#include <graft/graft.h>", "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for name, fields in structs.items():
        lines.append(f'    printf("{name} size %d\\n", (int)sizeof({name}));')
        for field in fields:
            lines.append(f'    printf("{name}.{field} offset %d size %d\\n", (int)offsetof({name}, {field}), '
                         f"(int)sizeof((({name} *)0)->{field}));")
    return "\n".join(lines + ["    return 0;", "}", ""])


def layout(compiler, language, standard, include, folder, structs):
    binary = os.path.join(folder, f"layout_{language.replace('+', 'x')}")
    subprocess.run([compiler, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror",
                    f"-I{include}", "-", "-o", binary], input=program(structs), text=True, check=True)
    return subprocess.run([binary], check=True, capture_output=True, text=True).stdout


def main(arguments):
    recording = arguments[:1] == ["--record"]
    c, cxx, include, recorded, folder = arguments[1:] if recording else arguments
    structs = read_structs(include)
    in_c = layout(c, "c", "c99", include, folder, structs)
    in_cxx = layout(cxx, "c++", "c++17", include, folder, structs)
    if recording:
        with open(recorded, "w", encoding="utf-8") as file:
            file.write(in_c)
        return 0
    with open(recorded, encoding="utf-8") as file:
        first = file.read().splitlines()
    # A struct's size may grow with appended fields; every recorded field must stay where it was.
    wrong = [line for line in first if line not in in_c.splitlines() and " offset " in line and ".reserved " not in line]
    for line in wrong:
        print(f"recorded, but no longer so: {line}")
    if in_c != in_cxx:
        print("C and C++ disagree:\n" + "\n".join(sorted(set(in_c.splitlines()) ^ set(in_cxx.splitlines()))))
    if len(structs) < 8 or sum(map(len, structs.values())) < 90:
        print(f"only {len(structs)} structs with {sum(map(len, structs.values()))} fields found; layout.py missed some")
        return 1
    return 1 if wrong or in_c != in_cxx else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
