# SPDX-License-Identifier: BSD-3-Clause
"""Types of the tests by their full names, and which of them a program of tests would have twice.

A linker takes one of two inline functions of one name for both, destructors included: two types of one name in a program are
then destroyed as one. Types without a name outside of their file (in an unnamed namespace, in a function) do not count.
"""
import os
import re

TOKEN = re.compile(r"\bnamespace\b(?P<space>[^{;=]*)\{|\b(?:struct|class|union)\s+(?:alignas\([^)]*\)\s*)?(?P<type>\w+)\s*"
                   r"(?:final\s*)?(?::(?!:)[^;{}]*)?\{|(?P<open>\{)|(?P<close>\})")
TESTS = re.compile(r"_test\.(cpp|cu)$")


def types_of(text):
    """Full names of the types that a file without comments defines for others to see."""
    scopes = []  # names of the namespaces around; None: what others do not see
    for found in TOKEN.finditer(text):
        if found["close"]:
            if scopes:
                scopes.pop()
            continue
        seen = None not in scopes
        if found["space"] is not None:
            scopes.append(found["space"].replace("inline", "").strip() or None)
            continue
        if found["type"] and seen:
            yield "::".join(scopes + [found["type"]])
        scopes.append(None)


def programs(repository):
    """Folder to sources: the tests of a folder are one program."""
    for root, folders, names in os.walk(os.path.join(repository, "tests")):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        sources = sorted(os.path.relpath(os.path.join(root, name), repository) for name in names if TESTS.search(name))
        if sources:
            yield os.path.relpath(root, repository), sources


def read_by(sources, includes):
    """The sources, and what of the tests they include, however far."""
    seen, waiting = set(), list(sources)
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        waiting += [found for _written, found in includes.of(path) if found and found.startswith("tests/")]
    return sorted(seen)


def twice(repository, includes, text_of):
    """(folder, name, files) of each type that a program has from several files."""
    known = {}
    for folder, sources in programs(repository):
        where = {}
        for path in read_by(sources, includes):
            if path not in known:
                known[path] = set(types_of(text_of(path)))
            for name in known[path]:
                where.setdefault(name, []).append(path)
        for name, files in sorted(where.items()):
            if len(files) > 1:
                yield folder, name, files
