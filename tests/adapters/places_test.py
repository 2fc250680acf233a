#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where graft_rebound.py and graft_lammps.py take their library from: what is named, the installation that they are in, the dynamic
linker; nothing that everybody can write to, nothing found by a search. What everybody can write to, they and the package graft
say in the same text. Needs neither host.

usage: places_test.py REPOSITORY
"""
import ast
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import types
import unittest

REPOSITORY = pathlib.Path(sys.argv.pop(1))


def rule_of(path):
    """What the file's function `distrusted` or `_distrusted` does, without its docstring and comments."""
    functions = [node for node in ast.parse((REPOSITORY / "adapters" / path).read_text(encoding="utf-8")).body
                 if isinstance(node, ast.FunctionDef) and node.name.lstrip("_") == "distrusted"]
    return "\n".join(ast.unparse(line) for function in functions for line in function.body[1:])


class Places(unittest.TestCase):
    def setUp(self):
        sys.modules.setdefault("rebound", types.ModuleType("rebound"))
        for host in ("REBOUND", "LAMMPS"):
            os.environ.pop(f"GRAFT_{host}_LIBRARY", None)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def module(self, host, *parts):
        """The adapter's file, copied to a folder of a new tree."""
        place = self.folder.joinpath(*parts)
        place.mkdir(parents=True, exist_ok=True)
        name = f"graft_{host}.py"
        shutil.copy(REPOSITORY / "adapters" / host / name, place / name)
        spec = importlib.util.spec_from_file_location(f"graft_{host}", place / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def library(self, host, *parts):
        place = self.folder.joinpath(*parts)
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"libgraft_{host}.so"
        path.write_bytes(b"no library")
        path.chmod(0o644)
        return path.resolve()

    def test_the_installation_that_the_file_is_in(self):
        for host in ("rebound", "lammps"):
            for lib in ("lib", "lib64"):
                with self.subTest(host=host, lib=lib):
                    shutil.rmtree(self.folder / "p", ignore_errors=True)
                    path, module = self.library(host, "p", lib), self.module(host, "p", "share", "graft", host)
                    self.assertEqual(module._library_path(module.HERE), str(path))

    def test_no_search(self):
        for host in ("rebound", "lammps"):
            with self.subTest(host=host):
                self.library(host, "a", "b", "libevil")
                self.library(host, "a", "b", "lib", "deep", "er")
                self.library(host, "a", "b", "share", "graft", host)
                self.library(host, "a", "x", "lib")
                for parts in (("a", "b", "share", "graft", host), ("a", "x", "one", "two", "three")):
                    module = self.module(host, *parts)
                    self.assertEqual(module._library_path(module.HERE), f"libgraft_{host}.so")
                os.chdir(self.library(host, "here").parent)
                self.assertEqual(module._library_path(None), f"libgraft_{host}.so")

    def test_what_everybody_can_write_to_is_refused_unless_it_is_named(self):
        for host in ("rebound", "lammps"):
            path, module = self.library(host, "p", "lib"), self.module(host, "p", "share", "graft", host)
            for place in (path, path.parent, path.parent.parent):
                with self.subTest(host=host, place=place):
                    mode = place.stat().st_mode
                    place.chmod(mode | 0o002)
                    with self.assertRaisesRegex(RuntimeError, "can be written by everybody"):
                        module._library_path(module.HERE)
                    os.environ[f"GRAFT_{host.upper()}_LIBRARY"] = str(path)
                    self.assertEqual(module._library_path(module.HERE), str(path))
                    del os.environ[f"GRAFT_{host.upper()}_LIBRARY"]
                    place.chmod(mode)

    def test_one_rule_in_three_files(self):
        rule = rule_of("python/graft/library.py")
        self.assertIn("S_IWOTH", rule)
        for path in ("rebound/graft_rebound.py", "lammps/graft_lammps.py"):
            self.assertEqual(rule_of(path), rule, path)


if __name__ == "__main__":
    unittest.main()
