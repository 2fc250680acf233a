# SPDX-License-Identifier: BSD-3-Clause
"""phantom.patch by itself: shorter than 40 lines, four lines added and none taken away, and `patch` puts them where they belong in
files that have the lines around them. usage: patch_test.py PATCH"""
import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = {"src/main/deriv.f90": ["use graft_phantom,  only:graft_add_selfgravity", "call graft_add_selfgravity(npart,xyzh,fxyzu)"],
            "src/main/energies.f90": ["use graft_phantom,  only:graft_potential_energy", "epoti = epoti + graft_potential_energy(i)"]}


def before(text):
    """The files that the patch was made for, as far as it shows them: name -> lines, blank where it says nothing."""
    files, name, at = {}, None, 0
    for line in text.splitlines():
        if line.startswith("--- a/"):
            name = line[6:]
            files[name] = []
        elif match := re.match(r"@@ -(\d+),\d+ \+\d+,\d+ @@", line):
            at = int(match.group(1)) - 1
        elif name and line[:1] in (" ", "-") and not line.startswith("---"):
            lines = files[name]
            lines.extend([""] * (at + 1 - len(lines)))
            lines[at] = line[1:]
            at += 1
    return files


def main():
    patch = pathlib.Path(sys.argv[1])
    text = patch.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) < 40, f"{len(lines)} lines; fewer than 40 were promised"
    added = [line for line in lines if re.match(r"\+(?!\+\+)", line)]
    assert len(added) == 4 and not any(re.match(r"-(?!--)", line) for line in lines), added
    with tempfile.TemporaryDirectory() as folder:
        for name, content in before(text).items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(content) + "\n", encoding="utf-8")
        with open(patch, encoding="utf-8") as stream:
            done = subprocess.run(["patch", "-p1", "--fuzz=0"], cwd=folder, stdin=stream, capture_output=True, text=True)
        assert done.returncode == 0 and "offset" not in done.stdout, done.stdout + done.stderr
        for name, wanted in EXPECTED.items():
            found = [line.strip() for line in pathlib.Path(folder, name).read_text(encoding="utf-8").splitlines() if "graft" in line]
            assert found == wanted, (name, found)
    print(f"{len(lines)} lines, 4 of them added to Phantom")


if __name__ == "__main__":
    main()
