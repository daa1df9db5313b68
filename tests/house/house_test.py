"""Checks of the project's rules (CONTRIBUTING.md) over the files of the checkout.

    house_test.py            # all checks
    house_test.py rooms      # one; ctest runs them one by one as house.<check>

Exits 77 if a single check was requested and had to be skipped.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import functions

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = (".h", ".cpp", ".cu", ".py", ".cmake", ".sh", ".bash")
NARROW = (".h", ".cpp", ".py", ".cmake")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

# What a room may include. The innermost room that contains a file counts.
ROOMS = {
    "base": ["base"],
    "engine/plan": ["engine/plan"],
    "tracer": ["base", "tracer", "engine/plan"],
    "engine": ["base", "engine", "tracer/record", "tracer/format/keys.h"],
    "gui": ["base", "gui", "tracer"],
    "lessons": ["base", "lessons", "engine", "tracer"],
    "run": ["base", "run", "engine", "tracer"],
    "experiments": ["base", "experiments", "run", "engine", "tracer"],
    "cli": ["base", "cli", "gui", "lessons", "experiments", "run", "engine", "tracer"],
}
# Rooms that a room inside the engine may include; each lists only rooms above it. Then
# the same for the other rooms with folders.
ENGINE_ROOMS = {
    "plan": [],
    "tensor": [],
    "runtime": ["tensor"],
    "backends": ["tensor", "runtime"],
    "autograd": ["tensor", "runtime"],
    "ops": ["tensor", "runtime", "backends", "autograd"],
    "nn": ["tensor", "runtime", "autograd", "ops"],
    "models": ["runtime", "nn"],
    "optim": ["tensor", "autograd", "ops", "nn"],
    "data": ["plan", "tensor", "runtime"],
    "parallel": ["plan", "runtime", "backends", "autograd", "ops", "nn"],
    "distributed": ["plan", "tensor", "runtime", "backends", "autograd", "ops", "nn"],
    "sharing": ["plan", "tensor", "runtime", "backends", "autograd", "ops", "nn",
                "optim", "parallel", "distributed"],
    "train": ["tensor", "runtime", "autograd", "ops", "nn", "models", "optim", "data",
              "parallel", "distributed", "sharing"],
}
TRACER_ROOMS = {
    "format": [],
    "record": ["format"],
    "kineto": ["format", "record"],
    "analysis": ["format"],
    "emulate": ["format", "record", "analysis"],
}
GUI_ROOMS = {
    "text": [],
    "model": ["text"],
    "render": [],
    "ui": ["model", "render"],
    "app": ["model", "render", "ui"],
    "panels": ["text", "model", "render", "ui", "app"],
    "files": ["model", "app"],
    "screen": ["model", "render", "app", "files"],
}
INNER_ROOMS = {"engine": ENGINE_ROOMS, "tracer": TRACER_ROOMS, "gui": GUI_ROOMS}
# Includes that violate these rules. Add none; delete the obsolete ones.
AGAINST_THE_ARROWS = {
    ("engine/tensor/storage.h", "runtime"),  # memory comes from a device's allocator
    ("engine/tensor/storage.cpp", "runtime"),
    ("engine/runtime/device_context.cpp", "backends"),  # a device makes its backend
    ("engine/autograd/engine.cpp", "ops"),  # operations add gradients
    ("engine/autograd/node.cpp", "ops"),
    ("engine/backends/cuda/module.cpp", "distributed"),  # one library with NCCL
    ("engine/distributed/collectives/nccl/nccl_device_group.h", "parallel"),
    ("tracer/analysis/summary.cpp", "emulate"),  # a summary has the longest path
    ("tracer/analysis/summary_paths.h", "emulate"),
    ("gui/app/keys.cpp", "panels"),  # a key walks the path of panel WHY
    ("gui/app/layout.cpp", "panels"),  # the window places all panels
}
# `run` has no folders. There, a file must not include one that includes it, directly or
# not; `x.h` and `x.cpp` count as one file. These exceptions may only shrink, too.
CYCLES_IN_RUN = {
    ("run/devices.cpp", "pipeline"),  # how many devices a pipeline has
    ("run/emulated_devices.cpp", "train"),  # makes the model that it counts
}
# Rooms and files whose main path has no trace lines, and the remaining exceptions. No
# number may grow; lower it here when it shrinks.
WITHOUT_TRACE = ("engine/models/", "engine/nn/layers", "engine/parallel/data_parallel",
                 "engine/distributed/ddp/", "engine/distributed/collectives/ring",
                 "engine/autograd/simple_walk")
TRACE_LINES = {
    "engine/distributed/ddp/distributed_data_parallel.cpp": 2,  # the phase broadcast
    "engine/distributed/ddp/reducer.cpp": 5,  # the phase all_reduce, a bucket's mark
    "engine/distributed/ddp/simple_sync.cpp": 3,  # the phase all_reduce
}
# Identifiers of the recorder.
TRACE_WORDS = re.compile(
    r"\b(?:tracer::|tracer/|HostEvent|recorder\.h|Phase|mark\s*\()")
# Names that exist on one machine only.
MACHINE = re.compile(r"(?<![\w.~/-])/(?:work|root|home/\w+)(?:/|\b)"
                     r"|\bartifactory\b|\.(?:internal|corp|lan)[:/]")
# Functions in these rooms are short, except those listed in LONG_FUNCTIONS.
SHORT_FUNCTIONS = ("base/", "engine/", "tracer/", "gui/", "run/", "cli/",
                   "lessons/machine/", "experiments/")
LONG_FUNCTIONS = ROOT / "tests/house/long_functions.txt"
BUDGET = ROOT / "tests/house/budget.txt"
LONG_FILE = 400


def listed_files():
    """Files that git tracks or would track; without git, all files except build
    outputs."""
    git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}", "ls-files", "-z",
           "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, capture_output=True, check=True).stdout
        names = listed.decode().split("\0")
        found = {ROOT / name for name in names if name}
    except (OSError, subprocess.CalledProcessError):
        ignored = {"build", "data", "workspace", ".git"}
        found = {path for path in ROOT.rglob("*") if "__pycache__" not in path.parts
                 and path.relative_to(ROOT).parts[0] not in ignored}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def name(path):
    return path.relative_to(ROOT).as_posix()


def below(path, folder):
    return name(path).startswith(folder + "/")


def is_generated(path):
    return "golden" in path.parts and path.suffix == ".json"


FILES = listed_files()
CXX = [path for path in FILES if path.suffix in (".h", ".cpp", ".cu")]
CODE_FILES = [path for path in FILES
              if path.suffix in CODE or path.name in ("CMakeLists.txt", "lockstep")]


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def matches(pattern, path):
    """Returns `file:line: text` of each line that matches the pattern."""
    return [f"{name(path)}:{number}: {line.strip()}"
            for number, line in enumerate(read(path).splitlines(), 1)
            if pattern.search(line)]


def innermost(file, rooms):
    """Returns the innermost of the rooms that contains a file, or None."""
    containing = [room for room in rooms if file.startswith(room + "/")]
    return max(containing, key=len, default=None)


def against_arrows(includes, top, table):
    """Returns (file, room) for each include inside the room `top` that its table of
    inner rooms forbids. `includes` holds (file, included file)."""
    against = set()
    for file, included in includes:
        if not (file.startswith(top + "/") and included.startswith(top + "/")):
            continue
        room, to = (path.split("/")[1] for path in (file, included))
        if to != room and to not in table.get(room, []):
            against.add((file, to))
    return against


def out_of_order(table):
    """Returns the inner rooms that list a room below themselves, or one that is not in
    the table."""
    above = set()
    wrong = []
    for room, allowed in table.items():
        wrong += [f"{room}: {to}" for to in allowed if to not in above]
        above.add(room)
    return wrong


def in_cycles(includes):
    """Returns (file, included name) for each include that is part of a cycle. Names
    have neither folders nor endings: a header and its source count as one file."""
    arrows = {(file, pathlib.PurePath(included).stem) for file, included in includes}
    following = {}
    for file, to in arrows:
        following.setdefault(pathlib.PurePath(file).stem, set()).add(to)

    def reached(begin):
        found, left = {begin}, [begin]
        while left:
            new = following.get(left.pop(), set()) - found
            found |= new
            left += new
        return found
    return {(file, to) for file, to in arrows
            if (stem := pathlib.PurePath(file).stem) != to and stem in reached(to)}


def parse_budget(text):
    """Reads the lines `room lines` of budget.txt."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {row[0]: int(row[1]) for row in rows if row}


def lines_of_rooms(lengths, rooms):
    """Adds up the lengths of {file: lines} by the innermost room of each file."""
    total = dict.fromkeys(rooms, 0)
    for file, length in lengths.items():
        room = innermost(file, rooms)
        if room:
            total[room] += length
    return total


def over_budget(total, budget):
    """Returns a message for each room with more lines than its budget."""
    return [f"{room} has {total[room]} lines, its budget is {lines}; fix: make the "
            "room smaller, or raise the budget in a commit that says why"
            for room, lines in budget.items() if total[room] > lines]


def headings(path):
    """The anchors of a Markdown file's headings."""
    titles = re.findall(r"^#+ +(.+?) *$", read(path), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in titles}


INCLUDES = [(name(path), include) for path in CXX
            for include in INCLUDE.findall(read(path))]
LENGTHS = {name(path): len(read(path).splitlines()) for path in CODE_FILES
           if not is_generated(path)}


def misspelt_sanitizers(text):
    """The lines of a test that name sanitizers where or as the build does not read
    them."""
    head = text.partition("\n#include")[0]
    return [line for line in text.splitlines() if re.match(r"//\s*saniti[sz]e", line)
            and (line not in head.splitlines() or not re.fullmatch(
                r"// sanitize:( address)?( thread)?", line) or line.endswith(":"))]


class House(unittest.TestCase):
    def nothing(self, found, rule):
        if found:
            self.fail("\n  ".join([f"{rule}:", *found]))

    def only_listed(self, against, exceptions, table, rule):
        """Fails if there is a violation (file, room) besides the listed exceptions, or
        an exception that is none any more."""
        self.nothing([f"{file} includes {to}"
                      for file, to in sorted(against - exceptions)], rule)
        self.nothing([f"{file}: {to}" for file, to in sorted(exceptions - against)],
                     f"fixed; fix: delete these from {table}")

    def test_there_are_files(self):
        self.assertGreater(len(CXX), 50)

    def test_rooms(self):
        wrong = []
        known = {room.split("/")[0] for room in ROOMS} | {"tests"}
        for file, include in INCLUDES:
            room = innermost(file, ROOMS)
            if room and include.split("/")[0] in known and not any(
                    include == to or include.startswith(to + "/")
                    for to in ROOMS[room]):
                wrong.append(f"{file} includes {include}")
        self.nothing(wrong, "includes go only along the arrows of CONTRIBUTING.md")

    def test_includes_resolve(self):
        wrong = []
        for path in CXX:
            for include in INCLUDE.findall(read(path)):
                beside = below(path, "tests") and (path.parent / include).is_file()
                if not beside and not (ROOT / include).is_file():
                    wrong.append(f"{name(path)} includes {include}")
        self.nothing(wrong, "includes in quotes name files from the root")

    def test_rooms_inside_rooms(self):
        against = set()
        for top, table in INNER_ROOMS.items():
            self.nothing(out_of_order(table), f"{top}: a room lists rooms above it")
            self.nothing([name(path) for path in CXX if below(path, top)
                          and path.relative_to(ROOT).parts[1] not in table],
                         f"the table of rooms in {top} lacks these files' folders")
            against |= against_arrows(INCLUDES, top, table)
        self.only_listed(against, AGAINST_THE_ARROWS, "AGAINST_THE_ARROWS",
                         "includes inside a room go only along INNER_ROOMS")

    def test_no_cycles_in_run(self):
        run = {pair for pair in INCLUDES
               if all(path.startswith("run/") for path in pair)}
        self.assertGreater(len(run), 50)
        others = {(file, included) for file, included in run
                  if (file, pathlib.PurePath(included).stem) not in CYCLES_IN_RUN}
        against = in_cycles(others) | in_cycles(run) & CYCLES_IN_RUN
        self.only_listed(against, CYCLES_IN_RUN, "CYCLES_IN_RUN",
                         "files of run include each other in a cycle")

    def test_main_paths_do_not_trace(self):
        silent = [path for path in CXX if name(path).startswith(WITHOUT_TRACE)]
        self.assertGreater(len(silent), 10)
        found = {name(path): matches(TRACE_WORDS, path) for path in silent}
        self.nothing([hit for file, hits in found.items()
                      if len(hits) > TRACE_LINES.get(file, 0) for hit in hits],
                     "main paths hold no trace lines, or those of TRACE_LINES")
        gone = [f"{file}: {len(found.get(file, []))}"
                for file, count in TRACE_LINES.items()
                if len(found.get(file, [])) < count]
        self.nothing(gone, "fewer trace lines; fix: lower the numbers in TRACE_LINES")

    def test_length(self):
        sources = {name(path): read(path) for path in CXX
                   if name(path).startswith(SHORT_FUNCTIONS)}
        found = functions.long_functions(sources)
        self.assertGreater(len(sources), 500)
        print(f"{len(found)} functions over {functions.LIMIT} lines in {len(sources)} "
              "files")
        for file, length in LENGTHS.items():
            if length > LONG_FILE:
                print(f"warning: {file} has {length} lines")
        listed = functions.parse_list(read(LONG_FUNCTIONS))
        self.nothing(functions.violations(found, listed),
                     f"functions have at most {functions.LIMIT} lines, except those in "
                     f"{name(LONG_FUNCTIONS)}")

    def test_sanitizers(self):
        """A line that the build does not understand would leave a file out."""
        wrong = [f"{name(path)}: {line}" for path in CODE_FILES
                 if below(path, "tests") and path.name.endswith("_test.cpp")
                 for line in misspelt_sanitizers(read(path))]
        self.nothing(wrong, "the line is `// sanitize:`, then address, thread or both, "
                            "before the includes")

    def test_budget(self):
        budget = parse_budget(read(BUDGET))
        self.assertLessEqual(set(ROOMS), set(budget), "a room has no budget")
        total = lines_of_rooms(LENGTHS, budget)
        for room, lines in budget.items():
            print(f"{room}: {total[room]} lines, {lines - total[room]} under budget")
        self.nothing([room for room in budget if not total[room]],
                     f"{name(BUDGET)} names rooms that hold no code")
        self.nothing(over_budget(total, budget), f"rooms exceed {name(BUDGET)}")

    def test_width(self):
        narrow = [path for path in CODE_FILES if path.parent.name != "mutants" and
                  (path.suffix in NARROW or path.name == "CMakeLists.txt")]
        wide = [f"{name(path)}:{number}: {len(line)} columns"
                for path in narrow
                for number, line in enumerate(read(path).splitlines(), 1)
                if len(line) > 88]
        self.nothing(wide, "code has at most 88 columns")

    def test_format(self):
        tool = shutil.which("clang-format-19")
        if not tool:
            self.skipTest("clang-format-19 is missing; fix: apt-get install it")
        whole = [path for path in CXX if path.parent.name != "mutants"]  # not fragments
        judged = subprocess.run([tool, "--dry-run", "-Werror", *map(name, whole)],
                                cwd=ROOT, capture_output=True, text=True)
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", judged.stderr, re.M)))
        if judged.returncode and not wrong:
            self.fail(judged.stderr)
        self.nothing(wrong, "not as clang-format-19 would write it; fix: git ls-files "
                     "-co --exclude-standard '*.h' '*.cpp' | grep -v /mutants/ | "
                     "xargs clang-format-19 -i")

    def test_readmes(self):
        folders = {path.parent for path in FILES
                   if below(path, "engine") or below(path, "tracer")}
        missing = [name(folder) for folder in sorted(folders)
                   if folder.parent != ROOT and not (folder / "README.md").is_file()]
        self.nothing(missing, "every room has a README.md")

    def test_readmes_of_all_rooms(self):
        """Except folders that the room's own README.md describes."""
        told = re.compile(r"lessons/\d\d-|tests/(?:base|plan|tracer|engine|gui|run|"
                          r"experiments)$|docs/|\.")
        code = {path.parent for path in CODE_FILES
                if len(path.relative_to(ROOT).parts) in (2, 3)}
        missing = [name(folder) for folder in sorted(code)
                   if not told.match(name(folder))
                   and not (folder / "README.md").is_file()]
        self.nothing(missing, "rooms and the folders of code in them have a README.md")

    def test_readme_is_short(self):
        length = len(read(ROOT / "README.md").splitlines())
        self.assertLessEqual(length, 150, "README.md is the front page; fix: move "
                             "details to docs/")

    def test_readmes_name_files_that_exist(self):
        wrong = []
        words = re.compile(r"`([\w./-]+\.(?:h|cpp|cu|py|sh|bash|cmake|gp|md))`")
        elsewhere = re.compile(r"main\.py$|torch/csrc/|.*NN-name/")  # of PyTorch; any
        for path in FILES:
            if path.name != "README.md":
                continue
            for word in words.findall(read(path)):
                there = (elsewhere.match(word) or (path.parent / word).is_file()
                         or (ROOT / word).is_file()
                         or any(path.parent.glob("*/" + word)))  # of each subfolder
                if not there:
                    wrong.append(f"{name(path)}: {word}")
        self.nothing(wrong, "a README.md names files that are there")

    def test_links_resolve(self):
        wrong = []
        for path in FILES:
            if path.suffix != ".md":
                continue
            prose = re.sub(r"^(`{3,})[^\n]*\n.*?^\1`*$", "", read(path),
                           flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", prose):
                file, _, heading = target.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                to = path.parent / file if file else path
                book = below(path, "book") or below(path, "lessons")
                if not to.exists():
                    wrong.append(f"{name(path)}: {target}")
                elif heading and not book and heading not in headings(to):
                    wrong.append(f"{name(path)}: {target}: no such heading")
        self.nothing(wrong, "links lead to files and headings of the repository")

    def test_nothing_that_tests_need_is_ignored(self):
        git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}", "ls-files", "-z",
               "--others", "--ignored", "--exclude-standard", "--", "engine", "tracer",
               "gui", "run", "cli", "experiments", "lessons", "tests", "book"]
        listed = subprocess.run(git, capture_output=True)
        if listed.returncode:
            self.skipTest("no git repository here")
        hidden = [path for path in listed.stdout.decode().split("\0")
                  if path and "__pycache__" not in path]
        self.nothing(hidden, "git ignores these, so a clone lacks them (.gitignore)")

    def test_no_machine_paths(self):
        found = [hit for path in FILES for hit in matches(MACHINE, path)
                 if path != pathlib.Path(__file__).resolve()]
        self.nothing(found, "no file names a place on somebody's machine")


def main(checks):
    names = [f"House.test_{check}" for check in checks] or ["House"]
    tests = unittest.defaultTestLoader.loadTestsFromNames(names, sys.modules[__name__])
    result = unittest.TextTestRunner(verbosity=2 if checks else 1).run(tests)
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
