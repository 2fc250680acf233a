#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A box of rigid water with Graft's electrostatics, from Python: what there is to do beside usual OpenMM is marked (1) to (3).

usage: water.py [MOLECULES_ALONG_AN_EDGE] [STEPS] [PLATFORM]
Prints energies, temperature and the share of the time spent in Graft. Needs graft_openmm on the Python path (see README.md) and
GRAFT_LIBRARY, or an installed libgraft.so.1.
"""
import math
import sys
import time

import openmm as mm
from openmm import unit

import graft_openmm  # (1) makes GraftForce known to OpenMM

EDGE = 0.3104  # nm for each molecule of a liquid
BOND, ANGLE = 0.1, math.acos(-1 / 3)  # SPC/E (Berendsen 1987)


def water(cells):
    """A System of cells^3 SPC/E molecules with OpenMM's own NonbondedForce, and positions on a lattice."""
    system, nonbonded, positions = mm.System(), mm.NonbondedForce(), []
    system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*(cells * EDGE if i == j else 0 for j in range(3))) for i in range(3)))
    for molecule in range(cells**3):
        corner = mm.Vec3(molecule % cells, molecule // cells % cells, molecule // cells**2) * EDGE
        turn = 2.399963 * molecule  # the golden angle: no two neighbours point the same way
        for mass, charge, angle in ((15.9994, -0.8476, None), (1.008, 0.4238, turn), (1.008, 0.4238, turn + ANGLE)):
            system.addParticle(mass)
            nonbonded.addParticle(charge, 0.316557, 0.650194 if angle is None else 0)
            positions.append(corner if angle is None else corner + mm.Vec3(math.cos(angle), math.sin(angle), 0) * BOND)
        oxygen = 3 * molecule
        for first, second, length in ((0, 1, BOND), (0, 2, BOND), (1, 2, 2 * BOND * math.sin(ANGLE / 2))):
            system.addConstraint(oxygen + first, oxygen + second, length)
            nonbonded.addException(oxygen + first, oxygen + second, 0, 1, 0)
    nonbonded.setNonbondedMethod(nonbonded.PME)
    nonbonded.setCutoffDistance(min(0.9, 0.499 * cells * EDGE))
    system.addForce(nonbonded)
    return system, nonbonded, positions


def main(cells=6, steps=200, platform="CPU"):
    system, nonbonded, positions = water(cells)

    electrostatics = graft_openmm.GraftForce()
    electrostatics.moveElectrostatics(nonbonded)  # (2) charges and exclusions move over; Lennard-Jones stays
    electrostatics.setForceGroup(1)
    system.addForce(electrostatics)  # (3) the System owns it now

    integrator = mm.LangevinMiddleIntegrator(300 * unit.kelvin, 2 / unit.picosecond, 0.001 * unit.picoseconds)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName(platform))
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context, 100, 50)
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    before = [electrostatics.getFigure(context, "adapter." + key) for key in ("call_s", "graft_s")]
    begin = time.perf_counter()
    integrator.step(steps)
    wall = time.perf_counter() - begin
    call, graft = (electrostatics.getFigure(context, "adapter." + key) - old for key, old in zip(("call_s", "graft_s"), before))
    state = context.getState(getEnergy=True)
    electric = context.getState(getEnergy=True, groups={1}).getPotentialEnergy()
    freedom = 3 * system.getNumParticles() - system.getNumConstraints()
    kelvin = 2 * state.getKineticEnergy() / (freedom * unit.MOLAR_GAS_CONSTANT_R)
    print(f"{system.getNumParticles()} particles, {steps} steps: potential {state.getPotentialEnergy()}, of it electrostatic "
          f"{electric}; {kelvin.value_in_unit(unit.kelvin):.0f} K")
    print(f"{1000 * wall / steps:.2f} ms a step; {100 * call / wall:.0f} % in GraftForce, of which libgraft {100 * graft / call:.1f} %")
    return electric.value_in_unit(unit.kilojoule_per_mole) / cells**3


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, int, str), sys.argv[1:])))
