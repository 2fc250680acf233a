# SPDX-License-Identifier: GPL-3.0-or-later
"""REBOUND's gravity from Graft, for Python.

    import rebound
    from graft_rebound import Gravity

    sim = rebound.Simulation()
    ...
    sim.integrator = "leapfrog"
    gravity = Gravity(sim, text="method: tree\\nmac: {accuracy: 0.001}")
    sim.integrate(100)

A thin layer over libgraft_rebound.so (graft_rebound.h has the whole contract): looked for in $GRAFT_REBOUND_LIBRARY, then in the
lib folder of the prefix that this file is installed in (PREFIX/share/graft/rebound), then where the dynamic linker looks; one that
everybody can write to is refused unless it is named. libgraft.so.1 itself: $GRAFT_LIBRARY,
else the installed one. What cannot be right is refused with a RuntimeError that says why.
"""
import ctypes
import os
import pathlib
import stat
import sysconfig
import weakref

import rebound

NAME = "libgraft_rebound.so"
HERE = pathlib.Path(__file__).resolve().parent


class _Host(ctypes.Structure):
    _fields_ = [("simulation_bytes", ctypes.c_int64), ("particle_bytes", ctypes.c_int64), ("version", ctypes.c_char_p),
                ("error", ctypes.c_void_p)]


class Figures(ctypes.Structure):
    """evaluations; time_s in the adapter; graft_time_s of it in Graft."""
    _fields_ = [("evaluations", ctypes.c_int64), ("time_s", ctypes.c_double), ("graft_time_s", ctypes.c_double)]


def _distrusted(path):
    """Why nobody should open the file at `path` unasked; "" if there is no reason."""
    # The text of distrusted() in library.py of the package graft. This file stands alone: no other folder need be on the path.
    real, folder = path.resolve(), path.parent.resolve()
    nearest = (real, real.parent, folder)
    for place in (*nearest, *real.parents, *folder.parents):
        mode = place.stat().st_mode
        if mode & stat.S_IWOTH and (place in nearest or not mode & stat.S_ISVTX):
            return f"{place} can be written by everybody"
    return ""


def _library_path(here):
    """Of a file in the folder `here`: no search but in the installation that it belongs to."""
    named = os.environ.get("GRAFT_REBOUND_LIBRARY")
    if named:
        return named
    prefix = here.parents[2] if here is not None and here.parts[-3:] == ("share", "graft", "rebound") else None
    multiarch = "lib/" + (sysconfig.get_config_var("MULTIARCH") or ".")
    for path in (prefix / folder / NAME for folder in ("lib", "lib64", multiarch)) if prefix else ():
        if path.exists():
            reason = _distrusted(path)
            if reason:
                raise RuntimeError(f"{path}: {reason}; set GRAFT_REBOUND_LIBRARY to a library that you trust")
            return str(path)
    return NAME


def _load():
    try:
        library = ctypes.CDLL(_library_path(HERE))
    except OSError as error:
        raise RuntimeError(f"Graft's adapter cannot be loaded ({error}); set GRAFT_REBOUND_LIBRARY=/path/to/libgraft_rebound.so, "
                           "or install Graft with REBOUND's headers at hand") from error
    library.graft_rebound_attach.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, _Host, ctypes.c_char_p,
                                             ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64]
    library.graft_rebound_attach.restype = ctypes.c_int32
    for name in ("graft_rebound_detach", "graft_rebound_forget"):
        getattr(library, name).argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        getattr(library, name).restype = None
    library.graft_rebound_error.argtypes = [ctypes.c_void_p]
    library.graft_rebound_error.restype = ctypes.c_char_p
    library.graft_rebound_get_figures.argtypes = [ctypes.c_void_p]
    library.graft_rebound_get_figures.restype = Figures
    return library


def _host():
    """What this process's REBOUND says of itself."""
    size = rebound.clibrebound.reb_simulation_struct_size
    size.restype = ctypes.c_size_t
    error = ctypes.cast(rebound.clibrebound.reb_simulation_error, ctypes.c_void_p)
    return _Host(size(), ctypes.sizeof(rebound.Particle), rebound.__version__.encode(), error)


class _Tie:
    """Lives as long as the simulation, which frees its own memory first: nothing of it is touched here. Simulations take neither
    attributes nor weak references, so it is an attribute of the pointer that each was made from and keeps."""
    library = None

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        self.library.graft_rebound_forget(ctypes.byref(self.handle))


class Gravity:
    """Makes Graft the gravity of `sim`, until detach() or the simulation's end; the object itself need not be kept.

    deck      path of a file with Graft's options; text: the same as YAML. Without both: all pairs in double precision.
    central   True: particle 0 (a star) is summed exactly, and only the others go through Graft.
    sim.G, sim.softening, N_active, testparticle_type and additional_forces mean what they mean to REBOUND. A copy of a simulation, or
    one read from a file, needs a Gravity of its own: REBOUND does not keep functions.
    """

    def __init__(self, sim, deck=None, text=None, central=False):
        if not hasattr(sim, "_simulation_needsfree_") or sim._b_base_ is None:
            raise RuntimeError("Graft: this is a view of a simulation (from a callback?); attach the Simulation object itself")
        if _Tie.library is None:
            _Tie.library = _load()
        handle = ctypes.c_void_p()
        why = ctypes.create_string_buffer(2048)
        status = _Tie.library.graft_rebound_attach(
            ctypes.byref(handle), ctypes.addressof(sim), _host(), os.fsencode(deck) if deck is not None else None,
            text.encode() if text is not None else None, int(central), why, len(why))
        if status != 0:
            raise RuntimeError(f"Graft ({status}): {why.value.decode()}")
        tie = sim._b_base_.graft_tie = _Tie(handle)
        self._tie = weakref.ref(tie)

    def detach(self):
        """Gives the simulation its own gravity back."""
        tie = self._tie()
        if tie is not None:
            tie.library.graft_rebound_detach(ctypes.byref(tie.handle))

    @property
    def error(self):
        """The text of the last failure in full (REBOUND's exception has its first 255 characters)."""
        tie = self._tie()
        return tie.library.graft_rebound_error(tie.handle).decode() if tie is not None else ""

    @property
    def figures(self):
        tie = self._tie()
        return tie.library.graft_rebound_get_figures(tie.handle) if tie is not None else Figures()
