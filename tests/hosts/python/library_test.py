# SPDX-License-Identifier: BSD-3-Clause
"""Where the package graft looks for libgraft: never in a place that anybody can write to, never by searching.

usage: library_test.py LIBGRAFT FOLDER_OF_THE_PACKAGE WORK_FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

LIBRARY, PACKAGE, WORK = (pathlib.Path(argument) for argument in sys.argv[1:4])
del sys.argv[1:]
PROGRAM = "import graft, sys\ntry: %s\nexcept graft.Error as error: sys.exit(f'{error.status.name}: {error}')"


class Installed(unittest.TestCase):
    """A copy of the package in a prefix of its own, and libraries planted about it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=WORK)
        self.addCleanup(self.folder.cleanup)
        self.prefix = pathlib.Path(self.folder.name) / "prefix"
        self.python = self.prefix / "share/graft/python"
        shutil.copytree(PACKAGE / "graft", self.python / "graft", ignore=shutil.ignore_patterns("__pycache__"))
        self.lib = self.prefix / "lib"
        self.lib.mkdir()

    def plant(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LIBRARY.resolve(), path)
        return path

    def load(self, library=None, python=None, program="print(graft.load().place)"):
        environment = {key: value for key, value in os.environ.items() if key not in ("GRAFT_LIBRARY", "LD_LIBRARY_PATH")}
        environment.update({"PYTHONPATH": str(python or self.python), "PYTHONDONTWRITEBYTECODE": "1"})
        if library is not None:
            environment["GRAFT_LIBRARY"] = str(library)
        ran = subprocess.run([sys.executable, "-c", PROGRAM % program], env=environment, cwd=self.prefix, capture_output=True, text=True, timeout=60)
        return (ran.stdout if ran.returncode == 0 else ran.stderr).strip()

    def test_beside_the_installed_package(self):
        self.assertIn("LOAD_NOT_FOUND", self.load())
        planted = self.plant(self.lib / "libgraft.so.1")
        self.assertEqual(self.load(), str(planted))
        planted.unlink()
        planted = self.plant(self.prefix / "lib64/libgraft.so.1")
        self.assertEqual(self.load(), str(planted))

    def test_nothing_is_searched_for(self):
        for place in (self.prefix / "libgraft.so.1", self.prefix.parent / "lib/libgraft.so.1", self.lib / "deep/er/libgraft.so.1",
                      self.python / "libgraft.so.1", self.python / "graft/libgraft.so.1", self.prefix / "share/lib/libgraft.so.1"):
            self.plant(place)
        self.assertIn("LOAD_NOT_FOUND", self.load())
        elsewhere = self.prefix / "a/b/c" # the same package, in no installation
        shutil.copytree(self.python / "graft", elsewhere / "graft")
        self.plant(self.prefix / "lib/libgraft.so.1")
        self.assertIn("no part of an installation", self.load(python=elsewhere))

    def test_what_anybody_can_write_to_is_refused(self):
        planted = self.plant(self.lib / "libgraft.so.1")
        for place in (planted, self.lib, self.prefix):
            mode = place.stat().st_mode
            place.chmod(0o777)
            said = self.load()
            self.assertIn("LOAD_NOT_FOUND", said)
            self.assertIn(f"{place} can be written by everybody", said)
            self.assertTrue(str(planted) in self.load(library=planted)) # named by the user: theirs to judge
            place.chmod(mode)
        self.lib.chmod(0o1777) # the sticky bit keeps files, but anybody can add some
        self.assertIn("LOAD_NOT_FOUND", self.load())
        self.lib.chmod(0o755)
        self.prefix.chmod(0o1777)
        self.assertEqual(self.load(), str(planted))
        self.prefix.chmod(0o755)
        planted.unlink() # a link out of the installation, to where anybody could have put something
        planted.symlink_to(self.plant(self.prefix.parent / "open/libgraft.so.1"))
        (self.prefix.parent / "open").chmod(0o777)
        self.assertIn("can be written by everybody", self.load())

    def test_files_that_are_no_libraries(self):
        pipe = self.prefix / "pipe"
        os.mkfifo(pipe)
        for place, words in ((pipe, "not a regular file"), (self.lib, "not a regular file"), (self.python / "graft/near.py", "ELF|header"),
                             ("libm.so.6", "not Graft")):
            said = self.load(library=place)
            self.assertIn("LOAD_FOREIGN", said)
            self.assertRegex(said, words)
        self.assertIn("LOAD_NOT_FOUND: environment variable GRAFT_LIBRARY: /nowhere/l.so", self.load(library="/nowhere/l.so"))

    def test_files_that_are_no_mpi_shims(self):
        pipe = self.prefix / "pipe"
        os.mkfifo(pipe)
        program = "from graft import library; library.shim(library.load(), 'MPICH')"
        for place, words in ((pipe, "LOAD_FOREIGN.*not a regular file"), (self.python / "graft/near.py", "LOAD_FOREIGN.*GRAFT_MPI_LIBRARY"),
                             (self.lib / "no.so", "LOAD_NOT_FOUND.*GRAFT_MPI_LIBRARY")):
            with unittest.mock.patch.dict(os.environ, GRAFT_MPI_LIBRARY=str(place)):
                self.assertRegex(self.load(library=LIBRARY, program=program), words)


if __name__ == "__main__":
    unittest.main()
