#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A star with a self-gravitating disc, integrated by REBOUND with Graft's tree: python3 disc.py [BODIES] [STEPS]

Needs the modules rebound and numpy, and graft_rebound.py beside this file (README.md).
"""
import sys

import numpy
import rebound
from graft_rebound import Gravity


def disc(bodies, mass=0.05, inner=0.5, outer=2.0, thickness=0.02, seed=1):
    """A star of mass 1 at the centre and `bodies` equal ones on circular orbits, surface density falling as 1/radius."""
    random = numpy.random.default_rng(seed)
    radius = inner + (outer - inner) * random.random(bodies)
    angle = 2 * numpy.pi * random.random(bodies)
    height = thickness * radius * random.standard_normal(bodies)
    speed = numpy.sqrt((1 + mass * (radius - inner) / (outer - inner)) / radius)
    xyz = numpy.zeros((bodies + 1, 3))
    velocity = numpy.zeros((bodies + 1, 3))
    xyz[1:] = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), height], axis=1)
    velocity[1:] = numpy.stack([-speed * numpy.sin(angle), speed * numpy.cos(angle), 0 * angle], axis=1)
    m = numpy.full(bodies + 1, mass / bodies)
    m[0] = 1
    sim = rebound.Simulation()
    for _ in range(bodies + 1):
        sim.add(m=0)
    sim.set_serialized_particle_data(m=m, xyz=xyz, vxvyvz=velocity)
    sim.softening = 0.01
    sim.move_to_com()
    return sim


def main(bodies=20000, steps=20):
    sim = disc(bodies)
    sim.integrator = "leapfrog"
    sim.dt = 0.01
    gravity = Gravity(sim, text="method: tree\nprecision: mixed\nmac: {accuracy: 0.001}", central=True)
    momentum = sim.angular_momentum()[2]
    sim.steps(steps)
    change, figures = sim.angular_momentum()[2] / momentum - 1, gravity.figures
    print(f"{bodies} bodies, {steps} steps to t = {sim.t:.2f}: angular momentum changed by {change:.1e}; "
          f"{figures.time_s / figures.evaluations:.3f} s an evaluation, "
          f"{figures.graft_time_s / figures.time_s:.1%} of it in Graft")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
