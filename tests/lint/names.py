# SPDX-License-Identifier: BSD-3-Clause
"""The rules of design section 4 for names: rooms of at most MOST_STEMS stems, each stem once, one meaning a word, GPU twins.

Types of namespaces (struct, class, enum, union, using) have names of the same words, in one number or the other: Wire and Wires
are wire. Outside impl/, where units are users' and cuts are of galaxies, only words without a room are refused. What may stay
is in types_allowed.txt, each with its reason.

A stem is a file's name without its ending and without _gpu: header, source and GPU twin share it. The twin of a GPU stem is the
CPU stem of the same room, or of the room above it, that it is or that its leading words are: m2p_fast_gpu belongs to m2p.
words.txt lists words with the rooms whose file names may hold them, gpu_alone.txt the GPU files (or the folders of them) that
have no twin, each with its reason, names_known.txt what is still named the wrong way. Folders gpu/ hold files that have no twin,
and are not counted.
"""
import os
import re

SOURCES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc")
GPU_SOURCES = (".cu", ".cuh")
MOST_STEMS = 25
LEAST_ALONE = 8 # GPU files without a twin that earn a sub-folder gpu/
TYPED = ("impl", os.path.join("capi", "src"), os.path.join("capi", "internal"), "plugin", "adapters")
LEAST_TWINS = 0.6 # of the GPU stems outside such folders
FILES_ONLY = ("device", "task", "tasks") # GPU twins of types begin with Device; threads have tasks as warps have
TYPE = re.compile(r"^(?:struct|class|enum|union|using)\b(?: (?:struct|class))?(?:\s+alignas\((?:[^()]|\([^()]*\))*\))?"
                  r"\s+([A-Z]\w*)([^;{]*)[;{]", re.MULTILINE) # at a line's beginning: of a namespace
GENERATED = "instances" # folders of explicit instances, which nobody looks for by name


def stem_of(name):
    return os.path.splitext(name)[0].removesuffix("_gpu")


def is_gpu(name):
    return os.path.splitext(name)[0].endswith("_gpu")


def table(folder, name):
    """Lines `key: text` of a data file; '#' begins a comment. A file that is not there is empty."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return {key.strip(): text.strip() for key, _, text in (line.partition(":") for line in lines if line)}


def folders_of(repository):
    """(folder below impl/, names of its sources), but for folders of instances."""
    top = os.path.join(repository, "impl")
    for folder, _, names in sorted(os.walk(top)):
        sources = sorted(name for name in names if name.endswith(SOURCES))
        if sources and os.path.basename(folder) != GENERATED:
            yield os.path.relpath(folder, top), sources


def words(folder, names, allowed):
    for stem in sorted({stem_of(name) for name in names}):
        for word in stem.split("_"):
            rooms = allowed.get(word, folder).split()
            if not any(covers(other, folder) for other in rooms):
                yield (f"impl/{folder}/{stem}: '{word}' is a word of {', '.join(rooms) or 'no room'}; "
                       "say what it is (tests/lint/words.txt)")


def types_of(text):
    """Names of the types that a namespace defines; `using std::swap` and declarations define none."""
    for found in TYPE.finditer(text):
        if found[0].endswith("{") or "=" in found[2]:
            yield found[1]


def room_of_word(word, allowed):
    """The rooms of a type's word, which may stand in words.txt in the other number; None: it is free."""
    known = [one for one in (word, word + "s", word.removesuffix("s")) if one in allowed and one not in FILES_ONLY]
    return allowed[known[0]].split() if known else None


def types(repository, allowed, may_stay):
    met = set()
    for top in TYPED:
        for folder, folders, names in os.walk(os.path.join(repository, top)):
            folders[:] = [name for name in folders if not name.startswith((".", "build"))]
            room = os.path.relpath(folder, os.path.join(repository, "impl")) if top == "impl" else None
            for name in sorted(name for name in names if name.endswith(SOURCES)):
                path = os.path.relpath(os.path.join(folder, name), repository)
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    found = types_of(file.read())
                for one in found:
                    for word in (word.lower() for word in re.findall(r"[A-Z][a-z0-9]*", one)):
                        rooms = room_of_word(word, allowed)
                        if rooms is None or (rooms and (room is None or any(covers(other, room) for other in rooms))):
                            continue
                        known = f"{room or os.path.relpath(folder, repository)}/{one}"
                        met.add(known)
                        if known not in may_stay:
                            yield (f"{path}: type {one}: '{word}' is a word of {', '.join(rooms) or 'no room'}; "
                                   "say what it is (tests/lint/words.txt)")
    for one in sorted(set(may_stay) - met):
        yield f"tests/lint/types_allowed.txt: {one}: nothing is wrong with it now; take its line out"


def covers(room, folder):
    return folder == room or folder.startswith(room + "/")


def sizes(folder, names):
    stems = {stem_of(name) for name in names}
    if len(stems) > MOST_STEMS:
        yield f"impl/{folder}: {len(stems)} stems; expected at most {MOST_STEMS}: this is more than one room"
    if os.path.basename(folder) == "gpu" and len(stems) < LEAST_ALONE:
        yield (f"impl/{folder}: {len(stems)} stems; a sub-folder gpu/ is for {LEAST_ALONE} and more without a twin, "
               "put these beside the room's others")


def twin_of(stem, cpu_stems):
    """The CPU stem that is `stem` or its leading words; None: it has none."""
    parts = stem.split("_")
    return next((start for length in range(len(parts), 0, -1) if (start := "_".join(parts[:length])) in cpu_stems), None)


def gpu_twins(repository):
    """(folder, GPU stem, its twin or None) of every GPU stem that is counted."""
    folders = dict(folders_of(repository))
    cpu_stems = {folder: {stem_of(name) for name in names if not is_gpu(name)} for folder, names in folders.items()}
    for folder, names in folders.items():
        if os.path.basename(folder) != "gpu":
            near = cpu_stems[folder] | cpu_stems.get(os.path.dirname(folder), set())
            for stem in sorted({stem_of(name) for name in names if is_gpu(name)}):
                yield folder, stem, twin_of(stem, near)


def share(repository):
    """(GPU stems that have a twin, all that are counted)."""
    found = [twin for _, _, twin in gpu_twins(repository)]
    return sum(twin is not None for twin in found), len(found)


def twins(repository, alone):
    for folder, names in folders_of(repository):
        for name in names:
            if name.endswith(GPU_SOURCES) and not is_gpu(name):
                yield f"impl/{folder}/{name}: a GPU file; expected {os.path.splitext(name)[0]}_gpu"
    counted = {f"{folder}/{stem}_gpu": twin for folder, stem, twin in gpu_twins(repository)}
    folders = {os.path.dirname(key) + "/" for key, twin in counted.items() if twin is None}
    for key, twin in counted.items():
        if twin is None and not alone.get(key) and not alone.get(os.path.dirname(key) + "/"):
            yield (f"impl/{key}: no twin: no CPU file of this room has a name that this one begins with; expected one, or a line with "
                   "the reason in tests/lint/gpu_alone.txt")
        if twin is not None and key in alone:
            yield f"impl/{key}: has a twin, {twin}; take its line out of tests/lint/gpu_alone.txt"
    for key in sorted(set(alone) - set(counted) - folders):
        yield f"tests/lint/gpu_alone.txt: {key}: there is no such GPU file"
    having = sum(twin is not None for twin in counted.values())
    if having < LEAST_TWINS * len(counted):
        yield f"impl: {having} of {len(counted)} GPU stems have a twin; expected {LEAST_TWINS:.0%} at least"


def once(repository):
    seen = {}
    for folder, names in folders_of(repository):
        for stem in sorted({stem_of(name) for name in names}):
            if stem in seen:
                yield f"impl/{folder}/{stem}: impl/{seen[stem]} has a {stem}, too; expected each stem once"
            seen.setdefault(stem, folder)


def explained(repository, allowed):
    """Each word that has a room is in the glossary."""
    page = os.path.join("docs", "developer", "words.md")
    path = os.path.join(repository, page)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            bold = {word.strip() for line in file for part in line.split("**")[1::2] for word in part.split(",")}
        for word in sorted(word for word, rooms in allowed.items() if rooms and word not in bold):
            yield f"{page}: '{word}' has a room in tests/lint/words.txt; expected a line with **{word}**"


def all_complaints(repository):
    data = os.path.join(repository, "tests", "lint")
    allowed, alone = table(data, "words.txt"), table(data, "gpu_alone.txt")
    for folder, names in folders_of(repository):
        yield from words(folder, names, allowed)
        yield from sizes(folder, names)
    yield from twins(repository, alone)
    yield from once(repository)
    yield from types(repository, allowed, table(data, "types_allowed.txt"))
    yield from explained(repository, allowed)


def check(repository):
    """What names_known.txt lists is let pass, as long as something is wrong with it."""
    known = dict.fromkeys(table(os.path.join(repository, "tests", "lint"), "names_known.txt"), False)
    for complaint in all_complaints(repository):
        subject = complaint.split(":")[0]
        if subject in known:
            known[subject] = True
        else:
            yield complaint
    for subject in (subject for subject, met in known.items() if not met):
        yield f"tests/lint/names_known.txt: {subject}: nothing is wrong with it now; take its line out"
