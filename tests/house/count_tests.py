"""Counts the results of ctest: the last line of `./lockstep test`.

    count_tests.py FOLDER    # of JUnit files, as `ctest --output-junit` writes them

Prints the end of each failed test's output, then `N passed, N failed, N skipped`. Exits
1 if a test failed or none passed. A test that ctest could not start counts as failed,
although its JUnit file calls it skipped; a disabled test counts as skipped.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

# ctest's messages for a test that skipped itself.
SKIPPED_ITSELF = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")
LINES_OF_A_FAILURE = 60


def verdict(case):
    """`passed`, `failed` or `skipped` for a <testcase>."""
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    return "skipped" if message.startswith(SKIPPED_ITSELF) else "failed"


def print_failure(preset, case):
    said = (case.findtext("system-out") or "(it said nothing)").splitlines()
    print(f"--- failed under {preset}: {case.get('name')}")
    print("\n".join(said[-LINES_OF_A_FAILURE:]))


def count(files):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for file in files:
        for case in xml.parse(file).getroot().iter("testcase"):
            counts[verdict(case)] += 1
            if verdict(case) == "failed":
                print_failure(file.stem, case)
    return counts


def main(folder):
    counts = count(sorted(pathlib.Path(folder).glob("*.xml")))
    print(", ".join(f"{number} {what}" for what, number in counts.items()), flush=True)
    return 0 if counts["passed"] and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
