# SPDX-License-Identifier: BSD-3-Clause
"""Finding, opening and checking libgraft, as graft_loader.h has it, without a search: by the path given, by GRAFT_LIBRARY, or
installed with this package (PREFIX/share/graft/python/graft, PREFIX/lib*/libgraft.so.1; or all in one wheel). What is found without having been named
must not be writable by everybody, nor its folder: else anybody on the machine could have put it there."""
from __future__ import annotations

import ctypes
import os
import pathlib
import stat
import sysconfig

from .errors import Error, Status
from .structs import ABI_MAJOR, Api

NAME = f"libgraft.so.{ABI_MAJOR}"
_HERE = pathlib.Path(__file__).resolve().parent
_MODE = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_NODELETE", 0)


def prefix(package: pathlib.Path = _HERE) -> pathlib.Path | None:
    """The installation that has `package`: PREFIX/share/graft/python/graft, or a wheel, whose PREFIX is the package itself. None: it
    is not installed."""
    if package.parts[-4:] == ("share", "graft", "python", "graft"):
        return package.parents[3]
    return package if (package / "lib" / NAME).exists() else None


def installed(package: pathlib.Path = _HERE) -> list[pathlib.Path]:
    """Where an installation that has `package` would have the library; [] if it is not installed."""
    root = prefix(package)
    folders = ("lib", "lib64", "lib/" + (sysconfig.get_config_var("MULTIARCH") or "."))
    return [root / folder / NAME for folder in folders] if root else []


def command() -> str | None:
    """The path of the graft command of this installation; None: there is none."""
    root = prefix()
    path = root / "bin" / "graft" if root else None
    return str(path) if path and path.exists() else None


def distrusted(path: pathlib.Path) -> str:
    """Why nobody should open the file at `path` unasked; "" if there is no reason. Folders above it, too: who may write there may
    exchange them, unless the sticky bit is set."""
    # The same text stands in graft_rebound.py and graft_lammps.py, which import nothing of Graft's: change all three.
    real, folder = path.resolve(), path.parent.resolve()
    nearest = (real, real.parent, folder)
    for place in (*nearest, *real.parents, *folder.parents):
        mode = place.stat().st_mode
        if mode & stat.S_IWOTH and (place in nearest or not mode & stat.S_ISVTX):
            return f"{place} can be written by everybody"
    return ""


def _place(path: str | os.PathLike[str] | None) -> tuple[str, str]:
    """(origin, path) of the library to open. LOAD_NOT_FOUND."""
    if path:
        return "the path given", os.fspath(path)
    if os.environ.get("GRAFT_LIBRARY"):
        return "environment variable GRAFT_LIBRARY", os.environ["GRAFT_LIBRARY"]
    tried = []
    for candidate in installed():
        reason = distrusted(candidate) if candidate.exists() else "not found"
        if not reason:
            return "installed with this package", str(candidate)
        tried.append(f"{candidate}: {reason}")
    raise Error(Status.LOAD_NOT_FOUND, "\n".join(tried or [f"{_HERE} is no part of an installation (PREFIX/share/graft/python)"]) +
                f"\nset GRAFT_LIBRARY=/path/to/{NAME}, or give its path")


def _opened(origin: str, place: str, remedy: str) -> ctypes.CDLL:
    """LOAD_NOT_FOUND, LOAD_FOREIGN; the dynamic linker would wait for a pipe's writer."""
    if os.path.exists(place) and not os.path.isfile(place):
        raise Error(Status.LOAD_FOREIGN, f"{origin}: {place}: not a regular file; expected a shared library")
    try:
        return ctypes.CDLL(place, mode=_MODE)
    except OSError as error:
        status = Status.LOAD_FOREIGN if os.path.exists(place) else Status.LOAD_NOT_FOUND
        raise Error(status, f"{origin}: {place}: {error}\nset {remedy}") from None


def load(path: str | os.PathLike[str] | None = None) -> Api:
    """The table of libgraft (None: of GRAFT_LIBRARY, or of the installation that this package is in). LOAD_NOT_FOUND, LOAD_FOREIGN,
    LOAD_VERSION; the text names every place tried."""
    origin, place = _place(path)
    library = _opened(origin, place, f"GRAFT_LIBRARY=/path/to/{NAME}")
    if not hasattr(library, "graft_get_api"):
        raise Error(Status.LOAD_FOREIGN, f"{origin}: {place}: a shared library, but not Graft: it has no graft_get_api")
    library.graft_get_api.restype = ctypes.POINTER(Api)
    table = library.graft_get_api(ctypes.c_uint32(ABI_MAJOR), ctypes.c_uint32(ctypes.sizeof(Api)))
    if not table or table.contents.abi_major != ABI_MAJOR or table.contents.struct_size < ctypes.sizeof(Api):
        raise Error(Status.LOAD_VERSION, f"{origin}: {place}: not of ABI {ABI_MAJOR}, or older than this package; install both of "
                    "one version")
    api = table.contents
    api.place = place
    return api


def shim(api: Api, library_version: str) -> ctypes.CDLL:
    """libgraft_mpi of the MPI that this process runs: GRAFT_MPI_LIBRARY, or beside libgraft. LOAD_NOT_FOUND, LOAD_FOREIGN."""
    name = f"libgraft_mpi_{'openmpi' if 'Open MPI' in library_version else 'mpich'}.so"
    given = os.environ.get("GRAFT_MPI_LIBRARY")
    opened = _opened("environment variable GRAFT_MPI_LIBRARY" if given else "beside libgraft",
                     given or os.path.join(os.path.dirname(api.place), name), f"GRAFT_MPI_LIBRARY=/path/to/{name}")
    opened.graft_mpi_error.restype = ctypes.c_char_p
    return opened
