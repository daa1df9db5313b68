"""What a crash leaves: a rank is killed within the traced steps of each way of sharing.

Each rank, the killed one included, leaves a trace of the steps that it completed, which
`trace check` accepts; so do all of them merged, and any two. `test --all` runs each way
with each rank, killed early, late and while it writes; the gate runs a part of them.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

from ranks import STEP, Run, free_port
from support import LOCKSTEP, read_trace

SEED = int(os.environ.get("LOCKSTEP_CHAOS_SEED", 0))
NET = ["train", "-a", "resnet18", "--dataset", "generated", "--device-type", "null",
       "--length", 960, "-b", 6, "-j", 1, "--epochs", 1000, "-p", 1, "--timeout", 8]
WAYS = {  # each has three ranks that are processes
    "ddp": [],
    "local-sgd": ["--local-steps", 2],
    "hogwild": [],
    "locked": [],
    "model-parallel": ["--split", "layer2,layer3", "--pipeline-schedule", "1f1b",
                       "--micro-batches", 3],
    "ps": ["--servers", 1],
    "ps async": ["--servers", 1, "--consistency", "async"],
}
MOMENTS = "early", "late", "writing"


def lockstep(*words):
    return subprocess.run([LOCKSTEP, *map(str, words)], capture_output=True, text=True,
                          timeout=300)


class Kill(unittest.TestCase):
    """One run, whose rank `victim` is killed."""

    def __init__(self, way, victim, moment, seed):
        super().__init__()
        self.way, self.victim, self.moment = way, victim, moment
        self.random = random.Random(seed)

    def whole_run(self, folder):
        self.folder = pathlib.Path(folder)
        mode = self.way.split()[0]
        traced = "1:12" if self.moment == "writing" else "1:100000"
        self.run = Run([*NET, "--mode", mode, "--devices", 2 if mode == "ps" else 3,
                        *WAYS[self.way], "--trace", self.folder / "t.json",
                        "--trace-steps", traced, "--multiprocessing-distributed",
                        "--dist-url", f"tcp://127.0.0.1:{free_port()}"])
        try:
            self.strike()
            self.assertNotEqual(self.run.end(), 0)
        finally:
            self.run.kill()
        self.judge()

    def strike(self):
        steps = {"early": 3, "late": self.random.randrange(6, 30), "writing": 11}
        self.run.wait_for(STEP, steps[self.moment])
        pid = self.run.rank_pids()[self.victim]
        time.sleep(self.random.random() * 0.02)
        os.kill(pid, signal.SIGKILL)

    def judge(self):
        """What is there must hold; what is missing is named, and not judged."""
        files = [self.file_of(rank) for rank in range(3)]
        have = [file for file in files if self.checked(file, "of 3")]
        lost = [rank for rank in range(3) if files[rank] not in have]
        own_pace = self.way in ("hogwild", "locked", "ps async")
        self.assertTrue(own_pace or not lost, f"nothing of ranks {lost}")
        self.assertGreaterEqual(len(have), 2)
        self.merge(files, "it ends early")
        self.merge(have[1:], "of 3")

    def file_of(self, rank):
        """The rank's trace, or what it leaves in its place."""
        whole = self.folder / f"t.rank{rank}.json"
        partial = whole.with_name(whole.name + ".partial")
        self.assertTrue(whole.exists() or partial.exists(), self.run.err)
        return whole if whole.exists() else partial

    def checked(self, file, partial):
        done = lockstep("trace", "check", file, "--json")
        if "before the first traced step was complete" in done.stderr:
            return False  # a worker at its own pace, killed before that
        report = json.loads(done.stdout)
        broken = [law for law in report["laws"] if not law["ok"]]
        self.assertEqual(broken, [], file)
        self.assertEqual(done.returncode, 0)
        self.assertIn(partial, report["partial"])
        return True

    def merge(self, files, partial):
        merged = self.folder / "merged.json"
        done = lockstep("trace", "merge", *files, "-o", merged)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("=> partial: ", done.stdout)
        self.assertTrue(self.checked(merged, partial))


def run_all(test, kills):
    for number, (way, victim, moment) in enumerate(kills):
        with test.subTest(way=way, victim=victim, moment=moment, seed=SEED), \
                tempfile.TemporaryDirectory() as folder:
            Kill(way, victim, moment, f"{SEED} {number}").whole_run(folder)


class KilledTraces(unittest.TestCase):  # gate
    def test_one_of_each_way(self):
        kills = random.Random(SEED)
        run_all(self, [(way, kills.randrange(3), kills.choice(MOMENTS))
                       for way in WAYS])


class EveryKilledTrace(unittest.TestCase):  # all
    def test_each_rank_of_each_way_in_each_moment(self):
        run_all(self, [(way, victim, moment) for way in WAYS for victim in range(3)
                       for moment in MOMENTS])


class PartialTraces(unittest.TestCase):  # gate
    """Of processes without ranks, and of damaged partial traces."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = pathlib.Path(folder.name) / "t.json"

    def kill(self, *options):
        run = Run([*NET, *options, "--trace", self.trace, "--trace-steps", "1:100000"])
        run.wait_for(STEP, 4)
        os.kill(run.pid, signal.SIGKILL)
        run.end()

    def test_of_one_process(self):
        for way in ["single"], ["dp", "--devices", 3], ["ddp", "--devices", 3]:
            with self.subTest(way=way[0]):
                self.kill("--mode", *way)
                left = f"{self.trace}.partial"
                done = lockstep("trace", "check", left)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout,
                                 r"^partial: it ends early, after step \d+")
                self.assertIn("every law holds", done.stdout)
                said = lockstep("trace", "summary", left).stdout
                self.assertRegex(said, "partial: it ends early, after step")

    def test_damage_is_still_found(self):
        run = Run([*NET, "--mode", "ddp", "--devices", 3, "--trace", self.trace,
                   "--trace-steps", "1:100000", "--multiprocessing-distributed"])
        run.wait_for(STEP, 4)
        os.kill(run.rank_pids()[1], signal.SIGKILL)
        run.end()
        file = self.trace.with_name("t.rank0.json")
        trace = read_trace(str(file))
        copy = next(event for event in trace["traceEvents"]
                    if event.get("args", {}).get("why") == "h2d")
        copy["args"]["bytes"] //= 2
        file.write_text(json.dumps(trace), encoding="utf-8")
        done = lockstep("trace", "check", file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("BROKEN images-h2d-of-ranks", done.stdout)


if __name__ == "__main__":
    unittest.main()
