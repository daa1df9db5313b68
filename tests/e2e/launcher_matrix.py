"""Launchers and addresses on two machines, by hand: prints tables in Markdown.

    LOCKSTEP_SHARED=../shared LOCKSTEP_BIN=build/release/lockstep \\
        python3 tests/e2e/launcher_matrix.py

A cell is an epoch of CIFAR-10. It is right if each rank says its place, the batch of a
rank is right, the merged trace has the ranks on their machines and breaks no law, and
losses and weights equal, bit by bit, those of the same job as threads of one process.
`--only TEXT` selects cells whose launcher or address contains it. `--merged N` instead
records N traces of two machines for each delay; their clocks are 100,000 s apart.
"""

import argparse
import ctypes
import os
import re
import select
import statistics
import subprocess
import sys
import time

from machines_test import ONE
from ranks import Run
from remote_jobs import ADDRESSES, AHEAD, LAUNCHERS, Pair
from support import content, read_trace, run

IN_OPEN, EVENT = 0x20, 16  # bytes of an event without a name

PER_RANK = {1: 256, 2: 128}  # ranks per machine → batch of a rank: 512 in a step
TRAIN = ["train", os.environ.get("LOCKSTEP_SHARED", "../shared") +
         "/data/cifar-10-batches-bin", "-a", "resnet18", "--stem", "imagenet",
         "--epochs", 1, "-j", 1, "-p", 9, "--lr", 0.01, "--timeout", 60, "--seed", 0]
DELAYS = [(0, 0), (2, 2), (40, 40), (40, 2)]  # ms, there and back


class Matrix(Pair):
    def outputs(self, name):
        return ["--save", self.path(name + ".weights"), "--summary",
                self.path(name + ".summary"), "--trace", self.path(name + ".json"),
                "--trace-steps", "2:4"]

    def as_threads(self, ranks):
        run(*TRAIN, "-b", 512, "--mode", "ddp", "--devices", ranks,
            *self.outputs(f"threads{ranks}"))

    def cell(self, launcher, address, port):
        """Fails if anything is not as it should be."""
        self.know(address.hosts)
        name, per_node = f"cell{port}", launcher.per_node
        ranks = 2 * per_node
        job = launcher(self, address, port)
        opened = Opened(self.path("hosts1")) if address.late else None
        runs = job.start([*TRAIN, *job.batch(PER_RANK[per_node]), *self.outputs(name)])
        try:
            if opened:
                self.assertTrue(opened.often(), "machine 1 looked for no name")
                self.learn(1, address.late)
            self.assertEqual([each.end(120) for each in runs], [0] * len(runs))
            text = "\n".join(line for each in runs for line in each.out)
            for said in job.said():
                self.assertEqual(text.count(said), 1, f"'{said}' is not said once")
            self.assertIn("Epoch: [0][ 9/10]", text)  # 4,660 images
            self.assertIn(f"batch 512, {PER_RANK[per_node]} on each", text)
            self.same_as_threads(name, ranks)
            machines = read_trace(self.path(name + ".json"))["lockstep"]["clocks"][
                "machines"]
            self.assertEqual([machine["ranks"] for machine in machines],
                             [[*range(per_node)], [*range(per_node, ranks)]])
            run("trace", "check", self.path(name + ".json"))
        except (AssertionError, subprocess.TimeoutExpired) as error:
            for each in runs:
                sys.stderr.write("\n".join([*each.out[-6:], *each.err[-12:], ""]))
            raise AssertionError(str(error)) from error
        finally:
            for each in runs:
                each.kill()

    def same_as_threads(self, name, ranks):
        threads = f"threads{ranks}"
        losses = [[step["loss"] for step in read_trace(self.path(of + ".summary"))[
            "steps"]] for of in (name, threads)]
        self.assertEqual(*losses)
        same = content(self.path(name + ".weights")) == content(
            self.path(threads + ".weights"))
        self.assertTrue(same, "the weights are not those of the job as threads")

    def merged(self, name):
        """Records and checks a merged trace. Returns what is known of its clocks."""
        ranks = [Run([*ONE, "--steps", 4, "--dist-url", "tcp://10.77.0.1:2811",
                      "--world-size", 2, "--rank", rank, "--trace", self.path(name),
                      "--trace-steps", "1:4"], before=self.on(rank, rank * AHEAD))
                 for rank in (0, 1)]
        for rank in ranks:
            self.assertEqual(rank.end(), 0, rank.err)
        line, = [line for line in ranks[0].out if "clocks of 2 machines" in line]
        within, against, messages, residual = map(float, re.search(
            r"within ([\d.]+) ms; (\d+) of (\d+) messages .* residual ([\d.]+) ms",
            line).groups())
        text, _ = run("trace", "check", self.path(name))
        self.assertTrue(text.endswith("every law holds\n"), text)
        clock = read_trace(self.path(name))["lockstep"]["clocks"]["machines"][1]
        error = abs(clock["offset_ns"] + AHEAD * 1e9) / 1e6
        return within, against, messages, residual, error


class Opened:
    """Knows how often a file is opened, by any process (inotify)."""

    def __init__(self, path):
        libc = ctypes.CDLL(None)
        self._events = libc.inotify_init()
        libc.inotify_add_watch(self._events, path.encode(), IN_OPEN)

    def often(self, times=4):
        """Waits until it has been. Returns whether it was."""
        for _ in range(times):
            if not select.select([self._events], [], [], 60)[0]:
                return False
            os.read(self._events, EVENT)
        return True


def cells(matrix, only):
    """Runs them. Prints and returns the rows of the table."""
    for ranks in 2, 4:
        matrix.as_threads(ranks)
    port, rows = 2811, []
    for launcher in LAUNCHERS:
        why, row = launcher.missing(), [launcher.name]
        for address in ADDRESSES:
            wanted = only in launcher.name or only in address.title
            if why or not wanted or not launcher.can(address):
                row.append("")
                continue
            port += 1
            began = time.monotonic()
            try:
                matrix.cell(launcher, address, port)
                row.append(f"{2 * launcher.per_node} ranks")
            except AssertionError as error:
                row.append("fails")
                print(error, file=sys.stderr)
            print(f"{launcher.name}, {address.title}: {row[-1]}, "
                  f"{time.monotonic() - began:.1f} s", file=sys.stderr)
        if why:
            print(f"{launcher.name}: {why}", file=sys.stderr)
        rows.append(row)
    return [["launcher", *(address.title for address in ADDRESSES)], *rows]


def traces(matrix, count):
    """Records them for each delay. Returns the rows of the table."""
    rows = [["delay there, back", "traces", "laws hold", "compared to within",
             "error of the comparison", "messages that contradicted", "residual"]]
    for there, back in DELAYS:
        if there:
            matrix.slow(there / 1e3, back / 1e3)
        found = [matrix.merged(f"{there}.{back}.{i}.json") for i in range(count)]
        within, against, messages, residual, error = map(list, zip(*found))
        rows.append([f"{there} ms, {back} ms", str(count), str(len(found)),
                     spread(within), spread(error),
                     f"{sum(against):.0f} of {sum(messages):.0f}", spread(residual)])
        print(rows[-1], file=sys.stderr)
    return rows


def spread(values):
    values = min(values), statistics.median(values), max(values)
    return " / ".join(f"{value:.3f}" for value in values) + " ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="of the launcher or the address")
    parser.add_argument("--merged", type=int, help="traces for each delay")
    asked = parser.parse_args()
    matrix = Matrix()
    try:
        matrix.setUp()
        table = (traces(matrix, asked.merged) if asked.merged
                 else cells(matrix, asked.only))
    finally:
        matrix.doCleanups()
    for row in [table[0], ["---"] * len(table[0]), *table[1:]]:
        print(f"| {' | '.join(row)} |")
    return any("fails" in row for row in table)


if __name__ == "__main__":
    sys.exit(main())
