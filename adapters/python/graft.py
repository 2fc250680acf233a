"""Graft for Python: gravity and Coulomb forces on NumPy arrays where they lie. One file without any dependency but NumPy.

    import numpy, graft
    x, m = numpy.random.rand(1000, 3), numpy.full(1000, 1e-3)
    with graft.Context({"softening.kind": "plummer", "softening.length": 0.01}) as gravity:
        found = gravity.compute(x, m, potential=True)
    found.acceleration, found.potential

Arrays of float32 or float64 are handed over by their strides, never copied: x of shape (n, 3) in C or Fortran order, columns of
a wider or structured array (data["x"]), or a tuple (x, y, z) of such. Arrays on a GPU (CuPy, PyTorch, Numba: whatever has
__cuda_array_interface__) are read and written there. Failures raise graft.Error, which has the library's status and its text.
Deck keys and their meaning: `graft deck --explain`. Source: the C interface, graft/types.h and graft/api.h.
"""
import collections
import ctypes
import json
import os
import pathlib

import numpy

from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p

OK, ARGUMENT, ARRAY, ABSENT, NOT_FOUND, FOREIGN, VERSION = 0, 100, 101, 107, 600, 601, 602
_ABI_MAJOR = 1
_MEMORY_HOST, _MEMORY_AUTO = 1, 4
_DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 4, "uint64": 5}
REALS, INTEGERS = ("float32", "float64"), ("int32", "int64")


class Error(RuntimeError):
    """A call that failed: `status` is one of graft/types.h, the text says what is wrong and what to try."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Array(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("data", c_void_p), ("dtype", c_int32), ("memory", c_int32),
                ("device", c_int32), ("components", c_int32), ("n", c_int64), ("item_stride", c_int64),
                ("component_stride", c_int64), ("bytes", c_int64), ("reserved", c_uint64 * 4)]


_PointerToArray = POINTER(_Array)


class _Particles(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("n", c_int64), ("position", _PointerToArray * 3),
                ("charge", _PointerToArray), ("softening", _PointerToArray), ("active", _PointerToArray),
                ("target", _PointerToArray), ("charge_all", c_double), ("id", _PointerToArray), ("cost", _PointerToArray),
                ("reserved", c_uint64 * 2)]


class _Results(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("acceleration", _PointerToArray * 3),
                ("potential", _PointerToArray), ("virial", _PointerToArray), ("energy", _PointerToArray), ("mode", c_int32),
                ("pad", c_int32), ("reserved", c_uint64 * 4)]


class _Box(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("lower", c_double * 3), ("upper", c_double * 3),
                ("periodic", c_int32 * 3), ("pad", c_int32), ("tilt", c_double * 3), ("reserved", c_uint64)]


class _Communicator(ctypes.Structure):  # graft_comm_v1, as far as its `free`: ten functions stand before it
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("self", c_void_p), ("rank", c_int32), ("size", c_int32),
                ("functions", c_void_p * 9), ("free", ctypes.CFUNCTYPE(None, c_void_p))]


_Sink = ctypes.CFUNCTYPE(None, c_void_p, POINTER(ctypes.c_char), c_int64)

# The table of graft/api.h, in its order, as far as it is called from here: name, what it returns, what it takes.
TABLE = [
    ("version", c_char_p, []), ("status_text", c_char_p, [c_int32]), ("last_error", c_char_p, []),
    ("options_create", c_int32, [POINTER(c_void_p)]), ("options_destroy", c_int32, [POINTER(c_void_p)]),
    ("options_set", c_int32, [c_void_p, c_char_p, c_char_p]),
    ("options_get", c_int32, [c_void_p, c_char_p, c_char_p, c_int64, POINTER(c_int64)]),
    ("options_read_struct", c_int32, [c_void_p, c_void_p]), ("options_write_struct", c_int32, [c_void_p, c_void_p]),
    ("options_read_file", c_int32, [c_void_p, c_char_p]),
    ("options_read_text", c_int32, [c_void_p, c_char_p, c_int64, c_char_p]),
    ("options_explain", c_int32, [c_int32, _Sink, c_void_p]),
    ("context_create", c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]), ("context_destroy", c_int32, [POINTER(c_void_p)]),
    ("context_set_log", c_int32, [c_void_p, c_void_p, c_void_p, c_int32]),
    ("context_set_box", c_int32, [c_void_p, c_void_p]), ("context_set_units", c_int32, [c_void_p, c_void_p]),
    ("compute", c_int32, [c_void_p, POINTER(_Particles), POINTER(_Results)]),
    ("field_at", c_int32, [c_void_p, POINTER(_Particles), POINTER(_Particles), POINTER(_Results)]),
    ("query", c_int32, [c_void_p, c_char_p, POINTER(c_double)]), ("query_text", c_int32, [c_void_p, c_char_p, _Sink, c_void_p]),
    ("run_tool", c_int32, [c_char_p, c_char_p, _Sink, c_void_p]),
    ("context_set_communicator", c_int32, [c_void_p, POINTER(_Communicator)]),
]


class _Api(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("abi_major", c_uint32), ("abi_minor", c_uint32), ("pad", c_uint32),
                ("capabilities", c_uint64)] + [(name, ctypes.CFUNCTYPE(returned, *taken)) for name, returned, taken in TABLE]


def _places(path):
    """Where libgraft is looked for, as graft_loader.h has it; (origin, path, whether a missing file ends the search)."""
    if path:
        return [("the path given", str(path), True)]
    if os.environ.get("GRAFT_LIBRARY"):
        return [("environment variable GRAFT_LIBRARY", os.environ["GRAFT_LIBRARY"], True)]
    prefix = pathlib.Path(__file__).resolve().parents[3:4]  # of PREFIX/share/graft/python/graft.py
    installed = [found for at in prefix for found in sorted(at.glob("lib*/**/libgraft.so.0"))]
    return [("installed with graft.py", str(found), False) for found in installed[:1]] + \
        [("dynamic linker's search", "libgraft.so.0", False)]


def load(path=None):
    """The table of libgraft (None: from GRAFT_LIBRARY, the prefix that graft.py is installed in, or the linker's paths).
    NOT_FOUND, FOREIGN, VERSION; the text names every place tried."""
    tried = []
    for origin, place, last in _places(path):
        try:
            library = ctypes.CDLL(place, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)
        except OSError as error:
            tried.append(f"{origin}: {place}: {error}")
            if last or os.path.exists(place):
                raise Error(FOREIGN if os.path.exists(place) else NOT_FOUND, "\n".join(tried)) from None
            continue
        if not hasattr(library, "graft_get_api"):
            raise Error(FOREIGN, f"{origin}: {place}: a shared library, but not Graft: it has no graft_get_api")
        library.graft_get_api.restype = POINTER(_Api)
        table = library.graft_get_api(c_uint32(_ABI_MAJOR), c_uint32(ctypes.sizeof(_Api)))
        if not table or table.contents.struct_size < ctypes.sizeof(_Api):
            raise Error(VERSION, f"{origin}: {place}: graft.py needs ABI {_ABI_MAJOR}.1 or a later minor; install graft.py and "
                        "libgraft of one version")
        api = table.contents
        api.place = place
        return api
    raise Error(NOT_FOUND, "\n".join(tried) + "\nset GRAFT_LIBRARY=/path/to/libgraft.so.0")


class _Views:
    """Descriptions of arrays for one call. Invariant: keeps every described array alive."""

    def __init__(self):
        self.kept = []

    def _describe(self, array, name, dtypes, written):
        if hasattr(array, "__cuda_array_interface__"):
            about = array.__cuda_array_interface__
            dtype, shape, memory = numpy.dtype(about["typestr"]), about["shape"], _MEMORY_AUTO
            (address, read_only), strides = about["data"], about.get("strides")
            if strides is None:
                strides = tuple(dtype.itemsize * int(numpy.prod(shape[axis + 1:])) for axis in range(len(shape)))
        elif isinstance(array, numpy.ndarray):
            dtype, shape, strides, memory = array.dtype, array.shape, array.strides, _MEMORY_HOST
            address, read_only = array.ctypes.data, not array.flags.writeable
            if not array.flags.aligned:
                raise Error(ARRAY, f"{name} is not aligned to its element size; a copy is: numpy.array({name})")
        else:
            raise Error(ARRAY, f"{name} is a {type(array).__name__}; a NumPy array was expected: numpy.array({name}, float)")
        if dtype.name not in dtypes or not dtype.isnative:
            raise Error(ARRAY, f"{name} has dtype {dtype}; {' or '.join(dtypes)} in this machine's byte order was expected "
                        f"(a copy: {name}.astype('{dtypes[-1]}'))")
        if written and read_only:
            raise Error(ARRAY, f"{name} is read-only and was to be written; give another array")
        return dtype, tuple(shape), tuple(strides), address, memory

    def array(self, array, name, dtypes, n, components=1, written=False):
        """A pointer to the description of n items (None: no array)."""
        if array is None:
            return None
        dtype, shape, strides, address, memory = self._describe(array, name, dtypes, written)
        wanted = (n,) if components == 1 else (n, components)
        if shape != wanted and shape != (n, components):
            raise Error(ARRAY, f"{name} has shape {shape}; {wanted} was expected")
        if min(strides, default=0) < 0 or (written and n > 1 and strides[0] == 0):
            raise Error(ARRAY, f"{name} has strides {strides}; positive ones were expected (a copy has: {name}.copy())")
        across = strides[1] if len(shape) == 2 else dtype.itemsize
        along = strides[0] if n > 1 else components * dtype.itemsize
        view = _Array(ctypes.sizeof(_Array), 0, address, _DTYPES[dtype.name], memory, 0, components, n, along, across)
        view.bytes = (n - 1) * along + (components - 1) * across + dtype.itemsize if n else 0
        self.kept += [array, view]
        return ctypes.pointer(view)

    def vectors(self, array, name, n, dimension, written=False):
        """One array of `dimension` components, or a tuple of one array an axis, as three pointers."""
        pointers = (_PointerToArray * 3)()
        if isinstance(array, (tuple, list)):
            if len(array) != dimension:
                raise Error(ARRAY, f"{name} has {len(array)} arrays; one for each of {dimension} axes was expected")
            for axis, one in enumerate(array):
                pointers[axis] = self.array(one, f"{name}[{axis}]", REALS, n, written=written)
        elif array is not None:
            pointers[0] = self.array(array, name, REALS, n, dimension, written)
        return pointers


def _length(array, name):
    first = array[0] if isinstance(array, (tuple, list)) and len(array) else array
    shape = getattr(first, "shape", ())
    if not shape:
        raise Error(ARRAY, f"{name} is a {type(first).__name__}; a NumPy array of shape (n, 3), or a tuple (x, y, z) was expected")
    return shape[0]


Found = collections.namedtuple("Found", "acceleration potential energy virial")


class Context:
    """Computes with the options given: `options` maps deck keys to values, `deck` is the path of a YAML deck, read first.
    Used by one thread at a time; close() (or `with`) frees it. NOT_FOUND and what else load() raises, DECK_* statuses, DEVICE."""

    def __init__(self, options=None, deck=None, library=None):
        self._context, self._communicator = c_void_p(), None
        self.api = load(library)
        made = c_void_p()
        self._check(self.api.options_create(byref(made)))
        try:
            if deck is not None:
                self._check(self.api.options_read_file(made, os.fsencode(deck)))
            for key, value in (options or {}).items():
                self._check(self.api.options_set(made, key.encode(), str(value).encode()))
            text = ctypes.create_string_buffer(64)
            self._check(self.api.options_get(made, b"dimension", text, len(text), None))
            self.dimension = int(text.value)
            self._check(self.api.context_create(made, None, byref(self._context)))
        finally:
            self.api.options_destroy(byref(made))

    def _check(self, status):
        if status != OK:
            raise Error(status, self.api.last_error().decode(errors="replace"))

    def close(self):
        """Frees everything; fine when closed already."""
        if self._context:
            self._check(self.api.context_destroy(byref(self._context)))
        if self._communicator:
            self._communicator.contents.free(self._communicator)
            self._communicator = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_context", None):
            self.api.context_destroy(byref(self._context))

    def set_box(self, upper, lower=(0.0, 0.0, 0.0), periodic=True, tilt=(0.0, 0.0, 0.0)):
        """The box from now on, in place of the options' (keys box.*). upper, lower: its corners; periodic: whether images act,
        along all axes or along each (three truths or "xy": a slab has two, a wire one); tilt: xy, xz, yz, as LAMMPS has them. None for
        `upper` takes the box away. ARGUMENT: empty, not finite, tilted too far; UNSUPPORTED: periodic in two dimensions."""
        if upper is None:
            return self._check(self.api.context_set_box(self._context, None))
        if isinstance(periodic, str):
            if set(periodic) - set("xyz"):
                raise ValueError(f"periodic is {periodic!r}; expected truths, or some of the letters x, y, z")
            periodic = [axis in periodic for axis in "xyz"]
        along = [periodic] * 3 if isinstance(periodic, (bool, int, numpy.bool_)) else list(periodic)
        given = {"upper": list(upper), "lower": list(lower), "periodic": along, "tilt": list(tilt)}
        for name, values in given.items():
            if len(values) != 3:
                raise ValueError(f"{name} has {len(values)} items; expected 3")
        box = _Box(struct_size=ctypes.sizeof(_Box))
        for axis in range(3):
            box.upper[axis], box.lower[axis] = float(given["upper"][axis]), float(given["lower"][axis])
            box.periodic[axis], box.tilt[axis] = int(bool(along[axis])), float(given["tilt"][axis])
        self._check(self.api.context_set_box(self._context, byref(box)))

    def set_communicator(self, communicator):
        """Collective. From now on calls are collective over this mpi4py communicator. Free contexts before MPI_Finalize."""
        from mpi4py import MPI
        family = "openmpi" if "Open MPI" in MPI.Get_library_version() else "mpich"
        path = os.environ.get("GRAFT_MPI_LIBRARY") or os.path.join(os.path.dirname(self.api.place), f"libgraft_mpi_{family}.so")
        try:
            shim = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)
        except OSError as error:
            raise Error(NOT_FOUND, f"{path}: {error}; set GRAFT_MPI_LIBRARY=/path/to/libgraft_mpi_{family}.so") from None
        shim.graft_mpi_error.restype = c_char_p
        table = POINTER(_Communicator)()
        status = shim.graft_mpi_comm_from_fortran(c_int32(communicator.py2f()), byref(table))
        if status != OK:
            raise Error(status, shim.graft_mpi_error().decode(errors="replace"))
        self._check(self.api.context_set_communicator(self._context, table))
        if self._communicator:
            self._communicator.contents.free(self._communicator)
        self._communicator = table

    def compute(self, position, mass=1.0, acceleration=True, potential=False, energy=False, virial=False, *, softening=None,
                active=None, target=None, force=False, add=False):
        """Fields at the particles, in their order. mass: an array or one number for all (charges with interaction: coulomb).
        acceleration, potential: True for a new array, or yours to write (add=True: to add) to; False for none. energy: of all
        active, half the sum of mass times potential; virial: xx yy zz xy xz yz. softening: a length per particle. active: a
        mask, target: indices from 0; others' results are not written (zero in new arrays). force: mass times acceleration."""
        views, n = _Views(), _length(position, "position")
        particles = self._particles(views, position, mass, softening, n)
        if active is not None:
            active = numpy.ascontiguousarray(active, numpy.int32) if numpy.asarray(active).dtype == bool else active
            particles.active = views.array(active, "active", INTEGERS, n)
        if target is not None:
            particles.target = views.array(target, "target", INTEGERS, _length(target, "target"))
        results, found = self._results(views, n, acceleration, potential, energy, virial, force, add)
        self._check(self.api.compute(self._context, byref(particles), byref(results)))
        return self._answer(found)

    def field_at(self, position, mass, points, acceleration=True, potential=False, *, softening=None, add=False):
        """The same field at any points, laid out as a position. A particle at distance zero adds no force and, unsoftened, no
        potential. softening: a length per particle; a pair has (h_i^2 + h_j^2) / 2 squared, and points have none."""
        views = _Views()
        sources = self._particles(views, position, mass, softening, _length(position, "position"))
        at = self._particles(views, points, 0.0, None, _length(points, "points"), "points")
        results, found = self._results(views, at.n, acceleration, potential, False, False, False, add)
        self._check(self.api.field_at(self._context, byref(sources), byref(at), byref(results)))
        return self._answer(found)

    def query(self, key):
        """One figure of the last computation, "time_s.total" for example. ABSENT: no such figure."""
        value = c_double()
        self._check(self.api.query(self._context, key.encode(), byref(value)))
        return value.value

    def figures(self):
        """All figures of the last computation, as a dictionary."""
        text = []
        sink = _Sink(lambda _, data, size: text.append(ctypes.string_at(data, size)))
        self._check(self.api.query_text(self._context, b"", sink, None))
        return json.loads(b"".join(text))

    def _particles(self, views, position, mass, softening, n, name="position"):
        particles = _Particles(struct_size=ctypes.sizeof(_Particles), n=n)
        particles.position = views.vectors(position, name, n, self.dimension)
        if isinstance(mass, (int, float, numpy.floating, numpy.integer)):
            particles.charge_all = float(mass)
        else:
            particles.charge = views.array(mass, "mass", REALS, n)
        particles.softening = views.array(softening, "softening", REALS, n)
        return particles

    def _results(self, views, n, acceleration, potential, energy, virial, force, add):
        acceleration = numpy.zeros((n, self.dimension)) if acceleration is True else acceleration
        potential = numpy.zeros(n) if potential is True else potential
        found = Found(*(None if one is False else one for one in (acceleration, potential)),
                      numpy.zeros(1) if energy else None, numpy.zeros((1, 6)) if virial else None)
        results = _Results(struct_size=ctypes.sizeof(_Results), flags=int(force), mode=int(add))
        results.acceleration = views.vectors(found.acceleration, "acceleration", n, self.dimension, True)
        results.potential = views.array(found.potential, "potential", REALS, n, written=True)
        results.energy = views.array(found.energy, "energy", REALS, 1, written=True)
        results.virial = views.array(found.virial, "virial", REALS, 1, 6, True)
        return results, found

    @staticmethod
    def _answer(found):
        return found._replace(energy=None if found.energy is None else float(found.energy[0]),
                              virial=None if found.virial is None else found.virial[0])
