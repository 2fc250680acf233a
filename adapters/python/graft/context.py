# SPDX-License-Identifier: BSD-3-Clause
"""Fields at particles and at points."""
from __future__ import annotations

from ctypes import byref, c_int32, c_void_p
from typing import Any, NamedTuple

import numpy

from .arrays import INTEGERS, REALS, Adding, ArrayLike, Vectors, Views, length_of
from .near import BOXES, KERNELS, LAYOUTS, PRECISIONS, NearField, number_of
from .ranks import RankedSettings
from .structs import FORCE, NO_REPAIR, Particles, Results


class Found(NamedTuple):
    """What was asked for, else None. energy is a number and virial an array of six where no array was given for them."""

    acceleration: Any
    potential: Any
    energy: Any
    virial: Any


class _Wanted:
    """The results of one call: structs, the arrays behind them, and the answer once they are final."""

    def __init__(self, views: Views, n: int, dimension: int, acceleration: Any, potential: Any, energy: Any, virial: Any,
                 flags: int = 0) -> None:
        made = ((n, dimension), (n,), (1,), (1, 6))
        given = (acceleration, potential, energy, virial)
        arrays = [numpy.zeros(shape) if one is True else None if one is False else one for one, shape in zip(given, made)]
        self.new_energy, self.new_virial = energy is True, virial is True
        self.found = Found(*(one.array if isinstance(one, Adding) else one for one in arrays))
        self.results = Results(flags=flags)
        self.results.acceleration = views.vectors(arrays[0], "acceleration", n, dimension, True)
        self.results.potential = views.array(arrays[1], "potential", REALS, n, written=True)
        self.results.energy = views.array(arrays[2], "energy", REALS, 1, written=True)
        self.results.virial = views.array(arrays[3], "virial", REALS, 1, 6, True)

    def answer(self) -> Found:
        found = self.found
        return found._replace(energy=float(found.energy[0]) if self.new_energy else found.energy,
                              virial=found.virial[0] if self.new_virial else found.virial)


class Pending:
    """A computation in flight, from Context.begin. Keeps its arrays alive until wait()."""

    def __init__(self, context: Context, views: Views, wanted: _Wanted) -> None:
        self._context, self._views, self._wanted = context, views, wanted

    def done(self) -> bool:
        """Whether the work has ended; never waits. CALL_ORDER: it was waited for already."""
        done = c_int32()
        self._context._check(self._context.api.compute_poll(self._context._context, byref(done)))
        return bool(done.value)

    def event(self) -> int | None:
        """A cudaEvent_t behind the work, for other streams to wait for; valid until wait(). None where a CPU computes."""
        event = c_void_p()
        self._context._check(self._context.api.compute_event(self._context._context, byref(event)))
        return event.value

    def wait(self) -> Found:
        """The results, once they are final. AGAIN with repair=False: a buffer was too small, nothing was written, and the same call
        will fit. As compute."""
        self._context._kept.pop("pending", None)
        self._context._check(self._context.api.compute_end(self._context._context))
        return self._wanted.answer()


class Context(RankedSettings):
    """Computes with the options given: `options` maps deck keys to values, `deck` is the path of a YAML deck, read first.
    Used by one thread at a time; close() (or `with`) frees it. What load() raises, DECK_*, ARGUMENT, DEVICE."""

    def compute(self, position: Vectors, charge: ArrayLike | float, acceleration: Any = True, potential: Any = False,
                energy: Any = False, virial: Any = False, *, softening: ArrayLike | None = None, active: ArrayLike | None = None,
                target_index: ArrayLike | None = None, force: bool = False) -> Found:
        """Fields at the particles, in their order. charge: masses, or charges with interaction: coulomb; an array, or one number for
        all (not 0). acceleration, potential, energy, virial: True for a new array, yours to write, graft.add(yours) to add to, False
        for none. energy: of all active, half the sum of charge times potential; virial: xx yy zz xy xz yz. softening: a length per
        particle. active: a mask, target_index: indices from 0; others' results are not written (zero in new arrays). force: charge
        times acceleration. ARGUMENT, ARRAY, VALUE (first bad item named), MEMORY, UNSUPPORTED, DEVICE; nothing is written then."""
        views = Views(self._stream)
        particles, wanted = self._problem(views, position, charge, softening, active, target_index,
                                          (acceleration, potential, energy, virial), FORCE if force else 0)
        self._check(self.api.compute(self._context, byref(particles), byref(wanted.results)))
        return wanted.answer()

    def begin(self, position: Vectors, charge: ArrayLike | float, acceleration: Any = True, potential: Any = False,
              energy: Any = False, virial: Any = False, *, softening: ArrayLike | None = None, active: ArrayLike | None = None,
              target_index: ArrayLike | None = None, force: bool = False, repair: bool = True) -> Pending:
        """compute in two halves: enqueues the work on the context's stream and returns, on a GPU without waiting. Until wait() the
        arrays may be neither read nor written on the host. repair=False: results are final in stream order, or wait() says AGAIN."""
        views = Views(self._stream)
        particles, wanted = self._problem(views, position, charge, softening, active, target_index,
                                          (acceleration, potential, energy, virial),
                                          (FORCE if force else 0) | (0 if repair else NO_REPAIR))
        self._check(self.api.compute_begin(self._context, byref(particles), byref(wanted.results)))
        pending = Pending(self, views, wanted)
        self._kept["pending"] = views # also where the caller drops it
        return pending

    def field_at(self, position: Vectors, charge: ArrayLike | float, points: Vectors, acceleration: Any = True,
                 potential: Any = False, *, softening: ArrayLike | None = None) -> Found:
        """The same field at any points, laid out as a position. A particle at distance zero adds no force and, unsoftened, no
        potential. softening: a length per particle; a pair has (h_i^2 + h_j^2) / 2 squared, and points have none. As compute."""
        views, n = Views(self._stream), length_of(points, "points")
        sources = self._particles(views, position, charge, softening)
        at = Particles(n=n)
        at.position = views.vectors(points, "points", n, self.dimension)
        wanted = _Wanted(views, n, self.dimension, acceleration, potential, False, False)
        self._check(self.api.field_at(self._context, byref(sources), byref(at), byref(wanted.results)))
        return wanted.answer()

    def near_field(self, position: Vectors, sources: Vectors | None = None, *, boxes: str = "leaves", kernel: str = "laplace",
                   components: int = 0, potential: bool = True, gradient: bool = False, precision: str | None = None,
                   layout: str | None = None, factor: float = 1.0, softening: float = 0.0, wave_number: float = 0.0,
                   table: ArrayLike | None = None, table_begin: float = 0.0, table_step: float = 0.0, most: int = 0,
                   height: int = 0, cells: tuple[int, int, int] = (0, 0, 0), lower: tuple[float, float, float] = (0.0, 0.0, 0.0),
                   upper: tuple[float, float, float] = (0.0, 0.0, 0.0), memory_bytes: float = 0.0,
                   expected_executes: float = 0.0, index_from_1: bool = False, **lists: ArrayLike) -> NearField:
        """A plan that sums charge times kernel over the pairs of neighbour boxes. boxes: leaves (of an adaptive tree), level, grid
        (cells, lower, upper), or lists: boxes of yours by target_offset, neighbour_offset, neighbour and, where wanted, source_offset,
        target_index, source_index. sources: where they are not the targets. table: f and f' at each knot. Helmholtz's charges and
        sums are complex: two components each. ARGUMENT, ARRAY, VALUE, UNSUPPORTED, MEMORY, DEVICE."""
        numbers = {"kernel": number_of(kernel, KERNELS, "kernel"), "components": components,
                   "outputs": (1 if potential else 0) | (2 if gradient else 0),
                   "precision": number_of(precision, PRECISIONS, "precision"), "layout": number_of(layout, LAYOUTS, "layout"),
                   "factor": factor, "softening": softening, "wave_number": wave_number, "table_begin": table_begin,
                   "table_step": table_step, "boxes": number_of(boxes, BOXES, "boxes"), "most": most, "height": height,
                   "cells": cells, "lower": lower, "upper": upper, "memory_bytes": memory_bytes,
                   "expected_executes": expected_executes}
        return NearField(self, position, sources, numbers, lists, index_from_1, table)

    def _particles(self, views: Views, position: Vectors, charge: ArrayLike | float, softening: ArrayLike | None) -> Particles:
        n = length_of(position, "position")
        particles = Particles(n=n)
        particles.position = views.vectors(position, "position", n, self.dimension)
        if isinstance(charge, (int, float, numpy.floating, numpy.integer)):
            particles.charge_all = float(charge)
        else:
            particles.charge = views.array(charge, "charge", REALS, n)
        particles.softening = views.array(softening, "softening", REALS, n)
        return particles

    def _problem(self, views: Views, position: Vectors, charge: ArrayLike | float, softening: ArrayLike | None,
                 active: ArrayLike | None, target_index: ArrayLike | None, wanted: tuple[Any, Any, Any, Any],
                 flags: int) -> tuple[Particles, _Wanted]:
        particles = self._particles(views, position, charge, softening)
        if active is not None:
            mask = isinstance(active, numpy.ndarray) and active.dtype == bool
            active = numpy.ascontiguousarray(active, numpy.int32) if mask else active
            particles.active = views.array(active, "active", INTEGERS, particles.n)
        if target_index is not None:
            particles.target_index = views.array(target_index, "target_index", INTEGERS, length_of(target_index, "target_index"))
        return particles, _Wanted(views, particles.n, self.dimension, *wanted, flags)
