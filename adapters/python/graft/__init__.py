# SPDX-License-Identifier: BSD-3-Clause
"""Graft for Python: gravity and Coulomb forces on NumPy arrays where they lie. No dependency but NumPy.

    import numpy, graft
    x, m = numpy.random.rand(1000, 3), numpy.full(1000, 1e-3)
    with graft.Context({"softening.kind": "plummer", "softening.length": 0.01}) as gravity:
        found = gravity.compute(x, m, potential=True)
    found.acceleration, found.potential

Arrays of float32 or float64 are handed over by their strides, never copied: x of shape (n, 3) in C or Fortran order, columns of
a wider or structured array (data["x"]), or a tuple (x, y, z) of such. Arrays on a GPU (CuPy, PyTorch, Numba: whatever has
__cuda_array_interface__) are read and written there, after what is pending on the stream that they name. Failures raise
graft.Error, which has the library's status and its text. Deck keys and their meaning: graft.explain(). Source: the C interface,
graft/types.h and graft/api.h.
"""
from .arrays import Adding, add
from .context import Context, Found, Pending
from .errors import Error, Status
from .library import load
from .near import NearField, Sums
from .ranks import Parts, Ranks, thread_ranks
from .settings import explain, run_tool

__version__ = "1.0.0"
__all__ = ["Adding", "Context", "Error", "Found", "NearField", "Parts", "Pending", "Ranks", "Status", "Sums", "add", "explain", "load",
           "run_tool", "thread_ranks"]
