"""The directive `answer`: the answer to a *predict first* question, initially hidden.

Uses HTML's `<details>`, so it needs no script.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class answer(nodes.General, nodes.Element):
    """Opens on click."""


class Answer(SphinxDirective):
    has_content = True

    def run(self):
        box = answer("\n".join(self.content))
        self.set_source_info(box)
        self.state.nested_parse(self.content, self.content_offset, box)
        if not box.children:
            return [self.state.document.reporter.warning("answer: it is empty",
                                                         line=self.lineno)]
        return [box]


def visit(self, node):
    self.body.append(self.starttag(node, "details", CLASS="answer"))
    self.body.append('<summary>Answer</summary>\n<div class="told">\n')


def depart(self, node):
    self.body.append("</div>\n<!-- answer ends --></details>\n")  # for one_page.py


def nothing(self, node):
    pass


def setup(app):
    app.add_node(answer, html=(visit, depart), text=(nothing, nothing))
    app.add_directive("answer", Answer)
