"""Runs the tests that ctest selects, the tests of a suite in one process: under a
sanitizer, a process takes longer to start than most tests take.

    run_suites.py FOLDER JUNIT JOBS [options of ctest]    # FOLDER: the build's

Writes the results of each test to the file JUNIT, as `ctest --output-junit` does, for
count_tests.py. Exits 1 if a test failed, 77 if none was selected. If a process ends
without saying which test is to blame, its tests run again, each in a process of its
own. If all of them pass then, the suite itself has failed.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

FILTER = "--gtest_filter="
SECONDS_OF_A_FURTHER_TEST = 10  # by which a suite may take longer than a test may


class Test:
    def __init__(self, described):
        properties = {p["name"]: p["value"] for p in described["properties"]}
        self.name = described["name"]
        command = described["command"]
        self.program = command[0]
        filters = [word for word in command if word.startswith(FILTER)]
        if not filters:
            raise SystemExit(f"run_suites.py: {self.name} is not a test of GoogleTest, "
                             "or is not built; fix: select others, as with -L engine")
        self.id = filters[0].removeprefix(FILTER)
        self.folder = properties.get("WORKING_DIRECTORY")
        self.seconds = properties.get("TIMEOUT", 600)
        self.disabled = properties.get("DISABLED", False)

    @property
    def suite(self):
        return self.program, self.id.rpartition(".")[0]


def selected(folder, options):
    said = subprocess.run(
        ["ctest", "--test-dir", folder, "--show-only=json-v1", *options], check=True,
        stdout=subprocess.PIPE).stdout
    return [Test(test) for test in json.loads(said)["tests"]]


def verdicts(file):
    """(result, seconds) of each test in a report of GoogleTest, by id; {} if it has
    none."""
    try:
        root = xml.parse(file).getroot()
    except (OSError, xml.ParseError):
        return {}
    results = {}
    for case in root.iter("testcase"):
        result = "passed"
        if case.find("failure") is not None:
            result = "failed"
        elif case.find("skipped") is not None:
            result = "skipped"
        results[f"{case.get('classname')}.{case.get('name')}"] = (
            result, float(case.get("time", 0)))
    return results


def run(tests):
    """The exit code, what was said, and the result of each test, by id."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = [tests[0].program, FILTER + ":".join(test.id for test in tests),
                   f"--gtest_output=xml:{report}"]
        seconds = tests[0].seconds + SECONDS_OF_A_FURTHER_TEST * (len(tests) - 1)
        try:
            done = subprocess.run(command, cwd=tests[0].folder, timeout=seconds,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as late:
            return 1, text(late.stdout) + f"\nstopped after {seconds:g} s", {}
        except OSError as error:
            return 1, str(error), {}
        return done.returncode, text(done.stdout), verdicts(report)


def text(said):
    return (said or b"").decode(errors="replace")


def part_of(said, test):
    """What a test said, of what its process said."""
    _, begin, rest = said.partition(f"[ RUN      ] {test.id}\n")
    return begin + rest.partition("[ RUN      ]")[0] if begin else said


def results_of(tests):
    """Returns (test, result, seconds, what it said) for the tests of a suite."""
    code, said, found = run(tests)
    known = [found.get(test.id) for test in tests]
    if None not in known and (code == 0) == (
            "failed" not in [result for result, _ in known]):
        return [(test, *verdict, part_of(said, test))
                for test, verdict in zip(tests, known)]
    results = []
    for test in tests:
        code, alone, found = run([test])
        result, seconds = found.get(test.id, ("failed", 0))
        results.append((test, result if code == 0 else "failed", seconds, alone))
    if all(result != "failed" for _, result, _, _ in results):
        results[0] = (tests[0], "failed", 0, f"together with its suite:\n{said}")
    return results


def suites_of(tests):
    """Large ones first, so that none is left for the end."""
    suites = {}
    for test in tests:
        suites.setdefault(test.suite, []).append(test)
    return sorted(suites.values(), key=len, reverse=True)


STATUS = {"passed": "run", "failed": "fail", "skipped": "notrun",
          "disabled": "disabled"}


def write_junit(path, results):
    root = xml.Element("testsuite", tests=str(len(results)))
    for test, result, seconds, said in results:
        case = xml.SubElement(root, "testcase", name=test.name, classname=test.name,
                              status=STATUS[result], time=f"{seconds:g}")
        if result == "skipped":
            xml.SubElement(case, "skipped", message="SKIP_REGULAR_EXPRESSION_MATCHED")
        if result == "failed":
            xml.SubElement(case, "failure", message="")
        printable = "".join(c for c in said if c.isprintable() or c in "\n\t")
        xml.SubElement(case, "system-out").text = printable
    xml.ElementTree(root).write(path)


def main(folder, junit, jobs, *options):
    tests = selected(folder, options)
    results = [(test, "disabled", 0, "") for test in tests if test.disabled]
    suites = suites_of(test for test in tests if not test.disabled)
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        started = {}

        def timed(suite):
            started[suite[0].name] = time.monotonic()
            return suite, results_of(suite)

        for done in concurrent.futures.as_completed(pool.submit(timed, suite)
                                                    for suite in suites):
            suite, of_suite = done.result()
            took = time.monotonic() - started[suite[0].name]
            print(f"{took:7.2f} s  {suite[0].suite[1]}: {len(suite)} tests", flush=True)
            for test, result, _, said in of_suite:
                if result == "failed":
                    print(f"{said}\n*** failed: {test.name}", flush=True)
            results += of_suite
    write_junit(junit, results)
    failed = sum(result == "failed" for _, result, _, _ in results)
    print(f"{len(tests)} tests of {len(suites)} suites, {failed} failed", flush=True)
    return 1 if failed else 0 if tests else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
