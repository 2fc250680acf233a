# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a GPU through the package graft: work that is pending on the stream that an array names is waited for, and device memory
comes from the host's pool. Exit status 77: no GPU. Only the driver is used: no CuPy."""
import ctypes
import sys
import unittest
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import numpy

import graft

try:
    CUDA = ctypes.CDLL("libcuda.so.1")
except OSError:
    CUDA = None


def ask(name, *arguments):
    result = getattr(CUDA, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: {result}")


class OnDevice:
    """Doubles on the device, made of `array`; pending work may fill them on `stream`."""

    def __init__(self, array, stream=None):
        self.shape, self.bytes, address = array.shape, array.nbytes, c_uint64()
        ask("cuMemAlloc_v2", byref(address), c_size_t(array.nbytes))
        self.address = address.value
        ask("cuMemcpyHtoD_v2", c_uint64(self.address), c_void_p(array.ctypes.data), c_size_t(array.nbytes))
        self.__cuda_array_interface__ = {"typestr": array.dtype.str, "shape": array.shape, "version": 3,
                                         "data": (self.address, False), "stream": stream}

    def read(self):
        array = numpy.zeros(self.shape)
        ask("cuMemcpyDtoH_v2", c_void_p(array.ctypes.data), c_uint64(self.address), c_size_t(self.bytes))
        return array


class Device(unittest.TestCase):
    def setUp(self):
        stream, big = c_void_p(), 1 << 30
        ask("cuStreamCreate", byref(stream), c_int(1))
        self.stream, self.large = stream, [c_uint64(), c_uint64()]
        for memory in self.large:
            ask("cuMemAlloc_v2", byref(memory), c_size_t(big))

    def busy(self):
        """Some hundred copies of 1 GiB: tens of milliseconds and more."""
        for _ in range(200):
            ask("cuMemcpyDtoDAsync_v2", self.large[0], self.large[1], c_size_t(1 << 30), self.stream)

    def test_pending_work_is_waited_for(self):
        x = numpy.random.default_rng(2).standard_normal((2000, 3))
        with graft.Context({"backend": "gpu", "method": "direct", "precision": "fp64"}) as gravity:
            expected = gravity.compute(x, 1.0).acceleration
            source, position = OnDevice(x), OnDevice(numpy.ones_like(x) * numpy.arange(len(x))[:, None], self.stream.value)
            acceleration = OnDevice(numpy.zeros_like(x))
            self.busy()
            ask("cuMemcpyDtoDAsync_v2", c_uint64(position.address), c_uint64(source.address), c_size_t(x.nbytes), self.stream)
            self.assertEqual(CUDA.cuStreamQuery(self.stream), 600) # not ready: there is something to wait for
            gravity.compute(position, 1.0, acceleration=acceleration)
            numpy.testing.assert_allclose(acceleration.read(), expected, rtol=1e-12, atol=1e-12 * abs(expected).max())

    def test_on_the_streams_of_the_host_nothing_is_waited_for(self):
        x = numpy.random.default_rng(2).standard_normal((2000, 3))
        with graft.Context({"backend": "gpu", "method": "direct", "precision": "fp64"}) as gravity:
            expected = gravity.compute(x, 1.0).acceleration
            gravity.set_stream(self.stream.value)
            position, acceleration = OnDevice(x, self.stream.value), OnDevice(numpy.zeros_like(x), self.stream.value)
            gravity.compute(position, 1.0, acceleration=acceleration)
            self.busy()
            pending = gravity.begin(position, 1.0, acceleration=acceleration, repair=False)
            self.assertFalse(pending.done())
            self.assertIsNotNone(pending.event())
            pending.wait()
            numpy.testing.assert_allclose(acceleration.read(), expected, rtol=1e-12, atol=1e-12 * abs(expected).max())

    def test_memory_of_a_pool(self):
        held, most = {}, []

        def allocate(size, device, stream):
            address = c_uint64()
            ask("cuMemAlloc_v2", byref(address), c_size_t(size))
            held[address.value] = size
            most.append(sum(held.values()))
            return address.value

        def release(address, size, device, stream):
            self.assertEqual(held.pop(address), size)
            ask("cuMemFree_v2", c_uint64(address))
        x = numpy.random.default_rng(2).standard_normal((20000, 3))
        with graft.Context({"backend": "gpu"}) as gravity:
            expected = gravity.compute(x, 1.0).acceleration
        with graft.Context({"backend": "gpu"}) as gravity:
            gravity.set_device_allocator(allocate, release)
            numpy.testing.assert_array_equal(gravity.compute(x, 1.0).acceleration, expected)
            self.assertGreater(max(most), x.nbytes)
            with self.assertRaises(graft.Error) as caught:
                gravity.set_device_allocator(None)
            self.assertEqual(caught.exception.status, graft.Status.CALL_ORDER)
            gravity.release_memory()
            gravity.set_device_allocator(lambda size, device, stream: None, release)
            with self.assertRaises(graft.Error) as caught:
                gravity.compute(x, 1.0)
            self.assertEqual(caught.exception.status, graft.Status.MEMORY)
        self.assertEqual(held, {})


if __name__ == "__main__":
    count, context = c_int(), c_void_p()
    if CUDA is None or CUDA.cuInit(0) != 0 or CUDA.cuDeviceGetCount(byref(count)) != 0 or count.value == 0:
        print("no GPU")
        sys.exit(77)
    ask("cuDevicePrimaryCtxRetain", byref(context), c_int(0))
    ask("cuCtxSetCurrent", context)
    unittest.main()
