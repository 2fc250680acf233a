# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the graft command: kills and restarts, signals, a full disk, ranks under mpiexec."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from library import CASE_LIMIT_S, HERE

OLD_CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "abi")


class Command:
    """Cases of the graft command, each in a folder of its own."""

    def __init__(self, program, library):
        self.program, self.environment = program, dict(HERE, GRAFT_LIBRARY=library)
        self.ways = {"kill and restart": self.kill, "signal": self.signal, "full disk": self.full, "ranks": self.ranks,
                     "killed rank": self.killed_rank, "old client": self.old_client}
        shims = os.path.dirname(library)
        self.launchers = [shutil.which("mpiexec." + mpi) for mpi in ("mpich", "openmpi")
                          if shutil.which("mpiexec." + mpi) and os.path.exists(f"{shims}/libgraft_mpi_{mpi}.so")]

    def case(self, dice):
        return {"way": dice.choice(sorted(self.ways)), "seed": dice.randrange(1 << 30)}

    def run(self, case):
        dice = random.Random(case["seed"])
        with tempfile.TemporaryDirectory() as folder:
            try:
                if "rank" in case["way"] and not self.launchers:
                    return {"verdict": "left out", "detail": case["way"]}
                return self.ways[case["way"]](dice, folder) or {"verdict": "ok"}
            except subprocess.TimeoutExpired:
                return {"verdict": "hangs", "detail": case["way"]}

    def graft(self, folder, *words, limit="", launcher=()):
        return self.script(folder, f"{limit} exec \"$@\"", *launcher, self.program, *words)

    def script(self, folder, text, *words, shell=("bash",)):
        return subprocess.run([*shell, "-c", text, "bash", *words], cwd=folder, env=self.environment,
                              capture_output=True, text=True, timeout=CASE_LIMIT_S, check=False)

    def deck(self, dice, folder, steps):
        self.graft(folder, "ic", "plummer", "--n", str(dice.choice([50, 300, 1000])), "--seed", str(dice.randrange(1000)), "-o", "p.hdf5")
        with open(os.path.join(folder, "d.yaml"), "w", encoding="utf-8") as deck:
            deck.write(f"method: {dice.choice(['tree', 'direct'])}\nprecision: {dice.choice(['mixed', 'fp64'])}\n"
                       f"softening: {{kind: plummer, length: 0.05}}\nthreads: {dice.choice([1, 2])}\n"
                       f"run: {{input: p.hdf5, output: a, time_step: 0.01, steps: {steps}, snapshot_every: 1}}\n")

    def stopped(self, dice, folder, number):
        """A run of 40 steps, ended by a signal somewhere, and what it left."""
        self.deck(dice, folder, 40)
        child = subprocess.Popen([self.program, "run", "d.yaml", "--quiet"], cwd=folder, env=self.environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(dice.uniform(0.02, 0.6))
        child.send_signal(number)
        _, err = child.communicate(timeout=CASE_LIMIT_S)
        return child.returncode, err

    def continued(self, folder):
        """The run goes on from its restart file, and ends as one that never stopped: bit by bit."""
        if not os.path.exists(os.path.join(folder, "a.restart")):
            return None
        on = self.graft(folder, "run", "d.yaml", "--quiet", "--restart")
        if on.returncode != 0 and "nothing left to do" not in on.stderr:
            return {"verdict": "no restart", "detail": on.stderr[-300:]}
        whole = self.graft(folder, "run", "d.yaml", "--quiet", "--set", "run.output=b")
        if whole.returncode != 0:
            return {"verdict": "no run", "detail": whole.stderr[-300:]}
        if self.bytes(folder, "a.restart") != self.bytes(folder, "b.restart"):
            return {"verdict": "other bits", "detail": "after a restart"}
        return self.debris(os.listdir(folder))

    @staticmethod
    def debris(names):
        left = [name for name in names if ".tmp-" in name or name.endswith(".lock")]
        return {"verdict": "debris", "detail": " ".join(left)} if left else None

    @staticmethod
    def bytes(folder, name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    def kill(self, dice, folder):
        self.stopped(dice, folder, signal.SIGKILL)
        return self.continued(folder)

    def signal(self, dice, folder):
        number = dice.choice([signal.SIGTERM, signal.SIGINT])
        code, err = self.stopped(dice, folder, number)
        if code not in (0, 128 + number, -number):
            return {"verdict": "exit status", "detail": f"{code}: {err[-200:]}"}
        return self.continued(folder)

    def full(self, dice, folder):
        """By a limit on the sizes of files, or in a small file system of this process's own."""
        self.deck(dice, folder, 3)
        before = self.bytes(folder, "p.hdf5")
        if dice.random() < 0.5 and self.may_mount(folder):
            return self.small_disk(dice, folder)
        result = self.graft(folder, "run", "d.yaml", "--quiet", limit=f"ulimit -f {dice.randrange(0, 60)};")
        if self.bytes(folder, "p.hdf5") != before:
            return {"verdict": "input changed"}
        return self.refused_for_space(result) or self.debris(os.listdir(folder))

    @staticmethod
    def refused_for_space(result):
        if result.returncode not in (0, 1) or (result.returncode == 1 and "no space" not in result.stderr):
            return {"verdict": "full disk", "detail": f"{result.returncode}: {result.stderr[-200:]}"}
        return None

    OWN_MOUNTS = ("unshare", "--mount", "bash")

    def may_mount(self, folder):
        os.mkdir(os.path.join(folder, "small"))
        try:
            return self.script(folder, "mount -t tmpfs none small", shell=self.OWN_MOUNTS).returncode == 0
        except FileNotFoundError:  # no unshare
            return False

    def small_disk(self, dice, folder):
        """Outputs go to a disk that fills up; with more room the run goes on, and ends as one that never stopped."""
        run = [self.program, "run", "d.yaml", "--quiet", "--set", "run.output=small/a"]
        pages = os.path.getsize(os.path.join(folder, "p.hdf5")) // 4096 + 1  # six times that is enough for all
        mount = f"mount -t tmpfs -o size={4 * dice.randrange(2, 6 * pages + 3)}k none small; "
        listing = 'code=$?; ls -a small; exit "$code"'
        result = self.script(folder, f'{mount} "$@"; {listing}', *run, shell=self.OWN_MOUNTS)
        found = self.refused_for_space(result) or self.debris(result.stdout.split())
        if found is not None or "a.restart" not in result.stdout.split():
            return found
        more = 'mount -o remount,size=64m small; "$@" --restart; code=$?; cp small/a.restart .; exit "$code"'
        on = self.script(folder, f'{mount} "$@"; {more}', *run, shell=self.OWN_MOUNTS)
        if on.returncode != 0 and "nothing left to do" not in on.stderr:
            return {"verdict": "no restart", "detail": on.stderr[-300:]}
        self.graft(folder, "run", "d.yaml", "--quiet", "--set", "run.output=b")
        return None if self.bytes(folder, "a.restart") == self.bytes(folder, "b.restart") else {"verdict": "other bits"}

    def launcher(self, dice):
        return [dice.choice(self.launchers), "-n", str(dice.choice([2, 3]))]

    def ranks(self, dice, folder):
        """As on one rank, to rounding."""
        self.deck(dice, folder, 3)
        return self.same_end(folder, self.launcher(dice))

    def same_end(self, folder, launcher, *words):
        """One run to its end, and the deck's by these words: the virial ratios at the end."""
        alone, many = (self.graft(folder, "run", "d.yaml", "--json", *more, launcher=ranks)
                       for ranks, more in (((), ("--set", "run.output=b")), (launcher, words)))
        if alone.returncode != 0 or many.returncode != 0:
            return {"verdict": "ranks fail", "detail": (alone.stderr + many.stderr)[-1200:]}
        first, second = (json.loads(r.stdout[r.stdout.index("{"):]) for r in (alone, many))
        if abs(first["virial_ratio"] - second["virial_ratio"]) > 1e-3 * first["virial_ratio"]:
            return {"verdict": "ranks differ", "detail": f"{first['virial_ratio']} {second['virial_ratio']}"}
        return None

    def killed_rank(self, dice, folder):
        """The launcher ends the others; the run goes on from its restart file, alone or on ranks."""
        self.deck(dice, folder, 12)
        launcher = self.launcher(dice)
        child = subprocess.Popen([*launcher, self.program, "run", "d.yaml", "--quiet"], cwd=folder, env=self.environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ranks = []
        while child.poll() is None and not ranks:
            ranks = self.processes_in(folder)
        time.sleep(dice.uniform(0, 1))
        if ranks and child.poll() is None:
            self.end(dice.choice(ranks))
        try:
            child.wait(CASE_LIMIT_S)
        finally:
            child.terminate()
        if not os.path.exists(os.path.join(folder, "a.restart")):
            return None
        end = self.same_end(folder, dice.choice([(), launcher]), "--restart")
        return None if end is not None and "nothing left to do" in end["detail"] else end  # it was quicker than the signal

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended by itself
            pass

    def processes_in(self, folder):
        """Ranks of a run: the processes of the program whose folder this is."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd") == folder and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(self.program):
                    found.append(int(pid))
            except OSError:  # it has ended, or is another user's
                continue
        return sorted(found)

    def old_client(self, dice, _folder):
        """It makes its own input: only the number of threads can be chosen."""
        client = os.path.join(OLD_CLIENTS, "frozen", "client.x86_64")
        ran = subprocess.run([sys.executable, os.path.join(OLD_CLIENTS, "frozen_binary.py"), client, self.environment["GRAFT_LIBRARY"]],
                             capture_output=True, text=True, check=False, timeout=CASE_LIMIT_S,
                             env=dict(self.environment, OMP_NUM_THREADS=str(dice.randrange(1, 9))))
        words = {0: "ok", 77: "left out"}  # 77: not for this machine
        return {"verdict": words.get(ran.returncode, "old client"), "detail": "" if ran.returncode == 0 else ran.stdout[-300:]}
