# SPDX-License-Identifier: BSD-3-Clause
"""The package graft beside the headers (numbers, structs, table), and what a context is told and tells: options, units, log, streams,
memory, the two halves of a computation.

usage: interface_test.py FOLDER_OF_THE_HEADERS VERSION
"""
import pathlib
import re
import sys
import unittest
from unittest import mock

import numpy

import graft
from graft import Status, near, settings, streams, structs

HEADERS, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:]


def header(name):
    return re.sub(r"/\*.*?\*/", "", (HEADERS / name).read_text(), flags=re.S)


def constants():
    return {name: int(value) for name, value in re.findall(r"#define (GRAFT_\w+) (\d+)u?\b", header("types.h"))}


class Headers(unittest.TestCase):
    def test_the_table_is_the_headers(self):
        text = header("api.h")
        entries = re.findall(r"(\S+ \**)\(\*(\w+)\)\(([^;]*)\);", text[text.index("typedef struct graft_api_v1"):text.index("} graft_api_v1;")])
        theirs = [(name, 0 if taken == "void" else taken.count(",") + 1) for _, name, taken in entries]
        self.assertEqual([(name, len(kinds)) for name, kinds in structs.TABLE], theirs)
        kinds = {"int32_t": "i", "int64_t": "l", "double": "d"}
        for (name, ours), (_, _, taken) in zip(structs.TABLE, entries):
            for kind, argument in zip(ours, re.split(r",\s*", taken)): # numbers by value are where the header has them
                self.assertEqual(kind if kind in "ild" else None, kinds.get(argument.split()[0]) if "*" not in argument else None, name)

    def test_structs_have_the_headers_members(self):
        text = header("types.h")
        for ours in (structs.Array, structs.Particles, structs.Results, structs.Box, structs.Units, structs.Decomposition,
                     structs.Balancing, structs.Objects, structs.NearField, structs.NearSums, structs.DeviceAllocator):
            name = "graft_" + re.sub(r"(?<!^)([A-Z])", r"_\1", ours.__name__).lower()
            body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), text, flags=re.S).group(1)
            members = [(pointer or plain, int(many or 1)) for pointer, plain, many in
                       re.findall(r"(?:\(\*(\w+)\)\([^;]*\)|(\w+)(?:\[(\d+)\])?);", body)]
            kinds = [(member, getattr(kind, "_length_", 1)) for member, kind in ours._fields_]
            self.assertEqual(kinds, members, name)
        entries = re.findall(r"\(\*(\w+)\)", header("comm.h"))
        self.assertEqual(8 * entries.index("comm_free"), structs.Communicator.comm_free.offset - 24)

    def test_numbers_are_the_headers(self):
        theirs = constants()
        self.assertEqual({status.name: int(status) for status in Status if status},
                         {name[12:]: value for name, value in theirs.items() if name.startswith("GRAFT_ERROR_")})
        for prefix, ours in (("GRAFT_NEAR_", near.KERNELS), ("GRAFT_NEAR_BOXES_", near.BOXES),
                             ("GRAFT_PRECISION_", near.PRECISIONS), ("GRAFT_NEAR_LAYOUT_", near.LAYOUTS),
                             ("GRAFT_LOG_", settings.LEVELS)):
            for word, number in ours.items():
                if number:
                    self.assertEqual(theirs[prefix + word.upper()], number)
        for name in ("MEMORY_AUTO", "MEMORY_HOST", "EXPLAIN_JSON", "EXPLAIN_STUDY"):
            self.assertEqual(theirs["GRAFT_" + name], getattr(structs, name))
        for name in ("INDEX_FROM_1", "READ_ONLY", "ADD"):
            self.assertEqual(theirs["GRAFT_ARRAY_" + name], getattr(structs, name))
        for name in ("FORCE", "NO_REPAIR"):
            self.assertEqual(theirs["GRAFT_RESULTS_" + name], getattr(structs, name))
        for name, number in graft.arrays.DTYPES.items():
            self.assertEqual(theirs["GRAFT_" + name[0].upper() + re.sub(r"\D", "", name)], number)

    def test_one_version(self):
        self.assertEqual(graft.__version__, VERSION)
        self.assertEqual(graft.load().version().decode(), VERSION)


def refused(test, status, text, call, *arguments, **keywords):
    with test.assertRaisesRegex(graft.Error, text) as caught:
        call(*arguments, **keywords)
    test.assertEqual(caught.exception.status, status)


class Told(unittest.TestCase):
    def test_options_of_every_type(self):
        options = {"balance.force": True, "mac.history": numpy.bool_(False), "order": numpy.int32(1), "mac.theta": numpy.float32(0.5),
                   "constant": 0.1, "softening.kind": "plummer", "host.anything": 3}
        with graft.Context(options) as gravity:
            self.assertEqual([gravity.get(key) for key in options], ["true", "false", "1", "0.5", "0.1", "plummer", "3"])
            refused(self, Status.ABSENT, "host.nothing", gravity.get, "host.nothing")
            refused(self, Status.DECK_KEY, "mac.theta", gravity.get, "mac.theat")
        refused(self, Status.ARGUMENT, "NUL", graft.Context, {"softening.kind": "plummer\0spline"})
        refused(self, Status.ARGUMENT, "NUL", graft.Context, {"order\0": 1})
        refused(self, Status.ARGUMENT, "NUL", graft.Context, deck="deck.yaml\0")
        refused(self, Status.ARGUMENT, "order.*a list", graft.Context, {"order": [1]})
        for wrong in ({"order": True}, {"method": True}, {"order": 1.5}, {"mac.theta": "wide"}):
            with self.assertRaises(graft.Error) as caught:
                graft.Context(wrong)
            self.assertIn(caught.exception.status, (Status.DECK_TYPE, Status.DECK_RANGE), wrong)

    def test_explain_and_tools(self):
        keys = {key["key"]: key for key in graft.explain()}
        self.assertEqual(keys["order"]["type"], "integer")
        self.assertFalse([key for key in keys if key.startswith("study.")])
        self.assertTrue([key for key in graft.explain(study=True) if key["key"].startswith("study.")])
        self.assertTrue(graft.run_tool("info"))
        refused(self, Status.DECK_RANGE, "order", graft.run_tool, "deck", "text: 'order: 13'")

    def test_a_living_context_takes_some_keys(self):
        live = {key["key"]: key["live"] for key in graft.explain()}
        self.assertTrue(live["mac.theta"])
        self.assertFalse(live["backend"])
        x = numpy.random.default_rng(1).standard_normal((3000, 3))
        with graft.Context({"mac.theta": 0.9, "mac.type": "edge", "backend": "cpu"}) as gravity:
            wide = gravity.compute(x, 1.0).acceleration
            gravity.set("mac.theta", 0.3)
            self.assertEqual(gravity.get("mac.theta"), "0.3")
            narrow = gravity.compute(x, 1.0).acceleration
            self.assertEqual(gravity.error, "")
            refused(self, Status.CALL_ORDER, "backend", gravity.set, "backend", "auto")
            self.assertIn("backend", gravity.error)
            self.assertEqual(gravity.get("backend"), "cpu")
            refused(self, Status.DECK_RANGE, "mac.theta", gravity.set, "mac.theta", 7)
        with graft.Context({"mac.theta": 0.3, "mac.type": "edge", "backend": "cpu"}) as gravity:
            numpy.testing.assert_array_equal(gravity.compute(x, 1.0).acceleration, narrow)
        self.assertTrue((wide != narrow).any())

    def test_units_and_log(self):
        x, said = numpy.array([[0.0, 0, 0], [1, 0, 0]]), []
        with graft.Context({"precision": "fp64"}) as gravity:
            gravity.set_log(lambda level, text: said.append((level, text)), "info")
            gravity.set_units(length_m=1.0, mass_kg=1.0, time_s=1.0)
            self.assertAlmostEqual(gravity.compute(x, 1.0).acceleration[0, 0], 6.67430e-11, delta=1e-18)
            gravity.set_units(3.0)
            self.assertAlmostEqual(gravity.compute(x, 1.0).acceleration[0, 0], 3, delta=1e-12)
            self.assertIn("backend", " ".join(text for _, text in said))
            count = len(said)
            gravity.set_log(None)
            gravity.compute(x, 1.0)
            self.assertEqual(len(said), count)
            refused(self, Status.ARGUMENT, "units|constant", gravity.set_units, -1.0)
            refused(self, Status.ARGUMENT, "level", gravity.set_log, None, "loud")
        with graft.Context({"precision": "fp64", "log.level": "error"}) as gravity: # level 0: what the deck says
            gravity.set_log(lambda level, text: said.append((level, text)))
            gravity.compute(x, 1.0)
            self.assertEqual(len(said), count)

    def test_an_exception_in_the_log_leaves_the_call_alone(self):
        def loud(level, text):
            raise RuntimeError("of the host")
        with mock.patch("sys.unraisablehook"), graft.Context() as gravity:
            gravity.set_log(loud, "debug")
            self.assertTrue(gravity.compute(numpy.eye(3), 1.0).acceleration.any())


class Halves(unittest.TestCase):
    def test_begin_poll_event_and_wait(self):
        x = numpy.random.default_rng(1).standard_normal((500, 3))
        with graft.Context({"backend": "cpu"}) as gravity:
            whole = gravity.compute(x, 1.0, energy=True)
            pending = gravity.begin(x, 1.0, energy=True, repair=False)
            self.assertTrue(pending.done())
            self.assertIsNone(pending.event())
            refused(self, Status.CALL_ORDER, "compute_end", gravity.compute, x, 1.0)
            refused(self, Status.CALL_ORDER, "compute_end", gravity.release_memory)
            found = pending.wait()
            numpy.testing.assert_array_equal(found.acceleration, whole.acceleration)
            self.assertEqual(found.energy, whole.energy)
            refused(self, Status.CALL_ORDER, "compute_begin", pending.done)
            gravity.release_memory()
            numpy.testing.assert_array_equal(gravity.compute(x, 1.0).acceleration, whole.acceleration)
            gravity.begin(x, 1.0) # dropped: its arrays live until the context ends

    def test_a_device_allocator_is_kept_and_given_back(self):
        with graft.Context({"backend": "cpu"}) as gravity:
            gravity.set_device_allocator(lambda size, device, stream: None, lambda address, size, device, stream: None)
            self.assertTrue(gravity.compute(numpy.eye(3), 1.0).acceleration.any())
            refused(self, Status.ARGUMENT, "release", gravity.set_device_allocator, lambda size, device, stream: None)
            gravity.set_device_allocator(None)


class Driver:
    """Stands for libcuda: writes down what is asked of it."""

    def __init__(self, own_context):
        self.own_context, self.asked = own_context, []

    def cuPointerGetAttribute(self, into, what, address):
        if what == 1:
            into._obj.value = 77 if self.own_context else None
        return 0

    def __getattr__(self, name):
        def ask(*arguments):
            self.asked.append((name, getattr(arguments[0], "value", None)))
            return 0
        return ask


class Streams(unittest.TestCase):
    def filled(self, array, stream):
        return type("OnDevice", (), {"shape": array.shape, "__cuda_array_interface__": {
            "typestr": array.dtype.str, "shape": array.shape, "version": 3, "data": (array.ctypes.data, False), "stream": stream}})()

    def waited(self, driver, *arguments, stream=None, **keywords):
        with mock.patch.object(streams, "driver", lambda: driver), graft.Context({"backend": "cpu"}) as gravity:
            gravity.set_stream(stream)
            gravity.compute(*arguments, **keywords)
        return [value for name, value in driver.asked if name == "cuStreamSynchronize"]

    def test_the_stream_that_an_array_names_is_waited_for(self):
        x, m, a = numpy.eye(3), numpy.ones(3), numpy.zeros((3, 3))
        self.assertEqual(self.waited(Driver(True), self.filled(x, 1), self.filled(m, 0x5000), acceleration=self.filled(a, 2)),
                         [1, 0x5000, 2])
        self.assertEqual(self.waited(Driver(True), self.filled(x, None), m), [])
        self.assertEqual(self.waited(Driver(True), self.filled(x, 0x5000), m, stream=0x5000), []) # in order there already
        with self.assertRaisesRegex(graft.Error, "stream 0"):
            self.waited(Driver(True), self.filled(x, 0), m)

    def test_the_context_of_the_memory_is_current_meanwhile(self):
        x, of_device = numpy.eye(3), Driver(False)
        self.waited(Driver(True), self.filled(x, 1), 1.0)
        self.waited(of_device, self.filled(x, 1), 1.0)
        self.assertEqual([name for name, _ in of_device.asked], ["cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamSynchronize",
                                                                 "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxRelease_v2"])

    def test_streams_of_other_packages(self):
        self.assertEqual(streams.handle_of(type("Cupy", (), {"ptr": 5})()), 5)
        self.assertEqual(streams.handle_of(type("Torch", (), {"cuda_stream": 6})()), 6)
        self.assertEqual(streams.handle_of(type("Any", (), {"__cuda_stream__": lambda self: (0, 7)})()), 7)
        self.assertIsNone(streams.handle_of(None))
        refused(self, Status.ARGUMENT, "a str", streams.handle_of, "mine")


if __name__ == "__main__":
    unittest.main()
