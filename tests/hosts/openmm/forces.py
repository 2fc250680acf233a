#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forces and energy of Graft's electrostatics on about 3,000 atoms against OpenMM's Ewald sum (Reference platform, tolerance 1e-9), and
what the adapter costs a call: rigid SPC/E water, and a sodium chloride melt.

usage: forces.py FOLDER_OF_MODULE [--deck YAML] [--platform CPU] [--calls 20] [--most ERROR]

A JSON line for each system: rms force error over rms force, energy error over the energy, for comparison the same of PME (tolerance
1e-5, same platform), ms of the fastest call, time in Graft over time in the call. With --most the program fails above that force error.
"""
import argparse
import json
import os
import random
import sys
import time

import numpy
import openmm as mm
from openmm import unit

parser = argparse.ArgumentParser()
parser.add_argument("module")
parser.add_argument("--deck", default="")
parser.add_argument("--platform", default="CPU")
parser.add_argument("--calls", type=int, default=20)
parser.add_argument("--most", type=float, default=0)
options = parser.parse_args()
sys.path[:0] = [options.module, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../adapters/openmm/python")]
import graft_openmm  # noqa: E402
import water  # noqa: E402


def melt(cells):
    """Ions displaced from the rock-salt lattice at 1.5 g/cm^3; electrostatics only."""
    rng, edge = random.Random(2), 0.2959
    system, nonbonded, positions = mm.System(), mm.NonbondedForce(), []
    system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*(cells * edge if i == j else 0 for j in range(3))) for i in range(3)))
    for i in range(cells**3):
        at = [i % cells, i // cells % cells, i // cells**2]
        system.addParticle(30)
        nonbonded.addParticle(1 - 2 * (sum(at) % 2), 0.1, 0)
        positions.append(mm.Vec3(*(k * edge + rng.uniform(-0.04, 0.04) for k in at)))
    nonbonded.setCutoffDistance(0.9)
    system.addForce(nonbonded)
    return system, nonbonded, positions


def relaxed(system, nonbonded, positions):
    """Liquid rather than lattice: 200 steps of 1 fs with PME."""
    integrator = mm.LangevinMiddleIntegrator(300, 10, 0.001)
    nonbonded.setNonbondedMethod(nonbonded.PME)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CPU"))
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context, 100, 50)
    integrator.step(200)
    return context.getState(getPositions=True).getPositions()


def evaluate(system, force, positions, platform):
    """Forces and energy of one force alone, its Context, and the fastest call in ms."""
    alone = mm.System()
    alone.setDefaultPeriodicBoxVectors(*system.getDefaultPeriodicBoxVectors())
    for _ in range(system.getNumParticles()):
        alone.addParticle(1)
    alone.addForce(force)
    context = mm.Context(alone, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName(platform))
    context.setPositions(positions)
    fastest = 1e9
    for _ in range(1 if platform == "Reference" else options.calls):
        begin = time.perf_counter()
        state = context.getState(getForces=True)
        fastest = min(fastest, 1000 * (time.perf_counter() - begin))
    energy = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    forces = numpy.array(state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer))
    return forces, energy, context, fastest


def charges_only(nonbonded, method, tolerance):
    force = mm.NonbondedForce()
    for i in range(nonbonded.getNumParticles()):
        force.addParticle(nonbonded.getParticleParameters(i)[0], 0.1, 0)
    for i in range(nonbonded.getNumExceptions()):
        first, second, product, _, _ = nonbonded.getExceptionParameters(i)
        force.addException(first, second, product, 1, 0)
    force.setNonbondedMethod(method)
    force.setCutoffDistance(nonbonded.getCutoffDistance())
    force.setEwaldErrorTolerance(tolerance)
    return force


def compare(name, system, nonbonded, positions):
    right, energy, _, _ = evaluate(system, charges_only(nonbonded, nonbonded.Ewald, 1e-9), positions, "Reference")

    def errors(forces, found):
        return {"rms_force_error": float(numpy.sqrt(((forces - right)**2).sum() / (right**2).sum())),
                "energy_error": abs(found / energy - 1)}
    pme = evaluate(system, charges_only(nonbonded, nonbonded.PME, 1e-5), positions, options.platform)
    force = graft_openmm.GraftForce()
    force.moveElectrostatics(charges_only(nonbonded, nonbonded.PME, 1e-5))
    force.setDeck(options.deck)
    forces, found, context, fastest = evaluate(system, force, positions, options.platform)
    share = force.getFigure(context, "adapter.graft_s") / force.getFigure(context, "adapter.call_s")
    report = {"system": name, "particles": system.getNumParticles(), "openmm": mm.version.version, "platform": options.platform,
              "deck": options.deck, **errors(forces, found), "ms": fastest, "graft_over_call": share,
              "pme": {**errors(pme[0], pme[1]), "ms": pme[3]}}
    print(json.dumps(report), flush=True)
    return report["rms_force_error"]


water_box = water.water(10)
worst = max(compare("water", *water_box[:2], relaxed(*water_box)), compare("melt", *melt(14)))
if options.most and worst > options.most:
    sys.exit(f"forces.py: rms force error {worst:.2e} of the rms force; expected at most {options.most}")
