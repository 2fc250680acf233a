# SPDX-License-Identifier: BSD-3-Clause
"""The package graft over the ranks of mpi4py: every rank hands over its particles and gets their accelerations, beside a sum in NumPy.

usage: mpiexec -n P python ranks_test.py
"""
import sys

import numpy
from mpi4py import MPI

import graft

SOFTENING = 0.02


def main():
    ranks = MPI.COMM_WORLD
    x = numpy.random.default_rng(5).standard_normal((3000, 3))  # the same on all ranks
    mine = numpy.arange(len(x)) % ranks.size == ranks.rank
    with graft.Context({"softening.kind": "plummer", "softening.length": SOFTENING, "mac.accuracy": 1e-4}) as gravity:
        gravity.set_communicator(ranks)
        found = gravity.compute(numpy.ascontiguousarray(x[mine]), 1 / len(x), energy=True)
        gravity.set_communicator(ranks)  # again: the first table is freed
        again = gravity.compute(numpy.ascontiguousarray(x[mine]), 1 / len(x)).acceleration
        try:  # a failure on one rank is the same status on all
            gravity.compute(numpy.full((5, 3), numpy.nan if ranks.rank == ranks.size - 1 else 1.0), 1.0)
            status = graft.Status.OK
        except graft.Error as error:
            status = error.status
    d = x[None] - x[mine][:, None]
    s = (d**2).sum(-1) + SOFTENING**2
    a = (d / s[..., None]**1.5).sum(axis=1) / len(x)
    energy = ranks.allreduce(-0.5 * ((s**-0.5).sum() - mine.sum() / SOFTENING) / len(x)**2)
    error = numpy.sqrt(((found.acceleration - a)**2).sum() / (a**2).sum())
    if ranks.rank == 0:
        print(f"{ranks.size} ranks of {MPI.Get_library_version()[:20]}: force error {error:.2e}, energy off by {found.energy / energy - 1:.2e}")
    right = error < 3e-4 and abs(found.energy / energy - 1) < 1e-4 and (again == found.acceleration).all() and status == 102
    sys.exit(0 if right else f"rank {ranks.rank}: error {error}, energy {found.energy} and {energy}, status {status}")


if __name__ == "__main__":
    main()
