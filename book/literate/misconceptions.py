"""Reads book/misconceptions.txt: what each lesson corrects, a line of three cells.

    NN-name | the misconception, one sentence | threads, by address, or `none found`

Needs no Sphinx.
"""

import re

from .regions import SourceError

NO_THREAD = "none found"
THREADS = ((r"https://github\.com/[\w.-]+/([\w.-]+)/(?:issues|pull|discussions)/(\d+)",
            r"\1 \2"),
           (r"https://discuss\.pytorch\.org/t/[\w-]+/(\d+)", r"forum \1"))


def parse(text):
    """{lesson: (misconception, [address, …])}; raises SourceError if damaged."""
    entries = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 3 or not all(cells):
            raise SourceError(
                f"line {number} is not `lesson | misconception | threads`")
        lesson, misconception, threads = cells
        if lesson in entries:
            raise SourceError(f"line {number} has a second entry for {lesson}")
        addresses = [] if threads == NO_THREAD else threads.split()
        for address in addresses:
            name_of(address)
        entries[lesson] = (misconception, addresses)
    return entries


def name_of(address):
    """A thread's name: its repository and number, or `forum` and its number."""
    for pattern, name in THREADS:
        found = re.fullmatch(pattern, address)
        if found:
            return found.expand(name)
    raise SourceError(f"`{address}` is not the address of a thread")


def unmatched(entries, lessons):
    """Yields what is wrong if entries and lessons with a chapter are not the same."""
    for lesson in lessons:
        if lesson not in entries:
            yield f"{lesson} has a chapter and no entry; fix: add its misconception"
    for lesson in entries:
        if lesson not in lessons:
            yield f"no lesson {lesson} has a chapter; fix: remove the entry"
