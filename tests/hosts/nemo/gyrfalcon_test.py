#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The real NEMO with graft_acc.so. usage: gyrfalcon_test.py NEMO FOLDER (GRAFT_ACC: the folder of graft_acc.so; GRAFT_LIBRARY set)

NEMO is a configured and built tree (nemo_start.sh), or an archive of its source, which is built once into FOLDER. A Plummer sphere of
2,000 bodies: gyrfalcON with falcON's gravity (kernel P_0, which is Plummer's) and with Graft's, halved in the deck because gyrfalcON
counts an external potential in full; block steps; a run that is resumed; accelerations of addgravity against a direct sum; and failures,
which must end the program with Graft's words.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

EPS = 0.05
DECK = f"softening: {{kind: plummer, length: {EPS}}}\nmac: {{accuracy: 0.0003}}\nhost: {{half_potential: true}}\n"
COMMON = (f"eps={EPS}", "kernel=0", "theta=0.4", "kmax=6", "step=0")
GRAFT = ("Grav=0", "accname=graft_acc", "accfile=deck.yaml")


def expect(right, what):
    if not right:
        raise SystemExit(f"not so: {what}")


def build(archive, folder):
    """NEMO's own steps; Graft needs nothing of them, the test needs gyrfalcON and two tools."""
    root, stamp = folder / "nemo", folder / "nemo.stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == f"{archive} {archive.stat().st_mtime}":
        return root
    stamp.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    with tarfile.open(archive) as content:
        content.extractall(folder)
    with open(folder / "nemo.log", "w", encoding="utf-8") as log:
        for command in ("./configure --with-yapp=ps", "make build1 build2 JOBS=1",
                        "source ./nemo_start.sh && mknemo mkplummer snapprint"):
            subprocess.run(["bash", "-c", command], cwd=root, stdout=log, stderr=subprocess.STDOUT, check=False)
    for program in ("gyrfalcON", "mkplummer", "snapprint"):
        expect((root / "bin" / program).exists(), f"{program} was built; {folder / 'nemo.log'} tells. NEMO needs tcsh")
    stamp.write_text(f"{archive} {archive.stat().st_mtime}", encoding="utf-8")
    return root


class Nemo:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder

    def try_(self, *command, **environment):
        """As a user does: nemo_start.sh, then Graft's folder in front of what that has set."""
        words = f'source "{self.root}/nemo_start.sh"; export ACCPATH="$GRAFT_ACC:$ACCPATH"; exec "$@"'
        return subprocess.run(["bash", "-c", words, "nemo", *command], cwd=self.folder, text=True, timeout=250,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})

    def run(self, *command):
        done = self.try_(*command)
        expect(done.returncode == 0, f"{' '.join(command)} ends well, found {done.returncode}:\n{done.stdout}")
        return done.stdout

    def integrate(self, log, *parameters):
        self.run("gyrfalcON", f"logfile={log}", *COMMON, *parameters)
        return log_of(self.folder / log)


def log_of(path):
    """Columns by name: gyrfalcON's log has a commented head (time, E=T+V, T, V_in or V_ex, W, ...) and a line a step."""
    names, rows = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith("#") and "E=T+V" in line:
            names = [word for word in words if word != "#"]
        elif words and not line.startswith("#"):
            rows.append(words)
    expect(names and len(rows) >= 2, f"{path} is a log of gyrfalcON that this test can read")
    return {name: [float(row[names.index(name)]) for row in rows] for name in ("time", "E=T+V", "W")}


def change(log):
    return log["E=T+V"][-1] / log["E=T+V"][0] - 1


def test_integration(nemo):
    own = nemo.integrate("own.log", "in=p.nemo", "out=.", "tstop=1")
    graft = nemo.integrate("graft.log", "in=p.nemo", "out=half.nemo", "tstop=0.5", *GRAFT)
    print(f"E(0) {graft['E=T+V'][0]:.6f} with Graft, {own['E=T+V'][0]:.6f} with its own; W(0) {graft['W'][0]:.6f}, {own['W'][0]:.6f}; "
          f"energy changed by {change(graft):.1e} (to t = 0.5), {change(own):.1e}")
    expect(all(abs(graft[name][0] / own[name][0] - 1) < 2e-3 for name in ("E=T+V", "W")), "both begin with one energy")
    limit = max(2 * abs(change(own)), 1e-4)
    expect(abs(change(graft)) < limit, "Graft's energy holds")
    resumed = nemo.integrate("resumed.log", "in=half.nemo", "resume=t", "tstop=1", *GRAFT)
    expect(0.5 <= resumed["time"][0] < 0.53 and abs(resumed["E=T+V"][-1] / graft["E=T+V"][0] - 1) < limit, "a resumed run goes on")
    blocks = nemo.integrate("blocks.log", "in=p.nemo", "out=.", "tstop=1", "Nlev=3", "fac=0.02", *GRAFT)
    print(f"three levels of steps: energy changed by {change(blocks):.1e}")
    expect(abs(change(blocks)) < 10 * limit, "energy holds with block steps")


def test_accelerations(nemo):
    """addgravity, which is for snapshots; getgravity takes no accname."""
    (nemo.folder / "full.yaml").write_text(DECK.replace("half_potential: true", "half_potential: false"), encoding="utf-8")
    nemo.run("addgravity", "p.nemo", "a.nemo", f"eps={EPS}", "Grav=0", "accname=graft_acc", "accfile=full.yaml")
    rows = [list(map(float, line.split())) for line in nemo.run("snapprint", "a.nemo", "m,x,y,z,ax,ay,az,phi").splitlines()
            if line and not line.startswith("#")]
    expect(len(rows) == 2000, f"2000 bodies, found {len(rows)}")
    errors = []
    for target in rows[::10]:
        a = [0.0, 0.0, 0.0]
        for source in rows:
            d = [source[1 + k] - target[1 + k] for k in range(3)]
            pull = source[0] * (sum(x * x for x in d) + EPS * EPS) ** -1.5
            a = [a[k] + pull * d[k] for k in range(3)]
        size = sum(x * x for x in a) ** 0.5
        errors.append(sum((target[4 + k] - a[k]) ** 2 for k in range(3)) ** 0.5 / size)
    errors.sort()
    print(f"addgravity: errors against a direct sum, median {errors[100]:.1e}, largest of 200 {errors[-1]:.1e}")
    expect(errors[-1] < 3e-3 and errors[100] < 3e-4, "accelerations are those of a direct sum")


def test_failures(nemo):
    (nemo.folder / "bad.yaml").write_text("softening: {kindd: plummer}\n", encoding="utf-8")
    for words, deck, more, environment in (("/no/such/library.so", "deck", (), {"GRAFT_LIBRARY": "/no/such/library.so"}),
                                           ("softening.kindd", "bad", (), {}), ("none.yaml", "none", (), {}),
                                           ("accpars has 2 numbers", "deck", ("accpars=1,2",), {})):
        done = nemo.try_("gyrfalcON", "in=p.nemo", "out=.", "tstop=0.1", "Grav=0", "accname=graft_acc", f"accfile={deck}.yaml",
                         *more, *COMMON, **environment)
        expect(done.returncode != 0 and "Fatal error" in done.stdout and words in done.stdout and "nan" not in done.stdout,
               f"{words} is told and ends gyrfalcON; {done.returncode}:\n{done.stdout}")


def main(source, folder):
    source, folder = pathlib.Path(source).resolve(), pathlib.Path(folder).resolve()
    root = source if source.is_dir() else build(source, folder)
    with tempfile.TemporaryDirectory() as work:
        nemo = Nemo(root, pathlib.Path(work))
        (nemo.folder / "deck.yaml").write_text(DECK, encoding="utf-8")
        nemo.run("mkplummer", "out=p.nemo", "nbody=2000", "seed=1")
        for test in (test_integration, test_accelerations, test_failures):
            test(nemo)
            print(f"{test.__name__}: passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
