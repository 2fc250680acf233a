# SPDX-License-Identifier: BSD-3-Clause
"""The adapter's numbers without AMUSE: fields against sums in NumPy, leapfrog, numbering of particles, and a bridge that makes
AMUSE's calls in AMUSE's order (kick half, drift, kick, ...) on two engines."""
import time
import unittest

import numpy

import graft
import graft_engine


class Holder:
    value = None


def asked(engine, name, *given, results):
    """Calls the engine as the worker does: outputs are holders."""
    holders = [Holder() for _ in range(results)]
    if getattr(engine, name)(*given, *holders) != 0:
        raise AssertionError(name)
    values = [holder.value for holder in holders]
    return values[0] if results == 1 else values


def plummer(n, seed, scale=1.0):
    """Plummer's sphere of mass and virial energy 1 and -1/4 (Aarseth, Henon & Wielen 1974), without its last hundredth of mass."""
    random = numpy.random.default_rng(seed)

    def directions(count):
        d = random.standard_normal((count, 3))
        return d / numpy.linalg.norm(d, axis=1)[:, None]

    r = (random.uniform(0, 0.99, n) ** (-2 / 3) - 1) ** -0.5
    q = numpy.zeros(n)
    while (q == 0).any():
        tried, height = random.uniform(0, 1, n), random.uniform(0, 0.1, n)
        q = numpy.where((q == 0) & (height < tried**2 * (1 - tried**2) ** 3.5), tried, q)
    v = q * numpy.sqrt(2) * (1 + r**2) ** -0.25
    length = 3 * numpy.pi / 16 * scale
    return r[:, None] * directions(n) * length, v[:, None] * directions(n) / numpy.sqrt(length), numpy.full(n, 1 / n)


def direct(x, m, points, eps2):
    """eps2: a number, or one a point."""
    d = x[None] - points[:, None]
    s = (d**2).sum(-1) + numpy.broadcast_to(eps2, len(points))[:, None]
    return ((m / s**1.5)[..., None] * d).sum(1), -(m / s**0.5).sum(1)


def engine_of(x, v, m, eps=0.05, accuracy=1e-4):
    engine = graft_engine.GraftEngine()
    engine.set_eps2(eps**2)
    engine.set_accuracy(accuracy)
    engine.commit_parameters()
    numbers = Holder()
    engine.new_particle(numbers, m, *x.T, *v.T)
    engine.commit_particles()
    return engine, numbers.value


class Fields(unittest.TestCase):
    def test_points_with_and_without_lengths_of_their_own(self):
        x, v, m = plummer(1500, 1)
        engine, _ = engine_of(x, v, m)
        points = numpy.random.default_rng(2).standard_normal((60, 3))
        for eps in (numpy.zeros(60), numpy.full(60, 0.2), numpy.linspace(0, 0.5, 60)):
            a, phi = direct(x, m, points, 0.05**2 + eps**2)
            found = numpy.column_stack(asked(engine, "get_gravity_at_point", eps, *points.T, results=3))
            errors = numpy.linalg.norm(found - a, axis=1) / numpy.linalg.norm(a, axis=1)
            self.assertLess(errors.max(), 1e-3)
            numpy.testing.assert_allclose(asked(engine, "get_potential_at_point", eps, *points.T, results=1), phi, rtol=3e-4)

    def test_accelerations_potentials_and_energies(self):
        x, v, m = plummer(1500, 1)
        engine, numbers = engine_of(x, v, m)
        a, phi = direct(x, m, x, 0.05**2)
        phi += m / 0.05
        found = numpy.column_stack(asked(engine, "get_acceleration", numbers, results=3))
        self.assertLess(numpy.sqrt(((found - a) ** 2).sum() / (a**2).sum()), 3e-4)
        numpy.testing.assert_allclose(asked(engine, "get_potential", numbers, results=1), phi, rtol=1e-3)
        self.assertAlmostEqual(asked(engine, "get_potential_energy", results=1), 0.5 * (m * phi).sum(), delta=1e-5)
        self.assertAlmostEqual(asked(engine, "get_kinetic_energy", results=1), 0.5 * (m[:, None] * v**2).sum(), delta=1e-12)


class Particles(unittest.TestCase):
    def test_numbers_stay_when_others_go(self):
        x, v, m = plummer(20, 3)
        engine, numbers = engine_of(x, v, m)
        engine.delete_particle(numbers[[3, 0]])
        state = numpy.array(asked(engine, "get_state", numbers[[19, 4]], results=8))
        numpy.testing.assert_array_equal(state[1:4].T, x[[19, 4]])
        later = Holder()
        engine.new_particle(later, [1.0], [9.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.5])
        self.assertEqual(list(later.value), [20])
        with self.assertRaisesRegex(ValueError, "particle 3 is not"):
            asked(engine, "get_mass", numbers[[3]], results=1)
        self.assertEqual(asked(engine, "get_number_of_particles", results=1), 19)
        self.assertEqual(asked(engine, "get_index_of_first_particle", results=1), 1)
        self.assertEqual(asked(engine, "get_index_of_next_particle", 2, results=1), 4)

    def test_moved_particles_get_new_forces(self):
        engine, numbers = engine_of(numpy.array([[0.0, 0, 0], [1.0, 0, 0]]), numpy.zeros((2, 3)), numpy.ones(2), eps=0.0)
        self.assertAlmostEqual(asked(engine, "get_acceleration", numbers, results=3)[0][0], 1.0, places=6)
        engine.set_position(numbers[1:], [2.0], [0.0], [0.0])
        self.assertAlmostEqual(asked(engine, "get_acceleration", numbers, results=3)[0][0], 0.25, places=6)

    def test_bad_values_name_themselves(self):
        x, v, m = plummer(20, 3)
        engine, _ = engine_of(x, v, m)
        with self.assertRaisesRegex(ValueError, "timestep"):
            engine.set_time_step(0.0)
        with self.assertRaisesRegex(ValueError, "accuracy is -1"):
            engine.set_accuracy(-1.0)
        for call in (engine.evolve_model, engine.set_begin_time):
            with self.assertRaisesRegex(ValueError, "nan; a time was expected"):
                call(numpy.nan)
        engine.set_position(numpy.array([5]), [numpy.nan], [0.0], [0.0])
        with self.assertRaisesRegex(graft.Error, "item 5"):
            engine.evolve_model(1.0)


class Evolution(unittest.TestCase):
    def test_a_step_that_fails_is_taken_back(self):
        x, v, m = plummer(20, 3)
        engine, _ = engine_of(x, v, m)
        engine.set_time_step(0.125)
        engine.evolve_model(0.25)
        field, calls = engine.field.at_particles, []

        def fails_once(*given, **wanted):
            calls.append(1)
            if len(calls) == 3:
                raise ValueError("no forces today")
            return field(*given, **wanted)
        engine.field.at_particles = fails_once
        with self.assertRaisesRegex(ValueError, "today"):
            engine.evolve_model(1.0)
        self.assertEqual(asked(engine, "get_time", results=1), 0.5)
        engine.evolve_model(1.0)
        straight, _ = engine_of(x, v, m)
        straight.set_time_step(0.125)
        straight.evolve_model(1.0)
        self.assertLess(numpy.abs(engine.position - straight.position).max(), 1e-12)
        self.assertLess(numpy.abs(engine.velocity - straight.velocity).max(), 1e-12)

    def test_two_bodies_on_a_circle_there_and_back(self):
        x = numpy.array([[-0.5, 0, 0], [0.5, 0, 0]])
        engine, _ = engine_of(x, numpy.array([[0, -0.5, 0], [0, 0.5, 0]]), numpy.full(2, 0.5), eps=0.0)
        engine.set_time_step(2 * numpy.pi / 2000)
        engine.evolve_model(numpy.pi)
        self.assertLess(abs(engine.position + x).max(), 1e-4)
        engine.evolve_model(0.0)
        self.assertLess(abs(engine.position - x).max(), 1e-5)  # leapfrog runs back, to the forces' rounding

    def test_energy_of_a_cluster(self):
        engine, _ = engine_of(*plummer(1000, 5))

        def energy():
            return sum(asked(engine, f"get_{kind}_energy", results=1) for kind in ("kinetic", "potential"))

        begin = energy()
        engine.evolve_model(1.0)
        drift = abs(energy() / begin - 1)
        print(f"cluster of 1000, t = 1, 100 steps: energy off by {drift:.2e}")
        self.assertLess(drift, 1e-4)


    def test_share_of_graft_in_a_step(self):
        engine, _ = engine_of(*plummer(20000, 6), accuracy=1e-3)
        engine.evolve_model(0.01)  # opens, and computes the first forces
        begin = time.perf_counter()
        engine.evolve_model(0.02)
        spent = time.perf_counter() - begin
        share = engine.field.context.query("time_s.total") / spent
        print(f"20000 particles: time in Graft / time in evolve_model of one step {share:.2f}")
        self.assertLess(share, 1)


class System:
    """What a Bridge sees: a code, and the codes that kick it."""

    def __init__(self, engine, numbers, partners):
        self.engine, self.numbers, self.partners = engine, numbers, partners

    def kick(self, dt):
        x = asked(self.engine, "get_position", self.numbers, results=3)
        v = numpy.array(asked(self.engine, "get_velocity", self.numbers, results=3))
        for partner in self.partners:
            v += dt * numpy.array(asked(partner, "get_gravity_at_point", numpy.zeros(len(x[0])), *x, results=3))
        self.engine.set_velocity(self.numbers, *v)


class Direct:
    """A partner that sums: its source is another engine's particles."""

    def __init__(self, engine):
        self.engine = engine

    def get_gravity_at_point(self, eps, x, y, z, ax, ay, az):
        a, _ = direct(self.engine.position, self.engine.mass, numpy.column_stack((x, y, z)), self.engine.eps2 + eps**2)
        ax.value, ay.value, az.value = a.T
        return 0


class Bridge(unittest.TestCase):
    def run_bridge(self, partner_of):
        """A cluster of a thousandth of the galaxy's mass on a circle in it."""
        galaxy, galaxy_numbers = engine_of(*plummer(2000, 8), eps=0.1)
        x, v, m = plummer(200, 9)
        x, v, m = 0.05 * x + [1.2, 0, 0], v * (0.001 / 0.05) ** 0.5 + [0, 0.75, 0], 0.001 * m
        cluster, cluster_numbers = engine_of(x, v, m, eps=0.01)
        systems = [System(galaxy, galaxy_numbers, [partner_of(cluster)]), System(cluster, cluster_numbers, [partner_of(galaxy)])]
        steps, dt = 20, 0.02
        for step in range(steps):
            for system in systems:
                system.kick(0.5 * dt if step == 0 else dt)
            for system in systems:
                system.engine.evolve_model((step + 1) * dt)
        for system in systems:
            system.kick(0.5 * dt)
        return cluster, galaxy

    def test_a_cluster_in_a_galaxy_moves_as_with_direct_sums(self):
        ours, _ = self.run_bridge(lambda engine: engine)
        theirs, _ = self.run_bridge(Direct)
        off = abs(ours.position - theirs.position).max()
        print(f"cluster in a galaxy, 20 bridge steps: positions differ by {off:.2e} of {abs(ours.position).max():.2f}")
        self.assertLess(off, 2e-4)
        self.assertGreater(abs(ours.position.mean(axis=0) - [1.2, 0, 0]).max(), 0.1)


if __name__ == "__main__":
    unittest.main()
