#!/usr/bin/env python3
"""Energy drift of rigid SPC/E water in NVE with Graft's electrostatics beside OpenMM's PME, from the same state.

usage: drift.py FOLDER_OF_MODULE [--cells 6] [--steps 10000] [--every 10] [--deck YAML] [--tolerance 1e-5] [--platform CPU] [--json]
                [--most RATIO] [--difference ENERGY]

Both runs have the same Lennard-Jones force, constraints (to 1e-9) and step (1 fs). Reported of each: the drift (slope of a straight
line through the total energy) in kJ/mol/ns a degree of freedom and in k_B T / ns, its standard error, the rms of the rest, ms a step;
and the largest difference of the two energies while the two trajectories are one, the first 0.1 ps. With --most the program fails
where Graft's drift is more than RATIO times that of PME and not explained by the standard errors (2 of them); with --difference where that difference
is larger (kJ/mol), which shows much smaller errors of the force than the drift of a short run does.
The folder adapters/openmm/python must be beside this one: the water is that of water.py.
"""
import argparse
import copy
import json
import math
import os
import sys
import time

import openmm as mm
from openmm import unit

parser = argparse.ArgumentParser()
parser.add_argument("module")
parser.add_argument("--cells", type=int, default=6)
parser.add_argument("--steps", type=int, default=10000)
parser.add_argument("--every", type=int, default=10)
parser.add_argument("--deck", default="")
parser.add_argument("--tolerance", type=float, default=1e-5, help="of PME")
parser.add_argument("--platform", default="CPU")
parser.add_argument("--json", action="store_true")
parser.add_argument("--most", type=float, default=0)
parser.add_argument("--difference", type=float, default=math.inf)
options = parser.parse_args()
sys.path[:0] = [options.module, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../adapters/openmm/python")]
import graft_openmm  # noqa: E402
import water  # noqa: E402

STEP_PS = 0.001


def context_of(system):
    integrator = mm.VerletIntegrator(STEP_PS)
    integrator.setConstraintTolerance(1e-9)
    return mm.Context(system, integrator, mm.Platform.getPlatformByName(options.platform))


def prepared():
    """The System with PME, and an equilibrated state of it."""
    system, nonbonded, positions = water.water(options.cells)
    nonbonded.setEwaldErrorTolerance(options.tolerance)
    nonbonded.setUseSwitchingFunction(True)
    nonbonded.setSwitchingDistance(0.85 * nonbonded.getCutoffDistance())
    integrator = mm.LangevinMiddleIntegrator(300, 10, 0.001)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName(options.platform))
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context, 100, 100)
    context.setVelocitiesToTemperature(300, 7)
    integrator.setRandomNumberSeed(7)
    integrator.step(max(200, min(2000, options.steps)))
    return system, context.getState(getPositions=True, getVelocities=True)


def energies(system, state):
    """Total energies every so many steps, and ms a step."""
    context = context_of(system)
    context.setPositions(state.getPositions())
    context.setVelocities(state.getVelocities())
    found, wall = [], 0
    for _ in range(options.steps // options.every):
        begin = time.perf_counter()
        context.getIntegrator().step(options.every)
        wall += time.perf_counter() - begin
        now = context.getState(getEnergy=True)
        found.append((now.getPotentialEnergy() + now.getKineticEnergy()).value_in_unit(unit.kilojoule_per_mole))
    return found, 1000 * wall / options.steps


def line(values):
    """Slope per sample, its standard error (samples taken as independent), and the rms about the line."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    spread = sum((i - middle)**2 for i in range(n))
    slope = sum((i - middle) * (v - mean) for i, v in enumerate(values)) / spread
    rest = math.sqrt(sum((v - mean - slope * (i - middle))**2 for i, v in enumerate(values)) / max(1, n - 2))
    return slope, rest / math.sqrt(spread), rest


def main():
    system, state = prepared()
    ours = copy.deepcopy(system)
    force = graft_openmm.GraftForce()
    force.moveElectrostatics(ours.getForce(0))
    force.setDeck(options.deck)
    ours.addForce(force)
    freedom = system.getNumParticles() * 3 - system.getNumConstraints()
    report = {"openmm": mm.version.version, "platform": options.platform, "particles": system.getNumParticles(),
              "steps": options.steps, "step_ps": STEP_PS, "deck": options.deck}
    samples = {}
    for name, one in (("graft", ours), ("pme", system)):
        samples[name], ms = energies(one, state)
        per_ns = 1 / (options.every * STEP_PS * 1e-3)
        slope, error, rest = line(samples[name])
        report[name] = {"drift_kJ_per_mol_ns_dof": slope * per_ns / freedom, "standard_error": error * per_ns / freedom,
                        "drift_kT_per_ns_dof": slope * per_ns / freedom / 2.494, "rms_kJ_per_mol": rest, "ms_per_step": ms}
    together = max(2, min(len(samples["pme"]), int(0.1 / STEP_PS / options.every)))
    offset = samples["graft"][0] - samples["pme"][0]
    report["difference_kJ_per_mol_first_0.1_ps"] = max(
        abs(a - b - offset) for a, b in zip(samples["graft"][:together], samples["pme"][:together]))
    graft, pme = report["graft"], report["pme"]
    difference = report["difference_kJ_per_mol_first_0.1_ps"]
    report["ratio"] = abs(graft["drift_kJ_per_mol_ns_dof"]) / abs(pme["drift_kJ_per_mol_ns_dof"])
    print(json.dumps(report, indent=None if options.json else 2))
    slack = 2 * (graft["standard_error"] + options.most * pme["standard_error"])
    if options.most and abs(graft["drift_kJ_per_mol_ns_dof"]) > options.most * abs(pme["drift_kJ_per_mol_ns_dof"]) + slack:
        sys.exit(f"drift.py: Graft's energy drifts {report['ratio']:.2f} times as much as PME's; expected at most {options.most}")
    if difference > options.difference:
        sys.exit(f"drift.py: the energies part by {difference:.3g} kJ/mol in 0.1 ps; expected at most {options.difference}")


main()
