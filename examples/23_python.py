# SPDX-License-Identifier: BSD-3-Clause
"""The smallest Python host: NumPy arrays where they lie, options by key, forces and energy of a homogeneous ball against the
formulas: acceleration / radius = -1, energy = -3/5 for mass 1 and radius 1."""
import sys

import graft
import numpy

n = 20000
random = numpy.random.default_rng(1)
direction = random.standard_normal((n, 3))
direction /= numpy.linalg.norm(direction, axis=1)[:, None]
x = direction * random.random((n, 1)) ** (1 / 3)
v = numpy.zeros_like(x)

with graft.Context({"mac.accuracy": 0.001, "softening.kind": "plummer", "softening.length": 0.02}) as gravity:
    found = gravity.compute(x, 1.0 / n, energy=True)  # a mass for all, or an array
    inward = -(found.acceleration * x).sum() / (x * x).sum()
    dt = 0.01
    for _ in range(10):  # it falls together: kick, drift, kick, into the same array
        v += 0.5 * dt * found.acceleration
        x += dt * v
        gravity.compute(x, 1.0 / n, acceleration=found.acceleration)
        v += 0.5 * dt * found.acceleration
    print(f"Graft {graft.__version__}: acceleration / radius {inward:.5f}, energy {found.energy:.5f} (-0.6 on paper)")
    radius = numpy.sqrt((x * x).sum() / (0.6 * n))
    print(f"after t = 0.1 the radius is {radius:.4f} (0.9950 on paper)")
    try:
        gravity.compute(x, numpy.ones(3))
    except graft.Error as error:
        print("as it should:", error)

right = abs(inward - 1) < 0.02 and abs(found.energy + 0.6) < 0.01 and abs(radius - 0.995) < 0.005
sys.exit(0 if right else "that is wrong")
