#!/usr/bin/env python3
"""Prints where the seconds of a test run go.

    tools/test_cost.py                      # of ./lockstep test's last run
    tools/test_cost.py [-n 15] [--build FOLDER]… [JUNIT.xml]…

Reads the JUnit files of build/test-results, one for each preset, and ninja's log in
each preset's build folder. Seconds are wall seconds of a test or a compiler, summed:
where J of them run at once, divide by J. They depend on what else the machine does, so
compare them within a run.
"""

import argparse
import collections
import pathlib
import re
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]


def suite_of(test):
    """`tracer/SplitTest` and `e2e.Chaos` are suites; so is `course.05-scatter`."""
    if re.match(r"[a-z0-9]+\.", test):
        return ".".join(test.split(".")[:2])
    return test.rpartition(".")[0].split("/")[-1] or test


def results(file):
    """(name, seconds) of each test that ran."""
    return [(case.get("name"), float(case.get("time") or 0))
            for case in xml.parse(file).getroot().iter("testcase")]


def room_of(test):
    kind = re.match(r"([a-z0-9]+)\.", test)
    return kind[1] if kind else "unit tests"


def compilations(log):
    """(output, seconds) of each command of ninja's log; the last run of an output."""
    found = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, command = line.split("\t")
        found[output] = (command, begin), (int(end) - int(begin)) / 1000
    return list({key: (output, seconds)  # a command with several outputs counts once
                 for output, (key, seconds) in found.items()}.values())


def target_of(output):
    folder = re.search(r"([^/]+)\.dir/", output)
    return folder[1] if folder else "links and others"


def print_table(title, seconds, most):
    total = sum(seconds.values())
    print(f"\n{title}: {total:.0f} s")
    ordered = sorted(seconds.items(), key=lambda row: -row[1])
    for name, spent in ordered[:most]:
        print(f"  {spent:8.1f}  {spent / total if total else 0:4.0%}  {name}")
    rest = sum(spent for _, spent in ordered[most:])
    if rest:
        print(f"  {rest:8.1f}  {rest / total:4.0%}  {len(ordered) - most} others")


def summed(rows, key):
    seconds = collections.Counter()
    for name, spent in rows:
        seconds[key(name)] += spent
    return seconds


def print_cost(files, builds, most):
    for build in builds:
        rows = compilations(build / ".ninja_log")
        print_table(f"build of {build.name}, by target", summed(rows, target_of), most)
    for file in files:
        rows = results(file)
        stage = f"{len(rows)} tests of {file.stem}"
        print_table(f"{stage}, by kind", summed(rows, room_of), most)
        print_table(f"{stage}, by suite", summed(rows, suite_of), most)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--build", action="append", type=pathlib.Path, default=[])
    parser.add_argument("-n", type=int, default=15, help="rows of a table")
    asked = parser.parse_args()
    files, builds = asked.files, asked.build
    if not files and not builds:
        files = sorted((ROOT / "build/test-results").glob("*.xml"))
        builds = [ROOT / "build" / file.stem for file in files]
        if not files:
            parser.error("no results; fix: run ./lockstep test first")
    print_cost(files, [build for build in builds if (build / ".ninja_log").is_file()],
               asked.n)


if __name__ == "__main__":
    main()
