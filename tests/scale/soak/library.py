# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the library: programs (soak_case) that run them, and the verdict over all ranks of a case."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

CASE_LIMIT_S = 120
MOST_RANKS = 4
OK, UNSUPPORTED, COMMUNICATION = 0, 104, 400
HERE = dict(os.environ, OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
            OMPI_MCA_btl_base_warn_component_unused="0", UCX_LOG_LEVEL="error")


def together(ranks, deadline=False):
    """One verdict from those of the ranks; one that was killed is not among them. `deadline`: there is one, which a busy machine may
    pass with no rank at fault."""
    first = ranks[0]
    whole = {"verdict": "ok", "lost_in_single": any(r["lost_in_single"] for r in ranks), "status": first["status"],
             "worst": max(r["worst"] for r in ranks), "detail": first["detail"]}
    statuses = {r["status"] for r in ranks}
    for rank in ranks:
        if rank["verdict"] != "ok":
            return dict(whole, verdict=rank["verdict"], detail=rank["detail"])
    # A refusal that all agreed on, whose words did not reach a rank with a broken communicator.
    if statuses == {UNSUPPORTED, COMMUNICATION} and any(r["faulty"] for r in ranks):
        return whole
    # A rank that slept in its last call: it may have its answer, while the others stopped waiting for it.
    if deadline and statuses == {OK, COMMUNICATION} and any(r["faulty"] for r in ranks):
        return whole
    if len(statuses) > 1:
        return dict(whole, verdict="ranks disagree", detail=f"{sorted(statuses)} " + " | ".join(r["detail"][:150] for r in ranks))
    # What a version does not do is said, and no finding; nor is VALUE where the answer cannot be held.
    fine = {OK, UNSUPPORTED, COMMUNICATION if deadline else OK}
    if first["status"] not in fine and not any(r["faulty"] or r["beyond"] for r in ranks):
        return dict(whole, verdict="refused")
    return whole


def end_of(child, err):
    code = child.returncode
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return name + " " + err[-300:].strip()


class Threads:
    """A child that runs cases until it dies; ranks are its threads."""

    def __init__(self, program, library):
        self.words, self.child = [program, library], None

    def ask(self, _case, line):
        if self.child is None or self.child.poll() is not None:
            self.child = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True, env=HERE)
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            return self.dead()
        ready, _, _ = select.select([self.child.stdout], [], [], CASE_LIMIT_S)
        if not ready:
            self.child.kill()
            self.child.wait()
            return {"verdict": "hangs", "detail": f"no answer in {CASE_LIMIT_S} s"}
        answer = self.child.stdout.readline()
        return together(json.loads(answer)["ranks"]) if answer else self.dead()

    def dead(self):
        _, err = self.child.communicate()
        return {"verdict": "crashes", "detail": end_of(self.child, err)}

    def close(self):
        if self.child is not None and self.child.poll() is None:
            self.child.stdin.close()
            self.child.wait()


class Processes:
    """An mpiexec whose ranks run cases until one is killed. A rank has a pipe each way, so that idle ranks do not spin. After a
    kill MPICH's launcher ends the other ranks; Open MPI's is told not to, and each of them must answer."""

    def __init__(self, program, library, family):
        self.launcher = shutil.which("mpiexec." + family)
        self.is_here = bool(self.launcher) and os.path.exists(f"{os.path.dirname(library)}/libgraft_mpi_{family}.so")
        self.family, self.words, self.child = family, [program, library, family], None
        self.survive = ["--enable-recovery"] if family == "openmpi" else []

    def start(self):
        self.folder, self.err = tempfile.TemporaryDirectory(), tempfile.TemporaryFile("w+", errors="replace")
        self.to, self.answers = [], []
        for rank in range(MOST_RANKS):
            to, answer = (f"{self.folder.name}/{way}.{rank}" for way in ("to", "from"))
            os.mkfifo(to)
            os.mkfifo(answer)
            self.to.append(os.open(to, os.O_RDWR))  # opens before a reader is there
            self.answers.append(open(os.open(answer, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0))
        self.child = subprocess.Popen([self.launcher, *self.survive, "-n", str(MOST_RANKS), *self.words, self.folder.name], env=HERE,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.err, start_new_session=True)

    def ask(self, case, line):
        if not self.is_here:
            return {"verdict": "left out", "detail": f"no {self.family}"}
        if self.child is None:
            self.start()
        for pipe in self.to:
            os.write(pipe, (line + "\n").encode())
        ranks, why = self.listen(case["ranks"], case["fault_rank"] % case["ranks"] if "kill" in case else None)
        if len(ranks) == case["ranks"]:
            return together(ranks, deadline="stall" in case or "kill" in case)
        err = self.close(at_once=True)
        if why == "hangs" or "kill" not in case:
            return {"verdict": why, "detail": f"{len(ranks)} of {case['ranks']} ranks answered; " + err[-300:]}
        if self.survive and len(ranks) < case["ranks"] - 1:
            return {"verdict": "silent survivors", "detail": f"{len(ranks)} of {case['ranks'] - 1}; " + err[-300:]}
        verdict = together(ranks, deadline=True) if ranks else {"verdict": "ok"}
        return dict(verdict, killed=True, survivors=len(ranks))

    def listen(self, count, victim):
        """Answers of the first ranks: until all have come but a killed one's, the launcher has ended, or time is up."""
        end, texts, closed = time.monotonic() + CASE_LIMIT_S, [b""] * count, False
        why = "hangs"
        while time.monotonic() < end:
            ended = self.child.poll() is not None  # before the last look at the pipes
            for rank in range(count):
                piece = self.answers[rank].read()
                texts[rank] += piece or b""
                closed = piece == b"" if rank == victim else closed
            missing = {rank for rank in range(count) if not texts[rank].endswith(b"\n")}
            if not missing or ended or (closed and missing == {victim}):
                why = "crashes"
                break
            time.sleep(0.001)
        return [json.loads(text)["ranks"][0] for text in texts if text.endswith(b"\n")], why

    def close(self, at_once=False):
        """What the launcher and the ranks had to say."""
        if self.child is None:
            return ""
        for pipe in self.to:
            os.close(pipe)
        for number, wait_s in ((None, 0 if at_once else 5), (signal.SIGTERM, 5), (signal.SIGKILL, None)):
            if number is not None:
                os.killpg(self.child.pid, number)
            try:
                self.child.wait(wait_s)
                break
            except subprocess.TimeoutExpired:
                continue
        for pipe in self.answers:
            pipe.close()
        self.folder.cleanup()
        self.err.seek(0)
        self.child = None
        return self.err.read()
