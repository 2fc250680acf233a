#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house that a program can check. usage: lint.py REPOSITORY BUILD C_COMPILER CXX_COMPILER [RULE...]

BUILD is a configured build folder: its compile_commands.json says where a target's includes are found.

layering   a room includes only what rooms.py allows it, and so do plugin, capi and adapters, however the include is written
cycles     no files include each other in a circle, and no C files of an adapter or of the loader call each other in one
names      names of files and types as design section 4 wants them: names.py, words.txt, gpu_alone.txt, types_allowed.txt,
           names_known.txt
members    no class or struct has more than 25 data members (members.py); public headers are not asked
sizes      no source file is longer than 500 lines, no line longer than .clang-format says (of scripts: 150)
quiet      no printing, exiting, aborting, signal handling or MPI_COMM_WORLD in what becomes libgraft
headers    each public header compiles alone, as C99 and as C++17, with -pedantic -Werror
device     the answer of each CUDA call and launch is looked at; what waits for a GPU or allocates stands where it is counted
targets    what a SIMD target can do is asked by the words of core/instruction_sets.hpp, never by HWY_TARGET == one of them
links      relative links of Markdown files lead somewhere, and so do the paths of the developer's pages; every page of
           docs/lab/gpu is in its index
plain      sentences of README.md and docs/user are short: plain.py
licence    each source names its licence in its first lines: SPDX-License-Identifier
refusals   an error's text stands once, and names keys that there are: refusals.py
types      a program of tests has no two types of one name: one_type.py
subjects   subjects of commits have at most 72 characters: subjects.py
self_test  each of these rules finds a violation that is planted for it
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import members as data_members
import names as file_names
import one_type
import plain as plain_words
import refusals as refused_texts
import subjects as commit_subjects
from includes import ENDINGS, Includes, circle_in
from planted import CASES, DIRECTORIES
from rooms import KNOWN, OUTSIDE, ROOMS

RULES = ("layering", "cycles", "names", "members", "sizes", "quiet", "headers", "device", "targets", "links", "plain", "licence", "refusals",
         "types", "subjects", "self_test")
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".f90", ".F90", ".f", ".py", ".inc")
NO_COMMENT = ("lammps/example.in", "lammps/cluster.in", "graft.pc.in") # inputs of LAMMPS, and what pkg-config reads
LONGEST = 500
MOST_MEMBERS = 25
WIDEST = {(".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc", ".f90", ".F90", ".f"): 130, # ColumnLimit of .clang-format
          (".py", ".sh", ".cmake", ".in", "CMakeLists.txt"): 150}
WIDER = (os.path.join("tests", "abi", "frozen"), os.path.join("impl", "settings", "keys.inc")) # as released; a table
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


def covers(names, room):
    """`names` has the room, or a folder of rooms that it is in."""
    return any(room == name or room.startswith(name + "/") for name in names.split())


def room_of(folder, rooms):
    """The room that a folder below impl/ is or belongs to; None: no room."""
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def room_of_file(path, rooms):
    folder = os.path.dirname(path)
    if path.startswith("impl/"):
        return room_of(folder.removeprefix("impl").removeprefix("/"), rooms)
    return room_of(folder, OUTSIDE)


def layering(repository, build, rooms=ROOMS):
    includes = Includes(repository, build)
    everything = {**rooms, **OUTSIDE}
    for path in (path for top in ("impl", "capi", "plugin", "adapters") for path in files_of(repository, top, ENDINGS)):
        room = room_of_file(path, rooms)
        if room is None:
            yield f"{path}: '{os.path.dirname(path)}' is no room (tests/lint/rooms.py)"
            continue
        for written, found in includes.of(path):
            if room == "capi/include" and not written.startswith("graft/") and found is not None:
                yield f"{path}: includes \"{written}\"; public headers include <graft/...> and the C library only"
            target = room_of_file(found, rooms) if found else room
            if target != room and f"{room} {target}" not in KNOWN and not covers(everything[room] + " capi/include", target or "nowhere"):
                yield (f"{path}: room {room} includes {written}, which is {found}; "
                       f"allowed: {everything[room] or 'itself'} (tests/lint/rooms.py)")


FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)


def calls_between(repository, files):
    """{file: files with the functions that it names} of the C files of a folder."""
    text = {path: without_comments(read(repository, path)) for path in files}
    home = {name: path for path in files for name in FUNCTION.findall(text[path])}
    return {path: {home[word] for word in set(re.findall(r"\w+", text[path])) & set(home)} - {path} for path in files}


def cycles(repository, build):
    includes = Includes(repository, build)
    edges = {path: {found for _, found in includes.of(path) if found}
             for top in ("adapters", "capi", "examples", "impl", "plugin", "tests")
             for path in files_of(repository, top, ENDINGS)}
    for circle in circle_in(edges):
        yield f"{', '.join(circle)}: include each other in a circle"
    folders = {}
    for path in (path for top in ("adapters", "plugin/loader") for path in files_of(repository, top, (".c",))):
        folders.setdefault(os.path.dirname(path), []).append(path)
    for files in folders.values():
        for circle in circle_in(calls_between(repository, files)):
            yield f"{', '.join(circle)}: call each other in a circle; expected calls one way"


def names(repository):
    yield from file_names.check(repository)


def members(repository):
    for folder in ("impl", os.path.join("capi", "src"), os.path.join("capi", "internal"), "plugin", "adapters"):
        for path in files_of(repository, folder, (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc")):
            for name, line, count in data_members.of_text(without_comments(read(repository, path))):
                if count > MOST_MEMBERS:
                    yield (f"{path}:{line}: {name} has {count} data members; nothing passes {MOST_MEMBERS}: "
                           "put those that belong together in structs of their own")


def sizes(repository):
    for folder in ("adapters", "capi", "examples", "impl", "plugin", "tests"):
        for path in files_of(repository, folder):
            lines = read(repository, path).count("\n")
            if lines > LONGEST:
                yield f"{path}: {lines} lines; nothing passes {LONGEST}"
    for endings, widest in WIDEST.items():
        for folder in ("adapters", "capi", "docs", "examples", "impl", "plugin", "tests"):
            for path in (path for path in files_of(repository, folder, endings) if not path.startswith(WIDER)):
                for number, line in enumerate(read(repository, path).splitlines(), 1):
                    if len(line) > widest:
                        yield f"{path}:{number}: {len(line)} characters; expected at most {widest}"


def quiet(repository):
    for folder in ("impl", "capi", "plugin"):
        for path in files_of(repository, folder, (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")):
            if path.startswith(os.path.join("plugin", "loader")):  # prints with GRAFT_LOAD_DEBUG=1, in the host
                continue
            for number, line in enumerate(without_comments(read(repository, path)).splitlines(), 1):
                found = LOUD.search(line)
                if found and "attribute" not in line and "format(printf" not in line:
                    yield f"{path}:{number}: {found.group(0).strip()}: a library neither prints nor ends its host"


def headers(repository, c_compiler, cxx_compiler):
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
MAY_WAIT = {"backend/memory_cap_gpu.cu": "DeviceMemory::allocations", "backend/queue_gpu.cu": "Queue::waits",
            "backend/block_cache_gpu.cu": "DeviceMemory::allocations",
            "particles/staging_gpu.cu": "slot_waits", "engine/gpu/step_clock_gpu.cu": "Computation::waits",
            "engine/write_results_gpu.cu": "Computation::waits", "engine/gpu/engine_gpu.cu": "after errors and at the end of its life only",
            "engine/gpu/computation_gpu.cu": "after errors only",
            "engine/ranks/ranks_engine_gpu.cu": "Computation::waits", "near/layouts/layout_base_gpu.cu": "near field: its own times",
            "near/plan/near_plan_gpu.cu": "near field: waits_", "near/plan/caller_points_gpu.cu": "near field: waits_",
            "near/plan/caller_sums_gpu.cu": "near field: end()", "near/structure_parts_gpu.cu": "its end",
            "near/copies/layout_copies_gpu.cu": "near field: its own times", "decompose/array_transfer_gpu.cu": "cuts from host arrays",
            "engine/gpu/library_table_gpu.cu": "memory of the commands, messages", "study/bench/cloud_points_gpu.cu": "points of bench",
            "study/papers/liu_buffers_gpu.cu": "FedReport::wait_s", "study/papers/rehmann_bench_gpu.cuh": "bench",
            "study/papers/rehmann_report_gpu.cu": "bench", "study/bench/bench_orb_gpu.cu": "bench"}


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
# Pages whose paths must exist: words in backticks with a '/' or the ending of a source; NAME stands for what a reader chooses.
PAGES_WITH_PATHS = (os.path.join("docs", "developer", "map.md"), os.path.join("docs", "developer", "words.md"), "CONTRIBUTING.md",
                    "SECURITY.md", "THIRD-PARTY.md")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:[ch]pp|cuh?|[ch]|py|cmake|txt|md|json|toml))`")


def leads_somewhere(repository, path):
    """The path is there, or a source with that name and some ending, from the top or below impl/."""
    places = (os.path.join(repository, path), os.path.join(repository, "impl", path))
    return any(os.path.exists(place) or glob.glob(place + ".*") for place in places)


def paths(repository):
    for page in (page for page in PAGES_WITH_PATHS if os.path.exists(os.path.join(repository, page))):
        for path in PATH.findall(read(repository, page)):
            if "NAME" not in path and not path.startswith("build/") and not leads_somewhere(repository, path):
                yield f"{page}: there is no {path}, nor impl/{path}"


def links(repository):
    index = os.path.join("docs", "lab", "gpu.md")
    top = [name for name in sorted(os.listdir(repository)) if name.endswith(".md")]
    pages = [path for folder in ("adapters", "docs", "examples", "tests") for path in files_of(repository, folder, (".md",))]
    for path in top + pages:
        for target in LINK.findall(read(repository, path)):
            if "://" not in target and not target.startswith("mailto:") and \
                    not os.path.exists(os.path.join(repository, os.path.dirname(path), target)):
                yield f"{path}: the link to {target} leads nowhere"
    yield from paths(repository)
    for path in pages:
        folder, name = os.path.split(path)
        if folder == os.path.join("docs", "lab", "gpu") and f"gpu/{name}" not in \
                (read(repository, index) if os.path.exists(os.path.join(repository, index)) else ""):
            yield f"{path}: not in {index}"


def plain(repository):
    yield from plain_words.check(repository)


def licence(repository):
    """Frozen headers and clients of tests/abi stay as they were released."""
    for folder in ("adapters", "capi", "examples", "impl", "plugin", "tests"):
        for path in files_of(repository, folder, SOURCES + (".sh", ".cmake", ".in", "CMakeLists.txt")):
            text = read(repository, path)
            if text.strip() and "SPDX-License-Identifier: " not in "".join(text.splitlines(True)[:2]) \
                    and not path.startswith(os.path.join("tests", "abi", "frozen")) and not path.endswith(NO_COMMENT):
                yield f"{path}: no licence; expected SPDX-License-Identifier: BSD-3-Clause in the first two lines"


def refusals(repository):
    sources = [(path, read(repository, path)) for folder in ("impl", "capi", "plugin") for path in files_of(repository, folder)]
    yield from refused_texts.check(sources, read(repository, refused_texts.KEYS))


def types(repository, build):
    for folder, name, files in one_type.twice(repository, Includes(repository, build),
                                              lambda path: without_comments(read(repository, path))):
        yield f"{folder}: two types are called {name}, in {' and '.join(files)}; expected another name for one of them"


def subjects(repository):
    yield from commit_subjects.check(repository)


def plant(folder, files, commits=()):
    """Writes a case's tree, the compile commands of a build of it, and empty commits with these subjects."""
    for path, text in files.items():
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    os.makedirs(os.path.join(folder, "build"))
    commands = [{"directory": folder, "file": f"{source}/any.cpp", "command": " ".join(["c++", *(f"-I{path}" for path in paths)])}
                for source, paths in DIRECTORIES.items()]
    with open(os.path.join(folder, "build", "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)
    settings = ("-c", "user.name=any", "-c", "user.email=any@example.org", "-c", "commit.gpgsign=false")
    for arguments in [("init", "-q")] * bool(commits) + [(*settings, "commit", "-q", "--allow-empty", "-m", one) for one in commits]:
        commit_subjects.git(folder, *arguments)


def self_test(_repository):
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            plant(folder, case["files"], case.get("commits", ()))
            options = {"rooms": case["rooms"]} if "rooms" in case else {}
            said = list(ask(case["rule"], folder, os.path.join(folder, "build"), **options))
        for part in case.get("says", case["files"]):
            if not any(part in complaint for complaint in said):
                yield f"rule {case['rule']} does not say '{part}'; it says: {said}"
        for part in case.get("silent", ()):
            for complaint in (complaint for complaint in said if part in complaint):
                yield f"rule {case['rule']} finds fault where there is none: {complaint}"


def ask(rule, repository, build, compilers=("cc", "c++"), **options):
    arguments = {"layering": (build,), "cycles": (build,), "types": (build,), "headers": compilers}.get(rule, ())
    return globals()[rule](repository, *arguments, **options)


def main(repository, build, c_compiler, cxx_compiler, *rules):
    wrong = 0
    for rule in rules or RULES:
        for complaint in ask(rule, repository, build, (c_compiler, cxx_compiler)):
            print(f"{rule}: {complaint}")
            wrong += 1
        if rule == "names":
            print("names: {} of {} GPU stems have a CPU twin".format(*file_names.share(repository)))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
