#!/usr/bin/env python3
"""The rules of the house that a program can check. usage: lint.py REPOSITORY C_COMPILER CXX_COMPILER [RULE...]

layering   a room includes only itself and the rooms to its left; plugin, capi and adapters only what design section 4 allows
sizes      no source file is longer than 500 lines
quiet      no printing, exiting, aborting, signal handling or MPI_COMM_WORLD in what becomes libgraft
headers    each public header compiles alone, as C99 and as C++17, with -pedantic -Werror
device     the answer of each CUDA call and launch is looked at; what waits for a GPU or allocates stands where it is counted
targets    what a SIMD target can do is asked by the words of core/instruction_sets.hpp, never by HWY_TARGET == one of them
links      relative links of Markdown files lead somewhere; every page of impl/docs/gpu is in its index
self_test  each of these rules finds a violation that is planted for it
"""
import os
import re
import subprocess
import sys
import tempfile

ROOMS = ["core", "backend", "comm", "geometry", "particles", "decompose", "balance", "tree", "moments", "lists", "kernels",
         "pipeline"]
EXTRA = {"balance": {"model"}, "kernels": {"model"}, "pipeline": {"model", "reference"}}
ALONE = {"model": {"core", "geometry"}, "reference": {"core", "geometry"}}
ALL_ROOMS = set(ROOMS) | set(ALONE)
# capi calls pipeline, decompose, balance and kernels; it also speaks of errors and memory (core), threads (backend), ranks
# (comm), boxes (geometry) and views of host arrays (particles).
CAPI = {"core", "backend", "comm", "geometry", "particles", "decompose", "balance", "kernels", "pipeline"}
OUTSIDE = {"hwy"} # headers of others that are included with quotes
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".f90", ".F90", ".f", ".py", ".inc")
LONGEST = 500
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LOUD = re.compile(r"std::(cout|cerr|clog|puts|printf|exit|abort|terminate|quick_exit|signal)\b|"
                  r"(?<![\w:.>])(printf|fprintf|puts|putchar|perror|exit|_exit|abort|signal|sigaction|quick_exit)\s*\(|"
                  r"\bomp_set_\w+|MPI_COMM_WORLD|MPI_Abort")


def files_of(repository, folder, endings=SOURCES):
    for root, folders, names in os.walk(os.path.join(repository, folder)):
        folders[:] = [name for name in folders if not name.startswith((".", "build", "__pycache__"))]
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(root, name), repository)


def read(repository, path):
    with open(os.path.join(repository, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def without_comments(text):
    """Comments and strings blanked, line numbers kept."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def allowed_rooms(room):
    if room in ALONE:
        return ALONE[room] | {room}
    return set(ROOMS[:ROOMS.index(room) + 1]) | EXTRA.get(room, set())


def layering(repository):
    for path in files_of(repository, "impl", (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc")):
        room = path.split(os.sep)[1]
        if room == "docs":
            continue
        if room not in ALL_ROOMS:
            yield f"{path}: '{room}' is no room of the design (section 4)"
            continue
        for included in INCLUDE.findall(read(repository, path)):
            target = included.split("/")[0]
            if "/" in included and target not in allowed_rooms(room) | OUTSIDE:
                yield f"{path}: room {room} includes {included}; allowed: {', '.join(sorted(allowed_rooms(room)))}"
    for path in files_of(repository, os.path.join("capi", "include"), (".h",)):
        for included in INCLUDE.findall(read(repository, path)):
            yield f"{path}: includes \"{included}\"; public headers include <graft/...> and the C library only"
    for path in files_of(repository, os.path.join("capi", "src"), (".cpp", ".hpp")):
        for included in INCLUDE.findall(read(repository, path)):
            target = included.split("/")[0]
            if target in ALL_ROOMS and "/" in included and target not in CAPI:
                yield f"{path}: includes {included}; capi calls {', '.join(sorted(CAPI))}"
    for folder, own in (("plugin", {"deck", "loader", "guard.hpp", "entries.hpp"}), ("adapters", set())):
        for path in files_of(repository, folder, (".c", ".h", ".cpp", ".hpp")):
            for included in INCLUDE.findall(read(repository, path)):
                target = included.split("/")[0]
                foreign = target in ALL_ROOMS and not os.path.exists(
                    os.path.join(repository, os.path.dirname(path), included))
                inside = folder == "adapters" and included in ("guard.hpp", "entries.hpp", "structs.hpp")
                if ("/" in included and foreign and target not in own) or inside:
                    yield f"{path}: includes {included}; {folder} sees only capi/include"


def sizes(repository):
    for folder in ("adapters", "capi", "examples", "impl", "plugin", "tests"):
        for path in files_of(repository, folder):
            lines = read(repository, path).count("\n")
            if lines > LONGEST:
                yield f"{path}: {lines} lines; nothing passes {LONGEST}"


def quiet(repository):
    for folder in ("impl", "capi", "plugin"):
        for path in files_of(repository, folder, (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")):
            if path.startswith(os.path.join("plugin", "loader")):  # prints with GRAFT_LOAD_DEBUG=1, in the host
                continue
            for number, line in enumerate(without_comments(read(repository, path)).splitlines(), 1):
                found = LOUD.search(line)
                if found and "attribute" not in line and "format(printf" not in line:
                    yield f"{path}:{number}: {found.group(0).strip()}: a library neither prints nor ends its host"


def headers(repository, c_compiler="cc", cxx_compiler="c++"):
    include = os.path.join(repository, "capi", "include")
    for path in files_of(repository, os.path.join("capi", "include"), (".h",)):
        name = os.path.relpath(path, os.path.join("capi", "include"))
        for compiler, language, standard in ((c_compiler, "c", "c99"), (cxx_compiler, "c++", "c++17")):
            done = subprocess.run([compiler, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra",
                                   "-Werror", "-fsyntax-only", f"-I{include}", "-"], text=True, capture_output=True,
                                  input=f"#include <{name}>\n#include <{name}>\nint unused(void);\n")
            if done.returncode != 0:
                yield f"{path}: not clean as {standard}:\n{done.stderr}"


CUDA_CALL = re.compile(r"\bcuda[A-Z]\w*(?=\()")
LAUNCH_LOOKED_AT = re.compile(r"GRAFT_CUDA_LAUNCHED\(|\bcudaGetLastError\(|\blaunched\(")
LOOKED_AT = re.compile(r"GRAFT_CUDA\(|\bcheck\(|\(void\)|[=!?]=?|\breturn\b|\|\||&&|\bif \(")
NO_ANSWER = {"cudaGetErrorString", "cudaGetErrorName"} | {"cudaEvent_t", "cudaStream_t"} # conversions
WAITS = re.compile(r"\bcuda(Malloc\w*|HostAlloc|HostRegister|(Stream|Device|Event)Synchronize|Memcpy|Memset)(?=\()")
# Where a computation waits or allocates, and who counts it; then what no computation calls.
MAY_WAIT = {"backend/device.cu": "DeviceMemory::allocations, Queue::waits", "backend/device_cache.cu": "DeviceMemory::allocations",
            "particles/device_staging.cu": "slot_waits", "pipeline/device_clock.cu": "DeviceForce::waits_",
            "pipeline/device_outputs.cu": "waits_", "pipeline/device_engine.cu": "after errors and at the end of its life only",
            "pipeline/device_ranks_engine.cu": "waits_", "kernels/near/device_base.cu": "near field: its own times",
            "kernels/near/device_near.cu": "near field: waits_", "kernels/near/device_near_inputs.cu": "near field: waits_",
            "kernels/near/device_near_outputs.cu": "near field: end()", "kernels/near/device_far.cu": "its end",
            "kernels/near/device_layout_copies.cu": "near field: its own times", "decompose/device_copies.cu": "cuts from host arrays",
            "pipeline/cuda_table.cu": "memory of the commands, messages", "kernels/device_cloud.cu": "points of bench",
            "kernels/device_paper_feed.cu": "FedReport::wait_s", "decompose/device_rehmann_bench.cuh": "bench",
            "decompose/device_rehmann_report.cu": "bench", "decompose/device_orb_bench.cu": "bench"}


def device(repository):
    for path in files_of(repository, "impl", (".cu", ".cuh", ".cpp", ".hpp")):
        text = without_comments(read(repository, path))
        for found in CUDA_CALL.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            statement = re.split(r"[;{}]", text[:found.start()])[-1]
            if found.group(0) not in NO_ANSWER and not LOOKED_AT.search(statement):
                yield f"{path}:{number}: nobody looks at what {found.group(0)} answers; expected GRAFT_CUDA(...), or (void)"
            if WAITS.match(found.group(0) + "(") and os.path.relpath(path, "impl") not in MAY_WAIT:
                yield f"{path}:{number}: {found.group(0)} waits or allocates; count it, then name the file in lint.py (MAY_WAIT)"
        functions = re.split(r"^\}", text, flags=re.MULTILINE)
        for body in functions:
            if "<<<" not in body or LAUNCH_LOOKED_AT.search(body):
                continue
            name = re.search(r"\blaunch_\w+(?=\()", body) # these leave it to who calls them
            callers = [other for other in functions if name and other is not body and re.search(name.group(0) + r"\b", other)]
            if not callers or not all(LAUNCH_LOOKED_AT.search(caller) for caller in callers):
                number = text.count("\n", 0, text.index(body) + body.index("<<<")) + 1
                yield f"{path}:{number}: a launch that nobody looks at; expected GRAFT_CUDA_LAUNCHED in the same function"


ONE_TARGET = re.compile(r"HWY_(STATIC_)?TARGET\s*[!=]=")


def targets(repository):
    for folder in ("impl", "capi", "plugin", "adapters", "tests"):
        for path in files_of(repository, folder, (".cpp", ".hpp", ".inc")):
            for number, line in enumerate(without_comments(read(repository, path)).splitlines(), 1):
                if ONE_TARGET.search(line) and path != os.path.join("impl", "core", "instruction_sets.hpp"):
                    yield f"{path}:{number}: newer releases of Highway have more targets; expected a word of core/instruction_sets.hpp"


LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def links(repository):
    index = os.path.join("impl", "docs", "gpu-notes.md")
    top = [name for name in sorted(os.listdir(repository)) if name.endswith(".md")]
    pages = [path for folder in ("impl", "examples", "tests") for path in files_of(repository, folder, (".md",))]
    for path in top + pages:
        for target in LINK.findall(read(repository, path)):
            if "://" not in target and not target.startswith("mailto:") and \
                    not os.path.exists(os.path.join(repository, os.path.dirname(path), target)):
                yield f"{path}: the link to {target} leads nowhere"
    for path in pages:
        folder, name = os.path.split(path)
        if folder == os.path.join("impl", "docs", "gpu") and f"gpu/{name}" not in \
                (read(repository, index) if os.path.exists(os.path.join(repository, index)) else ""):
            yield f"{path}: not in {index}"


PLANTED = {
    "layering": {"impl/tree/a.cpp": '#include "kernels/p2p.hpp"\n', "impl/reference/b.cpp": '#include "tree/tree.hpp"\n',
                 "impl/attic/c.cpp": "\n", "plugin/d.cpp": '#include "pipeline/solver.hpp"\n',
                 "adapters/cli/e.cpp": '#include "core/error.hpp"\n', "capi/src/f.cpp": '#include "lists/walk.hpp"\n',
                 "capi/include/graft/g.h": '#include "types.h"\n'},
    "sizes": {"impl/core/long.cpp": "\n" * 501},
    "quiet": {"impl/core/a.cpp": "void f() { std::cout << 1; }\n", "capi/src/b.cpp": "void f() { abort(); }\n",
              "plugin/c.cpp": "void f() {\n    std::exit(1);\n}\n", "impl/core/d.cpp": "int a = MPI_COMM_WORLD;\n",
              "impl/backend/e.cpp": "void f() { omp_set_num_threads(2); }\n"},
    "device": {"impl/tree/a.cu": "void f() {\n    cudaFree(p);\n}\n", "impl/tree/b.cu": "void f() {\n    k<<<1, 1>>>();\n}\n",
               "impl/lists/c.cu": "void f() {\n    GRAFT_CUDA(cudaStreamSynchronize(s));\n}\n",
               "impl/lists/d.cuh": "void f() {\n    GRAFT_CUDA(cudaMemcpy(a, b, n, cudaMemcpyDefault));\n}\n"},
    "targets": {"impl/kernels/a.hpp": "#if HWY_TARGET == HWY_AVX3\n", "tests/unit/b.cpp": "bool b = HWY_TARGET != HWY_AVX2;\n"},
    "links": {"impl/docs/a.md": "[there](b.md)\n", "README.md": "[there](impl/nowhere.md#part)\n",
              "impl/docs/gpu/new.md": "nothing\n"},
    "headers": {"capi/include/graft/a.h": "int64_t f(void);\n", "capi/include/graft/b.h": "// C99 has these\ninline int f() {}\n"},
}


def self_test(_repository):
    for rule, files in PLANTED.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            said = "\n".join(globals()[rule](folder))
            for path in files:
                if path not in said:
                    yield f"rule {rule} does not notice what is wrong with {path}: {files[path][:60]!r}"


def main(repository, c_compiler, cxx_compiler, *rules):
    wrong = 0
    for rule in rules or ("layering", "sizes", "quiet", "headers", "device", "targets", "links", "self_test"):
        arguments = (c_compiler, cxx_compiler) if rule == "headers" else ()
        for complaint in globals()[rule](repository, *arguments):
            print(f"{rule}: {complaint}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
