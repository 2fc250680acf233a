# SPDX-License-Identifier: BSD-3-Clause
"""Sentences of the users' pages, README.md and docs/user, are short: at most LONGEST words, for readers whose English is their third
language.

Code blocks, tables, headings, targets of links and comments of HTML are left out; code in backticks counts as one word. A paragraph, an
item of a list and a block quote end a sentence; within them ".", "?" or "!" does, before a space. No end is the full stop of "e.g.", of a
single letter, or of an item's number.
"""
import os
import re

LONGEST = 30
FENCE = re.compile(r"(```+|~~~+)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
DEFINITION = re.compile(r"\[[^\]]+\]:\s")
QUOTE = re.compile(r"^\s*(?:>\s?)+")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
UNDERLINE = re.compile(r"(?:=+|-+)\s*$")
END = re.compile(r"""[.?!]["')\]*_]*(?=\s|$)""")
NO_END = re.compile(r"(?:^|[\s(\"'])(?:e\.g|i\.e|cf|vs|etc|[A-Za-z])\.$|^\d+\.$")


def pages(repository):
    if os.path.exists(os.path.join(repository, "README.md")):
        yield "README.md"
    for folder, _, names in sorted(os.walk(os.path.join(repository, "docs", "user"))):
        yield from (os.path.relpath(os.path.join(folder, name), repository) for name in sorted(names) if name.endswith(".md"))


def blocks(text):
    """(line, text) of each paragraph, item of a list and block quote; what is no prose ends one."""
    text = COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)
    first, kept, fence = 0, [], ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = QUOTE.sub("", line, count=1)
        marker = FENCE.match(bare.strip())
        item = ITEM.match(bare)
        no_prose = fence or marker or not bare.strip() or bare.lstrip().startswith(("|", "#")) or DEFINITION.match(bare)
        underline = kept and UNDERLINE.match(bare) # what stands above it is a heading
        if (no_prose or item or underline) and kept:
            if not underline:
                yield first, "\n".join(kept)
            kept = []
        if not no_prose and not underline:
            first = first if kept else number
            kept.append(bare[item.end():] if item else bare)
        if marker and not fence:
            fence = marker[0]
        elif marker and marker[0].startswith(fence):
            fence = ""


def sentences(text):
    """(lines above it, sentence) of a block."""
    text = CODE.sub(lambda found: "code" + "\n" * found.group().count("\n"), text)
    text = LINK.sub(lambda found: found[1] + "\n" * (found.group().count("\n") - found[1].count("\n")), text)
    begin = 0
    for end in [*(found.end() for found in END.finditer(text)), len(text)]:
        sentence = text[begin:end]
        if sentence.strip() and (end == len(text) or not NO_END.search(sentence.strip())):
            yield text[:begin + len(sentence) - len(sentence.lstrip())].count("\n"), sentence
            begin = end


def words(sentence):
    """How many: numbers are words, signs that stand alone are not."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def check(repository):
    for page in pages(repository):
        with open(os.path.join(repository, page), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for line, block in blocks(text):
            for above, sentence in sentences(block):
                if (count := words(sentence)) > LONGEST:
                    shown = " ".join(sentence.split()[:6])
                    yield f"{page}:{line + above}: a sentence of {count} words; expected at most {LONGEST}: \"{shown} ...\""
