"""hogwild and locked with workers that are processes, from the command line."""

import json
import os
import random
import signal
import sys
import time
import unittest

from ranks import STEP, TOY, Run, group_members, processes_with, without_own_pause
from support import TempTest, read_trace, run

TOY64 = [*TOY, "--dtype", "float64", "--length", 60]
PROCESSES = ["--multiprocessing-distributed", "--devices", 3]
LOCK_STEP = ["--mode", "locked"]
WAYS = [["--mode", "hogwild", "--update", "fetch-add"],
        ["--mode", "hogwild"],
        LOCK_STEP,
        ["--mode", "locked", "--lock", "update"]]
TIMEOUT, GRACE = 5, 4


class SharedByProcesses(TempTest):
    def test_one_worker_trains_as_a_thread_does(self):
        process = "--multiprocessing-distributed"
        contents = []
        for words in (["hogwild"], ["hogwild", process], ["locked", process]):
            file = self.path("weights.safetensors")
            run(*TOY64, "--devices", 1, "--epochs", 2, "--save", file, "--mode", *words)
            with open(file, "rb") as opened:
                contents.append(opened.read())
        self.assertEqual(contents[1], contents[0])
        self.assertEqual(contents[2], contents[0])

    def test_three_workers_train_one_model(self):
        for way in WAYS:
            with self.subTest(way=way):
                trace, summary = self.path("t.json"), self.path("s.json")
                # Three workers that hold the lock for a step: some of many do wait.
                length, steps = (900, 100) if way == LOCK_STEP else (60, 7)
                text, _ = run(*TOY64, *way, *PROCESSES, "--length", length, "--epochs",
                              2, "--trace", trace, "--trace-steps", f"1:{1 + steps}",
                              "--summary", summary)
                self.assertIn(f"=> starting 3 {way[1]} processes", text)
                self.assertIn(f"=> shared model: {length} updates by 3 workers", text)
                with open(summary, encoding="utf-8") as file:
                    shared = json.load(file)["shared_model"]
                self.assertEqual(shared["updates"], length)
                if "fetch-add" in way or "locked" in way:
                    self.assertEqual(shared["lost"], 0)
                run("trace", "check", trace)
                self.judge(way, steps, read_trace(trace))

    def judge(self, way, steps, trace):
        events = trace["traceEvents"]
        updates = [e["args"] for e in events if e.get("cat") == "phase"
                   and "version" in e["args"]]
        self.assertEqual(len(updates), 3 * steps)
        self.assertEqual({update["rank"] for update in updates}, {0, 1, 2})
        names = {e["args"]["id"]: (e["name"], e["args"]["rank"]) for e in events
                 if e["ph"] == "X"}
        waits = [e["args"] for e in events if e.get("cat") == "sync"
                 and e["args"]["why"] == "lock"]
        for wait in waits:
            self.assertNotIn("for_rank", wait)
            for name, rank in (names[id] for id in wait.get("for", ())):
                self.assertRegex(name, "^lockstep::(update|read)_shared$")
                self.assertNotEqual(rank, wait["rank"])
        self.assertTrue("locked" in way or not waits)
        if way == LOCK_STEP:
            self.assertTrue(any(wait.get("for") for wait in waits))

    def test_checkpoints_are_written_by_one_worker(self):
        folder = self.path("checkpoints")
        run(*TOY64, *WAYS[0], *PROCESSES, "--epochs", 1, "--checkpoint", folder)
        self.assertEqual(sorted(os.listdir(folder)),
                         ["checkpoint.safetensors", "model_best.safetensors"])
        text, _ = run(*TOY64, *WAYS[0], *PROCESSES, "--epochs", 2, "--resume",
                      folder + "/checkpoint.safetensors")
        self.assertIn("(epoch 1)", text)

    def test_ctrl_c(self):
        out = self.path("t.json")
        ranks = Run([*TOY64, *WAYS[0], *PROCESSES, "--epochs", 9999, "-p", 1,
                     "--trace-steps", "0:100000", "--trace", out])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, 5)
        ranks.signal(signal.SIGINT)
        self.assertEqual(ranks.end(), 130)
        self.assertRegex("\n".join(ranks.err),
                         r"^lockstep: interrupted after \d+ steps$")
        self.assertEqual(group_members(ranks.pid), [])
        run("trace", "check", out)

    def test_a_death_is_noticed_in_the_middle_of_an_epoch(self):
        for way in WAYS:
            with self.subTest(way=way):
                ranks = Run([*TOY, *way, *PROCESSES, "--length", 300000, "-p", 1])
                self.addCleanup(ranks.kill)
                ranks.wait_for(STEP, 5)
                os.kill(ranks.rank_pids()[1], signal.SIGKILL)
                self.assertNotIn(ranks.end(), (0, 130))
                for rank in (0, 2):
                    its = [line for line in ranks.err
                           if line.startswith(f"lockstep: rank {rank}: ")]
                    self.assertEqual(len(its), 1, ranks.err)
                    self.assertIn(": rank 1 died", its[0])
                self.assertEqual(group_members(ranks.pid), [])


class SharedChaos(unittest.TestCase):  # gate alone
    """Signals to one worker at a random moment: the run ends in time, the others name
    it, and neither a process nor shared memory is left."""

    RUNS = int(os.environ.get("LOCKSTEP_CHAOS_RUNS", 4))
    FIRST_SEED = int(os.environ.get("LOCKSTEP_CHAOS_SEED", 0))
    SIGNALS = [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT]

    def test_every_run_ends_as_it_should(self):
        for i in range(self.RUNS):
            seed = self.FIRST_SEED + i
            draw = random.Random(seed)
            number = self.SIGNALS[i % len(self.SIGNALS)]
            way, rank = draw.choice(WAYS), draw.randrange(3)
            with self.subTest(seed=seed, signal=number.name, way=way, rank=rank):
                before = segments()
                self.strike(draw, number, way, rank, seed)
                self.assertEqual(segments(), before)

    def strike(self, draw, number, way, rank, seed):
        mark = ["--seed", os.getpid() * 1000 + seed]
        ranks = Run([*TOY, "--length", 60, *way, *PROCESSES, "--epochs", 100000,
                     "-p", 1, "--timeout", TIMEOUT, "--rdzv-timeout", 60, *mark])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, draw.randrange(1, 60))
        pid = ranks.rank_pids()[rank]
        since = time.monotonic()
        os.kill(pid, number)
        code = ranks.end()
        took = time.monotonic() - since
        self.assertEqual(processes_with(mark), [])
        self.assertEqual(group_members(ranks.pid), [])
        self.assertLess(took, TIMEOUT + GRACE, ranks.err)
        if number in (signal.SIGTERM, signal.SIGINT):
            self.assertEqual(code, 128 + number, ranks.err)
            self.assertRegex("\n".join(ranks.err),
                             r"interrupted (by SIGTERM )?after \d+ step")
            return
        self.assertNotIn(code, (0, 130))
        self.names(ranks.err, rank)

    def names(self, said, culprit):
        for rank in {0, 1, 2} - {culprit}:
            its = [line.split(": ", 2)[2] for line in said
                   if line.startswith(f"lockstep: rank {rank}: ")]
            self.assertEqual(len(its), 1, said)
            self.assertRegex(without_own_pause(its[0]),
                             f"^(rank . failed: )?rank {culprit}[ ,]")


def segments():
    """Shared memory with a name."""
    return sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else []


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
