# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS with Graft's forces, from a deck's python block or from a Python program. Needs ctypes only.

In a deck, for an unmodified lmp (the fix is created; its name and Graft's deck are up to you):

    python graft_attach input 3 SELF coulomb graft.yaml format pss file graft_lammps.py
    python graft_attach invoke

In Python:

    attached = graft_lammps.attach(lammps_instance, "coulomb", "{interaction: coulomb}")
    lammps_instance.command("run 100")
    print(attached.query("adapter.time_s.graft"))

libgraft_lammps.so is the one in GRAFT_LAMMPS_LIBRARY, else in the lib folder of the prefix that this file is installed in
(PREFIX/share/graft/lammps), else where the dynamic linker looks; one that everybody can write to is refused unless it is named.
"""
import ctypes
import os
import pathlib
import stat
import sysconfig

NAME = "libgraft_lammps.so"
HERE = pathlib.Path(__file__).resolve().parent if "__file__" in globals() else None  # a deck's "here" block is no file
KEPT = []  # a deck has no place for handles: what it attached lives as long as the process


class Error(RuntimeError):
    """What the adapter, Graft or LAMMPS says."""


def _distrusted(path):
    """Why nobody should open the file at `path` unasked; "" if there is no reason."""
    # The text of distrusted() in library.py of the package graft. This file stands alone: LAMMPS runs it without its folder on
    # the path.
    real, folder = path.resolve(), path.parent.resolve()
    nearest = (real, real.parent, folder)
    for place in (*nearest, *real.parents, *folder.parents):
        mode = place.stat().st_mode
        if mode & stat.S_IWOTH and (place in nearest or not mode & stat.S_ISVTX):
            return f"{place} can be written by everybody"
    return ""


def _library_path(here):
    """Of a file in the folder `here`: no search but in the installation that it belongs to."""
    named = os.environ.get("GRAFT_LAMMPS_LIBRARY")
    if named:
        return named
    prefix = here.parents[2] if here is not None and here.parts[-3:] == ("share", "graft", "lammps") else None
    multiarch = "lib/" + (sysconfig.get_config_var("MULTIARCH") or ".")
    for path in (prefix / folder / NAME for folder in ("lib", "lib64", multiarch)) if prefix else ():
        if path.exists():
            reason = _distrusted(path)
            if reason:
                raise Error(f"{path}: {reason}; set GRAFT_LAMMPS_LIBRARY to a library that you trust")
            return str(path)
    return NAME


def _load():
    path = _library_path(HERE)
    try:
        library = ctypes.CDLL(path)
    except OSError as failure:
        raise Error(f"{path}: {failure}; name libgraft_lammps.so in GRAFT_LAMMPS_LIBRARY") from None
    library.graft_lammps_attach.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
                                            ctypes.POINTER(ctypes.c_void_p)]
    library.graft_lammps_detach.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    library.graft_lammps_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)]
    library.graft_lammps_error.restype = ctypes.c_char_p
    return library


def _pointer(lammps):
    """The address of LAMMPS itself: from lammps.lammps, from a deck's SELF (a capsule), or a number."""
    address = getattr(lammps, "lmp", lammps)
    if type(address).__name__ == "PyCapsule":
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return get(address, None)
    return getattr(address, "value", address)


class Attached:
    """Graft's forces in one LAMMPS, through one fix."""

    def __init__(self, lammps, fix, deck):
        self._library, self._handle = _load(), ctypes.c_void_p()
        self._check(self._library.graft_lammps_attach(_pointer(lammps), fix.encode(), (deck or "").encode(),
                                                      ctypes.byref(self._handle)))

    def _check(self, status):
        if status != 0:
            raise Error(f"graft {status}: {self._library.graft_lammps_error().decode()}")

    def query(self, key):
        """A figure of the last evaluation, or of all: graft_lammps.h lists them."""
        value = ctypes.c_double()
        self._check(self._library.graft_lammps_query(self._handle, key.encode(), ctypes.byref(value)))
        return value.value

    def detach(self):
        """LAMMPS is as before. Before it is closed, between runs, on all ranks."""
        self._check(self._library.graft_lammps_detach(ctypes.byref(self._handle)))


def attach(lammps, fix, deck=None):
    """Graft's forces from the next run on: deck is a YAML file's path, or "{key: value, ...}"."""
    return Attached(lammps, fix, deck)


def graft_attach(lammps, fix, deck):
    """What a LAMMPS deck invokes."""
    KEPT.append(attach(lammps, fix, deck))
