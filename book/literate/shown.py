"""Records what the pages show: lines of files, regions, outputs, figures.

Stored per page in Sphinx's environment, so that incremental builds keep it.
"""

import pathlib
from dataclasses import dataclass

from sphinx.util import logging

from .regions import SourceError, find_regions

MARKED_ROOMS = ("engine", "tracer", "lessons")
MARKED_FILES = (".h", ".cpp", ".cu", ".py", ".sh", ".bash", ".cmake")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    path: str                 # relative to the repository's root
    lines: tuple = ()         # their numbers
    region: str = ""
    folded: bool = False      # in a fold, opened on click


def root(env):
    return pathlib.Path(env.srcdir)


def remember(env, what):
    everything(env).setdefault(env.docname, []).append(what)


def everything(env):
    if not hasattr(env, "lockstep_shown"):
        env.lockstep_shown = {}
    return env.lockstep_shown


def all_shown(env):
    return [what for page in everything(env).values() for what in page]


def forget(app, env, docname):
    everything(env).pop(docname, None)


def merge(app, env, docnames, other):
    for docname in docnames:
        if docname in everything(other):
            everything(env)[docname] = everything(other)[docname]


def marked_files(top):
    for room in MARKED_ROOMS:
        for path in sorted((top / room).rglob("*")):
            if path.suffix in MARKED_FILES and path.is_file():
                yield path


def unused(top, what_is_shown):
    """Yields one line for each region that no page shows and for each broken marker."""
    used = {(what.path, what.region) for what in what_is_shown}
    for path in marked_files(top):
        name = path.relative_to(top).as_posix()
        try:
            regions = find_regions(path.read_text(encoding="utf-8").splitlines())
        except SourceError as error:
            yield f"{name}: {error}"
            continue
        if "mutants" in path.parts:  # their regions are for tests/course
            continue
        for region, lines in regions.items():
            if (name, region) not in used and not region.startswith("solution"):
                yield (f"{name}:{lines[0][0] - 1}: no page shows region [{region}]; "
                       "show it or remove its markers")


def unused_pictures(top, what_is_shown):
    used = {what.path for what in what_is_shown}
    for folder in ("book/output", "book/figures", "book/drawings"):
        for path in sorted((top / folder).glob("*.*")):
            name = path.relative_to(top).as_posix()
            if name not in used:
                yield f"{name}: no page shows it; show it or remove it"


def check(app, env):
    for line in [*unused(root(env), all_shown(env)),
                 *unused_pictures(root(env), all_shown(env))]:
        log.warning("%s", line)


def setup(app):
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-check-consistency", check)
