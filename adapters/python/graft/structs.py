# SPDX-License-Identifier: BSD-3-Clause
"""Structs and table of graft/types.h, graft/comm.h and graft/api.h for ctypes. Members, their order and the number of arguments are
the headers'; tests/hosts/python compares them."""
from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

ABI_MAJOR = 1
MEMORY_AUTO, MEMORY_HOST = 0, 1
INDEX_FROM_1, READ_ONLY, ADD = 1, 2, 4  # flags of an array
FORCE, NO_REPAIR = 1, 2  # flags of results
EXPLAIN_JSON, EXPLAIN_STUDY = 2, 16


class Struct(ctypes.Structure):
    """Says its own size, as every struct of the interface does."""

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **members)


_HEAD = [("struct_size", c_uint32), ("flags", c_uint32)]
_TAIL = [("reserved", c_uint64 * 4)]


class Array(Struct):
    _fields_ = [*_HEAD, ("data", c_void_p), ("dtype", c_int32), ("memory", c_int32), ("device", c_int32), ("components", c_int32),
                ("n", c_int64), ("item_stride", c_int64), ("component_stride", c_int64), ("bytes", c_int64), *_TAIL]


_Array = POINTER(Array)
_Arrays = POINTER(_Array)


class Particles(Struct):
    _fields_ = [*_HEAD, ("n", c_int64), ("position", _Array * 3), ("charge", _Array), ("softening", _Array), ("active", _Array),
                ("target_index", _Array), ("charge_all", c_double), ("id", _Array), ("cost", _Array), *_TAIL]


class Results(Struct):
    _fields_ = [*_HEAD, ("acceleration", _Array * 3), ("potential", _Array), ("virial", _Array), ("energy", _Array), *_TAIL]


class Box(Struct):
    _fields_ = [*_HEAD, ("lower", c_double * 3), ("upper", c_double * 3), ("periodic", c_int32 * 3), ("pad", c_int32),
                ("tilt", c_double * 3), *_TAIL]


class Units(Struct):
    _fields_ = [*_HEAD, ("constant", c_double), ("length_m", c_double), ("mass_kg", c_double), ("time_s", c_double),
                ("charge_c", c_double), *_TAIL]


class Decomposition(Struct):
    _fields_ = [*_HEAD, ("owner", _Array), ("permutation", _Array), ("part_offset", _Array), ("boxes", _Array), *_TAIL]


class Balancing(Struct):
    _fields_ = [*_HEAD, ("owner", _Array), ("step_s", c_double), ("bytes_per_item", c_double), *_TAIL]


Split = CFUNCTYPE(c_int32, c_void_p, c_int64, c_double, c_double)


class Objects(Struct):
    _fields_ = [*_HEAD, ("n", c_int64), ("position", _Array * 3), ("load", _Array), ("bytes", _Array), ("id", _Array),
                ("owner", _Array), ("step_s", c_double), ("split", Split), ("split_user", c_void_p), *_TAIL]


class NearField(Struct):
    _fields_ = [*_HEAD, ("dimension", c_int32), ("kernel", c_int32), ("components", c_int32), ("outputs", c_int32),
                ("precision", c_int32), ("layout", c_int32), ("factor", c_double), ("softening", c_double),
                ("wave_number", c_double), ("table_begin", c_double), ("table_step", c_double), ("table", _Array),
                ("boxes", c_int32), ("most", c_int32), ("height", c_int32), ("cells", c_int32 * 3), ("lower", c_double * 3),
                ("upper", c_double * 3), ("target_count", c_int64), ("source_count", c_int64), ("target_position", _Array * 3),
                ("source_position", _Array * 3), ("target_offset", _Array), ("source_offset", _Array),
                ("neighbour_offset", _Array), ("neighbour", _Array), ("target_index", _Array), ("source_index", _Array),
                ("memory_bytes", c_double), ("expected_executes", c_double), *_TAIL]


class NearSums(Struct):
    _fields_ = [*_HEAD, ("charge", _Array * 16), ("potential", _Array * 16), ("gradient", _Array * 48), *_TAIL]


DeviceAllocate = CFUNCTYPE(c_void_p, c_void_p, c_int64, c_int32, c_void_p)
DeviceRelease = CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int32, c_void_p)


class DeviceAllocator(Struct):
    _fields_ = [*_HEAD, ("user", c_void_p), ("allocate", DeviceAllocate), ("release", DeviceRelease), *_TAIL]


class Communicator(ctypes.Structure):
    """graft_comm_v1 as far as its comm_free: nine functions stand before it. Libraries make these tables, never this module."""

    _fields_ = [*_HEAD, ("self", c_void_p), ("rank", c_int32), ("size", c_int32), ("functions", c_void_p * 9),
                ("comm_free", CFUNCTYPE(None, c_void_p))]


Sink = CFUNCTYPE(None, c_void_p, POINTER(ctypes.c_char), c_int64)
Log = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)

# Kinds of arguments, a letter each: what TABLE says of an entry.
_KINDS: dict[str, Any] = {"p": c_void_p, "s": c_char_p, "i": c_int32, "l": c_int64, "d": c_double, "P": POINTER(c_void_p), "I": POINTER(c_int32),
          "L": POINTER(c_int64), "D": POINTER(c_double), "S": Sink, "G": Log, "a": _Array, "A": _Arrays,
          "C": POINTER(Communicator), "T": POINTER(POINTER(Communicator)), "x": POINTER(Particles), "r": POINTER(Results),
          "b": POINTER(Box), "u": POINTER(Units), "v": POINTER(DeviceAllocator), "c": POINTER(Decomposition),
          "B": POINTER(Balancing), "o": POINTER(Objects), "n": POINTER(NearField), "N": POINTER(NearSums)}

# The table in its order. An entry returns a status, but for those of _TEXTS.
TABLE = [("version", ""), ("status_text", "i"), ("last_error", ""), ("options_create", "P"), ("options_destroy", "P"),
         ("options_set", "pss"), ("options_get", "psslL"), ("options_set_int64", "psl"), ("options_set_double", "psd"),
         ("options_get_int64", "psL"), ("options_get_double", "psD"), ("options_read_file", "ps"), ("options_read_text", "psls"),
         ("options_explain", "iSp"), ("context_create", "ppP"), ("context_destroy", "P"), ("context_set", "pss"),
         ("context_get", "psslL"), ("context_error", "pslL"), ("context_set_log", "pGpi"), ("context_set_box", "pb"),
         ("context_set_units", "pu"), ("context_set_device_allocator", "pv"), ("context_release_memory", "p"),
         ("compute", "pxr"), ("field_at", "pxxr"), ("query", "psD"), ("query_text", "psSp"), ("run_tool", "ssSp"),
         ("context_set_communicator", "pC"), ("comm_create_threads", "iT"), ("migrate_plan", "paL"), ("migrate", "piAA"),
         ("migrate_back", "piAA"), ("decompose", "pxc"), ("owner_of", "pxa"), ("balance", "pxB"), ("balance_objects", "po"),
         ("compute_begin", "pxr"), ("compute_end", "p"), ("context_set_stream", "pp"), ("compute_poll", "pI"),
         ("compute_event", "pP"), ("near_field_create", "pnP"), ("near_field_update", "ppn"), ("near_field_execute", "ppN"),
         ("near_field_begin", "ppN"), ("near_field_end", "pp"), ("near_field_destroy", "pP")]
_TEXTS = ("version", "status_text", "last_error")


def _entry(name: str, kinds: str) -> Any:
    return CFUNCTYPE(c_char_p if name in _TEXTS else c_int32, *(_KINDS[kind] for kind in kinds))


class Api(ctypes.Structure):
    """graft_api_v1; `place` is the library's path."""

    _fields_ = [("struct_size", c_uint32), ("abi_major", c_uint32), ("abi_minor", c_uint32), ("pad", c_uint32),
                ("capabilities", c_uint64), *((name, _entry(name, kinds)) for name, kinds in TABLE)]
    place = ""
