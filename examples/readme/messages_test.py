# SPDX-License-Identifier: BSD-3-Clause
"""Provokes the failures of docs/user/afternoon.md and looks for what Graft says in the page.

usage: messages_test.py GRAFT_COMMAND EXAMPLE_01 [MPICH_MPIEXEC MPICH_EXAMPLE OPEN_MPI_SHIM]
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import graft
import numpy
from graft.arrays import Views

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/user/afternoon.md"


def printed_by(*command, **environment):
    ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100)
    return ran.stdout + ran.stderr


def missing_library(example):
    return printed_by(example, GRAFT_LIBRARY="/home/me/graft/lib/libgraft.so.1")


def wrong_deck(command):
    with tempfile.TemporaryDirectory() as folder:
        deck = pathlib.Path(folder) / "deck.yaml"
        deck.write_text("mac: {theat: 0.5}\n")
        return printed_by(command, "deck", "--check", str(deck)).replace(str(deck), "deck.yaml")


def not_a_number():
    x = numpy.zeros((100, 3))
    x[41, 0] = numpy.nan
    with graft.Context() as gravity:
        try:
            return gravity.compute(x, 1.0)
        except graft.Error as error:
            return str(error)


def too_few_bytes():
    with graft.Context() as gravity:
        found = (True, False, False, False)
        particles, wanted = gravity._problem(Views(), numpy.zeros((100, 3)), 1.0, None, None, None, found, 0)
        particles.position[0].contents.bytes = 800
        status = gravity.api.compute(gravity._context, ctypes.byref(particles), ctypes.byref(wanted.results))
        assert status == graft.Status.ARRAY
        return gravity.error


def main():
    command, example, *mpi = sys.argv[1:]
    quoted = re.findall(r"```text\n(.*?)\n```", PAGE.read_text(), flags=re.S)
    said = [missing_library(example), wrong_deck(command), not_a_number(), too_few_bytes()]
    if mpi:
        said.append(printed_by(mpi[0], "-n", "1", mpi[1], GRAFT_MPI_LIBRARY=mpi[2]))
        version = re.compile(r"MPICH Version: +[\w.]+")
        said[-1], quoted[4] = version.sub("MPICH", said[-1]), version.sub("MPICH", quoted[4])
    for number, (page, found) in enumerate(zip(quoted, said), 1):
        if page not in str(found):
            raise SystemExit(f"{PAGE.name}, failure {number}: the page has\n  {page}\nGraft says\n  {found}")
    if len(quoted) != 5:
        raise SystemExit(f"{PAGE.name} quotes {len(quoted)} messages; 5 were expected")


if __name__ == "__main__":
    main()
