"""Regions: the lines of a file between `// [name]` and `// [/name]`.

A region has one beginning and one end, is not empty, and its name is unique in its
file. Regions may be nested. Marker lines are never shown.
"""

import re

MARKER = re.compile(r"^\s*(?://|#)\s*\[(/?)([\w.-]+)\]\s*$")


class SourceError(Exception):
    """An error in a source, in one line."""


def find_regions(lines):
    """The regions of a file, {name: [(number, line), …]}; raises SourceError."""
    regions, opened = {}, {}
    for number, line in enumerate(lines, 1):
        marker = MARKER.match(line)
        if not marker:
            for name in opened:
                regions[name].append((number, line))
            continue
        closes, name = marker.groups()
        if closes:
            if name not in opened:
                raise SourceError(f"line {number} closes [{name}], which is not open")
            del opened[name]
        elif name in regions:
            raise SourceError(f"line {number} opens [{name}] a second time")
        else:
            opened[name] = number
            regions[name] = []
    for name, number in opened.items():
        raise SourceError(f"region [{name}] of line {number} is never closed")
    for name, shown in regions.items():
        if not any(line.strip() for _, line in shown):
            raise SourceError(f"region [{name}] is empty")
    return regions


def marker_lines(lines):
    """Returns how many lines of a file are markers."""
    return sum(1 for line in lines if MARKER.match(line))


def trimmed(shown):
    """Removes blank lines at both ends."""
    while shown and not shown[0][1].strip():
        shown = shown[1:]
    while shown and not shown[-1][1].strip():
        shown = shown[:-1]
    return shown


def runs(shown):
    """Splits numbered lines at gaps in the numbers: one list per run."""
    cut = []
    for number, line in shown:
        if cut and cut[-1][-1][0] == number - 1:
            cut[-1].append((number, line))
        else:
            cut.append([(number, line)])
    return [run for run in map(trimmed, cut) if run]


def region(lines, name):
    """Returns the numbered lines of one region."""
    regions = find_regions(lines)
    if name not in regions:
        raise SourceError(f"there is no region [{name}]")
    return trimmed(regions[name])
