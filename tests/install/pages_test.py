#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Types the commands of README.md and docs/user into a shell, one page after the other, and compares what the pages show of their output.

usage: pages_test.py PREFIX SOURCE BUILD FOLDER [PAGE...]

PREFIX is an installation, which the shell has as ~/graft. A block without a language is one of commands. A line whose first word is
a program or an assignment is a command; a line after it that is not, its output. Words are compared as they are, numbers to 6 in a
hundred, as some are of random points. A command that needs what is not here (MPI, NumPy, CUDA's headers) is left out and named.
Inline commands of graft are looked up: their options must be in the help of that command.
"""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Who runs these: they install packages, or build from source.
ELSEWHERE = {"./bootstrap": "tests/install/fresh.sh", "sudo": "fresh.sh packages", "pip": "install_wheel", "cmake": "install_options, fresh.sh",
             "export": "install_wheel", "examples/demo.sh": "demo_galaxy_ranks_mpich"}
MPI = {"mpifort", "mpicc", "mpiexec"}
COMMAND = re.compile(r"(?:[A-Z_]+=\S*[ ;]*)*(\./a\.out|[\w./~$+-]+)")
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")


def is_command(line, programs):
    words = COMMAND.match(line)
    if re.match(r"[A-Z_]+=", line):
        return True
    return words is not None and (words[1] in programs or words[1] in ELSEWHERE or words[1] in MPI or
                                  re.match(r"(\.|~|\$\w+)/", words[1]) is not None)


def blocks_of(text, programs):
    """(commands, output) of each block without a language; output: [(number of the command, line)]."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.S | re.M):
        commands, output = [], []
        for line in block.splitlines() if language == "" else []:
            if is_command(line, programs):
                commands.append(re.sub(r"\s+# .*", "", line))
            elif commands and line.strip():
                output.append((len(commands) - 1, line.split("      ")[0]))
        yield commands, output


def why_not(command, here):
    """Why it is not typed; "": it is."""
    words = set(re.findall(r"[\w./~+-]+", command))
    first = COMMAND.match(command)[1]
    if first in ELSEWHERE:
        return f"{ELSEWHERE[first]} runs it"
    if words & MPI and not here["mpi"]:
        return "no MPI here"
    if "python3" in words and not here["numpy"]:
        return "no NumPy here"
    if "-lcudart" in words and not here["cuda"]:
        return "no CUDA here"
    return ""


def same(shown, found):
    """Words alike, numbers to 6 in a hundred, and near zero to a thousandth."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", found).split():
        return False
    return all(math.isclose(float(a), float(b), rel_tol=0.06, abs_tol=1e-3)
               for a, b in zip(NUMBER.findall(shown), NUMBER.findall(found)))


class Page:
    def __init__(self, path, source, environment, folder, here):
        self.path, self.name, self.here = path, path.relative_to(source), here
        self.environment, self.folder, self.problems, self.typed = environment, folder, [], 0
        self.programs = {"gfortran", "cc", "c++", "python3", "graft", "printf", "ctest"}

    def type_all(self):
        """One shell: what a page sets once is there in its later blocks."""
        script, expected = ["set -u", 'P=~/graft; LINK="-L$P/lib -lgraft_api -ldl -lpthread -Wl,-rpath,$P/lib"'], {}
        for commands, output in blocks_of(self.path.read_text(encoding="utf-8"), self.programs):
            for number, command in enumerate(commands):
                why = why_not(command, self.here)
                if why:
                    print(f"{self.name}: left out, {why}: {command}")
                    continue
                self.typed += 1
                script.append(f"echo '@{self.typed}'; {command}; echo \"@$?\"")
                expected[self.typed] = (command, [line for of, line in output if of == number])
        if not expected:
            return
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        answers = re.findall(r"^@(\d+)\n(.*?)^@(\d+)$", done.stdout, flags=re.S | re.M)
        for number, text, status in answers:
            self.compare(*expected.pop(int(number)), text.splitlines(), int(status))
        for command, _ in expected.values():
            self.problems.append(f"never ended: {command}")

    def compare(self, command, shown, found, status):
        if status not in (0, 77): # 77: no GPU
            self.problems.append(f"status {status}: {command}\n    " + "\n    ".join(found[-8:]))
            return
        for line in shown:
            if not any(same(line, other) for other in found):
                self.problems.append(f"{command}\n    shows   {line}\n    answers " + "\n            ".join(found[:6]))

    def look_up_options(self):
        """`graft NAME --option` in running text and tables."""
        for tool, rest in re.findall(r"`graft ([a-z]+(?: [a-z]+(?= |`))?)((?: [^`|]*)?)`", self.path.read_text(encoding="utf-8")):
            helped = subprocess.run(["graft", *tool.split(), "--help"], env=self.environment, text=True, capture_output=True)
            text = helped.stdout + helped.stderr
            if helped.returncode != 0:
                self.problems.append(f"`graft {tool}` is no command")
            for option in re.findall(r"--[a-z][a-z-]*", rest):
                if option != "--help" and not re.search(re.escape(option) + r"\b", text):
                    self.problems.append(f"`graft {tool}{rest}`: {option} is not in its help")


def environment_in(folder, prefix, source):
    """A home of its own whose graft is the installation. MPI's plain names are those of MPICH where both MPIs are here; python3 is the one
    that ./bootstrap has given NumPy."""
    home, programs = folder / "home", folder / "bin"
    for path in (home, programs):
        path.mkdir(parents=True)
    (home / "graft").symlink_to(prefix)
    found = {name: shutil.which(f"{name}.mpich") or shutil.which(name) for name in MPI}
    python = source / "build/hosts/bin/python"
    found["python3"] = str(python) if python.exists() else None
    for name, program in found.items():
        if program:
            (programs / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
            (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), str(prefix / "bin"), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRAFT_", "OMPI_", "PYTHONPATH"))}
    packages = os.pathsep.join(str(path) for path in prefix.glob("lib*/**/pkgconfig"))
    return {**kept, "HOME": str(home), "PATH": path, "PKG_CONFIG_PATH": packages, "OMP_NUM_THREADS": "1"}


def main():
    prefix, source, build, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
    shutil.rmtree(folder, ignore_errors=True)
    environment = environment_in(folder, prefix, source)
    here = {"mpi": all((folder / "bin" / name).exists() for name in MPI) and any(prefix.glob("lib*/**/libgraft_mpi_mpich.so")),
            "numpy": subprocess.run(["python3", "-c", "import numpy"], env=environment, stderr=subprocess.DEVNULL).returncode == 0,
            "cuda": pathlib.Path("/usr/local/cuda/include/cuda_runtime_api.h").exists()}
    names = sys.argv[5:] or ["README.md", *sorted(str(path.relative_to(source)) for path in (source / "docs/user").rglob("*.md"))]
    problems, typed = [], 0
    for name in names:
        work = folder / name.replace("/", "_")
        shutil.copytree(source / "examples", work) # the pages say "in the folder examples"; some, from the source tree
        (work / "examples").symlink_to(source / "examples")
        (work / "build").mkdir()
        (work / "build" / "release").symlink_to(build)
        page = Page(source / name, source, environment, work, here)
        page.type_all()
        page.look_up_options()
        problems += [f"{name}: {problem}" for problem in page.problems]
        typed += page.typed
    print(f"{typed} commands of {len(names)} pages typed")
    if problems:
        raise SystemExit("\n".join(problems))
    if typed == 0:
        raise SystemExit("no command found")


if __name__ == "__main__":
    main()
