"""Finds functions and types in this project's C++ by name, without a compiler.

Not a full C++ parser: it handles strings, comments, namespaces, types, functions with
initialisers, and variables with braces, in clang-format's style. A name that it cannot
find is an error, so the book never silently shows the wrong lines.
"""

import re
from dataclasses import dataclass

from .regions import MARKER, SourceError

SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"'
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
TYPE = re.compile(r"(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(?:\[\[[^\]]*\]\]\s*)?(\w+(?:::\w+)*)(?:<.*?>)?(?:\s+final)?\s*"
                  r"(?::[^:].*)?$", re.S)
NAME = r"(?:~?\w+|operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|[\w:]+[\s&*]*))"
FUNCTION = re.compile(rf"((?:\w+(?:<[^<>()]*>)?\s*::\s*)*{NAME})\s*$")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\b[^;]*$")
NAMESPACE_END = re.compile(r"^\}\s*//\s*namespace\b")
LABEL = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")


@dataclass
class Definition:
    name: str    # with its namespaces and types
    head: str    # the text before its brace, on one line
    first: int   # line number, including the comment above it
    last: int
    declared: bool = False  # a declaration only: it ends with a semicolon


def masked(text):
    """Replaces comments, strings and preprocessor lines by blanks of equal length."""
    return SKIPPED.sub(lambda hit: re.sub(r"[^\n]", " ", hit.group()), text)


def closing(text, at):
    """Returns the position of the bracket that closes the one at `at`."""
    pairs, stack = {"{": "}", "(": ")", "[": "]"}, []
    for i in range(at, len(text)):
        if text[i] in pairs:
            stack.append(pairs[text[i]])
        elif stack and text[i] in ")}]":
            if text[i] != stack.pop():
                break
            if not stack:
                return i
    raise SourceError("brackets do not match")


def initialises_member(head, text, end):
    """True if this brace initialises a member, as in `: a_{1}, b_(2) {`."""
    before = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", head)
    return bool(before and re.search(r"[\w>]\s*$", head[before.end():])
                and re.match(r"\s*[,{]", text[end + 1:]))


def name_of(head):
    """('namespace' | 'type' | 'function' | 'variable', name) for an opening brace."""
    space = re.search(r"\bnamespace\b\s*([\w:]*)\s*$", head)
    if space:
        return "namespace", space.group(1)
    bare = re.sub(r"^\s*template\s*<.*?>\s*(?=[\w\[])", "", head, flags=re.S)
    found = TYPE.search(bare)
    if found and "(" not in bare[:found.start()] and "=" not in bare:
        return "type", found.group(1)
    at = bare.find("(")
    operator_call = re.search(r"operator\s*\(\s*\)\s*\(", bare)
    if operator_call:
        at = operator_call.end() - 1
    equals = re.search(r"(?<![=!<>+*/&|^%-])=(?!=)", bare)
    assigned = equals and (at < 0 or equals.start() < at) and "operator" not in bare
    if at < 0 or assigned:
        found = VARIABLE.search(bare[:equals.start()] if equals else bare)
        return ("variable", found.group(1)) if found else (None, "")
    found = FUNCTION.search(bare[:at])
    if not found:
        return None, ""
    return "function", re.sub(r"\s+", "", found.group(1))


def definitions(text):
    """All definitions with bodies in braces, and all functions only declared."""
    code, lines = masked(text), text.splitlines()
    found = []

    def above(first):
        """Returns the first line of the comment directly above line `first`."""
        while (first > 1 and lines[first - 2].lstrip().startswith("//")
               and not MARKER.match(lines[first - 2])):
            first -= 1
        return first

    def scan(start, stop, scope):
        head_at = i = start
        while i < stop:
            char = code[i]
            if char in "([":
                i = closing(code, i)
            elif char == ";":
                declare(head_at, code[head_at:i], i, scope)
                head_at = i + 1
            elif char == ":" and LABEL.match(code[head_at:i + 1]):
                head_at = i + 1
            elif char == "{":
                end = closing(code, i)
                head = code[head_at:i]
                if initialises_member(head, code, end):
                    i = end + 1
                    continue
                visit(head_at, head, i, end, scope)
                i, head_at = end, end + 1
            i += 1

    def add(head_at, head, end, name, declared):
        lead = len(head) - len(head.lstrip())
        first = code.count("\n", 0, head_at + lead) + 1
        last = code.count("\n", 0, end) + 1
        found.append(Definition("::".join(name), " ".join(head.split()), above(first),
                                last, declared))

    def declare(head_at, head, end, scope):
        kind, name = name_of(head) if "(" in head else (None, "")
        if kind == "function":
            add(head_at, head, end, [*scope, name], True)

    def visit(head_at, head, opened, end, scope):
        kind, name = name_of(head)
        if kind == "namespace":
            scan(opened + 1, end, scope + [part for part in name.split("::") if part])
        elif kind:
            add(head_at, head, end, [*scope, name], False)
            if kind == "type":
                scan(opened + 1, end, [*scope, name])

    scan(0, len(code), [])
    return found


def function(text, name, having=None):
    """Returns the only definition named `name`; `having` distinguishes overloads.

    `name` may omit leading namespaces and types. Prefers a type to a member of the same
    name, and a definition to a declaration. Raises SourceError.
    """
    name = re.sub(r"\s+", "", name)
    hits = [one for one in definitions(text)
            if one.name == name or one.name.endswith("::" + name)]
    if having:
        hits = [one for one in hits if having in one.head]
    if any(not one.declared for one in hits):
        hits = [one for one in hits if not one.declared]
    hits = [one for one in hits
            if not any(other is not one and other.first <= one.first
                       and one.last <= other.last for other in hits)]
    if not hits:
        which = f" with '{having}'" if having else ""
        raise SourceError(f"there is no {name}{which}")
    if len(hits) > 1:
        where = ", ".join(f"{one.name} (line {one.first})" for one in hits)
        raise SourceError(f"{name} is ambiguous: {where}")
    return hits[0]


def code_lines(text):
    """Returns the numbers of the lines that have code: not blank, only a comment, a
    preprocessor directive, or the beginning or end of a namespace."""
    plain = text.splitlines()
    return {number for number, line in enumerate(masked(text).splitlines(), 1)
            if line.strip() and not NAMESPACE.match(line)
            and not NAMESPACE_END.match(plain[number - 1])}
