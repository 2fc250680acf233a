# SPDX-License-Identifier: BSD-3-Clause
"""The source of a real host as its tests build it: a folder or an archive, copied, patched, the adapter's files added."""
import shutil
import subprocess
import tarfile


def unpack(source, folder, *leave):
    """leave: patterns of what an earlier build may have left in a folder. An archive has one folder, or all at its top."""
    if source.is_dir():
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "*.o", *leave))
        return
    room = folder.with_name(folder.name + ".unpacked")
    shutil.rmtree(room, ignore_errors=True)
    with tarfile.open(source) as archive:
        archive.extractall(room)
    entries = list(room.iterdir())
    top = entries[0] if len(entries) == 1 else room
    top.rename(folder)
    shutil.rmtree(room, ignore_errors=True)


def patched(source, folder, patch, files, place, *leave):
    """A new folder; files go to this place in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unpack(source, folder, *leave)
    with open(patch, encoding="utf-8") as text:
        subprocess.run(["patch", "-p1", "--fuzz=0"], cwd=folder, stdin=text, check=True)
    for file in files:
        shutil.copy(file, folder / place)
