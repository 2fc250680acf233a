# SPDX-License-Identifier: BSD-3-Clause
"""The real Phantom with Graft: its source is patched and built as adapters/phantom/README.md says, and run.

usage: phantom_test.py {gravity|evrard} PHANTOM ADAPTER FORTRAN_MODULES LIBRARIES FOLDER

PHANTOM is a folder or an archive of its source. gravity: Phantom's own tests of self-gravity, all of which must pass (forces and
potentials against its direct sum, summed forces zero to rounding). evrard: its set-up of the collapse of a cold sphere, to t = 1.6,
energy and momentum; and what happens where Graft cannot be had.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

PARTICLES = 3000
SETUP = f"""mass_unit = solarm
dist_unit = solarr
iprofile1 = 7
np1 = {PARTICLES}
Rstar1 = 1.0 rsun
Mstar1 = 1.0 msun
ui_coef1 = 0.05
ieos = 2
gamma = 1.6666666667
mu = 0.5988
relax = F
write_rho_to_file = F
"""


def expect(right, what):
    if not right:
        raise SystemExit(f"not so: {what}")


def unpack(source, folder):
    if source.is_dir():
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "*.o", "*.mod", "*.a"))
        return
    with tarfile.open(source) as archive:
        archive.extractall(folder.parent / "unpacked")
    (top,) = (folder.parent / "unpacked").iterdir()
    top.rename(folder)
    (folder.parent / "unpacked").rmdir()


def build(what, source, adapter, modules, libraries, folder):
    """The folder of a patched and built Phantom; one that is there and of the same parts stays."""
    added = [modules / "graft_c.f90", modules / "graft.f90", adapter / "graft_phantom.F90"]
    parts = hashlib.sha256(str((source, source.stat().st_mtime)).encode())
    for part in [adapter / "phantom.patch", pathlib.Path(__file__), *added]:
        parts.update(part.read_bytes())
    phantom, stamp = folder / f"phantom_{what}", folder / f"phantom_{what}.stamp"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == parts.hexdigest():
        return phantom
    stamp.unlink(missing_ok=True)
    shutil.rmtree(phantom, ignore_errors=True)
    (folder / what).mkdir(exist_ok=True)
    shutil.rmtree(folder / what)
    (folder / what).mkdir()
    unpack(source, folder / what / "source")
    (folder / what / "source").rename(phantom)
    with open(adapter / "phantom.patch", encoding="utf-8") as patch:
        subprocess.run(["patch", "-p1", "--fuzz=0"], cwd=phantom, stdin=patch, check=True)
    for file in added:
        shutil.copy(file, phantom / "src/main")
    (phantom / "bin").mkdir(exist_ok=True)
    for program in (["phantomtest"] if what == "gravity" else ["phantom", "setup"]):
        subprocess.run(["make", "-j1", "SYSTEM=gfortran", "SETUP=testgrav" if what == "gravity" else "SETUP=evrard",
                        "SRCINJECT_DEPS=graft_c.f90 graft.f90 graft_phantom.F90",
                        f"LDFLAGS=-L{libraries} -Wl,--whole-archive -lgraft_api -Wl,--no-whole-archive -ldl -lpthread", program],
                       cwd=phantom / "build", check=True, stdout=subprocess.DEVNULL)
    stamp.write_text(parts.hexdigest(), encoding="utf-8")
    return phantom


def run(folder, *command, **environment):
    """Phantom keeps its arrays on the stack."""
    return subprocess.run(["bash", "-c", 'ulimit -s unlimited; exec "$@"', "run", *map(str, command)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env={**os.environ, "OMP_STACKSIZE": "512M", "OMP_NUM_THREADS": "1", **environment})


def gravity(phantom, folder):
    done = run(folder, phantom / "bin/phantomtest", "gravity")
    for line in done.stdout.splitlines():
        if "max err" in line:
            print(line)
    expect(re.search(r"PASSED: *12 of *12 ", done.stdout) and done.returncode == 0, f"12 of 12 passed\n{done.stdout[-3000:]}")


def rows_of(path):
    names = re.findall(r"\[\d+ +([^\]]*?) *\]", path.read_text(encoding="utf-8").splitlines()[0])
    rows = [list(map(float, line.split())) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [dict(zip(names, row)) for row in rows]


def evrard(phantom, folder):
    (folder / "evrard.setup").write_text(SETUP, encoding="utf-8")
    for _ in range(2): # once for the keys that stand nowhere yet, once with them
        done = run(folder, phantom / "bin/phantomsetup", "evrard")
    expect((folder / "evrard.in").exists(), f"a set-up\n{done.stdout[-3000:]}")
    text = (folder / "evrard.in").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^( *tmax =) *[0-9.]+", r"\1 1.6", text)
    (folder / "evrard.in").write_text(re.sub(r"(?m)^( *dtmax =) *[0-9.]+", r"\1 0.2", text), encoding="utf-8")
    for deck, words in (("softening: {length: 0.1}\n", "softening.length"), ("mac: {accurate: 1e-3}\n", "mac.accurate")):
        (folder / "graft.yaml").write_text(deck, encoding="utf-8")
        done = run(folder, phantom / "bin/phantom", "evrard.in")
        expect(re.search("FATAL ERROR! graft: .*" + words, done.stdout) and done.returncode != 0, f"{words} refused\n{done.stdout[-2000:]}")
    (folder / "graft.yaml").unlink()
    done = run(folder, phantom / "bin/phantom", "evrard.in", GRAFT_LIBRARY="/no/such/library.so")
    expect("/no/such/library.so" in done.stdout and done.returncode != 0, f"the missing library is told\n{done.stdout[-2000:]}")
    for old in folder.glob("evrard*.ev"):
        old.unlink()
    done = run(folder, phantom / "bin/phantom", "evrard.in")
    expect(done.returncode == 0, f"the collapse\n{done.stdout[-3000:]}")
    (log,) = folder.glob("evrard*.ev")
    rows = rows_of(log)
    first, last = rows[0], rows[-1]
    error = max(abs(row["etot"] / first["etot"] - 1) for row in rows)
    peak = max(row["rho max"] for row in rows)
    print(f"Evrard's collapse, {PARTICLES} particles: potential energy {first['epot']:.5f} at the start, energy error {error:.1e}, largest "
          f"density {peak:.1f}, momentum at t = {last['time']} {last['totmom']:.1e}")
    expect(last["time"] > 1.59 and abs(first["epot"] + 0.665) < 0.01, "a collapse to t = 1.6 of the known sphere")
    expect(error < 3e-3 and last["totmom"] < 1e-12 and peak > 50, "energy and momentum are conserved through it")


def main():
    what = sys.argv[1]
    source, adapter, modules, libraries, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[2:])
    phantom = build(what, source, adapter, modules, libraries, folder)
    run_folder = folder / f"run_{what}"
    shutil.rmtree(run_folder, ignore_errors=True)
    run_folder.mkdir()
    {"gravity": gravity, "evrard": evrard}[what](phantom, run_folder)


if __name__ == "__main__":
    main()
