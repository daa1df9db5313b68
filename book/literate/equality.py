"""The directive `equality`: the table that tests/engine/sharing/equality.h computes.

The file has a line of heads, a line for each pair of ways, an empty line, and a line
`A is not B: why` for each pair that is unequal somewhere. The first two columns are 18
characters wide, the others 10.
"""

import re

from docutils import nodes

from .regions import SourceError
from .show import SourceDirective

FIRST, EACH = 18, 10
LOOKS = {"bit-equal": ("≡", "bits"), "1e-12": ("=", "equal"), "–": ("", "none")}


def split(line):
    """Cuts a line at the widths of its columns."""
    cells = [line[:FIRST], line[FIRST:2 * FIRST]]
    rest = line[2 * FIRST:]
    cells += [rest[i:i + EACH] for i in range(0, len(rest), EACH)]
    return [cell.strip() for cell in cells]


def parse(text):
    """(heads, rows, {(way, other): why}); raises SourceError if a cell is unknown."""
    table, _, rest = text.partition("\n\n")
    heads, *rows = [split(line) for line in table.splitlines()]
    for row in rows:
        if len(row) != len(heads):
            raise SourceError(f"`{row[0]}` has {len(row)} cells, expected {len(heads)}")
        for cell in row[2:]:
            if cell not in LOOKS and not re.fullmatch("≠( [bdu])*", cell):
                raise SourceError(f"`{row[0]}`: the cell `{cell}` is unknown")
    reasons = {}
    for line in filter(None, rest.splitlines()):
        pair, _, why = line.partition(": ")
        reasons[tuple(pair.split(" is not "))] = why
    for row in rows:
        unequal = any(cell.startswith("≠") for cell in row[2:])
        if unequal and tuple(row[:2]) not in reasons:
            raise SourceError(f"no reason says why `{row[0]}` is not `{row[1]}`")
    return heads, rows, reasons


def entry_of(cell, position):
    if position < 2:
        return nodes.entry("", nodes.paragraph("", cell), classes=["way"])
    text, look = LOOKS.get(cell, (cell, "unequal"))
    return nodes.entry("", nodes.paragraph("", text), classes=[look])


def table(heads, rows):
    made = nodes.table(classes=["equality"])
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _ in heads]
    for part, lines in ((nodes.thead(), [heads]), (nodes.tbody(), rows)):
        for cells in lines:
            line = nodes.row()
            for position, cell in enumerate(cells):
                line += (nodes.entry("", nodes.paragraph("", cell))
                         if lines[0] is heads else entry_of(cell, position))
            part += line
        group += part
    made += group
    return nodes.container("", made, classes=["scrolls"])


def list_of(heads, rows, reasons):
    """Each unequal pair, on which nets, and why."""
    made = nodes.bullet_list()
    for row in rows:
        where = [head for head, cell in zip(heads[2:], row[2:]) if cell.startswith("≠")]
        if not where:
            continue
        nets = "every net" if len(where) == len(heads) - 2 else ", ".join(where)
        line = nodes.paragraph()
        line += [nodes.strong("", row[0]), nodes.Text(" ≠ "), nodes.strong("", row[1]),
                 nodes.Text(f" on {nets}: {reasons[tuple(row[:2])]}")]
        made += nodes.list_item("", line)
    return made


class Equality(SourceDirective):
    required_arguments = 1

    def show(self, path, names):
        heads, rows, reasons = parse(self.read(path))
        return [table(heads, rows), list_of(heads, rows, reasons)]


def setup(app):
    app.add_directive("equality", Equality)
