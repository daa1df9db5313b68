"""The directive `rosetta`: a table PyTorch ⇄ lockstep whose right side is checked.

The table's file has a line `## heading` for each part, and rows of four cells:

    what | PyTorch 1.13 | PyTorch 2.x | lockstep

A cell is a list of `file :: name, name; file :: name`. Of lockstep's files each must
exist and each name must be defined or declared in it.
"""

import re

from docutils import nodes

from .cxx import masked
from .regions import SourceError
from .show import SourceDirective

HEAD = ("", "PyTorch 1.13", "PyTorch 2.x", "lockstep")


def parse(text):
    """[(heading, [[what, old, new, ours], …]), …]"""
    parts = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("## "):
            parts.append((line[3:], []))
        elif line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) != 4 or not parts:
                raise SourceError(
                    f"line {number} is not `what | 1.13 | 2.x | lockstep`")
            parts[-1][1].append(cells)
    return parts


def places(cell):
    """[(file, [name, …]), …]"""
    found = []
    for place in filter(None, (part.strip() for part in cell.split(";"))):
        file, _, names = place.partition("::")
        found.append((file.strip(),
                      [name.strip() for name in names.split(", ") if name.strip()]))
    return found


def stands_in(name, text):
    """True if `Reducer::launch` (or `launch`) occurs in this code as a word."""
    last = name.split("::")[-1]
    pattern = r"\b" + re.escape(last) + r"(?!\w)"
    if last.startswith(("operator", "~")):
        pattern = re.escape(last)
    return re.search(pattern, text) is not None


def missing(cells, read):
    """Returns what is missing on lockstep's side; `read` returns a file or raises."""
    for file, names in places(cells[3]):
        try:
            text = masked(read(file))
        except SourceError as error:
            yield f"{file}: {error}"
            continue
        for name in names:
            if not stands_in(name, text):
                yield f"{file} has no {name}"


class Rosetta(SourceDirective):
    required_arguments = 1

    def show(self, path, names):
        made = []
        for heading, rows in parse(self.read(path)):
            for cells in rows:
                for what in missing(cells, self.read):
                    made.append(self.state.document.reporter.warning(
                        f"{path}: {cells[0]}: {what}", line=self.lineno))
            section = nodes.section(ids=[nodes.make_id(heading)],
                                    names=[nodes.fully_normalize_name(heading)])
            section += nodes.title("", heading)
            section += table(rows)
            made.append(section)
        return made


def cell_node(cell, index):
    entry = nodes.entry()
    if index == 0:
        entry += nodes.paragraph("", cell)
    elif cell in ("", "=", "–"):
        entry += nodes.paragraph("", "the same" if cell == "=" else "–",
                                 classes=["same"])
    else:
        for file, names in places(cell):
            line = nodes.paragraph()
            line += nodes.literal(file, file, classes=["source-name"])
            for name in names:
                line += [nodes.Text(" "), nodes.literal(name, name)]
            entry += line
    return entry


def table(rows):
    made = nodes.table(classes=["rosetta", "colwidths-given"])
    group = nodes.tgroup(cols=4)
    group += [nodes.colspec(colwidth=width) for width in (15, 33, 22, 30)]
    for part, lines in ((nodes.thead(), [HEAD]), (nodes.tbody(), rows)):
        for cells in lines:
            row = nodes.row()
            for index, cell in enumerate(cells):
                if lines[0] is HEAD:
                    entry = nodes.entry()
                    entry += nodes.paragraph("", cell)
                else:
                    entry = cell_node(cell, index)
                row += entry
            part += row
        group += part
    made += group
    return nodes.container("", made, classes=["scrolls"])


def setup(app):
    app.add_directive("rosetta", Rosetta)
