"""`lockstep lesson`: correct use and learners' errors."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import LOCKSTEP, ROOT, TempTest, read_trace, run

# The engine's headers, compiled once for all workspaces.
HEADERS = tempfile.TemporaryDirectory()
os.environ.setdefault("LOCKSTEP_HEADERS", HEADERS.name)


class Workspace(TempTest):
    def setUp(self):
        super().setUp()
        self.workspace = self.path("workspace")
        self.file = pathlib.Path(self.workspace, "05-scatter", "scatter.cpp")

    def lesson(self, command, *words, code=0, **environment):
        return run("lesson", command, *words, code=code,
                   LOCKSTEP_WORKSPACE=self.workspace, **environment)

    def check(self, passes, *words, **environment):
        out, _ = self.lesson("check", 5, "--json", *words, code=0 if passes else 1,
                             **environment)
        return json.loads(out)

    def start_with(self, body):
        """Writes the skeleton with `body` as the implementation of scatter."""
        if not self.file.exists():
            self.lesson("start", 5)
        solution = self.lesson("solution", 5, "--show-anyway")[0]
        head = solution[:solution.index("  std::vector<Tensor> chunks;")]
        tail = solution[solution.index("}\n\n", len(head)):]
        self.file.write_text(head + body + "\n" + tail)

    def guilty(self, result):
        return next(t for t in result["tests"] if t["status"] in ("fail", "error"))

    def write_solution(self):
        if not self.file.exists():
            self.lesson("start", 5)
        self.file.write_text(self.lesson("solution", 5, "--show-anyway")[0])

    def spoil_training(self, code):
        """Writes the solution with `code`, which runs only in training runs."""
        self.write_solution()
        text = self.file.read_text()
        code = f"  if (input.size(0) == 10 && input.dim() == 4) {{\n{code}\n  }}\n"
        at = text.index("  std::vector<Tensor> chunks;")
        self.file.write_text(text[:at] + code + text[at:])


class Lessons(Workspace):  # first
    def test_work_is_never_overwritten(self):
        self.lesson("start", 5)
        self.file.write_text("mine")
        _, errors = self.lesson("start", "scatter", code=1)
        self.assertIn("lesson reset 5", errors)
        self.assertEqual(self.file.read_text(), "mine")
        self.lesson("reset", 5)
        self.assertIn("not_written", self.file.read_text())
        backup = self.file.with_name("scatter.cpp.backup-1")
        self.assertEqual(backup.read_text(), "mine")
        self.file.write_text("also mine")
        self.lesson("reset", 5)
        self.assertEqual(backup.read_text(), "mine")

    def test_hints_are_counted(self):
        self.assertIn("not used any hints yet", self.lesson("hint", 5, "--again")[0])
        texts = [self.lesson("hint", 5)[0] for _ in range(4)]
        for number, text in enumerate(texts[:3], 1):
            self.assertTrue(text.startswith(f"Hint {number} of 3"), text)
        self.assertIn("this was the last one", texts[3])
        self.assertEqual(self.lesson("hint", 5, "--again")[0].split(),
                         "".join(texts[:3]).split())
        listed = json.loads(self.lesson("list", "--json")[0])
        row = next(r for r in listed["lessons"] if r["lesson"] == "05-scatter")
        self.assertEqual((row["hints"], row["state"]), (3, "new"))

    def test_solution_comes_after_the_pass(self):
        self.lesson("start", 5, LOCKSTEP_HEADERS="")  # the workspace has them
        _, errors = self.lesson("solution", 5, code=1)
        self.assertIn("--show-anyway", errors)
        self.write_solution()
        result = self.check(passes=True, LOCKSTEP_HEADERS="")
        self.assertTrue([*self.file.parents[1].glob(".lockstep/*/lessons/*.gch")])
        self.assertEqual(result["version"], 1)
        self.assertEqual(result["status"], "pass")
        self.assertEqual(self.lesson("solution", 5)[0], self.file.read_text())
        listed = json.loads(self.lesson("list", "--json")[0])
        row = next(r for r in listed["lessons"] if r["lesson"] == "05-scatter")
        self.assertEqual(row["state"], "passed")
        self.assertTrue(row["solution_shown_early"])

    def test_result_is_as_documented(self):
        text = pathlib.Path(ROOT, "docs", "lesson-result.md").read_text()
        self.start_with("  return {input};")
        result = self.check(passes=False)
        for key in [*result, *self.guilty(result)]:
            self.assertIn(f"`{key}`", text)

    def test_wrong_words(self):
        _, errors = self.lesson("start", "99", code=1)
        self.assertIn("05-scatter", errors)
        self.lesson("begin", "5", code=2)
        _, errors = self.lesson("check", 5, code=1)
        self.assertIn("lesson start 5", errors)
        _, errors = self.lesson("run", "--mine", code=1)
        self.assertIn("lesson start 5", errors)
        self.lesson("start", 9)
        _, errors = self.lesson("run", "--mine", code=1)
        self.assertIn("lesson check 9", errors)

    def test_a_named_workspace_stays_named(self):
        """Printed commands can be typed. Inside a workspace, that workspace is used."""
        out, _ = run("lesson", "start", 5, "--workspace", self.workspace)
        self.assertIn(f"lesson check --workspace {self.workspace} 5", out)
        course = os.path.join(ROOT, "lessons")
        out, _ = self.lesson("start", 6, "--course", course)
        self.assertIn(f"{course}/06-reduce/chapter.md", out)
        subprocess.run([LOCKSTEP, "lesson", "hint", "5"], cwd=self.workspace,
                       check=True, capture_output=True)
        self.assertFalse(pathlib.Path(self.workspace, "workspace").exists())
        self.assertEqual(self.lesson("hint", 5, "--again")[0].count("Hint"), 1)

    def test_the_chapter_is_the_built_page(self):
        """Or the command that builds it: the source's listings are not expanded."""
        checkout = pathlib.Path(self.path("checkout"))
        program = checkout / "build/release/lockstep"
        program.parent.mkdir(parents=True)
        shutil.copy2(LOCKSTEP, program)
        page = checkout / "build/book/lessons/00-first-trace/chapter.html"

        def start(folder):
            return subprocess.run(
                [program, "lesson", "start", "0", "--workspace", self.path(folder)],
                capture_output=True, text=True, check=True,
                env={**os.environ, "LOCKSTEP_PROGRAM": "./lockstep"}).stdout

        self.assertIn("the chapter “Lesson 00: First trace” in the book", start("a"))
        (checkout / "book").mkdir()
        (checkout / "book/build.bash").write_text("")
        self.assertIn(f"the chapter ./lockstep book     (builds it: {page})",
                      start("b"))
        page.parent.mkdir(parents=True)
        page.write_text("")
        self.assertIn(f"the chapter {page}\n", start("c"))

    def test_questions_name_this_workspace(self):
        self.lesson("start", 0, LOCKSTEP_PROGRAM="/opt/lockstep")
        folder = pathlib.Path(self.workspace, "00-first-trace")
        text = (folder / "answers.txt").read_text()
        self.assertIn(f"#   /opt/lockstep view {folder}/trace.json.gz\n", text)
        self.assertIn("#   /opt/lockstep lesson check 0\n", text)
        self.assertNotIn("./lockstep", text)

    def test_stages_of_a_long_lesson(self):
        out, _ = self.lesson("start", 9)
        self.assertIn("  checkpoints 1. The sum, with equal chunks (25 min)\n"
                      "              2. Chunks of any size (10 min)\n", out)
        file = pathlib.Path(self.workspace, "09-ring", "ring.cpp")
        solution = self.lesson("solution", 9, "--show-anyway")[0]
        equal = solution.replace("data.numel * (i + 1) / world",
                                 "first + data.numel / world")
        self.assertNotEqual(equal, solution)
        file.write_text(equal)
        out, _ = self.lesson("check", 9, code=1)
        self.assertIn("Checkpoint 1 of 3: The sum, with equal chunks ✓", out)
        self.assertIn("Checkpoint 2 of 3: Chunks of any size (10 min)", out)
        self.assertIn("1 of 3 checkpoints", self.lesson("list")[0])
        out, _ = self.lesson("check", 9, "--checkpoint", 1)
        self.assertIn("Checkpoint 1 of 3 passed. Next: Chunks of any size", out)
        self.assertNotIn("Now compare", out)
        _, errors = self.lesson("check", 9, "--checkpoint", 4, code=1)
        self.assertIn("09-ring has no checkpoint 4; fix: 1 to 3", errors)
        self.start_with("")
        _, errors = self.lesson("check", 5, "--checkpoint", 1, code=1)
        self.assertIn("05-scatter has no checkpoints; fix: ", errors)

    def test_pieces_of_another_mode_are_no_fault(self):
        """A run with all pieces says which it called, and names no other run."""
        self.write_solution()
        self.check(passes=True)
        self.lesson("start", 9)
        file = pathlib.Path(self.workspace, "09-ring", "ring.cpp")
        file.write_text(self.lesson("solution", 9, "--show-anyway")[0])
        self.lesson("check", 9)
        out, errors = self.lesson("run", "--mine", "--", "--device-type", "null",
                                  "-a", "resnet18", "-b", "8", "--steps", "1")
        self.assertEqual(errors, "")
        self.assertIn("with your scatter, ring_all_reduce", out)
        self.assertIn("This run called your ring_all_reduce.", out)
        self.assertNotIn("run --mine", out)

    def test_one_piece_as_it_is(self):
        """An unfinished piece can be run, in the mode that uses it."""
        self.lesson("start", 11)
        file = pathlib.Path(self.workspace, "11-ddp-naive", "naive_sync.cpp")
        file.write_text(self.lesson("solution", 11, "--show-anyway")[0])
        words = ["-b", "4", "--device-type", "null", "--steps", "1"]
        out, errors = self.lesson("run", "--mine", 11, "--", *words)
        self.assertIn("mode ddp, 2 devices", out)
        self.assertIn("batch 4", out)
        self.assertNotIn("was not called", errors)
        _, errors = self.lesson("run", "--mine", 11, "--", *words, "--mode", "dp")
        self.assertIn("your gradient_sync was not called", errors)
        self.assertIn("fix: train with --mode ddp --devices 2", errors)

    def test_damaged_progress(self):
        self.lesson("start", 5)
        path = pathlib.Path(self.workspace, "progress.json")
        path.write_text("{")
        _, errors = self.lesson("list", code=1)
        self.assertIn("progress.json is damaged", errors)
        self.assertEqual(path.read_text(), "{")

    def test_saving_is_seen(self):
        self.write_solution()
        solution = self.file.read_text()
        self.file.write_text("no C++")
        watch = subprocess.Popen(
            [LOCKSTEP, "lesson", "watch", "5"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LOCKSTEP_WORKSPACE": self.workspace})
        self.addCleanup(watch.kill)
        for line in watch.stdout:
            if line.startswith("Waiting for you"):
                break
        part = self.file.with_suffix(".part")  # as editors save: written, then renamed
        part.write_text(solution)
        os.replace(part, self.file)
        said = ""
        for line in watch.stdout:  # it goes on to the next lesson, and waits there
            said += line
            if line.startswith("Waiting for you"):
                break
        self.assertIn("Passed.", said)
        following = self.file.parents[1] / "06-reduce/reduce.cpp"
        self.assertIn(f"your file   {following}", said)
        self.assertTrue(line.startswith(f"Waiting for you to save {following}"), line)
        self.assertIn("not_written", following.read_text())
        self.assertNotIn("06-reduce", "".join(said.partition("Passed.")[:1]))
        watch.terminate()
        watch.communicate(timeout=120)

    def test_watching_ends_after_the_last_lesson(self):
        folder = max(pathlib.Path(ROOT, "lessons").glob("[0-9][0-9]-*"))
        number = int(folder.name[:2])
        self.lesson("start", number)
        name = json.loads((folder / "lesson.json").read_text())["file"]
        file = pathlib.Path(self.workspace, folder.name, name)
        file.write_text(self.lesson("solution", number, "--show-anyway")[0])
        out, _ = self.lesson("watch", number)
        self.assertIn("There is no further lesson.", out)

    def test_all_my_pieces(self):
        self.write_solution()
        self.check(passes=True)
        trace = self.path("mine.json.gz")
        out, _ = self.lesson("run", "--mine", "--", "-a", "resnet18", "--dataset",
                             "generated", "--device-type", "null", "--steps", "1", "-b",
                             "8", "--trace", trace)
        self.assertIn("with your scatter", out)
        self.assertIn("This run called your scatter.", out)
        self.assertIn(f"view {trace}", out)
        self.assertIn("Next: lockstep lesson start 6", out)
        run("trace", "check", trace)
        read = read_trace(trace)
        marks = [e for e in read["traceEvents"]
                 if e.get("cat") == "mark" and e["name"] == "slot"]
        self.assertEqual([m["args"]["slot"] for m in marks], ["scatter"])
        source = read["lockstep"]["sources"]["workspace/05-scatter/scatter.cpp"]
        self.assertEqual(source, self.file.read_text())

    def test_compiled_headers(self):
        """`start` compiles them, keeps one copy, and they do not change the verdict."""
        headers = pathlib.Path(self.path("headers"))
        (headers / "include-old").mkdir(parents=True)
        shared = {"LOCKSTEP_HEADERS": str(headers)}
        self.lesson("start", 5, **shared)
        made = list(headers.glob("*/lessons/prelude.h.gch/*"))
        self.assertEqual(len(made), 1)
        self.assertFalse((headers / "include-old").exists())
        self.write_solution()
        self.check(True, **shared)
        made[0].write_text("damaged")
        self.file.write_text(self.file.read_text() + "\n")
        self.check(True, **shared)


class Course(Workspace):  # gate first
    """A folder of lessons under development."""

    def setUp(self):
        super().setUp()
        self.course = pathlib.Path(self.path("course"))
        shutil.copytree(pathlib.Path(ROOT, "lessons", "05-scatter"),
                        self.course / "05-scatter")

    def change(self, name, old, new):
        path = self.course / "05-scatter" / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def test_endless_loop(self):
        facts = json.loads((self.course / "05-scatter/lesson.json").read_text())
        facts["seconds"] = 4
        (self.course / "05-scatter/lesson.json").write_text(json.dumps(facts))
        self.start_with("  for (volatile int i = 0;;) i = i;")
        result = self.check(passes=False, LOCKSTEP_COURSE=str(self.course))
        self.assertIn("did not finish within 4 s", self.guilty(result)["got"])
        self.assertRegex(self.guilty(result)["got"], r"scatter\.cpp:\d+ \(scatter\)")

    def test_its_tests_count(self):
        self.change("check.cpp", "8 samples over 4 devices", "Mine: 8 over 4")
        self.write_solution()
        result = self.check(passes=True, LOCKSTEP_COURSE=str(self.course))
        self.assertTrue(result["tests"][1]["title"].startswith("Mine: 8 over 4"))

    def test_faults_are_named(self):
        self.change("exercise.cpp", "  // [/solution-sizes]\n", "")
        _, errors = self.lesson("start", 5, "--course", self.course, code=1)
        self.assertRegex(errors, r"05-scatter:\d+: \[solution-scatter\] is opened in")
        (self.course / "05-scatter/lesson.json").write_text("{")
        _, errors = self.lesson("list", "--course", self.course)
        self.assertIn("lesson 05-scatter is skipped", errors)
        _, errors = self.lesson("list", "--course", self.path("nothing"), code=1)
        self.assertIn("name a folder of lessons with --course", errors)


class Python(Workspace):
    """Lesson 27's file is Python."""

    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.workspace, "27-back-to-python", "lab.py")

    def test_without_pytorch(self):
        self.lesson("start", 27)
        _, errors = self.lesson("check", 27, code=1, LOCKSTEP_PYTHON="false")
        self.assertEqual(errors, "lockstep: lesson 27 uses PyTorch, which false does "
                         "not have; fix: apt-get install python3-torch, or name an "
                         "interpreter that has it in LOCKSTEP_PYTHON\n")
        self.assertFalse(pathlib.Path(self.workspace, "compile_flags.txt").exists())

    def test_not_graded(self):
        self.lesson("start", 27)
        _, errors = self.lesson("check", 27, "--grade", code=1)
        self.assertIn("lesson 27 runs Python", errors)

    def test_no_python(self):
        self.lesson("start", 27)
        self.file.write_text("def average_gradients(model):\n  return (\n")
        out, errors = self.lesson("check", 27, code=1)
        if "which" in errors and "not have" in errors:
            self.skipTest(errors)
        self.assertIn("Python cannot read it yet", out)
        self.assertIn("lab.py\", line 2", out)


class Libraries(Workspace):
    """Invalid values of LOCKSTEP_SLOTS."""

    def slots(self, library):
        return run("train", "-a", "toy", "--steps", "1", code=1,
                   LOCKSTEP_SLOTS=library)[1]

    def test_no_library(self):
        self.assertIn("cannot be loaded", self.slots(self.path("nothing.so")))
        path = pathlib.Path(self.path("text.so"))
        path.write_text("no library")
        self.assertIn("cannot be loaded", self.slots(path))

    def test_foreign_and_stale(self):
        for code, message in (
                ("int x;", "is not a lesson library"),
                ('struct P { const char* s; int n; void (*f)(); };'
                 'extern "C" P lockstep_lesson() { return {"old", 5, nullptr}; }',
                 "another version of the engine; fix: lockstep lesson check 5")):
            source, library = self.path("l.cpp"), self.path("l.so")
            pathlib.Path(source).write_text(code)
            subprocess.run(["c++", "-shared", "-fPIC", source, "-o", library],
                           check=True)
            self.assertIn(message, self.slots(library))


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
