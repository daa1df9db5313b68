"""Tests of tests_of.py, on the checkout itself."""

import io
import sys
import unittest
from contextlib import redirect_stdout

import tests_of


class TestsOf(unittest.TestCase):
    def labels(self, *paths):
        found = set()
        for path in paths:
            found.update(tests_of.tests_of(tests_of.ROOT / path))
        return found

    def test_a_mirrored_file(self):
        for source in ("engine/plan/chunk.h", "engine/plan/chunk.cpp",
                       "tests/plan/chunk_test.cpp"):
            self.assertEqual(self.labels(source), {"tests/plan/chunk_test.cpp"})
        self.assertEqual(self.labels("gui/model/gaps.cpp"),
                         {"tests/gui/model/gaps_test.cpp"})

    def test_a_source_that_no_file_mirrors(self):
        """Those beside its mirror that include its header, or its folder's headers."""
        found = self.labels("engine/distributed/ddp/reducer.cpp")
        self.assertIn("tests/engine/distributed/ddp/ddp_test.cpp", found)
        self.assertTrue(all(test.startswith("tests/engine/distributed/ddp/")
                            for test in found))
        found = self.labels("tracer/emulate/scoreboard/nets.cpp")
        self.assertIn("tests/tracer/scoreboard_test.cpp", found)
        self.assertNotIn("tests/tracer/split_test.cpp", found)

    def test_folders_and_lessons(self):
        self.assertIn("tests/plan/chunk_test.cpp", self.labels("engine/plan"))
        for path in ("lessons/06-reduce", "lessons/06-reduce/check.cpp"):
            self.assertEqual(self.labels(path), {"lessons/06-reduce"})

    def test_documents(self):
        self.assertEqual(self.labels("docs/viewer.md"),
                         {tests_of.HOUSE, "tests/e2e/docs_test.py"})
        self.assertIn("tests/book/book_test.py", self.labels("book/engine/nn.md"))

    def test_helpers_of_tests(self):
        self.assertIn("tests/e2e/trust_test.py", self.labels("tests/e2e/support.py"))
        self.assertIn("tests/tracer/check_test.cpp",
                      self.labels("tests/tracer/damaged_copies.h"))

    def test_every_file_has_tests_that_exist(self):
        tracked = tests_of.git("ls-files").stdout.splitlines()
        if not tracked:
            self.skipTest("no git repository here")
        paths = [tests_of.ROOT / file for file in tracked if "/golden/" not in file]
        for path in (path for path in paths if path.is_file()):
            for label in tests_of.tests_of(path):
                self.assertTrue((tests_of.ROOT / label).exists(), f"{path}: {label}")

    def test_targets_and_expression(self):
        printed = io.StringIO()
        with redirect_stdout(printed):
            tests_of.main([str(tests_of.ROOT / "engine/plan/chunk.h"),
                           str(tests_of.ROOT / "lessons/06-reduce")])
        self.assertEqual(printed.getvalue(), "lockstep plan.chunk_test\n"
                         r"^(lessons/06\-reduce|tests/plan/chunk_test\.cpp)$" + "\n")

    def test_an_unknown_path(self):
        with self.assertRaisesRegex(SystemExit, "no nowhere.h here; fix: "):
            tests_of.resolved("nowhere.h")


if __name__ == "__main__":
    sys.argv[1:] = [f"TestsOf.test_{check}" for check in sys.argv[1:]]
    unittest.main()
