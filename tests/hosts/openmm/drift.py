#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Energy drift of rigid SPC/E water in NVE with Graft's electrostatics beside OpenMM's PME, from the same states.

usage: drift.py FOLDER_OF_MODULE [--cells 5] [--ps 4] [--starts 6] [--deck YAML] [--tolerance 1e-5] [--platform CPU] [--json]
                [--most RATIO] [--noise RATIO] [--difference ENERGY]

All runs have the same Lennard-Jones force, constraints (to 1e-9) and step (1 fs). What is measured is the energy that the steps keep,
not the sum that OpenMM reports, which swings with the step's square by a hundred times what an error of the force does:
    H + dt^2 (v.U''v / 12 - sum of m a^2 / 24),   v.U''v = -v.d(m a)/dt,
to the fourth power of the step (Hairer, Lubich, Wanner, Geometric Numerical Integration, IX.3; a with the constraints' forces, from
differences of velocities). Reported of Graft and PME: the drift (slope of a straight line through it) in kJ/mol/ns a degree of
freedom and in k_B T / ns, mean over the starts (2 ps apart in a thermostat); its standard error, from their scatter (one start: from the
scatter of ten blocks); the root of the starts' mean square, which is what a run's drift is, whatever its sign, and which decides where
both means are zero within their errors; the rms about the line; the same of the sum that OpenMM reports; ms of the processor a step.
Also the largest difference of the two energies while the two trajectories are one, the first 0.1 ps.
The program fails where a run's drift is more than --most times that of PME (one start: and not explained by 2 standard errors), the
rms about the line more than --noise times that of PME, or that difference larger than --difference (kJ/mol).
The folder adapters/openmm/python must be beside this one: the water is that of water.py.
"""
import argparse
import copy
import json
import math
import os
import sys
import time

import numpy
import openmm as mm

parser = argparse.ArgumentParser()
parser.add_argument("module")
parser.add_argument("--cells", type=int, default=5)
parser.add_argument("--ps", type=float, default=4)
parser.add_argument("--starts", type=int, default=6)
parser.add_argument("--deck", default="")
parser.add_argument("--tolerance", type=float, default=1e-5, help="of PME")
parser.add_argument("--platform", default="CPU")
parser.add_argument("--json", action="store_true")
parser.add_argument("--most", type=float, default=math.inf)
parser.add_argument("--noise", type=float, default=math.inf)
parser.add_argument("--difference", type=float, default=math.inf)
options = parser.parse_args()
sys.path[:0] = [options.module, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../adapters/openmm/python")]
import graft_openmm  # noqa: E402
import water  # noqa: E402

STEP_PS, EVERY = 0.001, 10
KT = 2.494  # kJ/mol at 300 K


def context_of(system, integrator):
    return mm.Context(system, integrator, mm.Platform.getPlatformByName(options.platform))


def prepared():
    """The System with PME, and equilibrated states of it."""
    system, nonbonded, positions = water.water(options.cells)
    nonbonded.setEwaldErrorTolerance(options.tolerance)
    nonbonded.setUseSwitchingFunction(True)
    nonbonded.setSwitchingDistance(0.85 * nonbonded.getCutoffDistance())
    integrator = mm.LangevinMiddleIntegrator(300, 5, 0.002)
    integrator.setRandomNumberSeed(7)
    context = context_of(system, integrator)
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context, 100, 100)
    context.setVelocitiesToTemperature(300, 7)
    integrator.step(max(200, min(2000, int(1000 * options.ps))))
    states = []
    for _ in range(options.starts):
        integrator.step(1000 if states else 1)
        states.append(context.getState(getPositions=True, getVelocities=True))
    return system, states


def sampled(context, mass):
    """EVERY steps; of the last but two: OpenMM's energy, and the one that the steps keep."""
    def speeds():
        state = context.getState(getVelocities=True, getEnergy=True)
        return state.getVelocities(asNumpy=True)._value, state
    integrator = context.getIntegrator()
    integrator.step(EVERY - 3)
    v = []  # of the middles between the steps
    for k in range(4):
        if k > 0:
            integrator.step(1)
        speed, state = speeds()
        v.append(speed)
        if k == 1:
            total = (state.getPotentialEnergy() + state.getKineticEnergy())._value
    at = (v[2] - v[1]) / STEP_PS
    change = ((v[3] - v[2]) - (v[1] - v[0])) / (2 * STEP_PS**2)
    along = -(mass * 0.5 * (v[1] + v[2]) * change).sum()
    return total, total + STEP_PS**2 * (along / 12 - (mass * at**2).sum() / 24)


def energies(system, state):
    """OpenMM's sums and the energies that are kept every EVERY steps, and ms of the processor a step."""
    integrator = mm.VerletIntegrator(STEP_PS)
    integrator.setConstraintTolerance(1e-9)
    context = context_of(system, integrator)
    context.setPositions(state.getPositions())
    context.setVelocities(state.getVelocities())
    mass = numpy.array([system.getParticleMass(i)._value for i in range(system.getNumParticles())])[:, None]
    blocks = round(options.ps / STEP_PS) // EVERY
    begin = time.process_time()
    found = numpy.array([sampled(context, mass) for _ in range(blocks)])
    return found[:, 0], found[:, 1], 1000 * (time.process_time() - begin) / blocks / EVERY


def line(values):
    """Slope a sample, its standard error from the scatter of ten blocks' means (which hardly know each other), rms about the line."""
    at = numpy.arange(len(values))
    slope, offset = numpy.polyfit(at, values, 1)
    rest = values - slope * at - offset
    blocks = [block.mean() for block in numpy.array_split(rest, 10)]
    return slope, math.sqrt(12 / 10) * numpy.std(blocks, ddof=2) / len(values), rest.std()


def summary(runs, freedom):
    """Mean over the starts, in kJ/mol/ns a degree of freedom."""
    per_ns = 1 / (EVERY * STEP_PS * 1e-3) / freedom
    slopes, errors, rests = numpy.array([line(run) for run in runs]).T
    error = slopes.std(ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else errors[0]
    return {"drift_kJ_per_mol_ns_dof": slopes.mean() * per_ns, "standard_error": error * per_ns,
            "drift_kT_per_ns_dof": slopes.mean() * per_ns / KT, "drift_of_a_run": math.sqrt((slopes**2).mean()) * per_ns,
            "rms_kJ_per_mol": math.sqrt((rests**2).mean())}


def main():
    system, states = prepared()
    ours = copy.deepcopy(system)
    force = graft_openmm.GraftForce()
    force.moveElectrostatics(ours.getForce(0))
    force.setDeck(options.deck)
    ours.addForce(force)
    freedom = system.getNumParticles() * 3 - system.getNumConstraints()
    report = {"openmm": mm.version.version, "platform": options.platform, "particles": system.getNumParticles(),
              "ps": options.ps, "starts": options.starts, "step_ps": STEP_PS, "deck": options.deck}
    runs = {name: [energies(one, state) for state in states] for name, one in (("graft", ours), ("pme", system))}
    for name, found in runs.items():
        report[name] = {**summary([run[1] for run in found], freedom),
                        "as_reported": summary([run[0] for run in found], freedom),
                        "cpu_ms_per_step": sum(run[2] for run in found) / len(found)}
    together = max(2, int(0.1 / STEP_PS / EVERY))
    apart = [(a[1] - b[1])[:together] for a, b in zip(runs["graft"], runs["pme"])]
    difference = report["difference_kJ_per_mol_first_0.1_ps"] = max(abs(d - d[0]).max() for d in apart)
    graft, pme = report["graft"], report["pme"]
    report["ratio"] = graft["drift_of_a_run"] / pme["drift_of_a_run"]
    report["noise_ratio"] = graft["rms_kJ_per_mol"] / pme["rms_kJ_per_mol"]
    print(json.dumps(report, indent=None if options.json else 2))
    slack = 0
    if options.starts == 1 and math.isfinite(options.most):
        slack = 2 * math.hypot(graft["standard_error"], options.most * pme["standard_error"])
    if graft["drift_of_a_run"] > options.most * pme["drift_of_a_run"] + slack:
        sys.exit(f"drift.py: Graft's energy drifts {report['ratio']:.2f} times as much as PME's; expected at most {options.most}")
    if report["noise_ratio"] > options.noise:
        sys.exit(f"drift.py: Graft's energy scatters {report['noise_ratio']:.2f} times as much as PME's; expected at most {options.noise}")
    if difference > options.difference:
        sys.exit(f"drift.py: the energies part by {difference:.3g} kJ/mol in 0.1 ps; expected at most {options.difference}")


main()
