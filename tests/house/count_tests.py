"""Counts what ctest reported: the last line of `./lockstep test`.

    count_tests.py FOLDER    # of JUnit files, as `ctest --output-junit` writes them

Prints the end of what each failed test said, then `N passed, N failed, N skipped`, and
exits 1 if a test failed or none passed.
A test that ctest could not start is a failure, although its JUnit file calls it
skipped; one that its author disabled is skipped.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

# How ctest explains a test that has skipped itself.
SKIPPED_ITSELF = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")
LINES_OF_A_FAILURE = 60


def verdict(case):
    """`passed`, `failed` or `skipped` of a <testcase>."""
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
