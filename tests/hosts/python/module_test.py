# SPDX-License-Identifier: BSD-3-Clause
"""The package graft against sums in NumPy: all results, layouts, types, and its refusals."""
import time
import unittest

import numpy

import graft
from graft import Status

SOFTENING = 0.05


def cloud(n=1500):
    random = numpy.random.default_rng(7)
    return random.standard_normal((n, 3)), random.uniform(0.5, 1.5, n) / n


def direct(x, m, points):
    """Field and potential of softened masses at points; a particle at distance zero counts in neither."""
    d = x[None] - points[:, None]
    squares = (d**2).sum(-1)
    s = squares + SOFTENING**2
    w = numpy.where(squares > 0, m, 0)
    return ((w / s**1.5)[..., None] * d).sum(1), -(w / s**0.5).sum(1)


def context(**more):
    return graft.Context({"softening.kind": "plummer", "softening.length": SOFTENING, "precision": "fp64", "method": "direct",
                          **more})


class OnDevice:
    """Stands for a GPU array, in host memory: the library finds out where it is."""

    def __init__(self, array):
        self.__cuda_array_interface__ = {"typestr": array.dtype.str, "shape": array.shape, "version": 3,
                                         "data": (array.ctypes.data, False),
                                         "strides": None if array.flags.c_contiguous else array.strides}
        self.shape = array.shape


class Forces(unittest.TestCase):
    def test_all_results_equal_the_sums(self):
        x, m = cloud()
        a, phi = direct(x, m, x)
        with context() as gravity:
            found = gravity.compute(x, m, potential=True, energy=True, virial=True)
        numpy.testing.assert_allclose(found.acceleration, a, rtol=0, atol=1e-12 * abs(a).max())
        numpy.testing.assert_allclose(found.potential, phi, rtol=1e-12)
        self.assertAlmostEqual(found.energy, 0.5 * (m * phi).sum(), delta=1e-13)
        self.assertAlmostEqual(found.virial[3], (m * (a[:, 0] * x[:, 1] + a[:, 1] * x[:, 0])).sum() / 2, delta=1e-13)

    def test_boxes(self):
        salt = numpy.array([(i & 1, i >> 1 & 1, i >> 2 & 1) for i in range(8)], float)
        charge = 1.0 - 2 * (salt.sum(1) % 2)
        with graft.Context({"interaction": "coulomb", "precision": "fp64", "method": "direct"}) as coulomb:
            open_energy = coulomb.compute(salt, charge, energy=True).energy
            coulomb.set_box((2, 2, 2))
            self.assertAlmostEqual(coulomb.compute(salt, charge, energy=True).energy, -4 * 1.7475645946331822, delta=1e-9)
            coulomb.set_box((1.5, 2, 1.5), lower=(-0.5, 0, -0.5), periodic=(False, True, False))  # rows along y
            row = coulomb.compute(salt[[0, 2]], charge[[0, 2]], energy=True).energy
            self.assertAlmostEqual(row, -2 * numpy.log(2), delta=1e-9)
            coulomb.set_box((1.5, 2, 1.5), lower=(-0.5, 0, -0.5), periodic="y")
            self.assertEqual(coulomb.compute(salt[[0, 2]], charge[[0, 2]], energy=True).energy, row)
            with self.assertRaisesRegex(ValueError, "letters x, y, z"):
                coulomb.set_box((2, 2, 2), periodic="yes")
            coulomb.set_box((4, 2, 2), tilt=(1, 0, 0))
            self.assertTrue(numpy.isfinite(coulomb.compute(salt, charge, energy=True).energy))
            coulomb.set_box(None)
            self.assertEqual(coulomb.compute(salt, charge, energy=True).energy, open_energy)
            with self.assertRaises(ValueError):
                coulomb.set_box((2, 2))
            for wrong in ({"upper": (2, 2, -1)}, {"upper": (2, 2, 2), "tilt": (1.5, 0, 0)},
                          {"upper": (2, 2, 2), "periodic": (True, False, False), "tilt": (1, 0, 0)}):
                with self.assertRaises(graft.Error):
                    coulomb.set_box(**wrong)

    def test_every_layout_gives_the_same_bits(self):
        x, m = cloud()
        wide = numpy.zeros((len(m), 5))
        wide[:, 1:4], wide[:, 4] = x, m
        record = numpy.zeros(len(m), [("id", "i4"), ("pad", "i4"), ("x", "f8", 3), ("m", "f8")])
        record["x"], record["m"] = x, m
        out = numpy.zeros((len(m), 6))
        with context() as gravity:
            expected = gravity.compute(x, m).acceleration
            gravity.compute(wide[:, 1:4], wide[:, 4], acceleration=out[:, ::2])
            for position, mass in ((numpy.asfortranarray(x), m), (tuple(x.T), m), (record["x"], record["m"]),
                                   (x.T.copy().T, m), (OnDevice(x), OnDevice(m)), (OnDevice(wide[:, 1:4]), m)):
                numpy.testing.assert_array_equal(gravity.compute(position, mass).acceleration, expected)
        numpy.testing.assert_array_equal(out[:, ::2], expected)
        self.assertFalse(out[:, 1::2].any())

    def test_float32_active_target_add_and_force(self):
        x, m = cloud()
        with context() as gravity:
            full = gravity.compute(x, m).acceleration
            mask = numpy.arange(len(m)) % 3 == 0
            some = gravity.compute(x, m, active=mask).acceleration
            numpy.testing.assert_array_equal(some[mask], full[mask])
            self.assertFalse(some[~mask].any())
            listed = gravity.compute(x, m, target_index=numpy.array([4, 2])).acceleration
            numpy.testing.assert_array_equal(listed[[4, 2]], full[[4, 2]])
            self.added_to_one_array_only(gravity, full)
            numpy.testing.assert_allclose(gravity.compute(x, m, force=True).acceleration, m[:, None] * full, rtol=1e-14)
            single = gravity.compute(x.astype("f4"), m.astype("f4"), acceleration=numpy.zeros((len(m), 3), "f4")).acceleration
        self.assertLess(abs(single - full).max(), 1e-5 * abs(full).max())

    def added_to_one_array_only(self, gravity, full):
        x, m = cloud()
        phi = gravity.compute(x, m, acceleration=False, potential=True).potential
        twice, over, energy, axes = full.copy(), numpy.full(len(m), 7.0), numpy.array([2.0]), list(full.T.copy())
        found = gravity.compute(x, m, acceleration=graft.add(twice), potential=over, energy=graft.add(energy))
        numpy.testing.assert_array_equal(twice, 2 * full)
        numpy.testing.assert_array_equal(over, phi)
        self.assertIs(found.acceleration, twice)
        self.assertAlmostEqual(energy[0], 2 + 0.5 * (m * phi).sum(), delta=1e-12)
        gravity.compute(x, m, acceleration=(axes[0], graft.add(axes[1]), axes[2]))
        numpy.testing.assert_array_equal(numpy.transpose(axes), full * (1, 2, 1))
        gravity.compute(x, m, acceleration=graft.add(axes))
        numpy.testing.assert_array_equal(numpy.transpose(axes), full * (2, 3, 2))
        gravity.field_at(x, m, x, acceleration=graft.add(twice))
        numpy.testing.assert_allclose(twice, 3 * full, rtol=1e-12)

    def test_field_at_points_and_softening_per_particle(self):
        x, m = cloud()
        points = numpy.random.default_rng(3).standard_normal((40, 3))
        a, phi = direct(x, m, points)
        with context() as gravity:
            found = gravity.field_at(x, m, points, potential=True)
            lengths = numpy.full(len(m), SOFTENING * 2**0.5)  # a pair has (h_i^2 + h_j^2) / 2, and points have none
            individual = gravity.field_at(x, m, points, softening=lengths).acceleration
            self.assertGreater(gravity.query("time_s.total"), 0)
            self.assertEqual(gravity.figures()["method"], "direct")
        numpy.testing.assert_allclose(found.acceleration, a, rtol=0, atol=1e-12 * abs(a).max())
        numpy.testing.assert_allclose(found.potential, phi, rtol=1e-12)
        numpy.testing.assert_allclose(individual, a, rtol=0, atol=1e-12 * abs(a).max())


class Orbits(unittest.TestCase):
    def test_leapfrog_keeps_the_energy(self):
        """A cloud of 4,000 bodies near balance by tree: as all pairs do to 1e-5; and what the module costs a call."""
        changes = {}
        for name, deck in (("direct", {}), ("tree", {"method": "tree", "precision": "mixed", "order": 3, "mac.accuracy": 0.0003})):
            (x, m), step = cloud(4000), 0.02
            v = 0.35 * numpy.random.default_rng(8).standard_normal(x.shape)
            with context(**deck) as gravity, context() as pairs:
                def energy(x=x, v=v, m=m, pairs=pairs): # x and v move in place
                    return 0.5 * (m * (v**2).sum(1)).sum() + pairs.compute(x, m, energy=True).energy
                a, wall, within = gravity.compute(x, m).acceleration, 0, 0
                before = energy()
                for _ in range(50):
                    v += 0.5 * step * a
                    x += step * v
                    begin = time.perf_counter()
                    gravity.compute(x, m, acceleration=a)
                    wall, within = wall + time.perf_counter() - begin, within + gravity.query("time_s.total")
                    v += 0.5 * step * a
                changes[name] = energy() / before - 1
            print(f"leapfrog, 4000 bodies, 50 steps, {name}: energy changed by {changes[name]:.2e}; of a call {within / wall:.2%} in Graft")
            self.assertTrue(0.5 < within / wall <= 1, within / wall)
        self.assertLess(abs(changes["tree"] - changes["direct"]), 1e-5)


class Refusals(unittest.TestCase):
    def refused(self, status, text, call, *arguments, **keywords):
        with self.assertRaisesRegex(graft.Error, text) as caught:
            call(*arguments, **keywords)
        self.assertEqual(caught.exception.status, status)

    def test_wrong_arrays_are_named_and_nothing_is_written(self):
        x, m = cloud(10)
        out = numpy.full((10, 3), 7.0)
        fixed = numpy.zeros((10, 3))
        fixed.flags.writeable = False
        with context() as gravity:
            self.refused(Status.ARRAY, "charge has shape", gravity.compute, x, m[:5])
            self.refused(Status.ARRAY, "int64", gravity.compute, x.astype("i8"), m)
            self.refused(Status.ARRAY, "byte order", gravity.compute, x.astype(">f8"), m)
            self.refused(Status.ARRAY, "strides", gravity.compute, x[::-1], m)
            self.refused(Status.ARRAY, "a list", gravity.compute, [[0, 0, 0]], 1.0)
            self.refused(Status.ARRAY, "acceleration.*read-only|acceleration.*READ_ONLY", gravity.compute, x, m, acceleration=fixed)
            self.refused(Status.ARRAY, "acceleration", gravity.compute, x, m, acceleration=graft.add(fixed))
            x.flags.writeable = False
            self.assertTrue(gravity.compute(x, m).acceleration.any())
            x.flags.writeable = True
            one_row = numpy.lib.stride_tricks.as_strided(out, (10, 3), (0, 8))
            self.refused(Status.ARRAY, "strides", gravity.compute, x, m, acceleration=one_row)
            x[3, 1] = numpy.nan
            self.refused(Status.VALUE, "item 3", gravity.compute, x, m, acceleration=out)
        self.assertTrue((out == 7).all())

    def test_options_and_libraries(self):
        self.refused(Status.DECK_KEY, "mac.theta", graft.Context, {"mac.theat": 0.5})
        self.refused(Status.LOAD_NOT_FOUND, "/nowhere/libgraft.so.1", graft.Context, library="/nowhere/libgraft.so.1")
        self.refused(Status.LOAD_FOREIGN, "not Graft", graft.Context, library="libm.so.6")

    def test_no_charge_is_not_a_charge_of_zero(self):
        with context() as gravity:
            self.refused(Status.ARGUMENT, "charge", gravity.compute, cloud(10)[0], 0.0)

    def test_close_twice_and_an_empty_set(self):
        gravity = context()
        self.assertEqual(gravity.compute(numpy.zeros((0, 3)), numpy.zeros(0)).acceleration.shape, (0, 3))
        gravity.close()
        gravity.close()


if __name__ == "__main__":
    unittest.main()
