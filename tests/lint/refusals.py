# SPDX-License-Identifier: BSD-3-Clause
"""Each refusal has one place: no text of core::fail stands twice in what becomes the library. A key that such a text names is one of
impl/settings/keys.inc."""
import os
import re

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
FAIL = re.compile(rf"\bfail\(\s*(?:core::)?Status::\w+,\s*({LITERAL}(?:\s*(?:{LITERAL}|PRI[a-z]\w+))*)")
KEYS = os.path.join("impl", "settings", "keys.inc")
# Sections of keys that are arguments of the C interface, too, with members of their own.
ARGUMENTS = {"box", "near_field", "units", "log"}


def refused(text):
    """(line, text) of each core::fail, its literals joined."""
    for found in FAIL.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, "".join(part[1:-1] for part in re.findall(LITERAL, found.group(1)))


def check(sources, keys):
    """sources: [(path, text)]; keys: text of keys.inc."""
    known = set(re.findall(r'"([a-z_]+\.[a-z_]+)"', keys))
    sections = {key.split(".")[0] for key in known} - ARGUMENTS
    first = {}
    for path, text in sources:
        for line, words in refused(text):
            place = f"{path}:{line}"
            if words in first and words != "%s":
                yield f"{place}: \"{words[:60]}\" is refused at {first[words]}, too; expected one function that both call"
            first.setdefault(words, place)
            for section, name in re.findall(r"(?<![\w./])([a-z_]+)\.([a-z_]+)", words):
                if section in sections and f"{section}.{name}" not in known:
                    yield f"{place}: there is no key {section}.{name} ({KEYS})"
