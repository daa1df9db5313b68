"""Local SGD from the command line: ranks as threads and as processes."""

import json
import os
import signal
import unittest

from ranks import STEP, TOY, Run, group_members
from support import TempTest, run

TOY64 = [*TOY, "--dtype", "float64", "--length", 60]
MODE = ["--mode", "local-sgd"]
PROCESSES = [*MODE, "--multiprocessing-distributed"]


class LocalSgd(TempTest):
    def losses(self, *words):
        out = self.path("s.json")
        text, _ = run(*TOY64, "--devices", 3, "--steps", 8, "--summary", out, *words)
        with open(out, encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["world_size"], 3)
        return [step["loss"] for step in summary["steps"]], text

    def test_threads_and_processes_train_the_same(self):
        apart, _ = self.losses(*MODE, "--local-steps", 3)
        trace = self.path("t.json")
        for backend in "ring", "gloo":
            same, text = self.losses(*PROCESSES, "--local-steps", 3, "--dist-backend",
                                     backend, "--trace", trace)
            self.assertIn("=> starting 3 local-sgd processes", text)
            for one, other in zip(apart, same, strict=True):
                self.assertAlmostEqual(one, other, delta=1e-12, msg=backend)
            run("trace", "check", trace)
        ddp, _ = self.losses("--mode", "ddp")
        every, _ = self.losses(*MODE, "--local-steps", 1)
        for one, other in zip(ddp, every, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-12)
        self.assertNotAlmostEqual(apart[-1], ddp[-1], delta=1e-9)

    def test_ctrl_c(self):
        out = self.path("t.json")
        ranks = Run([*TOY64, *PROCESSES, "--devices", 3, "--epochs", 9999, "-p", 1,
                     "--trace-steps", "0:100000", "--trace", out])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, 5)
        ranks.signal(signal.SIGINT)
        self.assertEqual(ranks.end(), 130)
        self.assertRegex("\n".join(ranks.err),
                         r"^lockstep: interrupted after \d+ steps$")
        self.assertEqual(group_members(ranks.pid), [])
        run("trace", "check", out)

    def test_a_killed_rank_is_named(self):
        ranks = Run([*TOY64, *PROCESSES, "--devices", 3, "--epochs", 9999, "-p", 1,
                     "--local-steps", 5])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, 5)
        os.kill(ranks.rank_pids()[1], signal.SIGKILL)
        self.assertNotIn(ranks.end(), (0, 130))
        self.assertIn("rank 1", "\n".join(ranks.err))
        self.assertEqual(group_members(ranks.pid), [])

    def test_wrong_usage(self):
        _, err = run(*TOY64, *MODE, "--local-steps", 0, code=2)
        self.assertIn("--local-steps", err)
        _, err = run(*TOY64, *MODE, "--sync-bn", code=2)
        self.assertIn("--sync-bn shares statistics between ranks", err)
        _, err = run(*TOY64, *MODE, "--local-steps", 1, "--steps", 1, "--devices", 2)
        self.assertIn("fix: use --mode ddp", err)


if __name__ == "__main__":
    unittest.main()
