"""Finds redundant assertions in a lesson's tests.

    needed_assertions.py LESSON [FIRST:LAST]    # assertions to try, from 1

Deletes the assertions of `check.cpp` one at a time, in a copy of the course, and looks
for a mutant that then passes, or is rejected by another test or for another reason than
the one it names. Prints that mutant for each assertion. Exits 1 if there is none for
some assertion: it either tests nothing that a mutant violates, or repeats another
assertion. Takes minutes per lesson, so it is not part of ctest.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST = pathlib.Path(__file__).with_name("course_test.py")
CLAIM = r"exam\.(?:that|equal|at_most|close)"


def end_of_call(text, opening):
    """Returns the position after the `;` of the call whose `(` is at `opening`."""
    depth, quoted, at = 0, False, opening
    while True:
        if quoted and text[at] == "\\":
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif not quoted:
            depth += (text[at] in "({") - (text[at] in ")}")
            if depth == 0 and text[at] == ";":
                return at + 1
        at += 1


def assertions(text):
    """Yields (begin, end, name of the enclosing test or None) of each assertion."""
    helpers = re.findall(r"^(?:void|bool) (\w+)\((?:const )?Exam& exam", text, re.M)
    calls = "|".join([CLAIM, *helpers])
    for found in re.finditer(rf"^\s+({calls})\(", text, re.M):
        inside = re.findall(r"^LESSON_TEST\(\d+, (\w+)|^}", text[:found.start()], re.M)
        test = inside[-1] if inside and inside[-1] else None
        end = end_of_call(text, found.end() - 1)
        begin = found.start(1)
        yield begin, end, test


def rejected_by(mutant):
    return re.search(r"rejected by: (\S+)", mutant.read_text())[1]


def course_test(course, slug, *what):
    words = [sys.executable, str(TEST), slug, *what]
    ended = subprocess.run(words, env={**os.environ,
                                       "LOCKSTEP_COURSE": str(course)},
                           capture_output=True, text=True)
    return ended.returncode == 0


def main(slug, only="1:"):
    source = ROOT / "lessons" / slug
    text = (source / "check.cpp").read_text()
    mutants = sorted((source / "mutants").iterdir())
    first, last = (int(n) if n else None for n in only.split(":"))
    needless = 0
    with tempfile.TemporaryDirectory() as folder:
        course = pathlib.Path(folder)
        shutil.copytree(source, course / slug)
        everything = list(assertions(text))
        for begin, end, test in everything[first - 1:last]:
            (course / slug / "check.cpp").write_text(text[:begin] + ";" + text[end:])
            assert course_test(course, slug, "solution"), "still passes, or compiles"
            likely_first = sorted(mutants, key=lambda m: rejected_by(m) != test)
            survivor = next((m.stem for m in likely_first
                             if not course_test(course, slug, "mutant", m.stem)),
                            None)
            line = text.count("\n", 0, begin) + 1
            needless += survivor is None
            print(f"{slug}/check.cpp:{line}: {survivor or 'NOT NEEDED'}", flush=True)
    return 1 if needless else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
