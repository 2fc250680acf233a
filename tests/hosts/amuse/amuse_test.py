# SPDX-License-Identifier: BSD-3-Clause
"""The real AMUSE: Graft's worker and field in its Bridge, in SI units, beside AMUSE's own direct sums."""
import time
import unittest

import numpy

from amuse.couple.bridge import Bridge, CalculateFieldForParticles
from amuse.ic.plummer import new_plummer_model
from amuse.support.exceptions import AmuseException
from amuse.units import constants, nbody_system, units

import graft_amuse

EPS = {"galaxy": 50 | units.parsec, "cluster": 1 | units.parsec}


def models():
    """A galaxy of 1e9 suns, and a cluster of 1e6 on an orbit in it; the same in each call."""
    numpy.random.seed(11)
    scales = {"galaxy": nbody_system.nbody_to_si(1e9 | units.MSun, 1 | units.kpc),
              "cluster": nbody_system.nbody_to_si(1e6 | units.MSun, 10 | units.parsec)}
    stars = {name: new_plummer_model(n, scales[name]) for name, n in (("galaxy", 3000), ("cluster", 40))}
    stars["cluster"].x += 1.2 | units.kpc
    stars["cluster"].vy += 50 | units.kms
    return scales, stars


def worker(name, scales, stars):
    code = graft_amuse.Graft(scales[name])
    code.parameters.epsilon_squared = EPS[name]**2
    code.parameters.timestep = 0.1 | units.Myr
    code.parameters.accuracy = 1e-4
    code.particles.add_particles(stars[name])
    return code


class OwnSum(CalculateFieldForParticles):
    """AMUSE's direct sum over a code's particles as they are now."""

    def __init__(self, code, eps):
        CalculateFieldForParticles.__init__(self, code.particles, gravity_constant=constants.G)
        self.smoothing_length_squared = eps**2


def relative(ours, theirs):
    """Root mean square of the difference, of that of theirs."""
    unit = theirs[0].unit
    a, b = (numpy.array([axis.value_in(unit) for axis in vector]) for vector in (ours, theirs))
    return numpy.sqrt(((a - b)**2).sum() / (b**2).sum())


class Fields(unittest.TestCase):
    def test_at_points_against_amuses_sum(self):
        scales, stars = models()
        code = worker("galaxy", scales, stars)
        field = graft_amuse.GraftField(stars["galaxy"], EPS["galaxy"], scales["galaxy"], options={"mac.accuracy": 1e-4})
        own = OwnSum(code, EPS["galaxy"])
        points = numpy.random.default_rng(4).standard_normal((3, 300)) | units.kpc
        for eps in (numpy.zeros(300) | units.kpc, numpy.linspace(0, 300, 300) | units.parsec):
            exact = own.get_gravity_at_point(eps, *points)
            for code_or_field in (code, field):
                error = relative(code_or_field.get_gravity_at_point(eps, *points), exact)
                print(f"field at points: error {error:.2e}")
                self.assertLess(error, 1e-3)
        none = numpy.zeros(300) | units.kpc
        exact = own.get_potential_at_point(none, *points)
        for code_or_field in (code, field):
            self.assertLess(relative([code_or_field.get_potential_at_point(none, *points)], [exact]), 1e-3)
        code.stop()
        field.stop()

    def test_share_of_graft_in_a_call(self):
        stars = new_plummer_model(20000)
        field = graft_amuse.GraftField(stars, 0.01 | nbody_system.length)
        for _ in range(2):
            begin = time.perf_counter()
            field.get_gravity_at_point(0 * stars.x, stars.x, stars.y, stars.z)
            spent = time.perf_counter() - begin
        share = field.field.context.query("time_s.total") / spent
        print(f"20000 points: time in Graft / time in GraftField.get_gravity_at_point {share:.2f}")
        self.assertLess(share, 1)
        field.stop()


class InABridge(unittest.TestCase):
    def run_bridge(self, partner_of, both_ways, time):
        """The cluster's positions, and how far the total energy is off."""
        scales, stars = models()
        codes = {name: worker(name, scales, stars) for name in stars}
        bridge = Bridge(timestep=1 | units.Myr, use_threading=False)
        bridge.add_system(codes["galaxy"], (codes["cluster"],) if both_ways else (), zero_smoothing=True)
        bridge.add_system(codes["cluster"], (partner_of(codes["galaxy"], EPS["galaxy"]),), zero_smoothing=True)
        begin = bridge.kinetic_energy + bridge.potential_energy if both_ways else 1
        bridge.evolve_model(time)
        drift = abs((bridge.kinetic_energy + bridge.potential_energy) / begin - 1) if both_ways else 0
        position = codes["cluster"].particles.position.value_in(units.parsec)
        self.assertAlmostEqual(bridge.model_time / time, 1, places=9)
        bridge.stop()
        return position, drift

    def test_a_cluster_in_a_galaxy_moves_as_with_amuses_sum(self):
        ours, _ = self.run_bridge(lambda code, eps: code, False, 3 | units.Myr)
        theirs, _ = self.run_bridge(OwnSum, False, 3 | units.Myr)
        off = numpy.sqrt(((ours - theirs)**2).sum(axis=1).mean())
        print(f"bridge, 3 steps: positions differ by {off:.2e} parsec")
        self.assertLess(off, 0.01)

    def test_energy_in_both_ways(self):
        _, drift = self.run_bridge(lambda code, eps: code, True, 10 | units.Myr)
        print(f"bridge, 10 steps: energy off by {drift:.2e}")
        self.assertLess(drift, 1e-4)  # the cluster's steps are two softening lengths long


class Worker(unittest.TestCase):
    def test_particles_come_go_and_are_refused_by_name(self):
        code = graft_amuse.Graft()
        two = new_plummer_model(10)
        code.particles.add_particles(two)
        code.particles.remove_particle(two[3])
        code.particles[0].mass = 2 | nbody_system.mass
        self.assertEqual(len(code.particles), 9)
        self.assertEqual(code.particles.mass[0], 2 | nbody_system.mass)
        self.assertAlmostEqual(code.get_total_mass().number, 2.8)
        code.evolve_model(0.1 | nbody_system.time)
        self.assertEqual(code.model_time, 0.1 | nbody_system.time)
        with self.assertRaisesRegex(AmuseException, "timestep"):
            code.parameters.timestep = -1 | nbody_system.time
        code.stop()

    def test_a_deck_and_what_is_wrong_with_it(self):
        code = graft_amuse.Graft()
        code.particles.add_particles(new_plummer_model(10))
        code.parameters.deck = "/nowhere.yaml"
        with self.assertRaisesRegex(AmuseException, "nowhere.yaml"):
            code.evolve_model(0.1 | nbody_system.time)
        code.stop()


if __name__ == "__main__":
    unittest.main()
