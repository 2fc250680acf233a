# SPDX-License-Identifier: BSD-3-Clause
"""The real GADGET-4 with Graft: its source is patched and built as adapters/gadget4/README.md says, and run.

usage: gadget4_test.py {open|hierarchical|periodic|refused} GADGET4 ADAPTER PREFIX MPICXX MPIEXEC FOLDER

GADGET4 is a folder or an archive of its source, PREFIX an installed Graft. open: a Plummer sphere of two particle types with
softenings of their own; accelerations and potentials against a direct sum made here, on 1, 2 and 3 tasks; energy through
individual time steps; what happens where Graft cannot be had or the deck is wrong. hierarchical: the same sphere with
HIERARCHICAL_GRAVITY. periodic: a stretched box against an Ewald sum made here. refused: options that the adapter names.
"""
import array
import hashlib
import itertools
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import host_source  # noqa: E402

BODIES = 3000
SOFTENING = {1: 0.05, 2: 0.02}  # by particle type; GADGET-4's spline ends at 2.8 times this
ACCURACY = 1e-3  # ErrTolForceAcc, which is mac.accuracy where there is no deck
OPTIONS = ["SELFGRAVITY", "EVALPOTENTIAL", "DOUBLEPRECISION=1", "OUTPUT_ACCELERATION", "OUTPUT_POTENTIAL",
           "OUTPUT_IN_DOUBLEPRECISION", "GRAFT"]
BUILDS = {"open": [], "hierarchical": ["HIERARCHICAL_GRAVITY"], "periodic": ["PERIODIC", "LONG_X_BITS=1"]}
PARAMETERS = {
    "InitCondFile": "ic", "OutputDir": "output", "SnapshotFileBase": "snapshot", "OutputListFilename": "none", "ICFormat": 2,
    "SnapFormat": 2, "TimeLimitCPU": 10000, "CpuTimeBetRestartFile": 10000, "MaxMemSize": 200, "TimeBegin": 0, "TimeMax": 0.004,
    "ComovingIntegrationOn": 0, "Omega0": 0, "OmegaLambda": 0, "OmegaBaryon": 0, "HubbleParam": 1, "Hubble": 0, "BoxSize": 0,
    "OutputListOn": 0, "TimeBetSnapshot": 100, "TimeOfFirstSnapshot": 0, "TimeBetStatistics": 0.05, "NumFilesPerSnapshot": 1,
    "MaxFilesWithConcurrentIO": 1, "ErrTolIntAccuracy": 0.012, "CourantFac": 0.15, "MaxSizeTimestep": 0.001, "MinSizeTimestep": 0,
    "TypeOfOpeningCriterion": 1, "ErrTolTheta": 0.5, "ErrTolThetaMax": 0.9, "ErrTolForceAcc": ACCURACY, "TopNodeFactor": 2.5,
    "ActivePartFracForNewDomainDecomp": 0.01, "DesNumNgb": 64, "MaxNumNgbDeviation": 1, "UnitLength_in_cm": 1, "UnitMass_in_g": 1,
    "UnitVelocity_in_cm_per_s": 1, "GravityConstantInternal": 1, "ArtBulkViscConst": 1, "MinEgySpec": 0, "InitGasTemp": 0,
}


def expect(right, what):
    if not right:
        raise SystemExit(f"not so: {what}")


def patched(source, adapter, folder):
    host_source.patched(source, folder, adapter / "gadget4.patch", [adapter / "graft_gadget4.cc"], "src/gravity", "build", "Gadget4")


def make(gadget, folder, options, prefix, mpicxx, *targets):
    """make in the patched source, for the Config.sh of this folder. HDF5 stands elsewhere on Debian than on most systems, and
    Graft's libraries where the build's installation puts them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Config.sh").write_text("\n".join(options) + "\n", encoding="utf-8")
    libraries = next((place for place in pathlib.Path("/usr/lib").glob("*/hdf5/serial")), None)
    hdf5 = [f"HDF5_INCL={'-I/usr/include/hdf5/serial' if libraries else ''}",
            f"HDF5_LIBS={f'-L{libraries}' if libraries else ''} -lhdf5 -lz"]
    graft = next(prefix.rglob("libgraft_api.a"), None)
    expect(graft, f"libgraft_api.a somewhere below {prefix}")
    return subprocess.run(["make", "-j2", f"DIR={folder}", "PYTHON=python3", f"CPP={mpicxx} -std=c++11", f"GRAFT_DIR={prefix}",
                           *hdf5, *targets], cwd=gadget, env={**os.environ, "SYSTYPE": "Generic-gcc", "LIBRARY_PATH": str(graft.parent)},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def build(what, source, adapter, prefix, mpicxx, folder):
    """A patched and built GADGET-4; one that is there and of the same parts stays."""
    parts = hashlib.sha256(str((source, source.stat().st_mtime, prefix, mpicxx)).encode())
    for part in (adapter / "gadget4.patch", adapter / "graft_gadget4.cc", pathlib.Path(__file__)):
        parts.update(part.read_bytes())
    place = folder / f"gadget4_{what}"
    stamp, program = place / "stamp", place / "made/Gadget4"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == parts.hexdigest() and program.exists():
        return program
    stamp.unlink(missing_ok=True)
    patched(source, adapter, place / "source")
    done = make(place / "source", place / "made", OPTIONS + BUILDS[what], prefix, mpicxx)
    expect(done.returncode == 0, f"GADGET-4 with Graft compiles\n{done.stdout[-3000:]}")
    warned = re.findall(r"graft_gadget4\.cc.*warning.*", done.stdout)
    expect(not warned, f"the adapter compiles without warnings: {warned}")
    stamp.write_text(parts.hexdigest(), encoding="utf-8")
    return program


def write_ic(path, bodies, box=0.0):
    """Format 2 with the header that GADGET-4 has without GADGET2_HEADER. A body is (type, mass, position, velocity)."""
    bodies = sorted(bodies, key=lambda body: body[0])
    counts = [sum(body[0] == kind for body in bodies) for kind in range(6)]
    header = struct.pack("<6q6q6d3di4x2q", *counts, *counts, *[0.0] * 6, 0.0, 0.0, box, 1, 0, 0)
    blocks = [("HEAD", header), ("POS ", array.array("d", itertools.chain(*(body[2] for body in bodies))).tobytes()),
              ("VEL ", array.array("d", itertools.chain(*(body[3] for body in bodies))).tobytes()),
              ("ID  ", array.array("I", range(1, len(bodies) + 1)).tobytes()),
              ("MASS", array.array("d", (body[1] for body in bodies)).tobytes()),
              ("POT ", bytes(8 * len(bodies)))]  # OUTPUT_POTENTIAL: it reads what it would write
    with open(path, "wb") as file:
        for label, data in blocks:
            file.write(struct.pack("<i4sii", 8, label.encode(), len(data) + 8, 8))
            file.write(struct.pack("<i", len(data)) + data + struct.pack("<i", len(data)))
    return bodies


def read_snapshot(path):
    """Positions, accelerations and potentials by ID - 1."""
    blocks, data, at = {}, path.read_bytes(), 0
    while at < len(data):
        _, label, _, _ = struct.unpack_from("<i4sii", data, at)
        (size,) = struct.unpack_from("<i", data, at + 16)
        blocks[label.decode()] = data[at + 20:at + 20 + size]
        at += 24 + size
    order = [i for _, i in sorted((number, i) for i, number in enumerate(array.array("I", blocks["ID  "])))]
    rows = {}
    for label, width in (("POS ", 3), ("ACCE", 3), ("POT ", 1)):
        values = array.array("d", blocks[label])
        rows[label] = [tuple(values[width * i:width * i + width]) for i in order]
    return rows["POS "], rows["ACCE"], [row[0] for row in rows["POT "]]


def plummer(count, seed=1):
    """A Plummer sphere (G = M = a = 1) in equilibrium, without its outer 2 %; every second body of type 2."""
    dice, bodies = random.Random(seed), []

    def direction(length):
        z, turn = dice.uniform(-1, 1), dice.uniform(0, 2 * math.pi)
        flat = math.sqrt(1 - z * z)
        return (length * flat * math.cos(turn), length * flat * math.sin(turn), length * z)

    for i in range(count):
        radius = 1 / math.sqrt(dice.uniform(1e-4, 0.98) ** (-2 / 3) - 1)
        while True:  # von Neumann, for the speed in units of that of escape
            speed, height = dice.random(), dice.uniform(0, 0.1)
            if height < speed ** 2 * (1 - speed ** 2) ** 3.5:
                break
        bodies.append((1 + i % 2, 1 / count, direction(radius), direction(speed * math.sqrt(2) * (1 + radius ** 2) ** -0.25)))
    return bodies


def spline(distance, length):
    """Force over distance and potential of a unit mass, softened by the cubic spline of this support."""
    if distance >= length:
        return distance ** -3, -1 / distance
    u = distance / length
    if u < 0.5:
        return (32 / 3 + u * u * (32 * u - 38.4)) / length ** 3, (-2.8 + u * u * (16 / 3 + u * u * (6.4 * u - 9.6))) / length
    force = 64 / 3 - 48 * u + 38.4 * u * u - 32 / 3 * u ** 3 - 1 / (15 * u ** 3)
    return force / length ** 3, (-3.2 + 1 / (15 * u) + u * u * (32 / 3 + u * (-16 + u * (9.6 - 32 / 15 * u)))) / length


def direct_sum(bodies, places, target):
    field, potential = [0.0, 0.0, 0.0], 0.0
    x, y, z = places[target]
    own = SOFTENING[bodies[target][0]]
    for j, (kind, mass, *_) in enumerate(bodies):
        if j == target:
            continue
        d = (places[j][0] - x, places[j][1] - y, places[j][2] - z)
        force, share = spline(math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), 2.8 * max(own, SOFTENING[kind]))
        for axis in range(3):
            field[axis] += mass * force * d[axis]
        potential += mass * share
    return field, potential


def ewald_sum(bodies, places, target, edges):
    """All images with a uniform background; a body's own images count in its potential, itself does not. Both sums end where
    their terms are below 1e-7 of the first ones."""
    alpha = 2.0 / min(edges)
    volume = edges[0] * edges[1] * edges[2]
    reach = [range(-math.ceil(4 / alpha / edge), math.ceil(4 / alpha / edge) + 1) for edge in edges]
    waves = []
    most = [math.ceil(4 * alpha * edge / math.pi) for edge in edges]
    for n in itertools.product(*(range(-m, m + 1) for m in most)):
        k = [2 * math.pi * n[axis] / edges[axis] for axis in range(3)]
        k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2]
        if n > (0, 0, 0) and k2 < (8 * alpha) ** 2:  # and those of -k, which are the same
            waves.append((k, 8 * math.pi / volume * math.exp(-k2 / (4 * alpha * alpha)) / k2))
    field, potential = [0.0, 0.0, 0.0], 0.0
    for j, (kind, mass, *_) in enumerate(bodies):
        d = [places[j][axis] - places[target][axis] for axis in range(3)]
        d = [d[axis] - edges[axis] * round(d[axis] / edges[axis]) for axis in range(3)]
        potential += mass * math.pi / (alpha * alpha * volume)
        for n in itertools.product(*reach):
            r = [d[axis] + n[axis] * edges[axis] for axis in range(3)]
            distance = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
            if distance == 0:
                potential += mass * 2 * alpha / math.sqrt(math.pi)
                continue
            if distance * alpha > 4:
                continue
            rest = math.erfc(alpha * distance) / distance
            force = (rest + 2 * alpha / math.sqrt(math.pi) * math.exp(-(alpha * distance) ** 2)) / distance ** 2
            length = 2.8 * max(SOFTENING[bodies[target][0]], SOFTENING[kind])
            if distance < length:
                softened = spline(distance, length)
                force += softened[0] - distance ** -3
                rest -= softened[1] + 1 / distance
            potential -= mass * rest
            for axis in range(3):
                field[axis] += mass * force * r[axis]
        for k, weight in waves:
            phase = k[0] * d[0] + k[1] * d[1] + k[2] * d[2]
            potential -= mass * weight * math.cos(phase)
            factor = mass * weight * math.sin(phase)
            for axis in range(3):
                field[axis] += factor * k[axis]
    return field, potential


def run(program, mpiexec, tasks, folder, bodies=None, deck=None, environment=(), **changed):
    """GADGET-4 in this folder; what it prints and its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "output", ignore_errors=True)
    settings = {**PARAMETERS, **changed}
    for kind in range(6):
        settings[f"SofteningComovingClass{kind}"] = settings[f"SofteningMaxPhysClass{kind}"] = SOFTENING.get(kind, 1.0)
        settings[f"SofteningClassOfPartType{kind}"] = kind
    (folder / "param.txt").write_text("".join(f"{key} {value}\n" for key, value in settings.items()), encoding="utf-8")
    (folder / "graft.yaml").unlink(missing_ok=True)
    if deck:
        (folder / "graft.yaml").write_text(deck, encoding="utf-8")
    if bodies:
        write_ic(folder / "ic", bodies, settings["BoxSize"])
    done = subprocess.run([mpiexec, "-n", str(tasks), program, "param.txt"], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **dict(environment)}, check=False, timeout=600)
    return done.stdout, done.returncode


def ran(program, mpiexec, tasks, folder, bodies, **changed):
    text, status = run(program, mpiexec, tasks, folder, bodies, **changed)
    expect(status == 0 and "GRAFT: Graft " in text, f"a run on {tasks} tasks\n{text[-3000:]}")


def errors_of(found, right, typical=0.0):
    """Sorted relative errors of vectors; of their own size, or of the larger typical one."""
    return sorted(math.dist(a, b) / max(math.hypot(*b), typical) for a, b in zip(found, right))


def percentile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def compare(what, folder, right, targets, largest, typical=0.0):
    _, accelerations, potentials = read_snapshot(folder / "output/snapshot_000")
    errors = errors_of([accelerations[i] for i in targets], [right[i][0] for i in targets], typical)
    scale = math.sqrt(sum(right[i][1] ** 2 for i in targets) / len(targets))
    potential = max(abs(potentials[i] - right[i][1]) for i in targets) / scale
    print(f"{what}: accelerations, error of {len(targets)}: median {percentile(errors, 0.5):.1e}, p99 "
          f"{percentile(errors, 0.99):.1e}, largest {errors[-1]:.1e}; potentials, largest of their rms {potential:.1e}")
    expect(percentile(errors, 0.99) < largest, f"99 of 100 accelerations within {largest}")
    expect(potential < largest, f"potentials within {largest}")


def energies(folder):
    rows = [list(map(float, line.split()[:4])) for line in (folder / "output/energy.txt").read_text(encoding="utf-8").splitlines()]
    return [(row[0], row[2] + row[3]) for row in rows]


def conserve(what, program, mpiexec, folder, bodies, tasks):
    ran(program, mpiexec, tasks, folder, bodies, TimeMax=0.5, MaxSizeTimestep=0.05, ErrTolIntAccuracy=0.004)
    rows = energies(folder)
    error = max(abs(energy / rows[0][1] - 1) for _, energy in rows)
    log = (folder / "output/timebins.txt").read_text(encoding="utf-8")
    bins = max(len(re.findall(r"(?m)^ *X? *bin=", step)) for step in log.split("Sync-Point"))
    print(f"{what}: {len(bodies)} bodies to t = {rows[-1][0]:g}, {bins} bins of steps: energy error {error:.1e}")
    expect(rows[-1][0] > 0.49 and error < 1e-3, "energy is kept to 1e-3 through the run")
    expect(bins > 1, "particles have steps of their own")


def failures(program, mpiexec, folder, bodies):
    for deck, words in (("softening: {length: 0.1}\n", "softening.length: 0.1; expected 0"),
                        ("softening: {kind: plummer}\n", "softening.kind: plummer; expected spline"),
                        ("units: {length: kpc, mass: Msun, time: Myr}\n", "expected no such key"),
                        ("mac: {accurate: 1e-3}\n", "mac.accurate")):
        text, status = run(program, mpiexec, 2, folder, bodies, deck=deck)
        expect(re.search("GRAFT: .*" + re.escape(words), text) and status != 0, f"{deck.strip()} refused\n{text[-2000:]}")
        print(f"refused: {deck.strip()}")
    text, status = run(program, mpiexec, 2, folder, bodies, environment={"GRAFT_LIBRARY": "/no/such/library.so"})
    expect(re.search("GRAFT: .*/no/such/library.so", text) and status != 0, f"the missing library is told\n{text[-2000:]}")


def sphere(what, program, mpiexec, folder):
    bodies = sorted(plummer(BODIES), key=lambda body: body[0])
    places = [body[2] for body in bodies]
    targets = random.Random(2).sample(range(BODIES), 200)
    right = {i: direct_sum(bodies, places, i) for i in targets}
    for tasks in (1, 2, 3):
        ran(program, mpiexec, tasks, folder, bodies)
        compare(f"{what}, {tasks} tasks", folder, right, targets, 2.5 * ACCURACY)
    ran(program, mpiexec, 1, folder, bodies, deck="mac: {accuracy: 1.0e-6}\n")
    compare(f"{what}, deck of accuracy 1e-6", folder, right, targets, 2.5e-6)
    conserve(what, program, mpiexec, folder, bodies, 2)
    if what == "open":
        failures(program, mpiexec, folder, bodies)


def periodic(what, program, mpiexec, folder):
    """A box whose x is half as long (LONG_X_BITS=1), on random places: forces there do not cancel."""
    dice, edges = random.Random(3), (5.0, 10.0, 10.0)
    bodies = sorted(((1 + i % 2, dice.uniform(0.5, 1.5), tuple(dice.uniform(0, edge) for edge in edges), (0.0, 0.0, 0.0))
                     for i in range(192)), key=lambda body: body[0])
    places = [body[2] for body in bodies]
    targets = range(0, 192, 24)
    right = {i: ewald_sum(bodies, places, i, edges) for i in targets}
    for tasks in (2, 1):  # the first run makes GADGET-4's Ewald table, which its tasks share
        ran(program, mpiexec, tasks, folder, bodies, BoxSize=10.0)
        compare(f"{what}, {tasks} tasks", folder, right, targets, 2.5 * ACCURACY)


def refused(source, adapter, prefix, mpicxx, folder):
    """The adapter names what it cannot be compiled with; one object file is enough to see it."""
    gadget = folder / "gadget4_refused/source"
    patched(source, adapter, gadget)
    for option, words in (("PMGRID=32", "GRAFT and PMGRID exclude each other"), ("FMM", "GRAFT and FMM exclude each other"),
                          ("TWODIMS", "expects three dimensions"), ("GRAVITY_TALLBOX=2", "periodic along all axes or none"),
                          ("USE_SINGLEPRECISION_INTERNALLY", "double precision")):
        made = folder / "gadget4_refused" / option.split("=", maxsplit=1)[0]
        done = make(gadget, made, OPTIONS + [option], prefix, mpicxx, f"{made}/build/gravity/graft_gadget4.o")
        expect(done.returncode != 0 and words in done.stdout, f"{option} refused\n{done.stdout[-2000:]}")
        print(f"{option}: refused")
    made = folder / "gadget4_refused/none"
    done = make(gadget, made, [option for option in OPTIONS if option != "SELFGRAVITY"], prefix, mpicxx,
                f"{made}/build/gravity/graft_gadget4.o")
    expect(done.returncode != 0 and "GRAFT needs SELFGRAVITY" in done.stdout, f"no SELFGRAVITY: refused\n{done.stdout[-2000:]}")


def main():
    what = sys.argv[1]
    source, adapter, prefix = (pathlib.Path(argument).resolve() for argument in sys.argv[2:5])
    mpicxx, mpiexec, folder = sys.argv[5], sys.argv[6], pathlib.Path(sys.argv[7]).resolve()
    if what == "refused":
        refused(source, adapter, prefix, mpicxx, folder)
        return
    program = build(what, source, adapter, prefix, mpicxx, folder)
    {"open": sphere, "hierarchical": sphere, "periodic": periodic}[what](what, program, mpiexec, folder / f"run_{what}")


if __name__ == "__main__":
    main()
