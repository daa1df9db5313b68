"""The directives `region`, `function` and `file`, and the role `src`."""

import posixpath

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole

from . import cxx, regions, shown
from .regions import SourceError

LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".py": "python", ".json": "json",
             ".sh": "bash", ".bash": "bash", ".txt": "text"}
SHORT = 28  # listings up to this length are not split across printed pages


class fold(nodes.General, nodes.Element):
    """Opens on click."""


class listing(nodes.General, nodes.Element):
    """Lines of a file under its name."""


class SourceDirective(SphinxDirective):
    """Base of directives that show a file, relative to the repository's root."""

    has_content = False
    final_argument_whitespace = True

    def read(self, name):
        """Returns the text of a file, and registers it as a dependency of the page."""
        path = shown.root(self.env) / name
        self.env.note_dependency(str(path))
        if posixpath.normpath(name) != name or not path.is_file():
            raise SourceError("there is no such file in the repository")
        return path.read_text(encoding="utf-8")

    def run(self):
        words = self.arguments[0].split()
        try:
            return self.show(words[0], words[1:])
        except SourceError as error:
            what = f"{self.name} {words[0]}: {error}"
            return [self.state.document.reporter.warning(what, line=self.lineno)]

    def block(self, path, lines, region=""):
        """Returns a listing of numbered lines, and records them as shown."""
        folded = "fold" in self.options
        numbers = tuple(number for number, _ in lines)
        shown.remember(self.env, shown.Shown(path, numbers, region, folded))
        short = ["short"] if len(lines) <= SHORT else []
        box = listing("", path=path, line=lines[0][0], folded=folded, classes=short)
        parts = regions.runs(lines)
        depth = min(len(line) - len(line.lstrip())
                    for part in parts for _, line in part if line.strip())
        for part in parts:
            text = "\n".join(line[depth:] for _, line in part)
            code = nodes.literal_block(text, text, language=language_of(path),
                                       linenos=True)
            code["highlight_args"] = {"linenostart": part[0][0]}
            box += code
        self.set_source_info(box)
        if not folded:
            return box
        opened = fold("", summary=f"{path}:{lines[0][0]}", count=len(lines),
                      classes=short)
        opened += box
        return opened


def language_of(path):
    return LANGUAGES.get(posixpath.splitext(path)[1], "text")


def numbered(text):
    return list(enumerate(text.splitlines(), 1))


class Region(SourceDirective):
    required_arguments = 1
    option_spec = {"fold": directives.flag}

    def show(self, path, names):
        if len(names) != 1:
            raise SourceError("requires one region: ```{region} path name")
        lines = regions.region(self.read(path).splitlines(), names[0])
        return [self.block(path, lines, names[0])]


class Function(SourceDirective):
    required_arguments = 1
    option_spec = {"fold": directives.flag, "with": directives.unchanged_required}

    def show(self, path, names):
        if not names:
            raise SourceError("requires a name: ```{function} path name …")
        text = self.read(path)
        lines = numbered(text)
        blocks = []
        for name in names:
            found = cxx.function(text, name, self.options.get("with"))
            part = [(number, line) for number, line in lines[found.first - 1:found.last]
                    if not regions.MARKER.match(line)]
            blocks.append(self.block(path, part))
        return blocks


class File(SourceDirective):
    required_arguments = 1
    option_spec = {"fold": directives.flag}

    def show(self, path, names):
        text = self.read(path)
        if names:
            raise SourceError("shows one file at a time")
        lines = regions.trimmed([(number, line) for number, line in numbered(text)
                                 if not regions.MARKER.match(line)])
        if not lines:
            raise SourceError("is empty")
        return [self.block(path, lines)]


class Src(SphinxRole):
    """{src}`engine/nn/module.h`: a file or folder of the tree that must exist."""

    def run(self):
        if not (shown.root(self.env) / self.text).exists():
            warning = self.inliner.reporter.warning(
                f"there is no {self.text} in the repository", line=self.lineno)
            return [], [warning]
        return [nodes.literal(self.text, self.text, classes=["source-name"])], []


def visit_listing(self, node):
    self.body.append(self.starttag(node, "figure", CLASS="listing"))
    if not node["folded"]:
        self.body.append(f'<figcaption>{node["path"]}:{node["line"]}</figcaption>\n')


def depart_listing(self, node):
    self.body.append("</figure>\n")


def visit_fold(self, node):
    self.body.append(self.starttag(node, "details", CLASS="fold"))
    self.body.append(
        f'<summary><span class="name">{node["summary"]}</span> '
        f'<span class="count">{node["count"]} lines</span></summary>\n')


def depart_fold(self, node):
    self.body.append("</details>\n")


def nothing(self, node):
    pass


def setup(app):
    app.add_node(listing, html=(visit_listing, depart_listing), text=(nothing, nothing))
    app.add_node(fold, html=(visit_fold, depart_fold), text=(nothing, nothing))
    app.add_directive("region", Region)
    app.add_directive("function", Function)
    app.add_directive("file", File)
    app.add_role("src", Src())
