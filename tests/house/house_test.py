"""The rules of the house (CONTRIBUTING.md), as tests over the checkout's files.

    house_test.py            # all checks
    house_test.py rooms      # one; ctest runs them one by one as house.<check>

Exits 77 when the one check that was asked for could not be made.
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

# What a room may include; the innermost room that a file lies in counts.
ROOMS = {
    "base": ["base"],
    "engine/plan": ["engine/plan"],
    "tracer": ["base", "tracer", "engine/plan"],
    "engine": ["base", "engine", "tracer/record", "tracer/format/keys.h"],
    "gui": ["base", "gui", "tracer"],
    "lessons": ["base", "lessons", "engine", "tracer"],
    "experiments": ["base", "experiments", "engine", "tracer"],
    "cli": ["base", "cli", "gui", "lessons", "experiments", "engine", "tracer"],
}
# Words of the recorder, which models and layers must not know.
TRACE_WORDS = re.compile(
    r"\b(?:tracer::|tracer/|HostEvent|recorder\.h|Phase|mark\s*\()")
# Names that hold on one machine only.
MACHINE = re.compile(r"(?<![\w.~/-])/(?:work|root|home/\w+)(?:/|\b)"
                     r"|\bartifactory\b|\.(?:internal|corp|lan)[:/]")
# Writing tools are not part of the project. In rot13, since this file is checked too.
TOOLS = re.compile(codecs.decode(
    r"\o(?:punggcg|pynhqr|naguebcvp|pbcvybg|trzvav|pbqrk"
    r"|(?:nv|ntrag|ertvfgel|urycre|guvf|cerivbhf)[ -]frffvba|fho-?ntrag"
    r"|nv[ -](?:trarengrq|nffvfgnag|gbby)|ynathntr zbqry)f?\o", "rot13"), re.I)


def listed_files():
    """Files that git tracks or would track; without git, all that looks like ours."""
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
    """`file:line: text` of each line in which the pattern is found."""
    return [f"{name(path)}:{number}: {line.strip()}"
            for number, line in enumerate(read(path).splitlines(), 1)
            if pattern.search(line)]


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
                                                  "experiments", "cli", "base", "tests")
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

    def test_models_and_layers_do_not_trace(self):
        layers = [path for path in CXX if below(path, "engine/models")
                  or name(path).startswith("engine/nn/layers")]
        self.assertTrue(layers)
        found = [hit for path in layers for hit in matches(TRACE_WORDS, path)]
        self.nothing(found, "models and layers hold no trace lines")

    def test_length(self):
        lengths = {name(path): len(read(path).splitlines()) for path in CODE_FILES
                   if not is_generated(path)}
        long = [f"{file}: {length}" for file, length in lengths.items() if length > 200]
        print(f"{len(lengths)} code files, {len(long)} over 200 lines", *long,
              sep="\n  ")
        self.nothing([f"{file}: {length} lines" for file, length in lengths.items()
                      if length > 400], "no code file is over 400 lines")

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
                     "-co --exclude-standard '*.h' '*.cpp' | xargs clang-format-19 -i")

    def test_readmes(self):
        folders = {path.parent for path in FILES
                   if below(path, "engine") or below(path, "tracer")}
        missing = [name(folder) for folder in sorted(folders)
                   if folder.parent != ROOT and not (folder / "README.md").is_file()]
        self.nothing(missing, "every room has a README.md with its reading order")

    def test_readmes_name_files_that_exist(self):
        wrong = []
        for path in FILES:
            rooms = below(path, "engine") or below(path, "tracer")
            if path.name != "README.md" or not rooms:
                continue
            for word in re.findall(r"`([\w/]+\.(?:h|cpp))`", read(path)):
                if not (path.parent / word).is_file() and not (ROOT / word).is_file():
                    wrong.append(f"{name(path)}: {word}")
        self.nothing(wrong, "a README.md names files that are there")

    def test_nothing_that_tests_need_is_ignored(self):
        git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}", "ls-files", "-z",
               "--others", "--ignored", "--exclude-standard", "--", "engine", "tracer",
               "gui", "cli", "lessons", "tests", "book"]
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
