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
        for path in ("lessons/06-reduce", "lessons/06-reduce/check.cpp",
                     "lessons/06-reduce/mutants"):
            self.assertEqual(self.labels(path), {"lessons/06-reduce"})
        # A folder that no folder of tests mirrors.
        self.assertIn("tests/tracer/emulate_test.cpp", self.labels("tracer/emulate"))
        self.assertIn("tests/engine/backends/winograd_test.cpp",
                      self.labels("engine/backends/cpu"))

    def test_data(self):
        data = "tests/golden/torch/"
        self.assertEqual(self.labels(data + "init.json"),
                         {"tests/engine/nn/models_test.cpp"})
        self.assertEqual(self.labels(data + "dp_vgg16_b10_n4.json"),
                         {"tests/engine/parallel/data_parallel_test.cpp"})
        self.assertIn("tests/engine/data/pictures_test.cpp",
                      self.labels("tests/engine/data/pictures/420.jpeg"))
        self.assertIn("tests/tracer/schema_test.cpp",
                      self.labels("tracer/format/schema.json"))

    def test_what_no_test_covers(self):
        for path in ("tests/bare", "tests/course/course_test.py",
                     "tests/gpu/cudnn_plans_test.cpp"):
            self.assertTrue(self.labels(path))

    def test_all_tiers_of_tests_that_are_named(self):
        root = tests_of.ROOT
        self.assertEqual(tests_of.tier_left_out([root / "engine/plan"]), "^all$")
        self.assertEqual(tests_of.tier_left_out([]), "^all$")
        for path in ("tests/e2e/trust_test.py", "lessons/06-reduce/mutants"):
            self.assertEqual(tests_of.tier_left_out([root / path]), "")

    def test_documents(self):
        self.assertEqual(self.labels("docs/viewer.md"),
                         {tests_of.HOUSE, "tests/e2e/docs_test.py"})
        self.assertIn("tests/book/book_test.py", self.labels("book/engine/nn.md"))

    def test_helpers_of_tests(self):
        self.assertIn("tests/e2e/trust_test.py", self.labels("tests/e2e/support.py"))
        self.assertIn("tests/tracer/check_test.cpp",
                      self.labels("tests/tracer/damaged_copies.h"))

    def test_every_file_has_tests_that_exist(self):
        try:
            tracked = tests_of.git("ls-files").splitlines()
        except RuntimeError:
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
        self.assertEqual(printed.getvalue().splitlines(), [
            "plan.chunk_test", r"^(tests/plan/chunk_test\.cpp)$",
            r"^(lessons/06\-reduce)$", "^all$"])

    def test_an_unknown_path(self):
        with self.assertRaisesRegex(SystemExit, "no nowhere.h here; fix: "):
            tests_of.resolved("nowhere.h")


if __name__ == "__main__":
    sys.argv[1:] = [f"TestsOf.test_{check}" for check in sys.argv[1:]]
    unittest.main()
