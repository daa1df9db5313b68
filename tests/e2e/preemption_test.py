"""Preemption: a run that is terminated, and started again by the same command, ends
with the weights of one that was left alone."""

import json
import os
import random
import re
import signal
import struct
import subprocess
import unittest

from ranks import STEP, Run, free_port, group_members, text_of
from support import TempTest, run

NEWEST = "checkpoint.safetensors"
LENGTH, BATCH, EPOCHS = 600, 6, 4  # 100 steps an epoch, and 100 of evaluation
SHAPE = ["--length", LENGTH, "-b", BATCH, "--epochs", EPOCHS, "-j", 1, "--seed", 3,
         "-p", 1]
TOY = ["train", "-a", "toy", "--device-type", "reference", *SHAPE]
SPARSE = ["train", "-a", "sparse", "--features", 64, "--device-type", "reference",
          *SHAPE]
NODE = ["--multiprocessing-distributed", "--world-size", 1, "--rank", 0]
WAYS = {
    "single": [*SPARSE, "--gpu", 0, "--epochs", 12],  # of 20 ms
    "dp": [*SPARSE, "--mode", "dp", "--devices", 3],
    "threads": [*TOY, "--mode", "ddp", "--devices", 3],
    "processes": [*TOY, *NODE, "--devices", 3],
    "launch": ["launch", "--nproc-per-node", 2, *TOY],
}


def contents(path):
    """The state in a checkpoint, and the tensors' bytes by name."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    state = json.loads(header.pop("__metadata__")["lockstep"])
    return state, {name: data[slice(*entry["data_offsets"])]
                   for name, entry in header.items()}


def place_of(state):
    return state["epoch"], state["samples"]


class PreemptionTest(TempTest):
    def newest(self, folder):
        return os.path.join(self.path(folder), NEWEST)

    def begin(self, way, *words, folder="parts", before=(), **variables):
        started = Run([*WAYS[way], "--checkpoint", self.path(folder), *words],
                      before=before, **variables)
        self.addCleanup(started.kill)
        return started

    def terminate(self, process, number=signal.SIGTERM):
        """Sends a signal to the first process alone, as a batch system or a container
        does."""
        os.kill(process.pid, number)

    def expect_same(self, a, b):
        (state, tensors), (other_state, other_tensors) = contents(a), contents(b)
        self.assertEqual(tensors, other_tensors)
        for key in ("epoch", "samples", "steps", "best_acc1", "dropout_calls",
                    "ready_order"):
            self.assertEqual(state[key], other_state[key], key)


class Preemption(PreemptionTest):  # gate first
    def preempted(self, way, strikes=2):
        """Terminates a run at random steps and starts it again by the same command,
        until it ends."""
        dice = random.Random(way)
        run(*WAYS[way], "--checkpoint", self.path("whole"))
        places = []
        for strike in range(strikes):
            part = self.begin(way, "--resume", "auto")
            part.wait_for(STEP, dice.randrange(1, 125))
            self.terminate(part)
            if strike > 0 and part.end() == 0:
                break  # it was faster than the signal
            self.assertEqual(part.end(), 128 + signal.SIGTERM, part.err)
            self.assertEqual(group_members(part.pid), [])
            self.assertRegex("\n".join(part.err),
                             r"interrupted by SIGTERM after \d+ steps")
            self.assertTrue(any("=> checkpoint written: " in line for line in part.out),
                            part.out[-3:])
            places.append(place_of(contents(self.newest("parts"))[0]))
        self.assertEqual(places, sorted(set(places)))
        rest = self.begin(way, "--resume", "auto")
        self.assertEqual(rest.end(), 0, rest.err)
        epoch, samples = places[-1]
        self.assertTrue(any(f"(epoch {epoch}, after {samples} samples)" in line or
                            samples == 0 for line in rest.out))
        self.expect_same(self.newest("whole"), self.newest("parts"))

    def test_single(self):
        self.preempted("single")

    def test_dp(self):
        self.preempted("dp")

    def test_ddp_threads(self):
        self.preempted("threads")

    def test_ddp_processes(self):
        self.preempted("processes")

    def test_launch(self):
        self.preempted("launch")

    def test_ctrl_c_keeps_a_checkpoint_too(self):
        part = self.begin("processes")
        part.wait_for(STEP, 20)
        part.signal(signal.SIGINT)
        self.assertEqual(part.end(), 128 + signal.SIGINT)
        self.assertRegex(part.err[0], r"^lockstep: interrupted after \d+ steps$")
        self.assertGreater(place_of(contents(self.newest("parts"))[0]), (0, 0))

    def test_in_the_middle_of_the_evaluation(self):
        run(*WAYS["single"], "--checkpoint", self.path("whole"))
        part = self.begin("single")
        part.wait_for("Test: [")
        self.terminate(part)
        self.assertEqual(part.end(), 128 + signal.SIGTERM)
        self.assertGreaterEqual(place_of(contents(self.newest("parts"))[0]),
                                (0, LENGTH))
        run(*WAYS["single"], "--checkpoint", self.path("parts"), "--resume", "auto")
        self.expect_same(self.newest("whole"), self.newest("parts"))

    def test_accumulated_gradients_are_not_lost(self):
        words = ["--accumulate", 7, "--clip-grad-norm", 1, "--momentum", 0.9]
        run(*WAYS["threads"], *words, "--checkpoint", self.path("whole"))
        part = self.begin("threads", *words)
        part.wait_for(STEP, 33)
        self.terminate(part)
        self.assertEqual(part.end(), 128 + signal.SIGTERM)
        epoch, samples = place_of(contents(self.newest("parts"))[0])
        self.assertIn(samples % (7 * BATCH), (0, LENGTH % (7 * BATCH)))
        run(*WAYS["threads"], *words, "--checkpoint", self.path("parts"), "--resume",
            "auto")
        self.expect_same(self.newest("whole"), self.newest("parts"))

    def test_trace_and_summary_are_written(self):
        for way in "single", "threads", "processes":
            trace, summary = self.path("t.json"), self.path("s.json")
            part = self.begin(way, "--trace", trace, "--trace-steps", "0:100000",
                              "--summary", summary, "--length", 60000,  # no evaluation
                              folder=way)
            part.wait_for(STEP, 30)
            self.terminate(part)
            self.assertEqual(part.end(), 128 + signal.SIGTERM, part.err)
            run("trace", "check", trace)
            with open(summary, encoding="utf-8") as file:
                steps = len(json.load(file)["steps"])
            self.assertEqual(contents(self.newest(way))[0]["steps"], steps)

    def test_before_the_first_traced_step(self):
        trace = self.path("t.json")
        part = self.begin("processes", "--trace", trace, "--trace-steps", "300:301")
        part.wait_for(STEP, 3)
        self.terminate(part)
        self.assertEqual(part.end(), 128 + signal.SIGTERM)
        self.assertEqual(part.err[0],
                         "lockstep: no trace written: step 300 was not reached")
        self.assertEqual(len(part.err), 2, part.err)
        self.assertEqual(os.listdir(self.folder), ["parts"])

    def test_workers_of_one_model(self):
        """Each is at another batch, so that only the end of an epoch is kept."""
        shared = [*SPARSE, "--mode", "hogwild", "--devices", 2, "--epochs", 10000,
                  "--checkpoint", self.path("c"), "--resume", "auto"]
        told = []
        # The first signal arrives in the first epoch, which is long, the second later.
        for steps, more in (1, ["--length", 600000]), (201, []):
            part = Run([*shared, *more])
            self.addCleanup(part.kill)
            part.wait_for(STEP, steps)
            self.terminate(part)
            self.assertEqual(part.end(), 128 + signal.SIGTERM)
            told += [line for line in part.out if "=> no checkpoint in the mid" in line]
        first, second = told
        self.assertTrue(first.endswith("another batch; there is none yet"), first)
        epoch, = re.findall(r"another batch; --resume auto begins epoch (\d+) again$",
                            second)
        self.assertEqual(place_of(contents(self.newest("c"))[0]), (int(epoch), 0))

    def test_checkpoints_are_in_the_trace_of_every_rank(self):
        """Rank 0 alone times all steps for the summary, and empties its recorder after
        every 16th."""
        for way in "threads", "processes":
            run(*WAYS[way], "--checkpoint", self.path(way), "--checkpoint-steps", 8,
                "--steps", 20, "--trace", self.path("t.json"), "--trace-steps", "0:20",
                "--summary", self.path("s.json"))
            run("trace", "check", self.path("t.json"))

    def test_the_first_process_of_a_container(self):
        """PID 1 ignores signals that it does not handle."""
        space = ["unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*space, "true"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("PID namespaces are not permitted here")
        for way in "single", "processes", "launch":
            part = self.begin(way, folder=way, before=space)
            part.wait_for(STEP, 20)
            first, = [pid for pid in group_members(part.pid)
                      if f"PPid:\t{part.pid}\n" in text_of(pid, "status")]
            self.assertRegex(text_of(first, "status"), r"NSpid:\t\d+\t1\n")
            os.kill(first, signal.SIGTERM)
            self.assertEqual(part.end(), 128 + signal.SIGTERM, part.err)
            self.assertGreater(place_of(contents(self.newest(way))[0]), (0, 0))

    def test_one_rank_stops_them_all(self):
        """A batch system may preempt one machine."""
        url = ["--dist-url", f"tcp://127.0.0.1:{free_port()}", "--world-size", 2]
        trace = self.path("t.json")
        ranks = [Run([*TOY, *url, "--rank", rank, "--checkpoint", self.path("parts"),
                      "--trace", trace, "--trace-steps", "0:1000"])
                 for rank in (0, 1)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        ranks[0].wait_for(STEP, 20)
        self.terminate(ranks[1])
        self.assertEqual(ranks[1].end(), 128 + signal.SIGTERM)
        # A launcher, such as mpirun, may kill rank 0 as soon as another one has ended.
        self.assertTrue(os.path.exists(trace))
        self.assertEqual(ranks[0].end(), 128 + signal.SIGTERM)
        self.assertRegex(ranks[0].err[0], "^lockstep: another rank was interrupted by "
                                          r"SIGTERM after \d+ steps$")
        self.assertGreater(place_of(contents(self.newest("parts"))[0]), (0, 0))

    def test_ranks_whose_devices_compute_nothing(self):
        null = ["train", "-a", "resnet20", "--device-type", "null", "--dataset",
                "generated", "--length", 24, "-b", 6, "-j", 0, "-p", 1, "--mode", "ddp"]
        for how in ["--devices", 3], [*NODE, "--devices", 3]:
            part = Run([*null, *how, "--checkpoint", self.path("parts"), "--resume",
                        "auto"])
            self.addCleanup(part.kill)
            part.wait_for(STEP, 10)
            one = part.rank_pids().get(1, part.pid)
            os.kill(one, signal.SIGTERM)
            self.assertEqual(part.end(), 128 + signal.SIGTERM, part.err)
            self.assertTrue(any("=> checkpoint written: " in line for line in part.out))

    def test_repeated_sigterm_does_not_lose_the_checkpoint(self):
        part = self.begin("processes")
        part.wait_for(STEP, 20)
        for _ in range(20):
            for pid in group_members(part.pid):
                try:
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        self.assertEqual(part.end(), 128 + signal.SIGTERM, part.err)
        self.assertTrue(any("=> checkpoint written: " in line for line in part.out))


class Restarts(PreemptionTest):  # gate
    """`--checkpoint-steps`, `--resume auto` and `launch --max-restarts`."""

    def test_a_killed_run_continues_from_its_last_checkpoint(self):
        run(*WAYS["single"], "--checkpoint", self.path("whole"))
        words = ["--checkpoint-steps", 7, "--resume", "auto"]
        for strike in 50, 175:  # the second one in another epoch
            part = self.begin("single", *words)
            part.wait_for(STEP, strike)
            part.signal(signal.SIGKILL)
            part.end()
            self.assertGreater(place_of(contents(self.newest("parts"))[0]), (0, 0))
        run(*WAYS["single"], *words, "--checkpoint", self.path("parts"))
        self.expect_same(self.newest("whole"), self.newest("parts"))

    def test_the_launcher_restarts_from_the_newest(self):
        run(*WAYS["launch"], "--checkpoint", self.path("whole"))
        way = ["launch", "--max-restarts", 3, *WAYS["launch"][1:]]
        part = Run([*way, "--checkpoint", self.path("parts"), "--checkpoint-steps", 5])
        self.addCleanup(part.kill)
        part.wait_for(STEP, 50)
        os.kill(part.rank_pids()[1], signal.SIGKILL)
        self.assertEqual(part.end(), 0, part.err)
        self.assertTrue(any("restart 1 of 3" in line for line in part.err))
        self.assertTrue(any("=> loaded checkpoint" in line for line in part.out))
        self.expect_same(self.newest("whole"), self.newest("parts"))

    def test_a_restart_makes_the_steps_that_are_left(self):
        steps = ["--steps", 150, "--save", self.path("w")]
        run(*WAYS["threads"], *steps)
        with open(self.path("w"), "rb") as file:
            whole = file.read()
        keep = ["--checkpoint", self.path("c"), "--checkpoint-steps", 40]
        again = [*WAYS["threads"], *keep, "--resume", "auto"]
        run(*again, "--steps", 100)
        self.assertEqual(contents(self.newest("c"))[0]["steps"], 80)
        run(*again, *steps)
        with open(self.path("w"), "rb") as file:
            self.assertEqual(file.read(), whole)

    def test_a_restart_without_traced_steps(self):
        """They were made before the restart: their trace is kept."""
        for way in "single", "threads", "processes":
            words = [*WAYS[way], "--epochs", 1, "--checkpoint", self.path(way),
                     "--resume", "auto", "--trace"]
            traces = [self.path("t.json"), self.path("new.json")]
            run(*words, traces[0])
            with open(traces[0], "rb") as file:
                kept = file.read()
            for trace in traces:
                out, error = run(*words, trace)
                self.assertIn("=> all 1 epochs are done", out)
                self.assertEqual(error, "lockstep: no trace written: step 0 was not "
                                        "reached\n")
            with open(traces[0], "rb") as file:
                self.assertEqual(file.read(), kept)
            self.assertFalse(os.path.exists(traces[1]))
            _, error = run(*words[:-3], "--resume", self.newest(way), "--trace",
                           traces[0], code=1 if way == "processes" else 2)
            self.assertIn("--trace: a run of 0 steps has nothing to record", error)

    def test_auto_begins_anew_and_never_goes_back(self):
        short = [*SPARSE, "--gpu", 0, "--checkpoint", self.path("c"), "--epochs", 1]
        out, _ = run(*short, "--resume", "auto")
        self.assertIn(f"=> no checkpoint in {self.path('c')}: training starts from the "
                      "beginning\n", out)
        with open(self.newest("c"), "rb") as file:
            kept = file.read()
        out, _ = run(*short, "--resume", "auto")
        self.assertIn("=> all 1 epochs are done", out)
        _, error = run(*short, code=2)
        self.assertIn("contains the checkpoint of epoch 1, which this run, beginning "
                      "at epoch 0, would replace by an older one; fix: ", error)
        _, error = run("launch", "--max-restarts", 2, *TOY, "--checkpoint",
                       self.path("c"), code=2)  # restarting would not help
        self.assertNotIn("restart", error)
        with open(self.newest("c"), "rb") as file:
            self.assertEqual(file.read(), kept)
        _, error = run(*SPARSE, "--resume", "auto", code=2)
        self.assertIn("add --checkpoint DIR", error)
        _, error = run(*SPARSE, "--checkpoint-steps", 5, code=2)
        self.assertIn("--checkpoint-steps requires --checkpoint DIR", error)
        _, error = run(*SPARSE, "-e", "--checkpoint", self.path("none"), "--resume",
                       "auto", code=2)
        self.assertIn("there is no checkpoint in", error)

    def test_in_an_epoch_it_needs_the_same_batches(self):
        words = ["--checkpoint", self.path("c"), "--checkpoint-steps", 10, "--steps",
                 15]
        run(*SPARSE, *words, "--gpu", 0)
        # In another mode, with other devices, the samples that follow are the same.
        run(*SPARSE, "--steps", 1, "--resume", self.newest("c"), "--mode", "dp",
            "--devices", 3)
        out, _ = run(*SPARSE, "--steps", 1, "--resume", self.newest("c"), "--mode",
                     "ddp", "--devices", 2)
        self.assertIn("Epoch: [0][ 10/100]", out)
        _, error = run(*SPARSE, "--steps", 1, "--resume", self.newest("c"), "-b", 8,
                       "--gpu", 0, code=1)
        self.assertIn("after 60 samples, where no batch of 8 begins; fix: ", error)
        _, error = run(*SPARSE, "--steps", 1, "--resume", self.newest("c"), "--mode",
                       "hogwild", "--devices", 2, code=1)
        self.assertIn("with --mode hogwild each rank is at another batch; fix: ", error)
        _, error = run(*SPARSE, *words, "--mode", "hogwild", code=2)
        self.assertIn("--checkpoint-steps has no effect on --mode hogwild", error)


if __name__ == "__main__":
    unittest.main()
