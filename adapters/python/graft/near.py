# SPDX-License-Identifier: BSD-3-Clause
"""The near field alone: sums over the pairs of neighbour boxes, with boxes of the caller or made here."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from .arrays import INTEGERS, REALS, Adding, ArrayLike, Vectors, Views, length_of
from .errors import Error, Status
from .structs import NearField as Description
from .structs import NearSums

if TYPE_CHECKING:
    from .context import Context

KERNELS = {"laplace": 1, "logarithm": 2, "yukawa": 3, "helmholtz": 4, "table": 5}
BOXES = {"lists": 1, "grid": 2, "level": 3, "leaves": 4}
PRECISIONS = {"fp32": 1, "mixed": 2, "fp64": 3}
LAYOUTS = {"auto": 0, "ranges": 2, "replicated_group": 5, "tiled": 6, "tiled_split": 7, "replicated_group_padded": 9}
LISTS = ("target_offset", "source_offset", "neighbour_offset", "neighbour", "target_index", "source_index")


class Sums(NamedTuple):
    potential: Any
    gradient: Any


def number_of(word: str | None, words: dict[str, int], name: str) -> int:
    if word is not None and word not in words:
        raise Error(Status.ARGUMENT, f"{name} is {word!r}; expected one of {', '.join(words)}")
    return 0 if word is None else words[word]


class NearField:
    """A plan: made by Context.near_field, executed many times, closed by close(), `with` or its context."""

    def __init__(self, context: Context, position: Vectors, sources: Vectors | None, numbers: dict[str, Any],
                 arrays: dict[str, ArrayLike], index_from_1: bool, table: ArrayLike | None) -> None:
        self._context, self._plan = context, c_void_p()
        self._flying: tuple[Views, Sums] | None = None # what is in flight
        views = Views(context._stream)
        described = self._described(views, position, sources)
        for name, value in numbers.items():
            setattr(described, name, value if numpy.isscalar(value) else type(getattr(described, name))(*value))
        for name, array in arrays.items():
            if name not in LISTS:
                raise TypeError(f"near_field() has no argument {name!r}; expected one of {', '.join(LISTS)}")
            if array is not None:
                setattr(described, name, views.array(array, name, INTEGERS, length_of(array, name), from_1=index_from_1))
        if table is not None:
            described.table = views.array(table, "table", REALS, length_of(table, "table"), 2)
        self.components = described.components or (2 if described.kernel == KERNELS["helmholtz"] else 1)
        self.outputs = described.outputs
        context._check(context.api.near_field_create(context._context, byref(described), byref(self._plan)))

    def _described(self, views: Views, position: Vectors, sources: Vectors | None) -> Description:
        described = Description(dimension=self._context.dimension, target_count=length_of(position, "position"))
        described.target_position = views.vectors(position, "position", described.target_count, described.dimension)
        if sources is not None:
            described.source_count = length_of(sources, "sources")
            described.source_position = views.vectors(sources, "sources", described.source_count, described.dimension)
        self.targets = described.target_count
        self.sources = described.source_count if sources is not None else described.target_count
        return described

    def update(self, position: Vectors, sources: Vectors | None = None) -> None:
        """New coordinates for the same points in the same boxes. VALUE; CALL_ORDER: an execution is in flight."""
        context = self._context
        described = self._described(Views(context._stream), position, sources)
        context._check(context.api.near_field_update(context._context, self._plan, byref(described)))

    def _sums(self, views: Views, charge: Vectors, potential: Any, gradient: Any) -> tuple[NearSums, Sums]:
        dimension, k = self._context.dimension, self.components
        if potential is True:
            potential = numpy.zeros((self.targets, k) if k > 1 else self.targets)
        if gradient is True:
            gradient = numpy.zeros((self.targets, dimension * k))
        wanted = [None if one is False else one for one in (potential, gradient)]
        sums = NearSums()
        sums.charge = views.components(charge, "charge", self.sources, k, 16)
        sums.potential = views.components(wanted[0], "potential", self.targets, k, 16, True)
        sums.gradient = views.components(wanted[1], "gradient", self.targets, dimension * k, 48, True)
        return sums, Sums(*(one.array if isinstance(one, Adding) else one for one in wanted))

    def execute(self, charge: Vectors, potential: Any = None, gradient: Any = None) -> Sums:
        """The sums for these charges: an array of shape (n,) or (n, components), or a tuple of arrays. potential, gradient: True for
        a new array, yours (or add(yours)) to write, False for none; None: what the plan was made for. gradient: d/dx of each
        component, then d/dy, then d/dz. ARGUMENT, ARRAY, VALUE (a charge or a sum that is not finite), MEMORY, DEVICE."""
        self.begin(charge, potential, gradient)
        return self.end()

    def begin(self, charge: Vectors, potential: Any = None, gradient: Any = None) -> None:
        """execute in two halves: enqueues the work; charges and results must stay until end(). CALL_ORDER: one is in flight."""
        context, views = self._context, Views(self._context._stream)
        sums, found = self._sums(views, charge, bool(self.outputs & 1) if potential is None else potential,
                                 bool(self.outputs & 2) if gradient is None else gradient)
        context._check(context.api.near_field_begin(context._context, self._plan, byref(sums)))
        self._flying = views, found

    def end(self) -> Sums:
        """Waits for begin()'s work. CALL_ORDER: nothing is in flight."""
        context, found = self._context, self._flying[1] if self._flying else Sums(None, None)
        self._flying = None
        context._check(context.api.near_field_end(context._context, self._plan))
        return found

    def close(self) -> None:
        """Frees the plan; fine when closed already, or when its context is."""
        if self._plan and self._context._context:
            self._context._check(self._context.api.near_field_destroy(self._context._context, byref(self._plan)))
        self._plan = c_void_p()

    def __enter__(self) -> NearField:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_plan", None) and self._context._context:
            self._context.api.near_field_destroy(self._context._context, byref(self._plan))
