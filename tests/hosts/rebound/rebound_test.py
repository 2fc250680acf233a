#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""REBOUND (the real one, from PyPI) with Graft's gravity against its own. usage: rebound_test.py [TestCase[.test]...]
       rebound_test.py drift BODIES STEPS      energies of a larger disc (docs/user/hosts.md), beside all pairs and REBOUND's own tree

REBOUND's own sums are REB_GRAVITY_BASIC, in double precision; the disc is compared with sums made here by numpy.
"""
import ctypes
import itertools
import math
import os
import sys
import time
import unittest

import numpy
import rebound
from disc import disc
from graft_rebound import Gravity, _host, _load

TREE = "method: tree\nprecision: mixed\norder: 3\nmac: {accuracy: 0.0003}"


def planets(count=6, integrator="leapfrog"):
    """A star and `count` - 1 planets, nothing on a plane or a circle."""
    sim = rebound.Simulation()
    sim.add(m=1)
    for i in range(1, count):
        sim.add(m=1e-3 / i, a=0.6 + 0.5 * i, e=0.05 * i, inc=0.03 * i, omega=i, f=2 * i)
    sim.move_to_com()
    sim.integrator = integrator
    sim.dt = 0.02
    return sim


def positions(sim):
    xyz = numpy.zeros((sim.N, 3))
    sim.serialize_particle_data(xyz=xyz)
    return xyz


def accelerations(sim):
    rebound.clibrebound.reb_simulation_update_acceleration(ctypes.byref(sim))
    return numpy.array([[p.ax, p.ay, p.az] for p in sim.particles])


def direct(xyz, mass, softening, targets):
    """The field at some particles, summed without Graft and without REBOUND."""
    field = numpy.zeros((len(targets), 3))
    for k, i in enumerate(targets):
        away = xyz - xyz[i]
        square = (away ** 2).sum(axis=1) + softening ** 2
        square[i] = 1
        field[k] = (mass / (square * numpy.sqrt(square))) @ away
    return field


class Pairs(unittest.TestCase):
    """Which pairs are summed: every combination of what REBOUND's basic gravity distinguishes."""

    def test_every_combination(self):
        unsummed = 0
        for ignore, active, kind, softening, central in itertools.product(
                (0, 1, 2), (None, 4, 2, 1, 0), (0, 1), (0, 0.3), (False, True)):
            sim = planets(9)
            sim.G, sim.softening, sim.testparticle_type = 2.5, softening, kind
            sim.testparticle_hidewarnings = 1
            if active is not None:
                sim.N_active = active
            sim.gravity_ignore = ignore
            expected = accelerations(sim)
            for p in sim.particles: # what is not overwritten must not pass
                p.ax = p.ay = p.az = 7
            gravity = Gravity(sim, central=central)
            got = accelerations(sim)
            self.assertEqual(gravity.figures.evaluations, 1)
            scale = numpy.abs(expected).max(axis=1, keepdims=True)
            unsummed += int((scale == 0).sum())
            error = numpy.abs(got - expected) / numpy.where(scale > 0, scale, 1)
            self.assertLess(error.max(), 2e-13, (ignore, active, kind, softening, central, got, expected))
        self.assertGreater(unsummed, 0)

    def test_one_and_no_particle(self):
        sim = rebound.Simulation()
        Gravity(sim)
        self.assertEqual(len(accelerations(sim)), 0)
        sim.add(m=1, x=3)
        self.assertEqual(accelerations(sim).tolist(), [[0, 0, 0]])

    def test_constant_and_softening_may_change(self):
        sim, own = planets(), planets()
        Gravity(sim)
        for constant, softening in ((1, 0), (3, 0), (3, 0.5), (1, 0), (0, 0)):
            for s in (sim, own):
                s.G, s.softening = constant, softening
            numpy.testing.assert_allclose(accelerations(sim), accelerations(own), rtol=1e-12, atol=1e-15)

    def test_additional_forces_are_added_once(self):
        sim, own = planets(), planets()
        for s in (sim, own):
            def push(simulation):
                simulation.contents.particles[2].az += 0.25
            s.additional_forces = push
        Gravity(sim)
        numpy.testing.assert_allclose(accelerations(sim), accelerations(own), rtol=1e-12)


class Orbits(unittest.TestCase):
    """Whole integrations: REBOUND's own gravity and Graft's all pairs give the same orbits."""

    def test_ias15_three_bodies(self):
        sims = [planets(3, "ias15") for _ in range(2)]
        gravity = Gravity(sims[0])
        for sim in sims:
            sim.integrate(100)
        difference = numpy.abs(positions(sims[0]) - positions(sims[1])).max()
        print(f"ias15, three bodies, t = 100: positions differ by {difference:.1e}; {gravity.figures.evaluations} evaluations")
        self.assertLess(difference, 1e-12)
        self.assertGreater(gravity.figures.evaluations, 1000)

    def test_other_integrators(self):
        cases = [("leapfrog", {}), ("bs", {}), ("janus", {}), ("saba", {}), ("whfast", {"coordinates": "jacobi"}),
                 ("whfast", {"coordinates": "democraticheliocentric"}), ("whfast", {"coordinates": "whds"}),
                 ("whfast", {"coordinates": "barycentric"}), ("whfast", {"coordinates": "jacobi", "kernel": "composition"}),
                 ("whfast", {"coordinates": "jacobi", "corrector": 17})]
        for (name, settings), central in itertools.product(cases, (False, True)):
            sims = [planets(6, name) for _ in range(2)]
            for sim in sims:
                for key, value in settings.items():
                    setattr(sim.integrator, key, value)
            gravity = Gravity(sims[0], central=central)
            for sim in sims:
                sim.exact_finish_time = 0
                sim.integrate(5)
            with self.subTest(integrator=name, central=central, **settings):
                self.assertGreaterEqual(gravity.figures.evaluations, 100)
                self.assertEqual(sims[0].t, sims[1].t)
                self.assertLess(numpy.abs(positions(sims[0]) - positions(sims[1])).max(), 1e-10)


class Refusals(unittest.TestCase):
    def refused(self, sim, words, **how):
        with self.assertRaisesRegex(RuntimeError, words):
            Gravity(sim, **how)
        self.assertEqual(sim.gravity, "basic") # and the host goes on as it was

    def test_integrators_with_gravity_of_their_own(self):
        for name in ("mercurius", "trace", "eos", "whfast512"):
            self.refused(planets(integrator=name), name)
        sim = planets(integrator="whfast")
        sim.integrator.kernel = "lazy"
        self.refused(sim, "kernels modifiedkick and lazy")
        sim = planets(integrator="saba")
        sim.integrator.type = "cm_1"
        self.refused(sim, "correctors")

    def test_variational_particles(self):
        sim = planets()
        sim.add_variation()
        self.refused(sim, "variational particles")

    def test_ghost_boxes(self):
        sim = planets()
        sim.N_ghost_x = 1
        self.refused(sim, "ghost boxes")

    def test_decks(self):
        self.refused(planets(), "softening.*REBOUND's", text="softening: {kind: plummer, length: 0.1}")
        self.refused(planets(), "REBOUND's", text="constant: 4")
        self.refused(planets(), "theat.*theta", text="mac: {theat: 0.5}")
        self.refused(planets(), "nowhere.yaml", deck="nowhere.yaml")

    def test_another_rebound(self):
        sim, library, why, handle = planets(), _load(), ctypes.create_string_buffer(999), ctypes.c_void_p()
        host = _host()
        host.simulation_bytes += 8
        host.version = b"9.9.9"
        status = library.graft_rebound_attach(ctypes.byref(handle), ctypes.addressof(sim), host, None, None, 0, why, 999)
        self.assertEqual(status, 105)
        self.assertRegex(why.value.decode(), r"9\.9\.9.*824 bytes.*816")
        self.assertIsNone(handle.value)

    def test_twice(self):
        sim = planets()
        first = Gravity(sim)
        with self.assertRaisesRegex(RuntimeError, "already"):
            Gravity(sim)
        first.detach()
        first.detach()
        Gravity(sim)

    def test_what_changes_after_attach(self):
        for words, change in (("integrator mercurius", lambda s: setattr(s, "integrator", "mercurius")),
                              ("integrator trace", lambda s: setattr(s, "integrator", "trace")),
                              ("ghost boxes", lambda s: setattr(s, "N_ghost_x", 1)),
                              ("variational", lambda s: s.add_variation())):
            sim = planets()
            gravity = Gravity(sim)
            sim.integrate(1)
            change(sim)
            with self.assertRaisesRegex(RuntimeError, "Graft: .*" + words):
                sim.integrate(2)
            self.assertIn(words, gravity.error)

    def test_a_bad_value_stops_and_can_be_repaired(self):
        sim = planets()
        Gravity(sim)
        sim.integrate(1)
        x = sim.particles[3].x
        sim.particles[3].x = math.nan
        with self.assertRaisesRegex(RuntimeError, "Graft: .*particle"):
            sim.integrate(2)
        self.assertLess(sim.t, 1.1)
        sim.particles[3].x = x
        sim.integrate(2)
        self.assertEqual(sim.t, 2)

    def test_detach_gives_back(self):
        sim, own, beats = planets(), planets(), []
        sim.heartbeat = lambda simulation: beats.append(1)
        gravity = Gravity(sim)
        self.assertEqual(sim.gravity, "custom")
        sim.integrate(1)
        self.assertGreater(len(beats), 10)
        gravity.detach()
        self.assertEqual(sim.gravity, "basic")
        self.assertEqual(accelerations(sim).shape, (6, 3))
        beat = len(beats)
        sim.integrate(2)
        own.integrate(1)
        own.integrate(2)
        self.assertGreater(len(beats), beat + 10)
        numpy.testing.assert_allclose(positions(sim), positions(own), rtol=1e-11, atol=1e-12)


    def test_copies_are_attached_themselves(self):
        sim = planets()
        Gravity(sim)
        copy = sim.copy()
        gravity = Gravity(copy)
        for s in (sim, copy):
            s.integrate(1)
        self.assertEqual(positions(sim).tolist(), positions(copy).tolist())
        gravity.detach()
        self.assertEqual(copy.gravity, "basic") # not "custom" without a function, which would end the process
        copy.integrate(2)

    def test_views_are_refused(self):
        sim, refused = planets(), []

        def attach(simulation):
            try:
                Gravity(simulation.contents)
            except RuntimeError as error:
                refused.append(str(error))
        sim.heartbeat = attach
        sim.integrate(0.1)
        self.assertIn("view of a simulation", refused[0])


class Disc(unittest.TestCase):
    """Many bodies and the tree."""

    def test_forces_of_100000(self):
        """As leapfrog asks for them, and as WHFast does (jacobi leaves out a pair, democraticheliocentric the star)."""
        sim = disc(100000)
        xyz, mass = positions(sim), numpy.array([p.m for p in sim.particles])
        targets = numpy.random.default_rng(2).choice(numpy.arange(1, sim.N), 300, replace=False)
        without = mass.copy()
        without[0] = 0
        for central, ignore, sources in ((False, 0, mass), (True, 0, mass), (False, 1, mass), (False, 2, without)):
            sim.gravity_ignore = ignore
            gravity = Gravity(sim, text=TREE, central=central)
            got = accelerations(sim)[targets]
            figures = gravity.figures
            gravity.detach()
            expected = direct(xyz, sources, sim.softening, targets)
            error = numpy.sort(numpy.linalg.norm(got - expected, axis=1) / numpy.linalg.norm(expected, axis=1))
            print(f"100,000 bodies, ignore {ignore}, central {central}: error median {error[150]:.1e}, p99 {error[297]:.1e}; "
                  f"Graft {figures.graft_time_s / figures.time_s:.1%} of the adapter's time")
            self.assertLess(error[297], 1e-3 if ignore != 2 else 3e-3)
            if central or ignore == 1: # the star's pull is exact, the disc's is 5 % of it
                self.assertLess(error[297], 1e-4)

    def test_energy(self):
        """What the integrator leaves is that of all pairs; what the tree adds is less than what REBOUND's own tree does."""
        for integrator, settings in INTEGRATORS:
            ours, basic = (change(4000, 40, integrator, settings, gravity) for gravity in (TREE, "basic"))
            print(f"4000 bodies, {integrator}, 40 steps: energy changed by {ours:.2e}, with basic gravity {basic:.2e}")
            self.assertLess(abs(ours - basic), 1e-7)
            if integrator == "leapfrog":
                theirs = change(4000, 40, integrator, settings, "tree")
                print(f"  with REBOUND's tree {theirs:.2e}")
                self.assertLess(abs(ours - basic), 0.5 * abs(theirs - basic))


INTEGRATORS = (("leapfrog", {}), ("whfast", {"coordinates": "democraticheliocentric"}))
ALL_PAIRS = "method: direct\nprecision: fp64"
AT_START = {}  # energies of discs, by their bodies


def energy(sim):
    """With the softening, which REBOUND's own energy leaves out: by numpy, or, of many bodies, by Graft's sum over all pairs."""
    xyz, speed, mass = positions(sim), numpy.zeros((sim.N, 3)), numpy.array([p.m for p in sim.particles])
    sim.serialize_particle_data(vxvyvz=speed)
    kinetic = 0.5 * (mass * (speed**2).sum(axis=1)).sum()
    if sim.N > 20000:
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../adapters/python"))
        import graft
        deck = {"method": "direct", "precision": "fp64", "constant": sim.G, "softening.kind": "plummer", "softening.length": sim.softening}
        with graft.Context(deck) as pairs:
            return kinetic + pairs.compute(xyz, mass, energy=True).energy
    potential = 0
    for i in range(sim.N - 1):
        square = ((xyz[i + 1:] - xyz[i])**2).sum(axis=1) + sim.softening**2
        potential -= sim.G * mass[i] * (mass[i + 1:] / numpy.sqrt(square)).sum()
    return kinetic + potential


def change(bodies, steps, integrator, settings, gravity):
    """Relative change of a disc's energy over some steps with a deck of Graft's or a gravity of REBOUND's."""
    sim = disc(bodies)
    sim.root_size = 20
    sim.integrator = integrator
    sim.dt = 0.01
    for key, value in settings.items():
        setattr(sim.integrator, key, value)
    if bodies not in AT_START:
        AT_START[bodies] = energy(sim)
    graft = Gravity(sim, text=gravity, central=True) if ":" in gravity else None
    if graft is None:
        sim.gravity = gravity
    begin = time.process_time()
    sim.steps(steps)
    sim.synchronize()
    print(f"  {(time.process_time() - begin) / steps:.3f} s of the processor a step", end="")
    if graft is not None:
        figures = graft.figures
        assert figures.evaluations >= steps, figures.evaluations
        print(f", {figures.time_s / figures.evaluations:.3f} s an evaluation, {figures.graft_time_s / figures.time_s:.2%} of it in Graft", end="")
    print(flush=True)
    return energy(sim) / AT_START[bodies] - 1


def drift(bodies, steps):
    """REBOUND's tree opens a cell where its edge over the distance exceeds 0.5, and knows its mass only: order 1 of Graft at the same
    opening. With WHFast it counts the star twice (it reads no gravity_ignore): all pairs are what is left to compare with."""
    same = "method: tree\nmac: {type: edge, theta: 0.5}\norder: "
    for integrator, settings in INTEGRATORS:
        for gravity in [ALL_PAIRS, TREE, same + "1", same + "2"] + (["tree"] if integrator == "leapfrog" else []):
            found = change(bodies, steps, integrator, settings, gravity)
            print(integrator, gravity.replace("\n", ", "), f"{found:.3e}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["drift"]:
        drift(int(sys.argv[2]), int(sys.argv[3]))
    else:
        unittest.main(verbosity=2)
