# SPDX-License-Identifier: BSD-3-Clause
"""GRAFT_REQUIRE_HOSTS at work: a project with a host that is nowhere (ghost) and one that is here (guest), and this folder's own
CMakeLists.txt. usage: require_test.py CMAKE CTEST ADAPTERS"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, CTEST, ADAPTERS = sys.argv[1:4]
HERE = pathlib.Path(__file__).resolve().parent
PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(hosts NONE)
enable_testing()
include({ADAPTERS}/hosts.cmake)
graft_host(ghost FOUND FALSE WHY "no ghost.h anywhere" INSTALL "apt install ghost")
graft_host(guest FOUND TRUE VERSION 1.0)
add_subdirectory(hosts)
"""


class RequireHosts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        for host in ("ghost", "guest"):
            (self.folder / "hosts" / host).mkdir(parents=True)
            (self.folder / "hosts" / host / "CMakeLists.txt").write_text(
                f"graft_add_host_test({host} run COMMAND ${{CMAKE_COMMAND}} -E true)\n", encoding="utf-8")
        for file in ("CMakeLists.txt", "missing.cmake"):
            shutil.copy(HERE / file, self.folder / "hosts")

    def run_command(self, *command):
        return subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def answers_with(self, required):
        configured = self.run_command(CMAKE, "-S", ".", "-B", "build", f"-DGRAFT_REQUIRE_HOSTS={required}")
        self.assertEqual(configured.returncode, 0, configured.stdout)
        return self.run_command(CTEST, "--test-dir", "build", "--output-on-failure")

    def test_without_it_a_missing_host_is_skipped(self):
        done = self.answers_with("")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"host_ghost_run \.*\*\*\*Skipped")
        self.assertRegex(done.stdout, r"host_guest_run \.* +Passed")

    def test_a_missing_host_that_is_required_fails_and_says_what_to_install(self):
        done = self.answers_with("guest,ghost")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"host_ghost_run \.*\*\*\*Failed")
        self.assertRegex(done.stdout, r"host_guest_run \.* +Passed")
        self.assertRegex(" ".join(done.stdout.split()), "names ghost, which is not here .no ghost.h anywhere.*Install it: apt install ghost")

    def test_a_name_that_is_no_host_stops_the_configuration(self):
        done = self.run_command(CMAKE, "-S", ".", "-B", "build", "-DGRAFT_REQUIRE_HOSTS=gost")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("names gost; the hosts that can be named are: ghost;guest", " ".join(done.stdout.split()))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
