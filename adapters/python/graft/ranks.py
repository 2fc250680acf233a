# SPDX-License-Identifier: BSD-3-Clause
"""Many ranks: communicators, domains, balance, and moving arrays to the ranks that own their items. All calls are collective."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_int32, c_int64
from typing import Any, NamedTuple

import numpy

from .arrays import DTYPES, IDS, INTEGERS, REALS, ArrayLike, Vectors, Views, length_of
from .errors import Error, Status
from .library import load, shim
from .settings import Settings, check
from .structs import Array, Balancing, Communicator, Decomposition, Objects, Particles, Split


class Parts(NamedTuple):
    """What decompose finds: the part of each particle, particles sorted by part, where each part begins there, and the parts' boxes
    (lower x y z, upper x y z)."""

    owner: numpy.ndarray
    permutation: numpy.ndarray
    part_offset: numpy.ndarray
    boxes: numpy.ndarray


class Ranks:
    """A communicator's table; freed with the object. Contexts that use it keep it."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.rank, self.size = table.contents.rank, table.contents.size

    def __del__(self) -> None:
        self._table.contents.comm_free(self._table)


def thread_ranks(size: int, library: Any = None) -> list[Ranks]:
    """`size` ranks inside this process, one for each of as many threads: each makes a context of its own and sets its one.
    ARGUMENT, MEMORY."""
    api, tables = load(library), (POINTER(Communicator) * max(size, 1))()
    check(api, api.comm_create_threads(size, tables))
    return [Ranks(table) for table in tables]


class RankedSettings(Settings):
    """A context that may be one of many ranks."""

    def set_communicator(self, communicator: Any) -> None:
        """From now on calls are collective over this mpi4py communicator, or over one of thread_ranks(); None: this rank alone. Free
        contexts before MPI_Finalize."""
        ranks = communicator if communicator is None or isinstance(communicator, Ranks) else self._of_mpi(communicator)
        self._check(self.api.context_set_communicator(self._context, ranks._table if ranks else None))
        self._kept["ranks"] = ranks

    def _of_mpi(self, communicator: Any) -> Ranks:
        from mpi4py import MPI

        library, table = shim(self.api, MPI.Get_library_version()), POINTER(Communicator)()
        status = library.graft_mpi_comm_from_fortran(c_int32(communicator.py2f()), byref(table))
        if status != Status.OK:
            raise Error(status, library.graft_mpi_error().decode(errors="replace"))
        return Ranks(table)

    def _located(self, views: Views, position: Vectors, id: ArrayLike | None, cost: ArrayLike | None = None) -> Particles:
        particles = Particles(n=length_of(position, "position"))
        particles.position = views.vectors(position, "position", particles.n, self.dimension)
        particles.id = views.array(id, "id", IDS, particles.n)
        particles.cost = views.array(cost, "cost", REALS, particles.n)
        return particles

    def decompose(self, position: Vectors, *, cost: ArrayLike | None = None, id: ArrayLike | None = None) -> Parts:
        """Divides the particles of all ranks into parts of equal weight (keys decompose.*), and moves nothing. cost: work of each
        particle; id: numbers unique over all ranks, by which coincident particles are split. ARGUMENT, ARRAY, VALUE, MEMORY."""
        views, ranks = Views(), self._kept.get("ranks")
        particles = self._located(views, position, id, cost)
        parts = int(self.get("decompose.parts")) or (ranks.size if ranks else 1)
        found = Parts(numpy.zeros(particles.n, "i4"), numpy.zeros(particles.n, "i8"), numpy.zeros(parts + 1, "i8"),
                      numpy.zeros((parts, 6)))
        wanted = Decomposition()
        wanted.owner = views.array(found.owner, "owner", INTEGERS, particles.n, written=True)
        wanted.permutation = views.array(found.permutation, "permutation", INTEGERS, particles.n, written=True)
        wanted.part_offset = views.array(found.part_offset, "part_offset", INTEGERS, parts + 1, written=True)
        wanted.boxes = views.array(found.boxes, "boxes", REALS, parts, 6, True)
        self._check(self.api.decompose(self._context, byref(particles), byref(wanted)))
        return found

    def owner_of(self, position: Vectors, *, id: ArrayLike | None = None) -> numpy.ndarray:
        """The part in which each point lies, by the last decompose or the last balance that was taken. CALL_ORDER: none yet."""
        views = Views()
        points = self._located(views, position, id)
        owner = numpy.zeros(points.n, "i4")
        self._check(self.api.owner_of(self._context, byref(points), views.array(owner, "owner", INTEGERS, points.n, written=True)))
        return owner

    def balance(self, position: Vectors, *, cost: ArrayLike | None = None, id: ArrayLike | None = None, step_s: float = 0.0,
                bytes_per_item: float = 0.0) -> numpy.ndarray:
        """New owners where that is worth it (keys balance.*), else this rank's number throughout; give them to migrate_plan.
        query_text("balance.decision") and "balance.reason" say why. step_s: seconds a force evaluation takes on this rank (0: the
        last compute's); bytes_per_item: what a particle's move costs (0: unknown). As decompose; CALL_ORDER: costs unknown yet."""
        views = Views()
        particles = self._located(views, position, id, cost)
        owner = numpy.zeros(particles.n, "i4")
        wanted = Balancing(step_s=step_s, bytes_per_item=bytes_per_item)
        wanted.owner = views.array(owner, "owner", INTEGERS, particles.n, written=True)
        self._check(self.api.balance(self._context, byref(particles), byref(wanted)))
        return owner

    def balance_objects(self, position: Vectors, load: ArrayLike | None = None, *, bytes: ArrayLike | None = None,
                        id: ArrayLike | None = None, step_s: float = 0.0,
                        split: Callable[[int, float, float], int] | None = None) -> numpy.ndarray:
        """New owners for patches, blocks or tasks with their centres and loads. split(object, load, mean) is asked for each object
        heavier than a rank's mean load, and returns how many pieces you have made of it (1: none). As balance."""
        views, n = Views(), length_of(position, "position")
        owner = numpy.zeros(n, "i4")
        objects = Objects(n=n, step_s=step_s)
        objects.position = views.vectors(position, "position", n, self.dimension)
        objects.load, objects.bytes = views.array(load, "load", REALS, n), views.array(bytes, "bytes", REALS, n)
        objects.id = views.array(id, "id", IDS, n)
        objects.owner = views.array(owner, "owner", INTEGERS, n, written=True)
        if split is not None:
            objects.split = Split(lambda _, number, its, mean: split(number, its, mean))
        self._check(self.api.balance_objects(self._context, byref(objects)))
        return owner

    def migrate_plan(self, owner: ArrayLike) -> int:
        """Plans the moves of items to the ranks owner[i]; how many items this rank will have. VALUE: an owner that is no rank."""
        views, after, n = Views(), c_int64(), length_of(owner, "owner")
        self._check(self.api.migrate_plan(self._context, views.array(owner, "owner", INTEGERS, n), byref(after)))
        self._kept["moves"] = n, after.value
        return after.value

    def migrate(self, *fields: ArrayLike) -> tuple[numpy.ndarray, ...]:
        """The fields, of shape (n,) or (n, k), as this rank has them after the planned moves. CALL_ORDER: no plan."""
        return self._moved(self.api.migrate, fields, False)

    def migrate_back(self, *fields: ArrayLike) -> tuple[numpy.ndarray, ...]:
        """The way back: every item where it came from, or results of the new owners brought home. CALL_ORDER: no plan."""
        return self._moved(self.api.migrate_back, fields, True)

    def _moved(self, call: Callable[..., int], fields: Sequence[ArrayLike], back: bool) -> tuple[numpy.ndarray, ...]:
        counts = self._kept.get("moves", (0, 0))
        before, after = reversed(counts) if back else counts
        views, moved = Views(), []
        given, wanted = ((POINTER(Array) * max(len(fields), 1))() for _ in range(2))
        for at, field in enumerate(fields):
            shape: tuple[int, ...] = tuple(getattr(field, "shape", (0,)))
            components = shape[1] if len(shape) == 2 else 1
            given[at] = views.array(field, f"field {at}", tuple(DTYPES), before if "moves" in self._kept else shape[0], components)
            moved.append(numpy.zeros((after, *shape[1:]), field.dtype))
            wanted[at] = views.array(moved[-1], f"field {at}", tuple(DTYPES), after, components, True)
        pointers = (ctypes.cast(array, POINTER(POINTER(Array))) for array in (given, wanted))
        self._check(call(self._context, len(fields), *pointers))
        return tuple(moved)
