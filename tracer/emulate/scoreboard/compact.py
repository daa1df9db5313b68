#!/usr/bin/env python3
"""Writes published.csv: the rows of a table of measurements that the scoreboard reads.

    compact.py TABLE.csv pipelines.csv > published.csv

Leaves out rows that are not scored (accuracies, context, links), and of the notes what
the scoreboard does not read. Numbers and sources are not changed.
"""

import csv
import re
import sys

DROPPED = re.compile(r"median of|^timed =|img/GPU weak|^baseline for|print resolution")


def is_read(role):
    return role.startswith("validate-") or role in (
        "golden-bucket", "input-bound", "single-baseline", "goal")


def compact(row):
    role, *notes = [part.strip() for part in row["notes"].split(";")]
    kept = [note for note in notes if not DROPPED.search(note)]
    return {**row, "notes": "; ".join([role, *kept])}


def main(files):
    writer = None
    for file in files:
        with open(file, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
                    writer.writeheader()
                if is_read(row["notes"].split(";")[0].removeprefix("role=").strip()):
                    writer.writerow(compact(row))


if __name__ == "__main__":
    main(sys.argv[1:])
