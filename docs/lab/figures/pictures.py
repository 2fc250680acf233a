#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what Graft does, computed by it: domains.png, merger.gif (five minutes on two cores).

usage: pictures.py {domains|merger} GRAFT_COMMAND [--out FILE]

Needs NumPy, Matplotlib (domains) and Pillow (merger), and the package graft on PYTHONPATH.
domains: a disc galaxy in 64 parts of equal numbers, and of equal work, where a particle's work is its number of steps, as the
square root of its acceleration. Colours: work of a part over the mean.
merger: two disc galaxies of 60,000 particles each meet on a parabola and merge (model units: G = 1, a disc has mass and scale 1).
"""
import argparse
import csv
import os
import subprocess
import tempfile

import graft
import numpy

SOFTENED = {"constant": 1, "softening.kind": "plummer", "softening.length": 0.05}


def galaxy(command, n, seed):
    """Positions, velocities, masses, and which particles are stars (of disc and bulge)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "galaxy.csv")
        subprocess.run([command, "ic", "galaxy", "--n", str(n), "--seed", str(seed), "-o", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    columns = {name: numpy.array([float(row[name]) for row in rows]) for name in ("x", "y", "z", "vx", "vy", "vz", "mass")}
    return (numpy.stack([columns[name] for name in ("x", "y", "z")], 1), numpy.stack([columns[name] for name in ("vx", "vy", "vz")], 1),
            columns["mass"], numpy.array([row["component"] != "halo" for row in rows]))


def domains(command, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    x, _, mass, stars = galaxy(command, 200000, 1)
    flat = x * [1, 1, 0]
    with graft.Context(SOFTENED) as gravity:
        steps = numpy.sqrt(numpy.linalg.norm(gravity.compute(x, mass).acceleration, axis=1))
    flat, steps = flat[stars], steps[stars]
    figure, axes = plot.subplots(1, 2, figsize=(10.4, 5), sharex=True, sharey=True, layout="constrained")
    for side, cost, title in zip(axes, (None, steps), ("equal numbers", "equal work")):
        with graft.Context({"decompose.parts": 64}) as context:
            parts = context.decompose(flat, cost=cost)
        load = numpy.bincount(parts.owner, steps, 64)
        load /= load.mean()
        shown = numpy.random.default_rng(1).permutation(len(flat))[:40000]
        picture = side.scatter(flat[shown, 0], flat[shown, 1], s=0.8, linewidths=0, c=load[parts.owner[shown]], cmap="turbo",
                               norm=matplotlib.colors.LogNorm(0.33, 3))
        for box in parts.boxes:
            side.add_patch(plot.Rectangle(box[:2], *(box[3:5] - box[:2]), fill=False, linewidth=0.6, edgecolor="0.25"))
        side.set(xlim=(-4, 4), ylim=(-4, 4), aspect="equal", title=f"{title}\nslowest part: {load.max():.2f} of the mean")
        side.set_xlabel("x, scale lengths of the disc")
    axes[0].set_ylabel("y")
    bar = figure.colorbar(picture, ax=axes, label="work of a part over the mean", ticks=[0.33, 0.5, 1, 2, 3], format="%g", shrink=0.8)
    bar.minorticks_off()
    figure.savefig(out, dpi=110)


def merger(command, out, n=60000, frames=56, step=0.05, between=18):
    from PIL import Image

    x, v, mass, stars = (numpy.concatenate(both) for both in zip(galaxy(command, n, 1), galaxy(command, n, 2)))
    second = numpy.arange(2 * n) >= n
    tilt = numpy.radians(60)
    turn = numpy.array([[1, 0, 0], [0, numpy.cos(tilt), -numpy.sin(tilt)], [0, numpy.sin(tilt), numpy.cos(tilt)]])
    x[second], v[second] = x[second] @ turn.T, v[second] @ turn.T
    apart, speed = numpy.array([9.0, 2.5, 0]), numpy.array([-0.55, 0.02, 0])
    x += numpy.where(second[:, None], apart, -apart)
    v += numpy.where(second[:, None], speed, -speed)
    pictures = []
    with graft.Context(SOFTENED | {"mac.accuracy": 3e-3}) as gravity:
        a = gravity.compute(x, mass).acceleration
        for _ in range(frames):
            pictures.append(Image.fromarray(shades(x[stars], second[stars])).quantize(48, dither=Image.Dither.NONE))
            for _ in range(between):
                v += 0.5 * step * a
                x += step * v
                gravity.compute(x, mass, acceleration=a)
                v += 0.5 * step * a
    pictures[0].save(out, save_all=True, append_images=pictures[1:], duration=90, loop=0, optimize=True)


def shades(x, second, size=(400, 250), across=26.0):
    """Stars of the first galaxy in blue, of the second in orange, on black, by the logarithm of their number."""
    image = numpy.zeros((size[1], size[0], 3))
    for these, colour in ((~second, (90, 160, 255)), (second, (255, 160, 70))):
        count = numpy.histogram2d(x[these, 1], x[these, 0], bins=size[::-1],
                                  range=[[-0.5 * across * size[1] / size[0], 0.5 * across * size[1] / size[0]], [-0.5 * across, 0.5 * across]])[0]
        for axis in (0, 1): # a little out of focus
            count = 0.25 * numpy.roll(count, 1, axis) + 0.5 * count + 0.25 * numpy.roll(count, -1, axis)
        image += numpy.log1p(4 * count)[::-1, :, None] / numpy.log1p(120) * numpy.array(colour)
    return numpy.minimum(image, 255).astype(numpy.uint8)


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("picture", choices=("domains", "merger"))
    words.add_argument("command", metavar="GRAFT_COMMAND")
    words.add_argument("--out")
    given = words.parse_args()
    where = os.path.dirname(os.path.abspath(__file__))
    {"domains": domains, "merger": merger}[given.picture](
        given.command, given.out or os.path.join(where, {"domains": "domains.png", "merger": "merger.gif"}[given.picture]))
