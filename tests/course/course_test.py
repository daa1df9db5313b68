"""The course linter: what CI checks for each lesson.

    course_test.py LESSON skeleton           compiles and fails with instructions
    course_test.py LESSON solution           passes
    course_test.py LESSON rules              a wrong solution for each rule fails, for
                                             its own reason
    course_test.py LESSON mutants            so do all others
    course_test.py LESSON mutant [NAME …]    so do these, or all
    course_test.py LESSON unplugged          without its registration it fails
    course_test.py LESSON checkpoints        stages of long lessons can be passed alone
    course_test.py LESSON folder             has a chapter, hints, gates and a trace
    course_test.py LESSON alone              its tests use only this lesson's slots
    course_test.py LESSON headers            compiles the engine's headers for all

A rule is a test of the lesson's. A mutant begins with `// rejected by: TEST` and
`// because: WORDS`: that test must be the first to fail, and its message must contain
those words. Its region `top` is inserted before the first line of the file.

The lessons' tests draw with seed 0 here, and with a random one for learners. No verdict
may depend on it:

    LOCKSTEP_LESSON_SEED=7 ctest --test-dir build/release -R '^course'
"""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LOCKSTEP_BIN", str(ROOT / "build/release/lockstep"))
os.environ.setdefault("LOCKSTEP_LESSON_SEED", "0")
MARKER = re.compile(r"^\s*(?://|#)\s*\[(/?)(solution[\w-]*|top)\]\s*$")


def lockstep(*words, code=0):
    """Standard output of `lockstep WORDS`. Fails on any other exit code."""
    ended = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                           timeout=300)
    if ended.returncode != code:
        raise AssertionError(f"lockstep {' '.join(map(str, words))} ended with "
                             f"{ended.returncode}, not {code}:\n{ended.stdout}"
                             f"{ended.stderr}")
    return ended.stdout


def regions(text, name):
    """Region name → its lines. Every region must be closed and not empty."""
    found, here = {}, None
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = MARKER.match(line)
        if not mark:
            if here:
                found[here] += line
            continue
        closing, region = mark.groups()
        if closing:
            assert region == here, f"{name}:{number}: closes what is not open"
            here = None
        else:
            assert not here and region not in found, f"{name}:{number}: opened twice"
            here, found[region] = region, ""
    assert not here, f"{name}: [{here}] is not closed"
    assert all(found.values()), f"{name}: an empty region"
    return found


class Lesson(unittest.TestCase):
    slug = ""

    def setUp(self):
        self.folder = ROOT / "lessons" / self.slug
        self.facts = json.loads((self.folder / "lesson.json").read_text())
        self.quiz = self.facts.get("quiz", False)
        self.python = self.facts["file"].endswith(".py")
        self.ending = ".txt" if self.quiz else ".py" if self.python else ".cpp"
        self.source = self.folder / ("exercise" + self.ending)
        keep = tempfile.TemporaryDirectory()
        self.addCleanup(keep.cleanup)
        self.workspace = pathlib.Path(keep.name)
        self.file = self.workspace / self.slug / self.facts["file"]
        self.lesson("start")

    def lesson(self, command, *words, code=0):
        return lockstep("lesson", command, "--workspace", self.workspace, self.slug,
                        *words, code=code)

    def check(self, passes):
        return json.loads(self.lesson("check", "--json", code=0 if passes else 1))

    def first_failure(self, result):
        failed = [test for test in result["tests"]
                  if test["status"] in ("fail", "error")]
        self.assertTrue(failed, f"no test failed: {json.dumps(result, indent=1)}")
        return failed[0]

    def exercise_with(self, replaced):
        """The exercise with some regions' lines replaced, without markers."""
        lines, here = [], None
        for line in self.source.read_text().splitlines(keepends=True):
            mark = MARKER.match(line)
            if mark:
                here = None if mark[1] else mark[2]
                if here in replaced:
                    lines.append(replaced[here])
            elif here not in replaced:
                lines.append(line)
        return "".join(lines)


class Headers(Lesson):
    """`start` compiles them into LOCKSTEP_HEADERS, and other tests find them there."""

    def test(self):
        headers = pathlib.Path(os.environ["LOCKSTEP_HEADERS"])
        self.assertNotEqual(list(headers.rglob("prelude.h.gch/*")), [])


class Skeleton(Lesson):
    def test(self):
        solution = self.lesson("solution", "--show-anyway").splitlines()
        whole = self.file.read_text()
        self.assertNotRegex("\n".join(solution), "not_written|NotImplementedError")
        for line, after in zip(solution, solution[1:]):  # left over next to not_written
            self.assertFalse(line.strip() in ("return;", "continue;")
                             and after in ("  }", "    }"), f"{line}\n{after}")
        stub = (r" *raise NotImplementedError\(.*?\)\n" if self.python else
                r" *lessons::not_written\([^;]*\);\n")
        skeleton = re.sub(stub, "", whole, flags=re.S).splitlines()
        rest = iter(solution)
        self.assertTrue(all(line in rest for line in skeleton),
                        "solving only adds lines")
        self.assertLess(len(skeleton), len(solution))
        result = self.check(passes=False)
        failure = self.first_failure(result)
        self.assertEqual(failure["status"], "fail", f"it does not compile, or crashes: "
                         f"{json.dumps(result, indent=1)}")
        self.assertGreater(len(failure.get("about", "")), 10, "a teaching message")


class Solution(Lesson):
    def test(self):
        self.file.write_text(self.lesson("solution", "--show-anyway"))
        if self.quiz:  # judged by the lesson's trace, not by the learner's copy
            (self.file.parent / "trace.json.gz").write_text("{}")
        result = self.check(passes=True)
        self.assertTrue(all(test["status"] == "pass" for test in result["tests"]))
        self.assertGreaterEqual(len(result["tests"]), 3)
        self.assertNotEqual(self.lesson("solution"), "", "shown after a pass")

    def test_a_run_with_it_calls_it(self):
        if not self.facts["slots"]:
            self.skipTest("it fills no slot")
        self.file.write_text(self.lesson("solution", "--show-anyway"))
        words = ["lesson", "run", "--workspace", self.workspace, "--mine", self.slug,
                 "--", "--device-type", "null", "--steps", "1"]
        ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                               timeout=300)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


class Mutant(Lesson):
    """Has a test for each wrong solution."""

    @classmethod
    def add(cls, name):
        setattr(cls, f"test_{name}", lambda self: self.judge(name))

    def judge(self, name):
        text = (self.folder / "mutants" / (name + self.ending)).read_text()
        by = re.search(r"^(?://|#) rejected by: (\S+)$", text, re.M)
        because = re.search(r"^(?://|#) because: (.+)$", text, re.M)
        self.assertTrue(by and because, "it says who rejects it, and why")
        replaced = regions(text, name)
        top = replaced.pop("top", "")
        self.assertLessEqual(replaced.keys(), regions(self.source.read_text(),
                                                      "exercise").keys())
        self.file.write_text(top + self.exercise_with(replaced))
        result = self.check(passes=False)
        failure = self.first_failure(result)
        self.assertEqual(failure["name"], by[1], json.dumps(result, indent=1))
        ends = [stage["until"] for stage in result["checkpoints"]]
        order = [test["name"] for test in result["tests"]]
        passed = [order.index(end) < order.index(by[1]) for end in ends]
        self.assertEqual([stage["status"] == "pass" for stage in result["checkpoints"]],
                         passed)
        told = " ".join(str(failure.get(key, ""))
                        for key in ("about", "expected", "got", "likely"))
        self.assertIn(because[1], told)


def mutants(which):
    """The names of the lesson's wrong solutions: the first one that each rule rejects
    ("rules"), all others ("mutants"), or all."""
    first, others = {}, []
    for path in sorted((ROOT / "lessons" / Lesson.slug / "mutants").iterdir()):
        rule = re.search(r"rejected by: (\S+)", path.read_text())
        if rule and rule[1] not in first:
            first[rule[1]] = path.stem
        else:
            others.append(path.stem)
    return {"rules": list(first.values()), "mutants": others}.get(
        which, [*first.values(), *others])


class Unplugged(Lesson):
    """The engine's own code is never judged in place of the learner's."""

    def without_registration(self, text):
        head, registration = text.split("LOCKSTEP_LESSON(")
        return head, f"LOCKSTEP_LESSON({registration.split(')')[0]}) {{ }}\n"

    def test(self):
        solution = self.lesson("solution", "--show-anyway")
        for whole in (self.file.read_text(), solution):
            head, empty = self.without_registration(whole)
            for text in (head + empty, head):
                self.file.write_text(text)
                result = self.check(passes=False)
                self.assertEqual(result["status"], "fail")
                failure = self.first_failure(result)
                self.assertEqual(failure["name"], "own_code")
                self.assertIn(f"slot `{self.facts['slots'][0]}`", failure["about"])
                self.assertIn("nothing is plugged in", failure["got"])
                self.assertIn("LOCKSTEP_LESSON(", failure["likely"])


class Checkpoints(Lesson):
    """Stages of a lesson: each ends with one of its tests."""

    def stages(self):
        return self.facts.get("checkpoints", [])

    def mutants_rejected_by(self, tests):
        return [path.stem for path in (self.folder / "mutants").iterdir()
                if any(f"rejected by: {test}\n" in path.read_text() for test in tests)]

    def test_each_ends_with_a_test_and_can_fail(self):
        self.assertEqual(sum(stage["minutes"] for stage in self.stages()),
                         self.facts["minutes"])
        self.assertTrue(all(stage["minutes"] <= 40 for stage in self.stages()))
        tests = re.findall(r"LESSON_TEST\(\d+, (\w+)",
                           (self.folder / "check.cpp").read_text())
        ends = [tests.index(stage["until"]) for stage in self.stages()]
        self.assertEqual(ends, sorted(set(ends)))
        self.assertEqual(tests[-1], self.stages()[-1]["until"])
        begins = [0, *(end + 1 for end in ends)]
        for begin, end in zip(begins, ends):
            self.assertTrue(self.mutants_rejected_by(tests[begin:end + 1]))

    def test_a_part_of_the_solution_passes_the_first_ones(self):
        for number, stage in enumerate(self.stages(), 1):
            if "regions" not in stage:
                continue
            rest = regions(self.source.read_text(), "exercise").keys()
            self.file.write_text(self.exercise_with(
                {name: "" for name in rest if name not in stage["regions"]}))
            result = json.loads(self.lesson("check", "--checkpoint", number, "--json"))
            self.assertEqual((result["status"], result["checkpoint"]),
                             ("pass", number))
            passed = [one["status"] for one in result["checkpoints"]]
            self.assertEqual(passed, ["pass"] * number
                             + ["fail"] * (len(passed) - number))
            self.assertIn("not_run", [test["status"] for test in result["tests"]])
            self.lesson("solution", code=1)  # the lesson itself has not passed
            self.lesson("check", "--checkpoint", len(self.stages()), code=1)


class Folder(Lesson):
    def test(self):
        regions(self.source.read_text(), self.source.name)
        for key in ("title", "goal", "minutes", "file", "slots", "gates"):
            self.assertIn(key, self.facts)
        if self.facts["minutes"] > 40:
            self.assertGreaterEqual(len(self.facts["checkpoints"]), 2)
        for gate in self.facts["gates"]:
            naive, correct, limit = gate["naive"], gate["correct"], gate["limit"]
            low, high = min(naive, correct), max(naive, correct)
            self.assertTrue(low <= limit <= high and naive != limit, gate["name"])
            self.assertGreater(len(gate["why"]), 20, gate["name"])
        hints = re.split(r"^## Hint \d$", (self.folder / "hints.md").read_text(),
                         flags=re.M)[1:]
        self.assertEqual(len(hints), 3, "three hints")
        self.assertTrue(all(len(hint.strip()) > 40 for hint in hints))
        mutants = [path for path in (self.folder / "mutants").iterdir()]
        self.assertGreaterEqual(len(mutants), 3, "three mutants")
        trace = self.folder / "trace.json.gz"
        self.assertLess(trace.stat().st_size, 300_000)
        lockstep("trace", "check", trace)

    def test_trace_gives_nothing_away(self):
        """It is opened before the exercise, so it contains only the engine's sources,
        and no calls of a learner's code."""
        packed = (self.folder / "trace.json.gz").read_bytes()
        trace = json.loads(gzip.decompress(packed))
        rooms = ("engine/", "tracer/", "run/", "cli/")
        foreign = [name for name in trace["lockstep"].get("sources", {})
                   if not name.startswith(rooms)]
        self.assertFalse(foreign, "sources that are not the engine's; record it "
                         "without `lesson run --mine`")
        learners = [event["name"] for event in trace["traceEvents"]
                    if "slot" in event.get("args", {})]
        self.assertFalse(learners, "calls of learner code")

    def test_messages_are_plain_text(self):
        """A terminal shows Markdown's asterisks as they are."""
        check = (self.folder / "check.cpp").read_text()
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', check):
            self.assertNotRegex(text, r"\*\w", "emphasis in a message")

    def test_chapter(self):
        chapter = (self.folder / "chapter.md").read_text()
        headings = [line.lstrip("# ").strip() for line in chapter.splitlines()
                    if line.startswith("#")]
        self.assertEqual(headings[0], f"Lesson {self.slug[:2]}: {self.facts['title']}")
        for needed in ("Predict first", "Exercise"):
            self.assertTrue(any(needed in heading for heading in headings), needed)
        predict = chapter.split("## Predict first")[1].split("\n## ")[0]
        self.assertIn("{answer}", predict, "an answer that is folded")
        check = (self.folder / "check.cpp").read_text()
        joined = re.sub(r'"\s*\n\s*"', "", check)
        read = set(re.findall(r'"([A-Z][^"\n]*)"\s*(?:,[^"{}]*)?\}', joined))
        told = {heading for heading in headings}
        missing = {words for words in read if len(words) < 60} - told
        self.assertFalse(missing, f"paragraphs that tests send the reader to, and that "
                         f"the chapter lacks: {missing}; it has {told}")


class Alone(Lesson):
    """Tests of lesson N do not depend on another lesson's work."""

    def test(self):
        check = (self.folder / "check.cpp").read_text()
        others = [path.name for path in (ROOT / "lessons").glob("[0-9][0-9]-*")
                  if path.name != self.slug]
        self.assertFalse([other for other in others if other in check])
        if self.quiz or self.python:
            return
        source = self.source.read_text()
        plugged = re.findall(r"(\w+)\(?\)?\.plug\(", source)
        if not self.facts["slots"]:  # its tests find the functions by name
            self.assertIn('extern "C"', source)
        self.assertEqual(len(plugged), len(self.facts["slots"]),
                         f"slots in lesson.json: {self.facts['slots']}, in the code: "
                         f"{plugged}")


def torch_is_missing():
    """Whether the lesson is in Python and has nothing to run on."""
    facts = json.loads((ROOT / "lessons" / Lesson.slug / "lesson.json").read_text())
    if not facts["file"].endswith(".py"):
        return False
    find = "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"
    return all(subprocess.run([python, "-c", find], check=False).returncode
               for python in ("python3", "/usr/bin/python3"))


def main(words):
    Lesson.slug, what = words[0], words[1]
    case = {"skeleton": Skeleton, "solution": Solution, "mutant": Mutant,
            "rules": Mutant, "mutants": Mutant, "unplugged": Unplugged,
            "checkpoints": Checkpoints, "folder": Folder, "alone": Alone,
            "headers": Headers}[what]
    if case is Mutant:
        names = words[2:] or mutants(what)
        if not names:
            print("each wrong solution is the first that its rule rejects")
            return 77
        for name in names:
            Mutant.add(name)
    if what not in ("unplugged", "folder", "alone") and torch_is_missing():
        print("not judged: no PyTorch; fix: apt-get install python3-torch")
        return 77
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    ran = unittest.TextTestRunner(verbosity=2).run(tests)
    return 0 if ran.testsRun and ran.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
