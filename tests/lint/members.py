# SPDX-License-Identifier: BSD-3-Clause
"""How many data members a class or struct has of its own: read from its text, without a compiler.

Comments and strings must have been blanked. Brackets are closed up from the inside, so that what is left of a body are
statements; a statement that is no function, type or static declares as many members as it has commas and one. What an
#include in a body brings (the options of settings/keys.inc) is not seen.
"""
import re

BODY, CALL = "\x01", "\x02" # closed braces and closed parentheses
HEAD = re.compile(r"(?<!enum )\b(?:struct|class)\b(?:alignas\s*\((?:[^()]|\([^()]*\))*\)|[^;{}()=])*\{")
POINTER = re.compile(r"\(\s*(?:\w+\s*::\s*)*\*\s*(?:const\s*)?(\w+)\s*\)\s*\(") # of a function: (*name)(
NO_MEMBER = re.compile(r"(using|typedef|friend|static|template|extern|explicit|virtual|enum)\b|static_assert|operator\b|.*\boperator\b")
NESTED = re.compile(r"(?:struct|class|union)\b")


def closed(text, opening, closing, mark):
    """Each pair of brackets becomes `mark`, from the inside."""
    pattern = re.compile(rf"{re.escape(opening)}[^{re.escape(opening + closing)}]*{re.escape(closing)}")
    while (shorter := pattern.sub(mark, text)) != text:
        text = shorter
    return text


def block(text, start):
    """What stands between the brace before `start` and the one that closes it."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


def statements(body):
    """Those of a class body, without its functions' definitions."""
    body = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", "", body, flags=re.MULTILINE)
    body = POINTER.sub(r" \1 = (", body)
    body = closed(closed(body, "{", "}", BODY), "(", ")", CALL)
    body = re.sub(rf"\b(?:alignas|noexcept|decltype|__attribute__|__launch_bounds__|__align__)\s*{CALL}", " ", body)
    body = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", body)
    body = closed(body.replace("->", "  "), "<", ">", " ")
    statement = ""
    for place, sign in enumerate(body):
        after = body[place + 1:].lstrip()[:1]
        function = CALL in statement.split("=")[0]
        if sign == ";" or (sign == BODY and function and after not in (",", BODY)):
            yield (statement + (BODY if sign == BODY else "")).strip(), function
            statement = ""
        else:
            statement += sign


def declared(statement):
    """Members that a statement which is no function declares."""
    if not statement or NO_MEMBER.match(statement):
        return 0
    if NESTED.match(statement):
        rest = statement.rpartition(BODY)[2].strip() if BODY in statement else ""
        if not rest: # a type; without a name its members are the class's, one at a time where it is a union
            is_pointer = "*" in statement or len(statement.split()) > 2
            return 1 if re.match(rf"union\s*{BODY}", statement) or (BODY not in statement and is_pointer) else 0
        statement = rest
    return statement.count(",") + 1


def of_body(body):
    return sum(declared(statement) for statement, function in statements(body) if not function)


def of_text(text):
    """(name, its line, data members) of each class and struct with a body."""
    for head in HEAD.finditer(text):
        last = [word.start() for word in re.finditer(r"\b(?:struct|class)\b", head[0])][-1] # those before it are of a template
        words = re.sub(r"alignas\s*\((?:[^()]|\([^()]*\))*\)|\bfinal\b|\[\[.*?\]\]", " ", head[0][last:].rstrip("{"))
        words = re.split(r"(?<!:):(?!:)", words)[0].split()[1:]
        line = text.count("\n", 0, head.start() + last) + 1
        yield words[-1] if words else "(no name)", line, of_body(block(text, head.end()))
