"""The directives `output` and `trace-figure`: captured output and rendered traces.

Both show files that a committed script generates, and require the script to name them,
so that every figure can be reproduced.
"""

import pathlib
import posixpath

from docutils import nodes
from docutils.parsers.rst import directives

from . import shown
from .regions import SourceError
from .show import SourceDirective

OUTPUT_MAKER = "book/capture.sh"
FIGURE_MAKER = "book/figures.sh"


class Output(SourceDirective):
    """A console: lines that begin with `$ ` are input. `:from:` and `:until:` restrict
    it to the lines from the first with one text to the first with the other."""

    required_arguments = 1
    option_spec = {"from": directives.unchanged_required,
                   "until": directives.unchanged_required}

    def show(self, path, names):
        text = self.read(path).rstrip("\n")
        must_name(self.read(OUTPUT_MAKER), OUTPUT_MAKER, path)
        if not text.strip():
            raise SourceError("is empty")
        shown.remember(self.env, shown.Shown(path))
        text = "\n".join(self.excerpt(text.split("\n")))
        code = nodes.literal_block(text, text, language="console",
                                   classes=["console"])
        self.set_source_info(code)
        return [code]

    def excerpt(self, lines):
        """Returns the input, and the lines between the two texts."""
        typed = 1  # the lines of input
        while typed < len(lines) and (lines[typed - 1].endswith("\\")
                                      or lines[typed].startswith("$ ")):
            typed += 1
        first, last = typed, len(lines) - 1
        for option, text in self.options.items():
            found = [i for i, line in enumerate(lines) if i >= typed and text in line]
            if not found:
                raise SourceError(f"no line has '{text}'")
            if option == "from":
                first = found[0]
            else:
                last = next((i for i in found if i >= first), first)
        before = ["…"] if first > typed else []
        rest = len(lines) - 1 - last
        after = [f"… ({rest} more lines)"] if rest else []
        return [*lines[:typed], *before, *lines[first:last + 1], *after]


class TraceFigure(SourceDirective):
    """An image; its caption is the directive's content, `alt` describes it."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def show(self, path, names):
        file = shown.root(self.env) / path
        if not file.is_file():
            raise SourceError(f"is missing; fix: {FIGURE_MAKER}")
        must_name(self.read(FIGURE_MAKER), FIGURE_MAKER, path)
        if "alt" not in self.options:
            raise SourceError("requires :alt:, a description of the image")
        if not self.content:
            raise SourceError("requires a caption")
        self.env.note_dependency(str(file))
        shown.remember(self.env, shown.Shown(path))
        figure = nodes.figure(classes=["trace"])
        figure += nodes.image(uri="/" + path, alt=self.options["alt"])
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        text = nodes.caption()
        for paragraph in caption.children:
            text += paragraph.children
        figure += text
        self.set_source_info(figure)
        return [figure]


def must_name(script, script_name, path):
    stem = pathlib.PurePosixPath(path).stem
    if stem not in script.split():
        raise SourceError(f"{script_name} does not generate {posixpath.basename(path)}")


def setup(app):
    app.add_directive("output", Output)
    app.add_directive("trace-figure", TraceFigure)
