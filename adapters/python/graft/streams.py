# SPDX-License-Identifier: BSD-3-Clause
"""Streams of a GPU. An array may name the stream that fills it (key `stream` of __cuda_array_interface__, version 3): work that is
pending there is waited for before Graft is called. Only the driver, libcuda, is asked; it is there where such arrays are."""
from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from ctypes import byref, c_int, c_uint64, c_void_p
from typing import Any

from .errors import Error, Status

_OF_CONTEXT, _OF_DEVICE = 1, 9  # CU_POINTER_ATTRIBUTE_CONTEXT, _DEVICE_ORDINAL


@functools.cache
def driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(Status.DEVICE, f"an array names a stream, but the GPU's driver cannot be opened: {error}") from None


def _ask(what: str, result: int) -> None:
    if result != 0:
        raise Error(Status.DEVICE, f"{what}: the GPU's driver answered with error {result}")


@contextlib.contextmanager
def _current(address: int) -> Iterator[None]:
    """The CUDA context that the memory at `address` belongs to is current within: its own, else its device's primary one."""
    cuda, context, device = driver(), c_void_p(), c_int()
    primary = cuda.cuPointerGetAttribute(byref(context), _OF_CONTEXT, c_uint64(address)) != 0 or not context.value
    if primary:
        _ask("cuPointerGetAttribute", cuda.cuPointerGetAttribute(byref(device), _OF_DEVICE, c_uint64(address)))
        _ask("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(byref(context), device))
    try:
        _ask("cuCtxPushCurrent", cuda.cuCtxPushCurrent_v2(context))
        try:
            yield
        finally:
            cuda.cuCtxPopCurrent_v2(byref(c_void_p()))
    finally:
        if primary:
            cuda.cuDevicePrimaryCtxRelease_v2(device)


def wait_for(stream: int, address: int) -> None:
    """Until what has been enqueued on `stream` (1 and 2: the legacy and the thread's default stream) has ended. ARRAY, DEVICE."""
    if stream == 0:
        raise Error(Status.ARRAY, "an array names stream 0, which __cuda_array_interface__ forbids: it may be either default stream; "
                    "expected 1, 2, a handle or None")
    with _current(address):
        _ask("cuStreamSynchronize", driver().cuStreamSynchronize(c_void_p(stream)))


def handle_of(stream: Any) -> int | None:
    """The cudaStream_t of a number, None, or an object of CuPy (`ptr`), PyTorch (`cuda_stream`) or with __cuda_stream__."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    if stream is not None and not isinstance(stream, int):
        raise Error(Status.ARGUMENT, f"a stream is a {type(stream).__name__}; a handle (int), None or a stream of CuPy or PyTorch "
                    "was expected")
    return stream
