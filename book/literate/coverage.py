"""The lines of the engine that no page shows, and the directive `coverage`.

A line counts if it has code: it is not blank, not only a comment, not a preprocessor
directive, and not the beginning or end of a namespace. It is shown if some page quotes
it. Folded lines count as shown, in a separate column.
"""

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from . import shown
from .cxx import code_lines

ROOMS = ("engine/autograd", "engine/nn", "engine/parallel", "engine/distributed")
LIMIT = 0.25  # maximum share of unseen lines, per room and of all rooms together

log = logging.getLogger(__name__)


class coverage_table(nodes.General, nodes.Element):
    """Filled in after all pages have been read."""


class Coverage(SphinxDirective):
    def run(self):
        return [coverage_table()]


class Room:
    def __init__(self, name, top, what_is_shown):
        self.name = name
        self.files = {}  # name: (lines of code, shown, shown unfolded, missing)
        for path in sorted((top / name).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            file = path.relative_to(top).as_posix()
            code = code_lines(path.read_text(encoding="utf-8"))
            mine = [what for what in what_is_shown if what.path == file]
            seen = {line for what in mine for line in what.lines}
            opened = {line for what in mine if not what.folded for line in what.lines}
            self.files[file] = (code, code & seen, code & opened)

    def count(self, which):
        return sum(len(sets[which]) for sets in self.files.values())

    @property
    def hidden(self):
        """The share of lines that no page shows."""
        return 1 - self.count(1) / max(1, self.count(0))

    def row(self):
        return [self.name, str(self.count(0)), str(self.count(2)),
                str(self.count(1) - self.count(2)), f"{100 * self.hidden:.1f} %"]


class Total(Room):
    def __init__(self, rooms):
        self.name = "together"
        self.files = {name: sets for room in rooms for name, sets in room.files.items()}


def measure(env):
    what = shown.all_shown(env)
    rooms = [Room(name, shown.root(env), what) for name in ROOMS
             if (shown.root(env) / name).is_dir()]
    return [*rooms, Total(rooms)]


def report(app, env):
    """Warns about rooms above the limit, after all pages have been read."""
    for room in measure(env):
        if room.hidden > app.config.coverage_limit:
            log.warning("%s: the pages leave out %.1f %% of its lines, more than "
                        "%.0f %%; the page about coverage lists them",
                        room.name, 100 * room.hidden, 100 * app.config.coverage_limit)


def print_shares(app, error):
    """Runs at the end of the build."""
    if error is None:
        for room in measure(app.env):
            where = room.name if room.name == "together" else f"of {room.name}"
            print(f"book: {100 * room.hidden:4.1f} % of {room.count(0):4} lines "
                  f"{where} are not shown")


def pages_with_table(app, env):
    """The table depends on all pages."""
    return [page for page in env.found_docs if page.endswith("/coverage")]


def spans(numbers):
    """Formats {3, 4, 5, 9} as `3–5, 9`."""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{a}–{b}" if a < b else str(a) for a, b in parts)


def table(head, rows):
    made = nodes.table(classes=["numbers"])
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    body = nodes.tbody()
    for part, lines in ((nodes.thead(), [head]), (body, rows)):
        for line in lines:
            row = nodes.row()
            for cell in line:
                entry = nodes.entry()
                entry += nodes.paragraph("", cell)
                row += entry
            part += row
        group += part
    made += group
    return made


def fill(app, doctree, docname):
    for place in list(doctree.findall(coverage_table)):
        rooms = measure(app.env)
        missing = [[file, str(len(code)), spans(code - seen)]
                   for file, (code, seen, _) in rooms[-1].files.items() if code - seen]
        head = ["room", "lines", "shown", "behind a fold", "not shown"]
        made = [table(head, [room.row() for room in rooms])]
        if missing:
            made += [nodes.paragraph("", "What no page shows:"),
                     table(["file", "lines of code", "not shown"], missing)]
        place.replace_self(made)


def setup(app):
    app.add_config_value("coverage_limit", LIMIT, "env")
    app.add_node(coverage_table)
    app.add_directive("coverage", Coverage)
    app.connect("env-check-consistency", report)
    app.connect("env-updated", pages_with_table)
    app.connect("doctree-resolved", fill)
    app.connect("build-finished", print_shares)
