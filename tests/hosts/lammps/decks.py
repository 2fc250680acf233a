# SPDX-License-Identifier: BSD-3-Clause
"""An lmp that runs decks: what the tests of decks share."""
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = f"""
include {HERE}/cluster.in
pair_style coul/cut 160
pair_coeff * *
run 20
"""


class Program:
    """lmp, and the mpiexec that starts it."""

    def __init__(self, lmp, mpiexec):
        self.lmp, self.mpiexec = lmp, mpiexec

    def start(self, ranks, command, folder, more=None):
        environment = dict(os.environ, **(more or {}))
        return subprocess.run([self.mpiexec, "-n", str(ranks), *command], cwd=folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)

    def run(self, deck, ranks=1, more=None):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "in"), "w", encoding="utf-8") as file:
                file.write(deck)
            return self.start(ranks, [self.lmp, "-in", "in", "-log", "none"], folder, more)


def last_row(output):
    """The numbers of the last line of thermo output."""
    row = re.findall(r"^ +\d+(?: +[-+.\de]+){3,} *$", output, re.MULTILINE)[-1]
    return [float(value) for value in row.split()]
