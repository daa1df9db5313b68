"""Finds the tests of files: what `./lockstep test PATH…` builds and runs.

    tests_of.py PATH…      # sources, tests, folders, lessons, documents
    tests_of.py --changed  # what differs from origin/main, or from HEAD without it

Prints four lines: the targets to build in the preset `inner`; an expression that
matches the labels of its tests; one for the tests that run the program, of the preset
`release`; the tier to leave out, which is empty if tests are named themselves. A
source's tests are in the file that mirrors it (engine/plan/chunk.h:
tests/plan/chunk_test.cpp); if there is none, in the files of the mirrored folder that
include its header, or headers beside it, or in all of that folder. Those of data are
where its name is said. Those of a folder are those of its files and of its mirror.
Exits 1 with a message if there is no such path.
"""

import collections
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("base", "engine", "tracer", "gui", "run", "experiments")
HOUSE = "tests/house/house_test.py"
E2E, BOOK = "tests/e2e/", "tests/book/"
# By the beginning of a path: the tests of what no file mirrors.
OTHERS = {
    "cli/view_command": [E2E + "viewer_test.py"],
    "cli/experiment_command": [E2E + "experiment_test.py"],
    "cli/lesson": [E2E + "lesson_test.py"],
    "cli/": [E2E + "e2e_test.py"],
    "lessons/machine/": [E2E + "lesson_test.py", E2E + "lesson_errors_test.py",
                         "tests/lessons/", "lessons/06-reduce"],
    "lessons/": [E2E + "lesson_test.py"],
    "docs/": [HOUSE, E2E + "docs_test.py"],
    "book/": [BOOK],
    "tools/": [HOUSE, "tests/house/compare_traces_test.py"],
    "tests/course/": ["lessons/06-reduce", "tests/course/grade_test.py"],
    "tests/golden/torch/": ["tests/engine/"],
    "tests/golden/": ["tests/tracer/"],
    "tests/engine/data/": ["tests/engine/data/"],
    "tests/engine/parallel/": ["tests/engine/parallel/"],
    "tests/house/": ["tests/house/"],
    "lockstep": ["tests/house/wrapper_test.py"],
    "packages.txt": ["tests/house/wrapper_test.py"],
    "tests/house/run_tests.bash": ["tests/house/wrapper_test.py"],
    "tests/house/fake_tool.bash": ["tests/house/wrapper_test.py"],
    "cmake/embed": ["tests/house/embed_test.py"],
    "cmake/package": ["tests/house/wrapper_test.py", E2E + "package_test.py"],
    "": [HOUSE],
}
NOT_IN_INNER = ("tests/course/course_test.py", "tests/gpu/")  # no test, or with CUDA


DATA = (".json", ".csv", ".gp", ".gz", ".png", ".jpeg", ".JPEG", ".pth")


def name(path):
    return path.relative_to(ROOT).as_posix()


def is_test(path):
    file = name(path)
    return file.startswith("tests/") and not file.startswith(
        NOT_IN_INNER) and file.endswith(("_test.py", "_test.cpp"))


@functools.cache
def tests_below(folder):
    """The test files below a folder, as names."""
    return sorted(name(path) for path in folder.rglob("*_test.*") if is_test(path))


def mirrored(file):
    """Where the tests of a source's name without its ending are: engine/plan/chunk is
    tested in tests/plan/chunk."""
    return ROOT / "tests" / file.removeprefix("engine/") if file.startswith(
        "engine/plan") else ROOT / "tests" / file


@functools.cache
def texts():
    """The text of each test and helper."""
    return {path: path.read_text() for path in (ROOT / "tests").rglob("*")
            if path.suffix in (".h", ".cpp", ".py")}


@functools.cache
def includes():
    """Header → the files of tests/ that include it."""
    found = collections.defaultdict(list)
    for path, text in texts().items():
        for header in re.findall(r'^#include "(.+)"', text, re.M):
            found[header].append(path)
    return found


@functools.cache
def including(header):
    """The test files that include a header, directly or through a helper of theirs."""
    found, headers, seen = [], [header], set()
    while headers:
        for path in includes().get(headers.pop(), []):
            if path in seen:
                continue
            seen.add(path)
            if is_test(path):
                found.append(name(path))
            elif path.suffix == ".h":
                headers.append(name(path))
    return sorted(found)


def tests_of_source(path):
    stem = name(path.with_suffix(""))
    mirror = mirrored(stem)
    mirror = mirror.with_name(mirror.name + "_test.cpp")
    if mirror.is_file():
        return [name(mirror)]
    folder = mirror.parent
    while not folder.is_dir() or not tests_below(folder):
        folder = folder.parent
    beside = tests_below(folder)
    found = [test for test in including(stem + ".h") if test in beside]
    if not found:
        include = f'#include "{name(path.parent)}/'
        found = [test for test in beside if include in (ROOT / test).read_text()]
    return found or beside


@functools.cache
def naming(path):
    """The Python tests that import a script, or start it, or files that do."""
    found, stems, seen = [], [path.stem], set()
    while stems:
        stem = stems.pop()
        named = re.compile(rf"\b(?:import|from) {stem}\b|\b{stem}\.py\b")
        for script, text in texts().items():
            if script.suffix != ".py" or script in seen or not (
                    stem in text and named.search(text)):
                continue
            seen.add(script)
            if is_test(script):
                found.append(name(script))
            else:
                stems.append(script.stem)
    return sorted(found)


def saying(*words):
    """The tests whose text, or that of a helper of theirs, has all of these words."""
    found, about_files = set(), ROOT / "tests/house"
    for path, text in texts().items():
        if all(word in text for word in words) and path.parent != about_files:
            found.update([name(path)] if is_test(path) else naming(path)
                         if path.suffix == ".py" else including(name(path)))
    return sorted(found)


def tests_of_data(path):
    """Of data: a name such as <kind>_<net>.json may be said as a whole, or in two
    parts; of pictures, the folder."""
    first, _, rest = path.stem.partition("_")
    return (saying(path.name) or saying(f'"{path.stem}') or
            (saying(f'"{first}_', f'"{rest}"') if rest else []) or
            saying(f"{path.parent.name}/"))


def tests_of_helper(path):
    """Of a file below tests/ that is no test itself."""
    if path.suffix == ".py":
        return naming(path)
    if path.suffix in (".h", ".cpp"):
        return including(name(path)) or tests_below(path.parent)
    return tests_of_data(path) if path.suffix in DATA else []


def files_below(folder):
    files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
                str(folder)).split("\0")
    return [ROOT / file for file in files if file and (ROOT / file).is_file()]


def tests_of_folder(path):
    found = set(tests_below(mirrored(name(path))))
    for file in files_below(path):
        found.update(tests_of(file))
    return sorted(found)


def others(file):
    """The tests of OTHERS for the longest beginning of a path."""
    begins = max((begin for begin in OTHERS if file.startswith(begin)), key=len)
    return [test for entry in OTHERS[begins] for test in (
        tests_below(ROOT / entry) if entry.endswith("/") else [entry])]


def tests_of(path):
    """The labels of a path's tests: names of test files, and lessons."""
    if path.is_dir():
        return tests_of_folder(path)
    file = name(path)
    lesson = re.match(r"(lessons/\d\d-[^/]+)/", file)
    if lesson:
        return [lesson[1]]
    if is_test(path):
        return [file]
    found = []
    if file.startswith("tests/"):
        found = tests_of_helper(path)
    elif file.startswith(ROOMS) and path.suffix in (".h", ".cpp", ".cu"):
        found = tests_of_source(path)
    elif file.startswith(ROOMS) and path.suffix in DATA:
        found = tests_of_data(path) or tests_of_source(path)
    return found or others(file)


def runs_the_program(label):
    """Lessons, and tests from outside: for them alone, the preset `inner` would have to
    compile all rooms."""
    return label.startswith((E2E, "lessons/", "tests/course/"))


def target_of(label):
    """The program of a unit test, or None."""
    if label.startswith("tests/fuzz/"):
        return "fuzz_test"
    if label.endswith(".cpp"):
        return label.removeprefix("tests/").removesuffix(".cpp").replace("/", ".")
    return None


def expression(labels):
    """An expression that matches these labels, or an empty one."""
    return f"^({'|'.join(map(re.escape, sorted(labels)))})$" if labels else ""


def git(*words):
    """What git says. Throws RuntimeError if it fails."""
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *words],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def changed():
    """The files that differ from the last commit that origin/main has, or from HEAD,
    those that git does not know yet included."""
    try:
        base = git("merge-base", "origin/main", "HEAD").strip()
    except RuntimeError:
        base = "HEAD"
    said = git("diff", "--name-only", "--no-renames", "-z", base) + git(
        "ls-files", "--others", "--exclude-standard", "-z")
    paths = [ROOT / line for line in said.split("\0") if line]
    return [path if path.exists() else path.parent for path in paths
            if path.exists() or path.parent.is_dir()]


def resolved(word):
    """A path from the command line: from here, or from the root."""
    for place in (pathlib.Path.cwd(), ROOT):
        path = (place / word).resolve()
        if path.exists() and path.is_relative_to(ROOT):
            return path
    raise SystemExit(f"test: no {word} here; fix: name a file or folder of the "
                     "checkout, or an option of ctest after --")


def tier_left_out(paths):
    """`all`, unless what is named are tests or wrong solutions."""
    named = [is_test(path) or "/mutants" in name(path) for path in paths]
    return "" if named and all(named) else "^all$"


def main(words):
    try:
        paths = changed() if words == ["--changed"] else [
            resolved(word) for word in words]
        labels = {label for path in paths for label in tests_of(path)}
    except RuntimeError as error:
        raise SystemExit(f"test: git: {error}; fix: name the files") from None
    if words == ["--changed"]:
        labels.add(HOUSE)
    if any(name(path).startswith("engine/backends/cuda") for path in paths):
        print("lockstep: the preset inner compiles no CUDA; fix: ./lockstep test",
              file=sys.stderr)
    targets = sorted({target for target in map(target_of, labels) if target})
    program = set(filter(runs_the_program, labels))
    print(*targets)
    print(expression(labels - program))
    print(expression(program))
    print(tier_left_out(paths))


if __name__ == "__main__":
    main(sys.argv[1:])
