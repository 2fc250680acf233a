#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Graft's periodic Coulomb forces beside OpenMM's PME steps on one GPU, in one process, at the same measured force error.

usage: beside_openmm.py [--cells 14,28,46,100] [--tolerance 2e-4,4e-5,5e-6] [--steps 200] [--rounds 3] [--json FILE]

Needs an NVIDIA GPU, `pip install numpy openmm openmm-cuda-13` (or -12), libgraft with libgraft_cuda (GRAFT_LIBRARY) and the package
graft (PYTHONPATH). Charges +1 and -1 about the places of a rock-salt lattice of so many cells an edge, 100 a nm^3, as of a hot
melt; mixed precision, arrays on the device.

OpenMM: whole steps of point charges (PME with a cut-off of 1 nm, its neighbour list, integration), by a slope between two numbers of steps.
The particles hardly move, so the list is seldom made anew. Graft: forces of positions that change from call to call (two
sets by turns). Both are timed by turns, the median of the rounds is shown. The error is rms over rms of 1,000 forces, against Graft's sums of
these particles in double with ewald.accuracy 1e-10; in the smallest box they are compared with OpenMM's Ewald sum (1e-9, Reference) first.
For each error of PME Graft takes the fastest of several ewald.accuracy whose own error is not larger.
"""
import argparse
import ctypes
import json
import statistics
import time

import graft
import numpy
import openmm as mm
from graft.arrays import Views
from graft.structs import FORCE
from openmm import unit

SPACING = 100.0**(-1 / 3) # nm
CONSTANT = 138.93545764438198 # kJ mol^-1 nm e^-2
ACCURACIES = [2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6]


class DeviceArray:
    """Doubles in the GPU's memory, as packages describe them to each other."""

    def __init__(self, runtime, values):
        self.runtime, self.shape = runtime, values.shape
        self.pointer = ctypes.c_void_p()
        self.check(runtime.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(values.nbytes)))
        self.check(runtime.cudaMemcpy(self.pointer, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), 1))

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<f8", "data": (self.pointer.value, False), "version": 3}

    def fetch(self):
        values = numpy.empty(self.shape)
        self.check(self.runtime.cudaMemcpy(values.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(values.nbytes), 2))
        return values

    @staticmethod
    def check(status):
        if status != 0:
            raise SystemExit(f"beside_openmm.py: CUDA's error {status}")


def cuda_runtime():
    for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so", "/usr/local/cuda/lib64/libcudart.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise SystemExit("beside_openmm.py: no libcudart.so; expected CUDA's libraries on LD_LIBRARY_PATH")


def openmm_context(place, charge, edge, method, tolerance, platform):
    system, force = mm.System(), mm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*(edge if i == j else 0 for j in range(3))) for i in range(3)))
    for q in charge:
        system.addParticle(1e9) # they stay where they are
        force.addParticle(q, 1, 0)
    force.setNonbondedMethod(method)
    force.setCutoffDistance(min(1.0, 0.49 * edge))
    force.setEwaldErrorTolerance(tolerance)
    system.addForce(force)
    properties = {"Precision": "mixed"} if platform == "CUDA" else {}
    context = mm.Context(system, mm.VerletIntegrator(1e-6), mm.Platform.getPlatformByName(platform), properties)
    context.setPositions(place)
    return context


def openmm_forces(context):
    state = context.getState(getForces=True)
    return state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)


def step_ms(context, steps):
    def run(count):
        begin = time.perf_counter()
        context.getIntegrator().step(count)
        context.getState(getPositions=True)
        return time.perf_counter() - begin
    run(steps // 4)
    return 1000 * (run(steps + steps // 4) - run(steps // 4)) / steps


class GraftSum:
    """A context, and calls whose arrays have been described before: what a host in C does."""

    def __init__(self, edge, accuracy, precision):
        box = {"box.periodic": "xyz", "box.x": edge, "box.y": edge, "box.z": edge}
        self.context = graft.Context({"interaction": "coulomb", "constant": CONSTANT, "backend": "gpu", "precision": precision,
                                      "ewald.accuracy": accuracy, **box})

    def forces(self, place, charge, out):
        self.context.compute(place, charge, acceleration=out, force=True)

    def call_ms(self, places, charge, out, calls):
        context, keep, described = self.context, Views(None), []
        for place in places:
            particles, wanted = context._problem(keep, place, charge, None, None, None, (out, False, False, False), FORCE)
            described.append((ctypes.byref(particles), ctypes.byref(wanted.results), particles, wanted))

        def run(count):
            begin = time.perf_counter()
            for k in range(count):
                particles, results, _, _ = described[k % 2]
                context._check(context.api.compute(context._context, particles, results))
            return time.perf_counter() - begin
        run(calls // 4 + 2)
        return 1000 * run(calls) / calls


def rms_error(forces, right):
    return float(numpy.sqrt(((forces - right)**2).sum() / (right**2).sum()))


def some_forces(n):
    return numpy.sort(numpy.random.default_rng(1).choice(n, min(n, 1000), replace=False)).astype(numpy.int32)


def beside(cells, options, runtime):
    n, edge = cells**3, cells * SPACING
    random = numpy.random.default_rng(7)
    lattice = numpy.stack(numpy.meshgrid(*[numpy.arange(cells)] * 3), axis=-1).reshape(n, 3)
    place = (lattice + random.uniform(-0.3, 0.3, (n, 3))) * SPACING % edge
    charge = numpy.where(lattice.sum(axis=1) % 2 == 0, 1.0, -1.0)
    chosen = some_forces(n)
    moved = place + random.normal(0, 1e-4, (n, 3))
    places, on_device = [DeviceArray(runtime, at) for at in (place, moved)], DeviceArray(runtime, charge)
    out = DeviceArray(runtime, numpy.zeros((n, 3)))
    exact = GraftSum(edge, 1e-10, "fp64")
    exact.forces(places[0], on_device, out)
    right = out.fetch()[chosen]
    if cells == min(options.cells):
        ewald = openmm_forces(openmm_context(place, charge, edge, mm.NonbondedForce.Ewald, 1e-9, "Reference"))[chosen]
        print(f"{n}: the reference beside OpenMM's Ewald sum (1e-9): {rms_error(right, ewald):.1e}", flush=True)
    ours = {}
    for accuracy in ACCURACIES:
        sums = GraftSum(edge, accuracy, "mixed")
        sums.forces(places[0], on_device, out)
        ours[accuracy] = (rms_error(out.fetch()[chosen], right), sums)
    rows = []
    for tolerance in options.tolerance:
        context = openmm_context(place, charge, edge, mm.NonbondedForce.PME, tolerance, "CUDA")
        error = rms_error(openmm_forces(context)[chosen], right)
        fitting = [accuracy for accuracy in ACCURACIES if ours[accuracy][0] <= error]
        row = {"n": n, "tolerance": tolerance, "pme_error": error}
        if fitting:
            calls = max(10, options.steps * 3000 // max(n, 3000))
            quick = {a: ours[a][1].call_ms(places, on_device, out, calls) for a in fitting[:3]}
            best = min(quick, key=quick.get)
            pme, own = [], []
            for _ in range(options.rounds):
                pme.append(step_ms(context, max(20, options.steps * 30000 // max(n, 30000))))
                own.append(ours[best][1].call_ms(places, on_device, out, calls))
            row.update(pme_ms=statistics.median(pme), graft_ms=statistics.median(own), graft_error=ours[best][0], accuracy=best)
            row["ratio"] = row["graft_ms"] / row["pme_ms"]
        else:
            row["why"] = f"no ewald.accuracy of {ACCURACIES[-1]:g} and above reaches PME's error"
        rows.append(row)
        print(json.dumps(row), flush=True)
        del context
    return rows


def numbers(kind):
    return lambda text: [kind(float(word)) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--cells", type=numbers(int), default=[14, 28, 46, 100])
    parser.add_argument("--tolerance", type=numbers(float), default=[2e-4, 4e-5, 5e-6])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    if any(cells < 4 or cells % 2 != 0 for cells in options.cells):
        parser.error("--cells: expected even numbers from 4 on, as charges alternate")
    runtime = cuda_runtime()
    print(f"OpenMM {mm.version.version}, Graft {graft.__version__}", flush=True)
    rows = [row for cells in options.cells for row in beside(cells, options, runtime)]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    print(f"\n{'n':>8} {'PME: error':>11} {'ms':>8}   {'Graft: error':>12} {'ms':>8} {'ratio':>6}")
    for row in rows:
        if "ratio" in row:
            print(f"{row['n']:8d} {row['pme_error']:11.1e} {row['pme_ms']:8.3f}   {row['graft_error']:12.1e} {row['graft_ms']:8.3f} "
                  f"{row['ratio']:6.2f}")


if __name__ == "__main__":
    main()
