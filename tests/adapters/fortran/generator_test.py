#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate_bindings.py takes over every entry, member and constant of the headers, and refuses what it cannot read.

usage: generator_test.py GENERATOR INCLUDE_FOLDER
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def generate(generator, types, api, comm):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "graft").mkdir()
        (Path(folder) / "graft" / "types.h").write_text(types)
        (Path(folder) / "graft" / "api.h").write_text(api)
        (Path(folder) / "graft" / "comm.h").write_text(comm)
        output = Path(folder) / "graft_c.f90"
        done = subprocess.run([sys.executable, generator, folder, output], capture_output=True, text=True)
        return done.returncode, output.read_text() if output.exists() else done.stderr


def main():
    generator, include = sys.argv[1], Path(sys.argv[2]) / "graft"
    types, api, comm = ((include / name).read_text() for name in ("types.h", "api.h", "comm.h"))
    code, module = generate(generator, types, api, comm)
    assert code == 0, module
    table = re.sub(r"/\*.*?\*/", "", api, flags=re.S).split("} graft_api_v1;")[0]
    entries = re.findall(r"\(\*(\w+)\)\(", table)
    assert len(entries) >= 22, entries
    for entry in entries:
        assert f'bind(C, name="graft_{entry}")' in module, f"entry {entry} is missing"
        declared = re.search(rf"\(\*{entry}\)\((.*?)\);", api, flags=re.S)[1]
        count = 0 if declared.strip() == "void" else declared.count(",") + 1
        found = re.search(rf"function graft_{entry}\((.*?)\)", module)[1]
        assert count == (found.count(",") + 1 if found else 0), f"{entry}: {count} parameters in C, ({found}) in Fortran"
    for constant in re.findall(r"^#define (GRAFT_(?!TYPES_H|COMM_H)\w+) +\d", types + comm, flags=re.M):
        assert re.search(rf":: {constant} = ", module), f"constant {constant} is missing"

    unreadable = {
        "a member of unknown type": (types.replace("double charge_all;", "long charge_all;"), api),
        "a member of unknown form": (types.replace("double lower[3];", "double lower[3][2];"), api),
        "a constant that is no number": (types.replace("GRAFT_F64 2", "GRAFT_F64 two"), api),
        "a parameter of unknown type": (types, api.replace("int64_t capacity,", "size_t capacity,")),
        "an entry of unknown result": (types, api.replace("int32_t (*query)(", "double (*query)(")),
    }
    for what, (changed_types, changed_api) in unreadable.items():
        assert (changed_types, changed_api) != (types, api), f"{what}: the header has changed, mend this test"
        code, text = generate(generator, changed_types, changed_api, comm)
        assert code != 0 and "generate_bindings" in text, f"{what} was taken in silence"
    print(f"generator_test: passed, {len(entries)} entries")


if __name__ == "__main__":
    main()
