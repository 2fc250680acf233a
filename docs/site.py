# SPDX-License-Identifier: BSD-3-Clause
"""A hook of mkdocs. Pages of the repository that are not below docs are added where they stand (README.md as the first page), and what
the library says of itself: deck keys, the command's help, the C headers. Links from page to page are turned with them; links to other
files become words, as the site has only pages.

GRAFT_SITE_BUILD names the build folder whose command is asked (build/release, else build/demo); without one these pages say how.
"""
import os
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
ADDED = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md",
         **{str(page.relative_to(ROOT)): str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("adapters/*/README.md"))}}
HEADERS = ("api.h", "types.h", "comm.h", "views.h", "functions.h")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def printed_by(*arguments):
    for build in filter(None, (os.environ.get("GRAFT_SITE_BUILD"), ROOT / "build/release", ROOT / "build/demo")):
        command = Path(build) / "bin/graft"
        if command.exists():
            return subprocess.run([command, *arguments], check=True, capture_output=True, text=True,
                                  env={**os.environ, "GRAFT_LIBRARY": str(Path(build) / "lib/libgraft.so.1")}).stdout
    return None


def as_block(text, how, language="text"):
    return f"```{language}\n{text}```\n" if text is not None else f"This page was made without a build of Graft. `{how}` prints it.\n"


def deck_page():
    """A heading a key, so that each has a place to link to."""
    text = printed_by("deck", "--explain")
    if text is None:
        return as_block(text, "graft deck --explain")
    head, *keys = text.strip().split("\n\n")
    parts = [re.sub(r"^# ?", "", head, flags=re.M)]
    for key in keys:
        name, *lines = (line.strip() for line in key.splitlines())
        parts.append(f"### `{name}`\n\n" + "\n\n".join(line.replace("<", "&lt;") for line in lines))
    return "\n\n".join(parts)


def command_page():
    text = printed_by("--help")
    names = re.findall(r"^  (\w+) {2,}\S", text.split("usage:")[1].split("A first run")[0], flags=re.M) if text else []
    return "\n".join(["# The graft command\n", as_block(text, "graft --help"),
                      *(f"## graft {name}\n\n{as_block(printed_by(name, '--help'), '')}" for name in names)])


def reference_pages():
    yield "reference/deck.md", "# Deck keys\n\n" + deck_page()
    yield "reference/command.md", command_page()
    folder = ROOT / "capi/include/graft"
    yield "reference/c.md", "# The C interface\n\n" + "\n".join(
        f"## {name}\n\n{as_block((folder / name).read_text(), '', 'c')}" for name in HEADERS if (folder / name).exists())


def on_files(files, config):
    for source, page in ADDED.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for page, text in reference_pages():
        files.append(File.generated(config, page, content=text))
    return files


def source_of(page):
    """Of a page of the site: the file in the repository."""
    return next((source for source, name in ADDED.items() if name == page), f"docs/{page}")


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    folder = os.path.dirname(source_of(here))

    def turned(match):
        picture, text, link, anchor = match[1], match[2], match[3], match[4] or ""
        if "://" in link:
            return match[0]
        target = os.path.normpath(os.path.join(folder, link))
        if (ROOT / target).is_dir():
            target = os.path.join(target, "README.md")
        name = ADDED.get(target, target[5:] if target.startswith("docs/") else None)
        if name is None or files.get_file_from_path(name) is None:
            return text
        return f"{picture}[{text}]({os.path.relpath(name, os.path.dirname(here) or '.')}{anchor})"

    return LINK.sub(turned, markdown)
