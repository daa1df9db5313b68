"""The directives `lessons` and `lesson_table`: the chapters of lessons/NN-name, in
order, and what each of them corrects.

Both skip lessons without a chapter. A row of the table is made from a line of the file
that misconceptions.py reads, and from the lesson's lesson.json.
"""

import fnmatch
import json

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from . import misconceptions
from .regions import SourceError
from .show import SourceDirective

CHAPTERS = "lessons/*/chapter"
HEAD = ("lesson", "misconception", "thread", "slot", "gate", "minutes (estimate)")
WIDTHS = (15, 20, 14, 19, 22, 10)


def chapters(env):
    return sorted(fnmatch.filter(env.found_docs, CHAPTERS))


class Lessons(SphinxDirective):
    def run(self):
        found = chapters(self.env)
        if not found:
            return [nodes.paragraph("", "No lesson has a chapter yet.")]
        lines = ["```{toctree}", ":maxdepth: 1", "", *(f"/{name}" for name in found),
                 "```"]
        box = nodes.Element()
        self.state.nested_parse(StringList(lines, self.env.docname), 0, box)
        return box.children


class LessonTable(SourceDirective):
    required_arguments = 1

    def show(self, path, names):
        entries = misconceptions.parse(self.read(path))
        lessons = [name.split("/")[1] for name in chapters(self.env)]
        wrong = list(misconceptions.unmatched(entries, lessons))
        if wrong:
            return [self.state.document.reporter.warning(f"{path}: {what}",
                                                         line=self.lineno)
                    for what in wrong]
        return [table([self.row(lesson, *entries[lesson]) for lesson in lessons])]

    def row(self, lesson, misconception, addresses):
        """Returns the cells of a lesson; each is a list of lines."""
        path = f"lessons/{lesson}/lesson.json"
        try:
            facts = json.loads(self.read(path))
        except (SourceError, ValueError) as error:
            raise SourceError(f"{path}: {error}") from None
        return [[self.link(lesson, facts["title"])], [nodes.Text(misconception)],
                threads(addresses), slots(facts["slots"]), gate(facts["gates"]),
                [nodes.Text(str(facts["minutes"]))]]

    def link(self, lesson, title):
        """Returns a link to the lesson's chapter."""
        text = f"{lesson.split('-')[0]} {title}"
        return addnodes.pending_xref(
            "", nodes.inline(text, text), refdomain="std", reftype="doc",
            reftarget=f"/lessons/{lesson}/chapter", refdoc=self.env.docname,
            refexplicit=True, refwarn=True)


def threads(addresses):
    return [nodes.reference("", misconceptions.name_of(address), refuri=address)
            for address in addresses] or [nodes.Text(misconceptions.NO_THREAD)]


def slots(names):
    return [nodes.literal(name, name) for name in names] or [nodes.Text("none")]


def gate(gates):
    """The first gate: its numbers, and below them what they count."""
    if not gates:
        return [nodes.Text("none")]
    first = gates[0]
    naive, correct = (f"{first[key]:,.10g}" for key in ("naive", "correct"))
    return [nodes.strong("", f"{naive} → {correct} {first['unit']}"),
            nodes.inline("", first["name"], classes=["name"])]


def table(rows):
    made = nodes.table(classes=["lessons", "colwidths-given"])
    group = nodes.tgroup(cols=len(HEAD))
    group += [nodes.colspec(colwidth=width) for width in WIDTHS]
    heads = [[nodes.Text(head)] for head in HEAD]
    for part, group_rows in ((nodes.thead(), [heads]), (nodes.tbody(), rows)):
        for cells in group_rows:
            row = nodes.row()
            for lines in cells:
                row += nodes.entry("", *(nodes.paragraph("", "", line)
                                         for line in lines))
            part += row
        group += part
    made += group
    return nodes.container("", made, classes=["scrolls"])


def reread(app, env, added, changed, removed):
    """Re-reads the page with these directives when chapters are added or removed."""
    if any(fnmatch.fnmatch(name, CHAPTERS) for name in added | removed):
        return [name for name in env.found_docs if name == "book/lessons"]
    return []


def setup(app):
    app.add_directive("lessons", Lessons)
    app.add_directive("lesson_table", LessonTable)
    app.connect("env-get-outdated", reread)
