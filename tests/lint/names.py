"""The rules of design section 4 for names: rooms of at most MOST_STEMS stems, each stem once, one meaning a word, GPU twins.

A stem is a file's name without its ending and without _gpu: header, source and GPU twin share it. words.txt lists words with
the rooms whose file names may hold them, gpu_alone.txt the GPU files that have no CPU twin, each with its reason.
"""
import os

SOURCES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc")
GPU_SOURCES = (".cu", ".cuh")
MOST_STEMS = 25
LEAST_ALONE = 8 # GPU files without a twin that earn a sub-folder gpu/


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
    """(folder below impl/, names of its sources)."""
    top = os.path.join(repository, "impl")
    for folder, _, names in sorted(os.walk(top)):
        sources = sorted(name for name in names if name.endswith(SOURCES))
        if sources:
            yield os.path.relpath(folder, top), sources


def words(room, folder, names, allowed):
    for stem in sorted({stem_of(name) for name in names}):
        for word in stem.split("_"):
            rooms = allowed.get(word, room).split()
            if not any(room == other or room.startswith(other + "/") for other in rooms):
                yield (f"impl/{folder}/{stem}: '{word}' is a word of {', '.join(rooms) or 'no room'}; "
                       "say what it is (tests/lint/words.txt)")


def sizes(folder, names):
    stems = {stem_of(name) for name in names}
    if len(stems) > MOST_STEMS:
        yield f"impl/{folder}: {len(stems)} stems; expected at most {MOST_STEMS}: this is more than one room"
    if os.path.basename(folder) == "gpu" and len(stems) < LEAST_ALONE:
        yield (f"impl/{folder}: {len(stems)} stems; a sub-folder gpu/ is for {LEAST_ALONE} and more without a twin, "
               "put these beside the room's others")


def twins(folder, names, alone):
    if os.path.basename(folder) == "gpu":
        return
    twins_here = {stem_of(name) for name in names if not is_gpu(name)}
    for name in names:
        if name.endswith(GPU_SOURCES) and not is_gpu(name):
            yield f"impl/{folder}/{name}: a GPU file; expected {os.path.splitext(name)[0]}_gpu"
    for stem in sorted({stem_of(name) for name in names if is_gpu(name)}):
        key = f"{folder}/{stem}_gpu"
        if stem not in twins_here and not alone.get(key):
            yield f"impl/{key}: no twin {folder}/{stem}; expected one, or a line with the reason in tests/lint/gpu_alone.txt"
        if stem in twins_here and key in alone:
            yield f"impl/{key}: has a twin; take its line out of tests/lint/gpu_alone.txt"


def check(repository, rooms, room_of):
    """room_of(path below impl) names the room or None."""
    data = os.path.join(repository, "tests", "lint")
    allowed, alone = table(data, "words.txt"), table(data, "gpu_alone.txt")
    seen, gpu_stems = {}, set()
    for folder, names in folders_of(repository):
        room = room_of(folder, rooms) or folder
        yield from words(room, folder, names, allowed)
        yield from sizes(folder, names)
        yield from twins(folder, names, alone)
        gpu_stems.update(f"{folder}/{stem_of(name)}_gpu" for name in names if is_gpu(name))
        for stem in sorted({stem_of(name) for name in names}):
            if stem in seen:
                yield f"impl/{folder}/{stem}: impl/{seen[stem]} has a {stem}, too; expected each stem once"
            seen.setdefault(stem, folder)
    for key in sorted(set(alone) - gpu_stems):
        yield f"tests/lint/gpu_alone.txt: {key}: there is no such GPU file"
