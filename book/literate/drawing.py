"""The directive `drawing`: an SVG of book/drawings, put into the page itself, so that
it has the page's colours by day and by night. Its classes are in
book/_static/book.css.
"""

import re

from docutils import nodes
from docutils.parsers.rst import directives

from . import shown
from .regions import SourceError
from .show import SourceDirective

COLOURED = re.compile(r'(?:fill|stroke)="(?!none")|style="')


class drawing(nodes.General, nodes.Element):
    """An SVG as it is."""


class Drawing(SourceDirective):
    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def show(self, path, names):
        text = self.read(path).strip()
        if not text.startswith("<svg ") or not text.endswith("</svg>"):
            raise SourceError("is not an <svg>")
        if COLOURED.search(text):
            raise SourceError("has colours of its own; fix: use classes of book.css")
        if "alt" not in self.options or not self.content:
            raise SourceError("requires :alt: and a caption")
        shown.remember(self.env, shown.Shown(path))
        figure = nodes.figure(classes=["drawing"])
        figure += drawing("", svg=text, alt=self.options["alt"])
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        words = nodes.caption()
        for paragraph in caption.children:
            words += paragraph.children
        figure += words
        self.set_source_info(figure)
        return [figure]


def visit(self, node):
    alt = self.attval(node["alt"])
    svg = node["svg"].replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    self.body.append(f'<div class="scrolls">{svg}</div>\n')


def nothing(self, node):
    pass


def setup(app):
    app.add_node(drawing, html=(visit, nothing), text=(nothing, nothing))
    app.add_directive("drawing", Drawing)
