# SPDX-License-Identifier: BSD-3-Clause
"""Lets the AMUSE of the Python that runs this start under Python 3.13. usage: python mend_amuse.py

AMUSE 2024.6.0, the last on PyPI, asks whether a thing that may be None has documentation, which None has since Python 3.13; and it
takes every tuple in a class for a pair of a value and its description, and since Python 3.13 classes have a tuple of their own,
__static_attributes__. Both stop `import amuse.datamodel`. Under an older Python, and in another AMUSE or a mended one, nothing is changed.
"""
import importlib.util
import pathlib
import sys

MENDS = {"datamodel/base.py": ("        if function.__doc__:\n", "        if function is not None and function.__doc__:\n"),
         "datamodel/attributes.py": ("if isinstance(value, tuple):\n", "if isinstance(value, tuple) and not key.startswith('__'):\n")}


def main():
    found = importlib.util.find_spec("amuse")
    if found is None:
        sys.exit(f"{sys.executable} has no AMUSE")
    if sys.version_info < (3, 13):
        return
    for name, (wrong, right) in MENDS.items():
        file = pathlib.Path(found.submodule_search_locations[0]) / name
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if wrong in text:
            file.write_text(text.replace(wrong, right), encoding="utf-8")
            print(f"mended for Python 3.13: {file}")


if __name__ == "__main__":
    main()
