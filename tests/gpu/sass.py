# SPDX-License-Identifier: BSD-3-Clause
"""Which kernels touch shared memory, from the machine code (SASS) of programs and libraries; cuobjdump is the CUDA Toolkit's."""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import tempfile

FUNCTION = re.compile(r"^\s*Function : (\S+)")
# Whatever may reach shared memory, dynamic shared memory included: instructions that name it, those of copy engines and their
# barriers (UBLKCP, UTMALDG, SYNCS, ...), loads, stores and atomics by an address of any space, calls out of the kernel's own code.
SHARED = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(?:LDS|STS|ATOMS|REDS|LDSM|STSM|LDGSTS|STAS|UBLK|UTMA|SYNCS|CALL\.ABS"
                    r"|(?:LD|ST|ATOM|RED|QSPC)\b)")


def uses_of(sass):
    """Whether each function of a listing (cuobjdump -sass) may touch shared memory."""
    uses, name = {}, ""
    for line in sass.splitlines():
        function = FUNCTION.match(line)
        if function:
            name = function[1]
            uses.setdefault(name, False)
        elif name and not uses[name] and SHARED.match(line):
            uses[name] = True
    return uses


def sass_of(cubin):
    return subprocess.run(["cuobjdump", "-sass", cubin], check=True, capture_output=True, text=True).stdout


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Kernels:
    """Kernels of files, read once: `kept` is a JSON file where they stay from run to run, by the contents of modules (cubins), which
    programs and libraries share.

    Of two modules of one name in a file cuobjdump leaves one: kernels of the other are not known. A core reads some 3 MB of machine
    code a second; `jobs` modules are read at a time. CalledProcessError, FileNotFoundError: cuobjdump fails, or is missing."""
    def __init__(self, kept, jobs):
        self.kept, self.jobs, self.known = kept, jobs, {}
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                self.known = json.load(file)

    def uses(self, path):
        """Mangled name of every kernel in a file: whether it may touch shared memory."""
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(["cuobjdump", "-xelf", "all", os.path.abspath(path)], cwd=folder, check=False, capture_output=True,
                                  text=True)
            if "does not contain device code" not in made.stdout + made.stderr:
                made.check_returncode()
            cubins = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getsize, reverse=True)
            digests = [digest_of(cubin) for cubin in cubins]
            new = {digest: cubin for digest, cubin in zip(digests, cubins) if digest not in self.known}
            with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                self.known.update(zip(new, pool.map(lambda cubin: uses_of(sass_of(cubin)), new.values())))
        if new:
            with open(self.kept, "w", encoding="utf-8") as file:
                json.dump(self.known, file)
        return either(self.known[digest] for digest in digests)

    def without_shared_memory(self, paths):
        """Mangled names of the kernels in the files that touch shared memory in none of them."""
        return sorted(name for name, used in either(self.uses(path) for path in paths).items() if not used)


def either(listings):
    """Uses of all: a kernel that is in several touches shared memory if one of them does."""
    uses = {}
    for listing in listings:
        for name, used in listing.items():
            uses[name] = uses.get(name, False) or used
    return uses
