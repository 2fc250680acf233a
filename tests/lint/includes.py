# SPDX-License-Identifier: BSD-3-Clause
"""What a file includes, as the compiler finds it: beside the file, then in the include directories of its target.

The directories stand in the build's compile_commands.json. A file that is not compiled itself (a header, CUDA without nvcc)
is found as the sources of its folder are, or of the nearest folder above that has any.
"""
import json
import os
import re
import shlex

ENDINGS = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def directories_of(command):
    """The -I, -iquote and -isystem directories of a command line, in order."""
    words = iter(shlex.split(command))
    for word in words:
        for option in ("-iquote", "-isystem", "-I"):
            if word == option:
                yield next(words, "")
            elif word.startswith(option):
                yield word[len(option):]


class Includes:
    """Paths are relative to the repository."""

    def __init__(self, repository, build):
        self.repository = os.path.realpath(repository)
        self.build = os.path.realpath(build)
        self.by_folder = {}
        database = os.path.join(build, "compile_commands.json")
        if not os.path.exists(database):
            raise SystemExit(f"{database}: not there; expected the folder of a configured build, for its include directories")
        with open(database, encoding="utf-8") as file:
            for entry in json.load(file):
                self.add(entry)

    def add(self, entry):
        folder = os.path.realpath(entry["directory"])
        known = self.by_folder.setdefault(os.path.dirname(self.relative(os.path.join(folder, entry["file"]))), [])
        for directory in directories_of(entry["command"]):
            path = self.relative(os.path.join(folder, directory))
            if self.inside(path) and path not in known:
                known.append(path)

    def relative(self, path):
        return os.path.relpath(os.path.realpath(path), self.repository)

    def inside(self, path):
        """In the repository and no output of a build (build/ has those of all presets, and hosts)."""
        absolute = os.path.join(self.repository, path)
        return not path.startswith(("..", "build" + os.sep)) and os.path.commonpath([os.path.normpath(absolute), self.build]) != self.build

    def directories(self, folder):
        while True:
            below = "" if folder == "" else folder + "/"
            found = self.by_folder.get(folder) or [directory for other, known in sorted(self.by_folder.items())
                                                   if other.startswith(below) for directory in known]
            if found or folder == "":
                return found
            folder = os.path.dirname(folder)

    def resolve(self, path, written, quoted):
        """The file of the repository that `path` means, or None: a header of the system or one that the build makes."""
        folder = os.path.dirname(path)
        for directory in ([folder] if quoted else []) + self.directories(folder):
            found = os.path.normpath(os.path.join(directory, written))
            if self.inside(found) and os.path.isfile(os.path.join(self.repository, found)):
                return found
        return None

    def of(self, path):
        """(as written, file of the repository or None) of each include."""
        with open(os.path.join(self.repository, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for quoted, angled in INCLUDE.findall(text):
            yield quoted or angled, self.resolve(path, quoted or angled, quoted != "")


def circle_in(edges):
    """Circles of a graph {node: nodes}: one for each set of nodes that reach each other."""
    number, low, path, done = {}, {}, [], set()

    def visit(start):
        stack = [(start, iter(sorted(edges.get(start, ()))))]
        number[start] = low[start] = len(number)
        path.append(start)
        while stack:
            node, following = stack[-1]
            for target in following:
                if target not in number:
                    number[target] = low[target] = len(number)
                    path.append(target)
                    stack.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target not in done:
                    low[node] = min(low[node], number[target])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == number[node]:
                    members = path[path.index(node):]
                    del path[path.index(node):]
                    done.update(members)
                    if len(members) > 1 or node in edges.get(node, ()):
                        circles.append(sorted(members))

    circles = []
    for node in sorted(edges):
        if node not in number:
            visit(node)
    return circles
