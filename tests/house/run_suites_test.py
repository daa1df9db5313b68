"""run_suites.py with a program that speaks as GoogleTest does."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import count_tests
import run_suites

# Logs its filter, and does for each test what its name says.
PROGRAM = '''#!/usr/bin/env python3
import sys
tests = sys.argv[1].removeprefix("--gtest_filter=").split(":")
report = sys.argv[2].removeprefix("--gtest_output=xml:")
with open("log", "a") as log:
    print(len(tests), file=log)
cases, code = "", 0
for test in tests:
    suite, name = test.split(".")
    print(f"[ RUN      ] {test}")
    print(f"{name} speaks")
    if name == "Crashes" or (name == "CrashesTogether" and len(tests) > 1):
        sys.exit(9)
    inner = {"Fails": "<failure/>", "Skips": "<skipped/>"}.get(name, "")
    code |= name in ("Fails", "Leaks")
    cases += f'<testcase classname="{suite}" name="{name}" time="1">{inner}</testcase>'
with open(report, "w") as file:
    file.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
sys.exit(code)
'''


def run(*names, plain=""):
    """The exit code, the last line of count_tests, what both printed, and the log."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "program").write_text(PROGRAM)
        (root / "program").chmod(0o755)
        listed = ""
        for name in names:
            filters = "" if name == plain else f'"--gtest_filter={name}"'
            listed += (f'add_test([=[{name}]=] "{root}/program" {filters} '
                       f'"--gtest_also_run_disabled_tests")\n'
                       f'set_tests_properties([=[{name}]=] PROPERTIES '
                       f'WORKING_DIRECTORY "{root}" TIMEOUT 20)\n')
        (root / "CTestTestfile.cmake").write_text(listed)
        (root / "log").write_text("")
        (root / "results").mkdir()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = run_suites.main(folder, root / "results" / "dev.xml", "2", "-E",
                                   "LeftOut")
            count_tests.main(root / "results")
        said = printed.getvalue()
        return (code, said.splitlines()[-1], said,
                sorted((root / "log").read_text().split()))


class Suites(unittest.TestCase):
    def test_a_suite_is_one_process(self):
        code, last, _, log = run("A.One", "A.Two", "A.Skips", "A.LeftOut", "B.One")
        self.assertEqual((code, last, log),
                         (0, "3 passed, 0 failed, 1 skipped", ["1", "3"]))

    def test_seconds_are_the_programs_own(self):
        with tempfile.NamedTemporaryFile() as file:
            test = run_suites.Test({"name": "A.One", "properties": [], "command": [
                "program", "--gtest_filter=A.One"]})
            run_suites.write_junit(file.name, [(test, "passed", 1.5, "")])
            self.assertIn(b'time="1.5"', file.read())

    def test_a_failure_is_its_own(self):
        code, last, said, log = run("A.One", "A.Fails", "A.Two")
        self.assertEqual((code, last, log),
                         (1, "2 passed, 1 failed, 0 skipped", ["3"]))
        self.assertIn("Fails speaks\n*** failed: A.Fails", said.replace("\n\n", "\n"))
        self.assertNotIn("Two speaks", said)

    def test_who_crashes_or_leaks_is_found(self):
        for culprit in ("A.Crashes", "A.Leaks"):
            code, last, said, log = run("A.One", culprit, "A.Two")
            self.assertEqual((code, last, log),
                             (1, "2 passed, 1 failed, 0 skipped", ["1", "1", "1", "3"]))
            self.assertIn(f"*** failed: {culprit}", said)

    def test_what_fails_only_together_is_not_lost(self):
        code, last, said, _ = run("A.One", "A.CrashesTogether")
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("together with its suite", said)

    def test_another_kind_of_test_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "B.One is not a test of GoogleTest"):
            run("A.One", "B.One", plain="B.One")

    def test_nothing_selected(self):
        self.assertEqual(run("A.LeftOut")[0], 77)


if __name__ == "__main__":
    sys.argv[1:] = [f"Suites.test_{check}" for check in sys.argv[1:]]
    unittest.main()
