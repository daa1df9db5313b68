"""What the pages need besides their text: no script that no browser runs, no style from
the web's root, and the prose of all pages for the excerpts of the search."""

import json
import pathlib

from docutils import nodes

SKIPPED = (nodes.literal_block, nodes.math_block, nodes.table, nodes.raw)


def without_module(app, page, template, context, doctree):
    """Debian's furo.js is an unbundled module, and fails in every browser."""
    context["script_files"] = [script for script in context.get("script_files", [])
                               if not str(getattr(script, "filename", script))
                               .endswith("scripts/furo.js")]


def prose(doctree):
    """Returns a page's paragraphs as one text: without code, tables and formulas."""
    told = []
    for paragraph in doctree.findall(nodes.paragraph):
        above, skipped = paragraph.parent, False
        while above is not None:
            skipped = skipped or isinstance(above, SKIPPED)
            above = above.parent
        if not skipped:
            told.append(" ".join(paragraph.astext().split()))
    return " ".join(told)


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    static = pathlib.Path(app.outdir) / "_static"
    texts = {page: prose(app.env.get_doctree(page)) for page in app.env.found_docs}
    (static / "prose.js").write_text(
        f"window.bookProse = {json.dumps(texts, ensure_ascii=False)};\n",
        encoding="utf-8")
    furo = static / "styles/furo.css"
    if furo.exists():
        rest = [line for line in furo.read_text(encoding="utf-8").splitlines(True)
                if "/javascript/normalize.css" not in line]
        furo.write_text("".join(rest), encoding="utf-8")


def setup(app):
    app.connect("html-page-context", without_module, priority=900)
    app.connect("build-finished", finish)
