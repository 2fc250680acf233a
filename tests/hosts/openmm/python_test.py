#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python module graft_openmm: a user's calls, against NonbondedForce. usage: python_test.py FOLDER_OF_MODULE FOLDER_OF_PLUGIN"""
import copy
import random
import subprocess
import sys
import unittest

import openmm as mm
from openmm import unit

sys.path.insert(0, sys.argv.pop(1))
PLUGIN = sys.argv.pop(1)
import graft_openmm  # noqa: E402

EXACT = "{method: direct, precision: fp64}"


def cloud(count=60):
    """Positions at least 0.1 nm apart, charges, and a NonbondedForce of them with exceptions."""
    rng = random.Random(5)
    positions, force = [], mm.NonbondedForce()
    while len(positions) < count:
        at = mm.Vec3(*(rng.uniform(0, 1.5) for _ in range(3)))
        if all(sum((a - b)**2 for a, b in zip(at, other)) > 0.01 for other in positions):
            positions.append(at)
            force.addParticle(rng.uniform(-1, 1), 0.1, 0)
    for i in range(0, count - 2, 3):
        force.addException(i, i + 1, 0, 1, 0)
        force.addException(i, i + 2, 0.3, 1, 0)
    return positions, force


def context_of(positions, *forces, platform="Reference"):
    system = mm.System()
    for _ in positions:
        system.addParticle(1)
    for force in forces:
        system.addForce(force)
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName(platform))
    context.setPositions(positions)
    return context


def energy_and_force(context, particle=7):
    state = context.getState(getEnergy=True, getForces=True)
    return (state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
            state.getForces()[particle].value_in_unit(unit.kilojoule_per_mole / unit.nanometer))


class GraftForce(unittest.TestCase):
    def setUp(self):
        self.positions, self.theirs = cloud()
        self.expected = energy_and_force(context_of(self.positions, copy.deepcopy(self.theirs)))
        self.force = graft_openmm.GraftForce()
        self.force.moveElectrostatics(self.theirs)
        self.force.setDeck(EXACT)

    def agree(self, context):
        energy, force = energy_and_force(context)
        self.assertAlmostEqual(energy / self.expected[0], 1, delta=1e-12)
        for found, right in zip(force, self.expected[1]):
            self.assertAlmostEqual(found, right, delta=1e-9 * max(1, abs(right)))

    def test_a_system_takes_it_and_forces_are_right_on_both_platforms(self):
        for platform in ("Reference", "CPU"):
            self.agree(context_of(self.positions, copy.deepcopy(self.force), platform=platform))

    def test_what_is_left_in_the_nonbonded_force_is_nothing(self):
        self.assertEqual(energy_and_force(context_of(self.positions, self.theirs))[0], 0)

    def test_without_a_platform_named_one_is_found(self):
        system = mm.System()
        for _ in self.positions:
            system.addParticle(1)
        system.addForce(copy.deepcopy(self.force))
        context = mm.Context(system, mm.VerletIntegrator(0.001))
        context.setPositions(self.positions)
        self.agree(context)

    def test_xml_and_the_way_back_from_a_system(self):
        context = context_of(self.positions, self.force)
        system = mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(context.getSystem()))
        self.assertTrue(graft_openmm.GraftForce.isinstance(system.getForce(0)))
        self.assertFalse(graft_openmm.GraftForce.isinstance(mm.HarmonicBondForce()))
        force = graft_openmm.GraftForce.cast(system.getForce(0))
        self.assertEqual(force.getDeck(), EXACT)
        self.assertEqual(force.getExceptionParameters(1), [0, 2, 0.3])
        self.agree(context_of(self.positions, copy.deepcopy(force)))

    def test_a_program_that_only_loads_the_plugin_reads_it_from_xml(self):
        context = context_of(self.positions, self.force)  # keeps the System
        xml = mm.XmlSerializer.serialize(context.getSystem())
        program = f"""if True:
            import sys, openmm as mm
            assert len(mm.Platform.loadPluginsFromDirectory({PLUGIN!r})) == 1, mm.Platform.getPluginLoadFailures()
            system = mm.XmlSerializer.deserialize(sys.stdin.read())
            context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("CPU"))
            context.setPositions({[tuple(at) for at in self.positions]})
            print(context.getState(getEnergy=True).getPotentialEnergy()._value)"""
        done = subprocess.run([sys.executable, "-c", program], input=xml, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(float(done.stdout) / self.expected[0], 1, delta=1e-12)

    def test_updates_units_and_figures(self):
        force = graft_openmm.GraftForce()
        force.setDeck(EXACT)
        for i in range(2):
            self.assertEqual(force.addParticle(1 * unit.elementary_charge), i)
        context = context_of([mm.Vec3(0, 0, 0), mm.Vec3(0.5, 0, 0)], force)
        self.assertAlmostEqual(energy_and_force(context, 1)[0], 2 * 138.93545764, delta=1e-5)
        force.setParticleCharge(1, -2)
        force.updateParametersInContext(context)
        self.assertAlmostEqual(energy_and_force(context, 1)[0], -4 * 138.93545764, delta=1e-5)
        self.assertEqual(force.getFigure(context, "adapter.calls"), 2)
        self.assertIn("p2p", force.getReport(context))
        self.assertIn("cpu", force.getLog(context))

    def test_errors_are_openmm_exceptions(self):
        with self.assertRaisesRegex(mm.OpenMMException, "does not exist"):
            self.force.setParticleCharge(1000, 1)
        self.force.setDeck("mac.theat: 0.5")
        with self.assertRaisesRegex(mm.OpenMMException, "mac.theta"):
            context_of(self.positions, self.force)
        with self.assertRaises(TypeError):
            self.force.addParticle("much")


if __name__ == "__main__":
    unittest.main()
