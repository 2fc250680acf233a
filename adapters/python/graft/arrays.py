# SPDX-License-Identifier: BSD-3-Clause
"""NumPy arrays, and arrays on a GPU, described by their strides: never copied, never converted."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Union

import numpy

from . import streams
from .errors import Error, Status
from .structs import ADD, INDEX_FROM_1, MEMORY_AUTO, MEMORY_HOST, READ_ONLY, Array

ArrayLike = Any  # a numpy.ndarray, or an object with __cuda_array_interface__ (CuPy, PyTorch, Numba)
Vectors = Union[ArrayLike, Sequence[ArrayLike]]  # shape (n, dimension), or one array of shape (n,) for each axis

DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 4, "uint64": 5}
REALS, INTEGERS = ("float32", "float64"), ("int32", "int64")
IDS = (*INTEGERS, "uint64")


class Adding:
    """A result that is added to: made by add()."""

    def __init__(self, array: Vectors) -> None:
        self.array = array


def add(array: Vectors) -> Adding:
    """A result array to which a call adds, in place of overwriting it: compute(x, m, acceleration=graft.add(a))."""
    return Adding(array)


def length_of(array: Vectors, name: str) -> int:
    first = array[0] if isinstance(array, (tuple, list)) and len(array) else array
    shape = getattr(first, "shape", ())
    if not shape:
        raise Error(Status.ARRAY, f"{name} is a {type(first).__name__}; a NumPy array of shape (n, 3), or a tuple (x, y, z) was expected")
    return int(shape[0])


class Views:
    """Descriptions of arrays for one call, whose context works on `stream`. Invariant: keeps every described array alive."""

    def __init__(self, stream: int | None = None) -> None:
        self.kept: list[Any] = []
        self.stream = stream

    def _on_device(self, array: ArrayLike) -> tuple[Any, ...]:
        about = array.__cuda_array_interface__
        dtype, shape, (address, read_only), strides = numpy.dtype(about["typestr"]), about["shape"], about["data"], about.get("strides")
        if strides is None:
            strides = tuple(dtype.itemsize * int(numpy.prod(shape[axis + 1:])) for axis in range(len(shape)))
        pending = about.get("stream")
        if pending is not None and pending != self.stream and 0 not in shape:
            streams.wait_for(pending, address)
        return dtype, tuple(shape), tuple(strides), address, read_only, MEMORY_AUTO

    def _describe(self, array: ArrayLike, name: str, dtypes: Sequence[str]) -> tuple[Any, ...]:
        if hasattr(array, "__cuda_array_interface__"):
            about = self._on_device(array)
        elif isinstance(array, numpy.ndarray):
            if not array.flags.aligned:
                raise Error(Status.ARRAY, f"{name} is not aligned to its element size; a copy is: numpy.array({name})")
            about = array.dtype, array.shape, array.strides, array.ctypes.data, not array.flags.writeable, MEMORY_HOST
        else:
            raise Error(Status.ARRAY, f"{name} is a {type(array).__name__}; a NumPy array was expected: numpy.array({name}, float)")
        dtype = about[0]
        if dtype.name not in dtypes or not dtype.isnative:
            raise Error(Status.ARRAY, f"{name} has dtype {dtype}; {' or '.join(dtypes)} in this machine's byte order was expected "
                        f"(a copy: {name}.astype('{dtypes[-1]}'))")
        return about

    def array(self, array: ArrayLike | Adding | None, name: str, dtypes: Sequence[str], n: int, components: int = 1,
              written: bool = False, from_1: bool = False) -> Any:
        """A pointer to the description of n items (None: no array). ARRAY; what is read-only the library refuses as a result."""
        if array is None:
            return None
        flags = (ADD if isinstance(array, Adding) else 0) | (INDEX_FROM_1 if from_1 else 0)
        array = array.array if isinstance(array, Adding) else array
        dtype, shape, strides, address, read_only, memory = self._describe(array, name, dtypes)
        if shape != (n, components) and (components > 1 or shape != (n,)):
            raise Error(Status.ARRAY, f"{name} has shape {shape}; {(n,) if components == 1 else (n, components)} was expected")
        if min(strides, default=0) < 0 or (written and n > 1 and strides[0] == 0):
            raise Error(Status.ARRAY, f"{name} has strides {strides}; positive ones were expected (a copy has: {name}.copy())")
        across = strides[1] if len(shape) == 2 else dtype.itemsize
        along = strides[0] if n > 1 else components * dtype.itemsize
        view = Array(flags=flags | (READ_ONLY if read_only else 0), data=address, dtype=DTYPES[dtype.name], memory=memory,
                     components=components, n=n, item_stride=along, component_stride=across)
        view.bytes = (n - 1) * along + (components - 1) * across + dtype.itemsize if n else 0
        self.kept += [array, view]
        return ctypes.pointer(view)

    def vectors(self, array: Vectors | Adding | None, name: str, n: int, dimension: int, written: bool = False) -> Any:
        """One array of `dimension` components, or a sequence of one array an axis, as three pointers."""
        pointers = (ctypes.POINTER(Array) * 3)()
        whole = array.array if isinstance(array, Adding) else array
        if isinstance(whole, (tuple, list)):
            if len(whole) != dimension:
                raise Error(Status.ARRAY, f"{name} has {len(whole)} arrays; one for each of {dimension} axes was expected")
            for axis, one in enumerate(whole):
                one = add(one) if isinstance(array, Adding) else one
                pointers[axis] = self.array(one, f"{name}[{axis}]", REALS, n, written=written)
        elif array is not None:
            pointers[0] = self.array(array, name, REALS, n, dimension, written)
        return pointers

    def components(self, arrays: Vectors | Adding | None, name: str, n: int, components: int, most: int, written: bool = False) -> Any:
        """One array of all components, or a sequence of arrays of one each, as `most` pointers."""
        pointers = (ctypes.POINTER(Array) * most)()
        if isinstance(arrays, (tuple, list)):
            if len(arrays) > most:
                raise Error(Status.ARRAY, f"{name} has {len(arrays)} arrays; at most {most} were expected")
            for at, one in enumerate(arrays):
                pointers[at] = self.array(one, f"{name}[{at}]", REALS, n, written=written)
        elif arrays is not None:
            pointers[0] = self.array(arrays, name, REALS, n, components, written)
        return pointers
