#!/usr/bin/env python3
"""Breaks the code at places chosen by a seed, to see which tests notice.

    tools/mutate.py choose COPY [--seed 0]   # writes COPY/places.json and marks them
    tools/mutate.py judge COPY [N…]          # breaks each (or place N), runs its tests

COPY is a clone of the checkout that this program may change. `choose` inserts a call at
each place that notes which test executes it. Build the tests and run them once, by the
command it prints; then `judge` knows the tests of each place. It breaks one place after
the other, builds, and runs the tests of the gate that execute the place until one
fails, and if none does, those that only --all runs.
Prints for each place: killed by a test of the gate, killed only by --all, survived, not
killed in --minutes, or executed by no test. A place that does not compile is replaced
by another one.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/house"))
import functions  # noqa: E402

WANTED = {"engine": 20, "tracer": 15, "gui": 10, "run": 10, "base": 5}
# Not built without a GPU or a window, or computed while compiling.
LEFT_OUT = re.compile(r"engine/backends/cuda/|collectives/(nccl|mpi)/|gui/screen/")
STATEMENT = re.compile(r"^ +(?!case|default|static|using|else|constexpr|template|const "
                       r"auto|friend|typedef|break|continue|throw)[\w*].*;$")
CHANGES = [(" == ", " != "), (" != ", " == "), (" < ", " <= "), (" > ", " >= "),
           (" <= ", " < "), (" >= ", " > "), (" && ", " || "), (" || ", " && "),
           (" + ", " - "), (" - ", " + "), (" += ", " -= "), (" * ", " + "),
           ("true", "false"), ("false", "true"), (" 0;", " 1;"), (" 1;", " 2;")]
PROBE = """\
#pragma once
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
namespace lockstep_probe {
inline int parent_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string state;
  int parent = 0;
  rest >> state >> parent;
  return parent;
}
inline bool note(int place) {  // the command lines of this process and its ancestors
  const char* folder = std::getenv("LOCKSTEP_PROBES");
  if (!folder) return true;
  std::ofstream out(std::string(folder) + "/" + std::to_string(place) + "." +
                    std::to_string(getpid()));
  for (int process = getpid(); process > 1; process = parent_of(process)) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
    std::string line((std::istreambuf_iterator<char>(file)), {});
    for (char& c : line) if (c == 0) c = ' ';
    out << line << "\\n";
  }
  return true;
}
}
#define LOCKSTEP_PROBE(n) \\
  do { static const bool noted_ = lockstep_probe::note(n); (void)noted_; } while (0);
"""


def statements(path):
    """The numbers of lines in functions that are one statement, after another one."""
    lines = path.read_text().splitlines()
    inside = set()
    for function in functions.functions(path.read_text(), str(path)):
        text = "\n".join(lines[max(0, function.line - 3):function.line])
        if "constexpr" not in text and "consteval" not in text:
            inside.update(range(function.line + 1, function.line + function.lines))
    for number in sorted(inside):
        before = lines[number - 2].split("//")[0].rstrip()
        if STATEMENT.match(lines[number - 1]) and before.endswith((";", "{", "}")):
            yield number, lines[number - 1]


def broken(line, chance):
    """The line with one change, or None."""
    code = re.sub(r'"(?:\\.|[^"\\])*"', lambda text: "\0" * len(text[0]), line)
    found = [(match.start(), old, new) for old, new in CHANGES
             for match in re.finditer(re.escape(old), code)]
    if re.match(r" +[\w.:>-]+\(.*\);$", code):  # a call
        found.append((len(line) - len(line.lstrip()), line.strip(), "(void)0;"))
    if not found:
        return None
    at, old, new = chance.choice(found)
    return line[:at] + new + line[at + len(old):]


def candidates(root, room, chance):
    """(file, line number, line, broken line) in an order that the seed chooses."""
    paths = sorted(path for path in (root / room).rglob("*.cpp")
                   if not LEFT_OUT.search(path.relative_to(root).as_posix()))
    places = [(path.relative_to(root).as_posix(), number, line)
              for path in paths for number, line in statements(path)]
    chance.shuffle(places)
    for file, number, line in places:
        changed = broken(line, chance)
        if changed:
            yield {"file": file, "line": number, "was": line, "is": changed}


def compiles(root, file, text):
    """Whether a file compiles with this text, by the command of the preset inner."""
    path, before = root / file, (root / file).read_text()
    path.write_text(text)
    commands = json.loads((root / "build/inner/compile_commands.json").read_text())
    command = next(c for c in commands if c["file"] == str(path))
    words = re.sub(r" -o \S+ -c ", " -fsyntax-only ", command["command"])
    done = subprocess.run(words, shell=True, cwd=command["directory"],
                          capture_output=True, check=False)
    path.write_text(before)
    return done.returncode == 0


def with_line(root, file, number, line):
    lines = (root / file).read_text().splitlines(keepends=True)
    lines[number - 1] = line + "\n"
    return "".join(lines)


def choose(root, seed):
    subprocess.run(["cmake", "--preset", "inner"], cwd=root, check=True,
                   stdout=subprocess.DEVNULL)
    chance, places = random.Random(seed), []
    for room, wanted in WANTED.items():
        chosen = 0
        for place in candidates(root, room, chance):
            if chosen == wanted:
                break
            marked = f"LOCKSTEP_PROBE({len(places)}) {place['was']}"
            probe = PROBE + with_line(root, place["file"], place["line"], marked)
            changed = with_line(root, place["file"], place["line"], place["is"])
            if compiles(root, place["file"], probe) and compiles(
                    root, place["file"], changed):
                places.append({"place": len(places), **place})
                chosen += 1
    (root / "places.json").write_text(json.dumps(places, indent=1))
    (root / "probe.h").write_text(PROBE)
    for place in places:
        (root / place["file"]).write_text(with_line(
            root, place["file"], place["line"],
            f"LOCKSTEP_PROBE({place['place']}) {place['was']}"))
    for file in {place["file"] for place in places}:
        text = (root / file).read_text()
        (root / file).write_text(f'#include "probe.h"\n#line 1\n{text}')
    print(f"""{len(places)} places are marked. Now, in {root}:
  mkdir -p probes && LOCKSTEP_PROBES=$PWD/probes ./lockstep test --all release""")


def test_of(noted):
    """The ctest that a command line belongs to, from a process and its ancestors."""
    for line in noted.splitlines():
        found = re.search(r"--gtest_filter=(\S+)", line)
        if found:
            return found[1]
        found = re.search(r"run_class\.py \S*/(\w+)/\w+\.py (\w+)", line)
        if found:
            kind = {"course": "course.grade"}.get(found[1], found[1])
            return f"{kind}.{found[2]}"
        found = re.search(r"course_test\.py (\S+) (\w+)", line)
        if found:
            return f"course.{found[1]}.{found[2]}"
    return None


def tests_by_place(root):
    found = collections.defaultdict(set)
    for file in (root / "probes").iterdir():
        test = test_of(file.read_text(errors="replace"))
        if test:
            found[int(file.name.partition(".")[0])].add(test)
    return found


def failed_before(root):
    """The tests that failed with the marks alone, which shift lines."""
    report = xml.parse(root / "build/test-results/release.xml").getroot()
    return {case.get("name").split(" ")[0] for case in report.iter("testcase")
            if case.get("status") == "fail"}


def numbers_of(root, tests):
    """ctest's numbers of these tests: units', the other of the gate, only --all's."""
    done = subprocess.run(
        ["ctest", "--test-dir", "build/release", "--show-only=json-v1"],
        cwd=root, capture_output=True, text=True, check=True)
    groups = [], [], []
    for number, test in enumerate(json.loads(done.stdout)["tests"], 1):
        if test["name"].split(" ")[0] in tests:
            labels = next((p["value"] for p in test["properties"]
                           if p["name"] == "LABELS"), [])
            group = 2 if "all" in labels else 0 if "unit" in labels else 1
            groups[group].append(number)
    return groups


def fails(root, numbers, minutes):
    """The name of one of these tests that fails, "" if there was no time to know, or
    None if all pass."""
    if not numbers:
        return None
    ctest = subprocess.Popen(
        ["ctest", "--test-dir", "build/release", "-j2", "--stop-on-failure",
         "--timeout", "300", "-I", "0,0,0," + ",".join(map(str, numbers))],
        cwd=root, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = ctest.communicate(timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        os.killpg(ctest.pid, signal.SIGKILL)  # the tests, too
        ctest.communicate()
        return ""
    if ctest.returncode == 0:
        return None
    found = re.search(r"^\s*\d+ - (\S+).*\((?:Failed|Timeout|SEGFAULT|Subprocess|ILL)",
                      said, re.M)
    return found[1] if found else said[-300:]


def judged(root, place, tests, minutes):
    """One line: what happens to a broken place."""
    if not tests:
        return "executed by no test"
    path, before = root / place["file"], (root / place["file"]).read_text()
    mark = f"LOCKSTEP_PROBE({place['place']}) "
    try:
        path.write_text(before.replace(mark + place["was"], mark + place["is"]))
        built = subprocess.run(["ninja", "-C", "build/release"], cwd=root,
                               capture_output=True, text=True, check=False)
        if built.returncode:
            return "does not build: " + built.stdout[-300:]
        unit, gate, rest = numbers_of(root, tests)
        killers = []
        for group in unit, gate, rest:
            killers.append(fails(root, group, minutes))
            if killers[-1]:
                only = "KILLED ONLY BY --all:" if group is rest else "killed by"
                return f"{only} {killers[-1]}"
        return "NOT KILLED SO FAR, too little time" if "" in killers else "SURVIVED"
    finally:
        path.write_text(before)


def judge(root, numbers, minutes):
    places, tests = json.loads((root / "places.json").read_text()), tests_by_place(root)
    excluded = failed_before(root)
    os.environ.setdefault("LOCKSTEP_SHARED", str(root.parent / "shared"))
    for place in places:
        if not numbers or place["place"] in numbers:
            verdict = judged(root, place, tests[place["place"]] - excluded, minutes)
            print(f"{place['place']:3} {place['file']}:{place['line']}: "
                  f"{len(tests[place['place']])} tests; {verdict}\n"
                  f"    {place['was'].strip()}\n    {place['is'].strip()}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["choose", "judge"])
    parser.add_argument("copy", type=pathlib.Path)
    parser.add_argument("places", type=int, nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=5, help="for a place's unit "
                        "tests, for the gate's others, and for those of --all")
    asked = parser.parse_args()
    root = asked.copy.resolve()
    if root == ROOT or not (root / "lockstep").is_file():
        parser.error("COPY must be another clone of the checkout")
    if asked.what == "choose":
        choose(root, asked.seed)
    else:
        judge(root, asked.places, asked.minutes)


if __name__ == "__main__":
    main()
