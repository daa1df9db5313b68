"""count_tests.py on files written by ctest 3.25."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import count_tests

CASE = '<testcase name="t" classname="t" time="0" status="{}">{}</testcase>'
SKIPPED = '<skipped message="{}"/>'
PASSED = CASE.format("run", "")
FAILED = CASE.format("fail", '<failure message=""/><system-out>lost\n</system-out>')
GTEST_SKIP = CASE.format("notrun", SKIPPED.format("SKIP_REGULAR_EXPRESSION_MATCHED"))
HOUSE_SKIP = CASE.format("notrun", SKIPPED.format("SKIP_RETURN_CODE=77"))
NO_PROGRAM = CASE.format("notrun", SKIPPED.format("Unable to find executable"))
DISABLED = CASE.format("disabled", "")


def counted(*suites):
    """The output and exit code of count_tests, for one file per suite."""
    with tempfile.TemporaryDirectory() as folder:
        for i, cases in enumerate(suites):
            text = f"<testsuite>{''.join(cases)}</testsuite>"
            (pathlib.Path(folder) / f"{i}.xml").write_text(text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = count_tests.main(folder)
    return printed.getvalue(), code


class Count(unittest.TestCase):
    def test_sums_over_presets(self):
        self.assertEqual(counted([PASSED, PASSED, GTEST_SKIP], [PASSED, HOUSE_SKIP]),
                         ("3 passed, 0 failed, 2 skipped\n", 0))

    def test_failure(self):
        self.assertEqual(counted([PASSED, FAILED]),
                         ("--- failed under 0: t\nlost\n"
                          "1 passed, 1 failed, 0 skipped\n", 1))

    def test_a_test_without_its_program_has_failed(self):
        self.assertEqual(counted([PASSED, NO_PROGRAM, DISABLED]),
                         ("--- failed under 0: t\n(it said nothing)\n"
                          "1 passed, 1 failed, 1 skipped\n", 1))

    def test_nothing_ran(self):
        self.assertEqual(counted(), ("0 passed, 0 failed, 0 skipped\n", 1))
        self.assertEqual(counted([GTEST_SKIP]), ("0 passed, 0 failed, 1 skipped\n", 1))


if __name__ == "__main__":
    sys.argv[1:] = [f"Count.test_{check}" for check in sys.argv[1:]]
    unittest.main()
