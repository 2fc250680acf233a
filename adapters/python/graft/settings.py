# SPDX-License-Identifier: BSD-3-Clause
"""The life of a context, what is set of it, and what it tells."""
from __future__ import annotations

import ctypes
import json
import numbers
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_double, c_int64, c_void_p
from typing import Any, Union

import numpy

from . import streams
from .errors import Error, Status, encoded
from .library import load
from .structs import EXPLAIN_JSON, EXPLAIN_STUDY, Api, Box, DeviceAllocate, DeviceAllocator, DeviceRelease, Log, Sink, Units

Value = Union[bool, int, float, str, "os.PathLike[str]"]
LEVELS = {"error": 1, "warning": 2, "info": 3, "debug": 4}


def deck_spelling(key: str, value: Value) -> bytes:
    """The value as decks spell it: booleans true and false, numbers in full. ARGUMENT."""
    if isinstance(value, (bool, numpy.bool_)):
        return b"true" if value else b"false"
    if isinstance(value, numbers.Integral):
        return str(int(value)).encode()
    if isinstance(value, numbers.Real):
        return repr(float(value)).encode()
    if isinstance(value, (str, os.PathLike)):
        return encoded(os.fspath(value), f"the value of key '{key}'")
    raise Error(Status.ARGUMENT, f"key '{key}': the value is a {type(value).__name__}; a bool, a number or a string was expected")


def check(api: Api, status: int) -> None:
    if status != Status.OK:
        raise Error(status, api.last_error().decode(errors="replace"))


def collected(api: Api, call: Callable[[Any], int]) -> str:
    """All text that a call hands to its sink."""
    parts: list[bytes] = []
    check(api, call(Sink(lambda _, data, size: parts.append(ctypes.string_at(data, size)))))
    return b"".join(parts).decode(errors="replace")


def explain(study: bool = False, library: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Every deck key: key, type, default, unit, allowed, meaning, live (whether a living context takes a new value). study: also
    papers' parameters, which may change with any version."""
    api = load(library)
    form = EXPLAIN_JSON + (EXPLAIN_STUDY if study else 0)
    return json.loads(collected(api, lambda sink: api.options_explain(form, sink, None)))


def run_tool(name: str, arguments: str = "", library: str | os.PathLike[str] | None = None) -> Any:
    """The answer of a tool of the library: "info" (what this build and machine have), "deck" (checks a deck). ARGUMENT, DECK_*."""
    api = load(library)
    given = encoded(name, "a tool's name"), encoded(arguments, "arguments")
    return json.loads(collected(api, lambda sink: api.run_tool(*given, sink, None)))


class Settings:
    """A context with options: `options` maps deck keys to values, `deck` is the path of a YAML deck, read first. Used by one thread
    at a time; close() (or `with`) frees it. What load() raises, DECK_*, ARGUMENT, DEVICE."""

    def __init__(self, options: Mapping[str, Value] | None = None, deck: str | os.PathLike[str] | None = None,
                 library: str | os.PathLike[str] | None = None) -> None:
        self._context = c_void_p()
        self._stream: int | None = None
        self._kept: dict[str, Any] = {} # what must live as long as the library uses it
        self.api = load(library)
        made = c_void_p()
        self._check(self.api.options_create(byref(made)))
        try:
            if deck is not None:
                self._check(self.api.options_read_file(made, encoded(os.fspath(deck), "a deck's path")))
            for key, value in (options or {}).items():
                self._check(self.api.options_set(made, encoded(key, "key"), deck_spelling(key, value)))
            self._check(self.api.context_create(made, None, byref(self._context)))
        finally:
            self.api.options_destroy(byref(made))
        self.dimension = int(self.get("dimension"))

    def _check(self, status: int) -> None:
        check(self.api, status)

    def close(self) -> None:
        """Frees everything, and waits for what is in flight; fine when closed already. BUSY."""
        if getattr(self, "_context", None):
            self._check(self.api.context_destroy(byref(self._context)))
            self._kept.clear()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self.api.context_destroy(byref(self._context))

    # ---- options and texts ----

    def _text(self, call: Callable[[Any, int, Any], int]) -> str:
        needed = c_int64()
        self._check(call(None, 0, byref(needed)))
        buffer = ctypes.create_string_buffer(needed.value)
        self._check(call(buffer, len(buffer), None))
        return buffer.value.decode(errors="replace")

    def get(self, key: str) -> str:
        """The value of a deck key that this context computes with, in deck spelling. DECK_KEY; ABSENT: it has none."""
        name = encoded(key, "key")
        return self._text(lambda buffer, capacity, needed: self.api.context_get(self._context, name, buffer, capacity, needed))

    def set(self, key: str, value: Value) -> None:
        """A new value for this living context. CALL_ORDER: the key needs a new context (`live` in explain()). DECK_*."""
        self._check(self.api.context_set(self._context, encoded(key, "key"), deck_spelling(key, value)))

    @property
    def error(self) -> str:
        """What the last failing call on this context, by whichever thread, had to say; "" before any."""
        return self._text(lambda buffer, capacity, needed: self.api.context_error(self._context, buffer, capacity, needed))

    def set_log(self, function: Callable[[int, str], Any] | None, level: int | str = 0) -> None:
        """Messages up to `level` (error, warning, info, debug or 1 to 4; 0: key log.level) go to function(level, text); None: nowhere.
        An exception in it is printed, and the call goes on."""
        if isinstance(level, str) and level not in LEVELS:
            raise Error(Status.ARGUMENT, f"level is {level!r}; expected one of {', '.join(LEVELS)}, or a number from 0 to 4")
        number = LEVELS[level] if isinstance(level, str) else level
        called = Log() if function is None else Log(lambda _, at, text: function(at, text.decode(errors="replace")))
        self._check(self.api.context_set_log(self._context, called, None, number))
        self._kept["log"] = called

    # ---- box, units ----

    def set_box(self, upper: Sequence[float] | None, lower: Sequence[float] = (0.0, 0.0, 0.0),
                periodic: bool | str | Sequence[bool] = True, tilt: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """The box from now on, in place of the options' (keys box.*). upper, lower: its corners; periodic: whether images act, along
        all axes or along each (three truths or "xy": a slab has two, a wire one); tilt: xy, xz, yz, as LAMMPS has them. None for
        `upper` takes the box away. ARGUMENT: empty, not finite, tilted too far; UNSUPPORTED: periodic in two dimensions."""
        if upper is None:
            return self._check(self.api.context_set_box(self._context, None))
        if isinstance(periodic, str):
            if set(periodic) - set("xyz"):
                raise ValueError(f"periodic is {periodic!r}; expected truths, or some of the letters x, y, z")
            periodic = [axis in periodic for axis in "xyz"]
        along = [periodic] * 3 if isinstance(periodic, (bool, int, numpy.bool_)) else list(periodic)
        given: dict[str, list[Any]] = {"upper": list(upper), "lower": list(lower), "periodic": along, "tilt": list(tilt)}
        for name, values in given.items():
            if len(values) != 3:
                raise ValueError(f"{name} has {len(values)} items; expected 3")
        box = Box()
        for axis in range(3):
            box.upper[axis], box.lower[axis] = float(given["upper"][axis]), float(given["lower"][axis])
            box.periodic[axis], box.tilt[axis] = int(bool(along[axis])), float(given["tilt"][axis])
        self._check(self.api.context_set_box(self._context, byref(box)))

    def set_units(self, constant: float = 0.0, *, length_m: float = 0.0, mass_kg: float = 0.0, time_s: float = 0.0,
                  charge_c: float = 0.0) -> None:
        """The constant in front of the force law, or the sizes of your units in SI that it is made of. ARGUMENT."""
        units = Units(constant=constant, length_m=length_m, mass_kg=mass_kg, time_s=time_s, charge_c=charge_c)
        self._check(self.api.context_set_units(self._context, byref(units)))

    # ---- memory and streams ----

    def set_stream(self, stream: Any) -> None:
        """The CUDA stream that work goes to from now on: a handle, or a stream of CuPy or PyTorch; None: one of Graft's own. It must
        outlive the context. Arrays that name this stream need no waiting. CALL_ORDER: a computation is in flight."""
        handle = streams.handle_of(stream)
        self._check(self.api.context_set_stream(self._context, handle))
        self._stream, self._kept["stream"] = handle, stream

    def set_device_allocator(self, allocate: Callable[[int, int, int], int | None] | None,
                             release: Callable[[int, int, int, int], Any] | None = None) -> None:
        """Memory on the GPU from a pool of yours: allocate(bytes, device, stream) gives an address (a multiple of 256; None or an
        exception: refused, the call ends with MEMORY) of memory that is used on `stream` only; release(address, bytes, device,
        stream) takes it back, to be used again in the order of `stream`. Both are called from any thread, and may not use this
        context. None: Graft's own. CALL_ORDER: the context holds memory there already (see release_memory)."""
        if allocate is None:
            self._check(self.api.context_set_device_allocator(self._context, None))
            self._kept.pop("allocator", None)
            return
        if release is None:
            raise Error(Status.ARGUMENT, "release is None; who allocates must take memory back, too")

        def allocated(_: Any, size: int, device: int, stream: int | None) -> int | None:
            try:
                return allocate(size, device, stream or 0) or None
            except Exception: # C cannot pass it on; the call that wanted the memory fails
                traceback.print_exc()
                return None

        allocator = DeviceAllocator()
        allocator.allocate = DeviceAllocate(allocated)
        allocator.release = DeviceRelease(lambda _, address, size, device, stream: release(address, size, device, stream or 0))
        self._check(self.api.context_set_device_allocator(self._context, byref(allocator)))
        self._kept["allocator"] = allocator

    def release_memory(self) -> None:
        """Gives back what is kept for the next call, of host and device. CALL_ORDER: a computation is in flight."""
        self._check(self.api.context_release_memory(self._context))

    # ---- figures ----

    def query(self, key: str) -> float:
        """One figure of the last computation, "time_s.total" for example. ABSENT: no such figure."""
        value = c_double()
        self._check(self.api.query(self._context, encoded(key, "key"), byref(value)))
        return value.value

    def query_text(self, key: str) -> str:
        """One text of the last computation, "backend" or "balance.decision" for example. ABSENT."""
        name = encoded(key, "key")
        return collected(self.api, lambda sink: self.api.query_text(self._context, name, sink, None))

    def figures(self) -> dict[str, Any]:
        """All figures and texts of the last computation."""
        return json.loads(self.query_text(""))
