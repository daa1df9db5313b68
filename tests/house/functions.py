"""Finds the functions of C++ sources and their lengths, without a compiler.

    functions.py base engine    # prints `path function lines` of those over 60 lines

A function's length is the number of lines from its name in the definition to its
closing brace. Lambdas and local classes count towards the function that contains them.
Code must be formatted and compile; macros are not expanded.
"""

import copy
import dataclasses
import pathlib
import re
import sys

LIMIT = 60
# Text that contains no tokens. A number is matched, and kept, because of the digit
# separators in it.
LITERAL = r'"(?:\\.|[^"\\\n])*"'
WITHOUT_TOKENS = re.compile(
    r"(?P<number>(?<!\w)\d(?:'?[\w.])*)"
    rf'|(?P<directive>^[ \t]*\#(?:\\\n|//[^\n]*|/\*.*?\*/|{LITERAL}|[^\n])*)'
    r"|//(?:\\\n|[^\n])*|/\*.*?\*/"
    r'|\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)"'
    rf"|{LITERAL}|'(?:\\.|[^'\\\n])+'",
    re.M | re.S)
CONDITIONAL = re.compile(r"\s*#\s*(if|el|endif)")
TOKEN = re.compile(r"#?\w+|::|->|\.\.\.|\S")
WORD = re.compile(r"[A-Za-z_]\w*$")
CLOSING = {")": "(", "]": "[", ">": "<"}
# Words before parentheses that are not a parameter list.
NO_NAMES = {"alignas", "decltype", "explicit", "noexcept", "requires", "__attribute__",
            "__launch_bounds__", "__declspec", "static_assert", "if", "for", "while",
            "switch", "catch", "return", "sizeof", "asm"}


@dataclasses.dataclass(frozen=True)
class Function:
    """A function definition. `name` includes its classes but no namespaces."""
    name: str
    line: int
    lines: int


@dataclasses.dataclass
class Scope:
    """A pair of braces. `kind` is namespace, class, function or braces (any other)."""
    kind: str
    name: str = ""
    line: int = 0


@dataclasses.dataclass
class State:
    """The open scopes, and the declaration being read in the innermost one: its tokens
    outside brackets, the brackets themselves, and those still open."""
    scopes: list = dataclasses.field(default_factory=list)
    tokens: list = dataclasses.field(default_factory=list)
    lines: list = dataclasses.field(default_factory=list)
    open: list = dataclasses.field(default_factory=list)

    def in_declarations(self):
        return not self.scopes or self.scopes[-1].kind in ("namespace", "class")

    def add(self, token, line):
        self.tokens.append(token)
        self.lines.append(line)

    def end_declaration(self):
        self.tokens, self.lines, self.open = [], [], []


def strip(code):
    """Removes comments, literals and directives but keeps the line numbers. Of the
    directives, `#if`, `#el` and `#endif` remain as tokens."""
    def blank(match):
        if match["number"]:
            return match["number"]
        conditional = CONDITIONAL.match(match["directive"] or "")
        kept = "#" + conditional[1] if conditional else " "
        return kept + "\n" * match[0].count("\n")
    return WITHOUT_TOKENS.sub(blank, code)


def functions(code, path="source"):
    """Returns the functions defined in C++ source text, in the order of their names'
    lines. Throws ValueError, which names the path, if braces are unbalanced."""
    state = State()
    branches = []  # the state at each open #if, from which #else continues
    found = {}
    for line, text in enumerate(strip(code).split("\n"), 1):
        for token in TOKEN.findall(text):
            if token == "#if":
                branches.append(copy.deepcopy(state))
            elif token == "#el" and branches:
                state = copy.deepcopy(branches[-1])
            elif token == "#endif" and branches:
                branches.pop()
            elif token == "{":
                open_brace(state)
            elif token == "}":
                if not state.scopes:
                    raise ValueError(f"{path}:{line}: this brace closes none")
                close_brace(state, line, found)
            elif state.in_declarations():
                extend_declaration(state, token, line)
    if state.scopes:
        raise ValueError(f"{path}: a brace is not closed")
    return sorted(found.values(), key=lambda function: function.line)


def extend_declaration(state, token, line):
    if token == ";":
        return state.end_declaration()
    if token in CLOSING and CLOSING[token] in state.open:
        if token == ">" and state.open[-1] != "<":
            return  # greater than
        while state.open.pop() != CLOSING[token]:
            pass
    if not state.open:
        state.add(token, line)
    if token in ("(", "[") or token == "<" and opens_template_arguments(state):
        state.open.append(token)


def opens_template_arguments(state):
    """Whether `<`, the last token, is neither a comparison nor an operator's name."""
    if state.open:
        return state.open[-1] == "<"
    return "operator" not in state.tokens[-3:-1]


def open_brace(state):
    scope = Scope("braces")
    if state.in_declarations() and not state.open:
        scope = classified(state)
    state.scopes.append(scope)
    if scope.kind != "braces":
        state.end_declaration()


def close_brace(state, line, found):
    scope = state.scopes.pop()
    if scope.kind == "function":
        length = line - scope.line + 1
        found[scope.name, scope.line] = Function(scope.name, scope.line, length)
    if not state.in_declarations():
        return
    if scope.kind != "braces":
        state.end_declaration()
    elif not state.open:
        state.add("}", line)


def classified(state):
    """Returns the scope that a `{` after the declaration's tokens opens."""
    tokens = state.tokens
    if "namespace" in tokens or tokens == ["extern"]:
        return Scope("namespace")
    parameters = begin_of_parameters(tokens)
    if parameters is not None:
        if initializes_member(tokens[parameters:]):
            return Scope("braces")
        begin = begin_of_name(tokens, parameters)
        classes = [scope.name for scope in state.scopes if scope.name]
        name = "::".join([*classes, spelled(tokens[begin:parameters])])
        return Scope("function", name, state.lines[begin])
    if {"class", "struct", "union"} & set(tokens):
        return Scope("class", name_of_class(tokens))
    return Scope("braces")


def begin_of_parameters(tokens):
    """Returns the index of a function declaration's `(`, or None for any other
    declaration."""
    if "operator" in tokens:
        after = tokens.index("operator") + 2  # operator() has a `(` in its name
        return tokens.index("(", after) if "(" in tokens[after:] else None
    for i, token in enumerate(tokens):
        if token == "=":
            return None
        before = tokens[i - 1] if i else ""
        if token == "(" and before not in NO_NAMES and (
                WORD.match(before) or before == ">"):
            return i
    return None


def initializes_member(tokens):
    """Whether the `{` after these tokens, which begin at the parameters, initializes a
    member in a constructor's list of them: there, it follows the member's name."""
    return ":" in tokens and bool(WORD.match(tokens[-1]) or tokens[-1] == ">")


def begin_of_name(tokens, end):
    """Returns the index at which the qualified name before tokens[end] begins."""
    if "operator" in tokens:
        begin = tokens.index("operator")
    else:
        begin = begin_of_word(tokens, end)
        if begin and tokens[begin - 1] == "~":
            begin -= 1
    while begin > 1 and tokens[begin - 1] == "::":
        begin = begin_of_word(tokens, begin - 1)
    return begin


def begin_of_word(tokens, end):
    """Returns the index of the word before tokens[end], skipping template arguments."""
    if tokens[end - 1] == ">":
        return end - 3
    return end - 1


def name_of_class(tokens):
    keyword = next(i for i, token in enumerate(tokens)
                   if token in ("class", "struct", "union"))
    head = tokens[keyword + 1:]
    if ":" in head:
        head = head[:head.index(":")]
    words = [token for token in head if WORD.match(token) and token != "final"]
    return words[-1] if words else ""


def spelled(tokens):
    """Joins the tokens of a name: `operator bool` but `operator==`. Drops the brackets
    of template arguments."""
    end = tokens.index("operator") if "operator" in tokens else len(tokens)
    text = ""
    for i, token in enumerate(tokens):
        if token in ("<", ">") and i < end:
            continue
        gap = text and WORD.match(token) and re.search(r"\w$", text)
        text += " " + token if gap else token
    return text


def long_functions(sources):
    """Returns {(path, function): lines} of the functions over the limit in the sources
    {path: code}. Overloads after the first in a file are numbered: `f#2`."""
    found = {}
    for path, code in sources.items():
        seen = {}
        for function in functions(code, path):
            number = seen[function.name] = seen.get(function.name, 0) + 1
            name = function.name if number == 1 else f"{function.name}#{number}"
            if function.lines > LIMIT:
                found[path, name] = function.lines
    return found


def parse_list(text):
    """Reads lines `path function lines` as long_functions() returns them."""
    listed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            path, rest = line.split(" ", 1)
            name, lines = rest.rsplit(" ", 1)
            listed[path, name] = int(lines)
    return listed


def violations(found, listed):
    """Compares the long functions with the listed ones and returns a message for each
    one that grew, shrank, is new, or is not long any more."""
    wrong = []
    for (path, name), lines in sorted(found.items()):
        if (path, name) not in listed:
            wrong.append(f"{path}: {name} has {lines} lines, the limit is {LIMIT}; "
                         "fix: split it into functions with a name each")
        elif lines > listed[path, name]:
            wrong.append(f"{path}: {name} grew from {listed[path, name]} to {lines} "
                         "lines; fix: split it into functions with a name each")
        elif lines < listed[path, name]:
            wrong.append(f"{path}: {name} has {lines} lines now; fix: lower its "
                         f"{listed[path, name]}")
    for path, name in sorted(set(listed) - set(found)):
        wrong.append(f"{path}: {name} does not exceed {LIMIT} lines any more; "
                     "fix: delete the line")
    return wrong


def main(folders):
    paths = [path for folder in folders for path in pathlib.Path(folder).rglob("*")
             if path.suffix in (".h", ".cpp", ".cu")]
    sources = {path.as_posix(): path.read_text() for path in sorted(paths)}
    for (path, name), lines in long_functions(sources).items():
        print(path, name, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
