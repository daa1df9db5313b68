"""Checks of the project's rules (CONTRIBUTING.md) over the files of the checkout.

    house_test.py            # all checks
    house_test.py rooms      # one; ctest runs them one by one as house.<check>

Exits 77 if a single check was requested and had to be skipped.
"""

import codecs
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

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
# Rooms that a room inside the engine may include; each lists only rooms above it.
ENGINE_ROOMS = {
    "plan": [],
    "tensor": [],
    "runtime": ["tensor"],
    "backends": ["tensor", "runtime"],
    "autograd": ["tensor", "runtime"],
    "ops": ["tensor", "runtime", "backends", "autograd"],
    "nn": ["tensor", "runtime", "ops"],
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
# Includes that violate these rules. Add none; delete the obsolete ones.
AGAINST_THE_ARROWS = {
    ("engine/tensor/storage.h", "runtime"),  # memory comes from a device's allocator
    ("engine/tensor/storage.cpp", "runtime"),
    ("engine/runtime/device_context.cpp", "backends"),  # a device makes its backend
    ("engine/autograd/engine.cpp", "ops"),  # operations add gradients
    ("engine/autograd/node.cpp", "ops"),
    ("engine/backends/cuda/module.cpp", "distributed"),  # one library with NCCL
    ("engine/distributed/collectives/nccl/nccl_device_group.h", "parallel"),
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
# Writing tools are not part of the project. In rot13, since this file is checked too.
TOOLS = re.compile(codecs.decode(
    r"\o(?:punggcg|pynhqr|naguebcvp|pbcvybg|trzvav|pbqrk"
    r"|(?:nv|ntrag|ertvfgel|urycre|guvf|cerivbhf)[ -]frffvba|fho-?ntrag"
    r"|nv[ -](?:trarengrq|nffvfgnag|gbby)|ynathntr zbqry)f?\o", "rot13"), re.I)

# Archaic or invented idiom, which native technical prose does not use. Chapters and the
# book's pages are exempt.
ODD_ENGLISH = re.compile(
    r"\b(?:for ever|mend(?:s|ed|ing)?|who(?:so)?ever|lest|anew|shall|upon|nought"
    r"|there(?:of|in)|where(?:of|in)|hereof|as good as|has it that"
    r"|works? (?:it |them )?off|worked off|t(?:ells?|old) of|told apart|heard of"
    r"|the other way about|(?:which|that) is no|melt(?:s|ed|ing)?|so that nobody)\b",
    re.I)
PROSE = re.compile(r"book/(?!literate/).*\.md|lessons/[^/]+/chapter\.md"
                   r"|CONTRIBUTING\.md")  # quotes examples
WORDED = (".h", ".cpp", ".cu", ".py", ".md", ".bash", ".sh", ".cmake")


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
        ignored = {"build", "data", "workspace", ".git", "__pycache__"}
        found = {path for path in ROOT.rglob("*")
                 if not ignored & set(path.relative_to(ROOT).parts)}
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


def headings(path):
    """The anchors of a Markdown file's headings."""
    titles = re.findall(r"^#+ +(.+?) *$", read(path), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in titles}


class House(unittest.TestCase):
    def nothing(self, found, rule):
        if found:
            self.fail("\n  ".join([f"{rule}:", *found]))

    def test_there_are_files(self):
        self.assertGreater(len(CXX), 50)

    def test_rooms(self):
        wrong = []
        for path in CXX:
            rooms = [room for room in ROOMS if below(path, room)]
            if not rooms:
                continue
            room = max(rooms, key=len)
            for include in INCLUDE.findall(read(path)):
                known = include.split("/")[0] in ("engine", "tracer", "gui", "lessons",
                                                  "experiments", "run", "cli", "base",
                                                  "tests")
                allowed = any(include == to or include.startswith(to + "/")
                              for to in ROOMS[room])
                if known and not allowed:
                    wrong.append(f"{name(path)} includes {include}")
        self.nothing(wrong, "includes go only along the arrows of CONTRIBUTING.md")

    def test_includes_resolve(self):
        wrong = []
        for path in CXX:
            for include in INCLUDE.findall(read(path)):
                beside = below(path, "tests") and (path.parent / include).is_file()
                if not beside and not (ROOT / include).is_file():
                    wrong.append(f"{name(path)} includes {include}")
        self.nothing(wrong, "includes in quotes name files from the root")

    def test_rooms_of_the_engine(self):
        rooms = list(ENGINE_ROOMS)
        for room, allowed in ENGINE_ROOMS.items():
            self.assertLess(max(map(rooms.index, allowed), default=-1),
                            rooms.index(room), f"engine/{room} knows a room below it")
        against = set()
        for path in CXX:
            if not below(path, "engine"):
                continue
            room = path.relative_to(ROOT).parts[1]
            self.assertIn(room, rooms, name(path))
            for include in INCLUDE.findall(read(path)):
                top, _, rest = include.partition("/")
                to = rest.split("/")[0]
                if top == "engine" and to != room and to not in ENGINE_ROOMS[room]:
                    against.add((name(path), to))
        shown = [f"{file} includes engine/{to}"
                 for file, to in sorted(against - AGAINST_THE_ARROWS)]
        self.nothing(shown, "includes inside the engine go only along ENGINE_ROOMS")
        gone = [f"{file}: engine/{to}"
                for file, to in sorted(AGAINST_THE_ARROWS - against)]
        self.nothing(gone, "fixed; fix: delete these from AGAINST_THE_ARROWS")

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
        lengths = {name(path): len(read(path).splitlines()) for path in CODE_FILES
                   if not is_generated(path)}
        long = [f"{file}: {length}" for file, length in lengths.items() if length > 200]
        print(f"{len(lengths)} code files, {len(long)} over 200 lines", *long,
              sep="\n  ")
        self.nothing([f"{file}: {length} lines" for file, length in lengths.items()
                      if length > 400], "no code file is over 400 lines")

    def test_headers_of_lessons_define_each_name_once(self):
        """All checks are one program, which would take one definition for the other."""
        places = {}
        for path in sorted((ROOT / "lessons/machine").glob("*.h")):
            code = read(path)
            space = re.search(r"^namespace (\S+) {", code, re.M)
            found = re.findall(r"^inline [^=;{]*?(\w+\([^{;]*\)) {", code, re.M)
            found += re.findall(r"^(?:struct|class) (\w+)[^;]*{", code, re.M)
            for defined in found:
                key = space and space[1], re.sub(r"\s+", " ", defined)
                places.setdefault(key, set()).add(path.name)
        self.assertGreater(len(places), 100)
        self.nothing([f"{what} in {', '.join(sorted(files))}"
                      for (_, what), files in places.items() if len(files) > 1],
                     "a name is defined twice in one namespace")

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
        self.nothing(missing, "every room has a README.md with its reading order")

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

    def test_plain_english(self):
        worded = [path for path in FILES if not PROSE.fullmatch(name(path))
                  and (path.suffix in WORDED or path.name == "lockstep")
                  and path != pathlib.Path(__file__).resolve()]
        found = {path: matches(ODD_ENGLISH, path) for path in worded}
        self.nothing([hit for hits in found.values() for hit in hits],
                     "odd English; fix: write as PyTorch's documentation does")

    def test_no_writing_tools(self):
        found = [hit for path in FILES for hit in matches(TOOLS, path)]
        self.nothing(found, "no file tells with which tools it was written")


def main(checks):
    names = [f"House.test_{check}" for check in checks] or ["House"]
    tests = unittest.defaultTestLoader.loadTestsFromNames(names, sys.modules[__name__])
    result = unittest.TextTestRunner(verbosity=2 if checks else 1).run(tests)
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
