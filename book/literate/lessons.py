"""The directive `lessons`: the chapters of lessons/NN-name, in order.

Skips lessons without a chapter.
"""

import fnmatch

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

CHAPTERS = "lessons/*/chapter"


class Lessons(SphinxDirective):
    def run(self):
        found = sorted(fnmatch.filter(self.env.found_docs, CHAPTERS))
        if not found:
            return [nodes.paragraph("", "No lesson has a chapter yet.")]
        lines = ["```{toctree}", ":maxdepth: 1", "", *(f"/{name}" for name in found),
                 "```"]
        box = nodes.Element()
        self.state.nested_parse(StringList(lines, self.env.docname), 0, box)
        return box.children


def reread(app, env, added, changed, removed):
    """Re-reads the page with this directive when chapters are added or removed."""
    if any(fnmatch.fnmatch(name, CHAPTERS) for name in added | removed):
        return [name for name in env.found_docs if name == "book/lessons"]
    return []


def setup(app):
    app.add_directive("lessons", Lessons)
    app.connect("env-get-outdated", reread)
