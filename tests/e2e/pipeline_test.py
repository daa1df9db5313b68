"""Pipelines whose stages are processes, from the command line."""

import copy
import json
import os
import signal
import unittest

from ranks import STEP, Run, group_members
from support import (TempTest, accuracies, content, copies, digest, read_trace, run,
                     tensors)

NET = ["train", "-a", "resnet20", "--dataset", "generated", "-j", 1, "--mode",
       "model-parallel", "--split", "layer1,layer2,layer3"]
# Four stages on two devices.
SMALL = [*NET, "--length", 16, "-b", 8, "--pipeline-schedule", "interleaved",
         "--virtual-stages", 2, "--micro-batches", 4]
# Three stages that compute nothing: only messages pass.
ENDLESS = [*NET, "--split", "layer2,layer3", "--device-type", "null", "--length", 60,
           "-b", 6, "--pipeline-schedule", "1f1b", "--micro-batches", 3, "--epochs",
           9999, "-p", 1]
PROCESSES = ["--multiprocessing-distributed"]


class PipelineRanks(TempTest):
    def test_processes_train_as_threads_do(self):
        threads = self.train("threads")
        processes = self.train("processes", *PROCESSES)
        self.assertEqual(processes, threads)
        run("trace", "check", self.path("processes.json"))
        self.judge(read_trace(self.path("processes.json")))
        resumed = [*SMALL, "--evaluate", "--resume",
                   self.path("processes/checkpoint.safetensors")]
        self.assertEqual(accuracies(resumed, *PROCESSES), accuracies(resumed))

    def train(self, name, *words):
        """The losses, and the files of weights and of the checkpoint."""
        weights, folder = self.path(name + ".safetensors"), self.path(name)
        summary, trace = self.path("s.json"), self.path(name + ".json")
        run(*SMALL, *words, "--epochs", 1, "--save", weights, "--checkpoint", folder,
            "--clip-grad-norm", 1, "--summary", summary, "--trace", trace)
        with open(summary, encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        return ([[step[key] for key in ("loss", "acc1", "acc5", "batch")]
                 for step in steps],
                digest(content(weights)),
                digest(content(folder + "/checkpoint.safetensors")))

    def test_damaged_messages_are_found(self):
        run(*NET, *PROCESSES, "--split", "layer2", "--device-type", "null", "--length",
            4, "-b", 4, "--steps", 1, "--trace", self.path("t.json"))
        trace = read_trace(self.path("t.json"))
        for law, name, damage in (
                ("sends-received", "send", lambda e: e["args"].update(bytes=8)),
                ("activation-bytes", "activation",
                 lambda e: e["args"].update(micro_batch=7)),
                ("halves-matched", "activation", lambda e: e.update(cat="recv"))):
            damaged = copy.deepcopy(trace)
            for event in damaged["traceEvents"]:
                if event["name"] == name and event["ph"] == "X":
                    damage(event)
            with open(self.path("d.json"), "w", encoding="utf-8") as file:
                json.dump(damaged, file)
            text, _ = run("trace", "check", self.path("d.json"), code=1)
            self.assertRegex(text, rf"(?m)^BROKEN {law} ")

    def judge(self, trace):
        """Each border of each micro-batch is one message each way, from process to
        process."""
        for why, steps in ("activation", 2 * 4 + 1), ("activation_grad", 2 * 4):
            sent = copies(trace, why)
            self.assertEqual(len(sent), 3 * steps)
            for args in sent:
                self.assertEqual(args["rank"], args["dst"])
                self.assertEqual({args["src"], args["dst"]}, {0, 1})

    def test_the_launcher_starts_as_many_as_there_are_devices(self):
        text, _ = run("launch", "--nproc-per-node", 3, "--", *NET[:-2], "--split",
                      "auto", "--length", 8, "-b", 8, "--steps", 1, "--device-type",
                      "reference", "--image-size", 8)
        self.assertIn("[rank 0] => split auto", text)
        self.assertIn("3 devices (reference:0 to reference:2)", text)
        _, err = run("launch", "--nproc-per-node", 3, "--", *SMALL, code=2)
        self.assertIn("the pipeline has 2 devices, each of which is a process, but 3 "
                      "are started; fix: start 2", err)

    def test_a_stage_that_dies_or_hangs_is_named(self):
        hangs = ["--rdzv-timeout", 60, "--timeout", 4]
        for number, limits, says in (
                (signal.SIGKILL, [], ": rank 1 died"),
                (signal.SIGSTOP, hangs, ": rank 1 hangs or has died")):
            with self.subTest(signal=number.name):
                ranks = Run([*ENDLESS, *PROCESSES, *limits])
                self.addCleanup(ranks.kill)
                ranks.wait_for(STEP, 5)
                os.kill(ranks.rank_pids()[1], number)
                self.assertNotIn(ranks.end(), (0, 130))
                for rank in (0, 2):
                    its = [line for line in ranks.err
                           if line.startswith(f"lockstep: rank {rank}: ")]
                    self.assertEqual(len(its), 1, ranks.err)
                    self.assertIn(says, its[0])
                self.assertEqual(group_members(ranks.pid), [])

    def test_a_stage_that_died_is_restarted_from_the_last_checkpoint(self):
        whole, part = self.path("whole"), self.path("part")
        words = [*SMALL, "--length", 80, "--epochs", 1, "-p", 1]
        run(*words, "--checkpoint", whole)
        ranks = Run(["launch", "--nproc-per-node", 2, "--max-restarts", 1, *words,
                     "--checkpoint", part, "--checkpoint-steps", 1])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP)
        os.kill(ranks.rank_pids()[1], signal.SIGKILL)
        self.assertEqual(ranks.end(), 0, ranks.err)
        self.assertTrue(any("restart 1 of 1" in line for line in ranks.err))
        self.assertEqual(tensors(part), tensors(whole))

    def test_ctrl_c(self):
        out = self.path("t.json")
        ranks = Run([*ENDLESS, *PROCESSES, "--trace-steps", "0:100000", "--trace", out])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, 5)
        ranks.signal(signal.SIGINT)
        self.assertEqual(ranks.end(), 130)
        self.assertRegex("\n".join(ranks.err),
                         r"^lockstep: interrupted after \d+ steps$")
        self.assertEqual(group_members(ranks.pid), [])
        run("trace", "check", out)


if __name__ == "__main__":
    unittest.main()
