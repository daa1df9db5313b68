"""Parameter servers that are processes, from the command line."""

import json
import os
import signal
import unittest

from ranks import STEP, Run, free_port, group_members
from support import (TempTest, accuracies, content, copies, digest, read_trace, run,
                     tensors)

PROCESSES = ["--multiprocessing-distributed"]
NET = ["train", "-a", "resnet20", "--dataset", "generated", "-j", 1, "--mode", "ps"]
SMALL = [*NET, "--device-type", "reference", "--image-size", 8, "--length", 8, "-b", 4,
         "--devices", 2, "--servers", 2]
# Workers and servers that compute nothing: only messages pass.
NULL = [*NET, "--device-type", "null", "--length", 60, "-b", 6, "--devices", 3,
        "--servers", 2, "--epochs", 2]
TOY = ["train", "-a", "toy", "--device-type", "reference", "--mode", "ps", "--length",
       60, "-b", 6, "-j", 0, "--devices", 2]
ENDLESS = [*TOY, "--epochs", 99999, "-p", 1]
START = ["--rdzv-timeout", 60]  # --timeout is not for the start
HANGS = [*START, "--timeout", 4]


class ServerRanks(TempTest):  # gate first
    def test_processes_train_as_threads_do(self):
        threads = self.train("threads", 2)
        processes = self.train("processes", 2, *PROCESSES)
        self.assertEqual(processes, threads)
        run("trace", "check", self.path("processes.json"))
        self.train("part", 1, *PROCESSES)
        resumed = self.train("rest", 2, *PROCESSES, "--resume",
                             self.path("part/checkpoint.safetensors"))
        self.assertEqual(resumed[1], processes[1])
        resumed = [*SMALL, "--evaluate", "--resume",
                   self.path("processes/checkpoint.safetensors")]
        self.assertEqual(accuracies(resumed, *PROCESSES), accuracies(resumed))

    def train(self, name, epochs, *words):
        """The metrics, the weights, the tensors of the checkpoint and the peaks."""
        weights, folder = self.path(name + ".safetensors"), self.path(name)
        summary, trace = self.path("s.json"), self.path(name + ".json")
        run(*SMALL, *words, "--epochs", epochs, "--save", weights, "--checkpoint",
            folder, "--summary", summary, "--trace", trace)
        with open(summary, encoding="utf-8") as file:
            found = json.load(file)
        return ([[step[key] for key in ("loss", "acc1", "acc5", "batch")]
                 for step in found["steps"]],
                [digest(content(weights)), digest(tensors(folder))],
                len(found["peak_bytes_per_device"]))

    def test_each_consistency_obeys_the_laws(self):
        for words in (["async"], ["ssp", "--staleness", 1, "--slow-rank", "1:3x"],
                      ["sync", "--backup", 1, "--slow-rank", "1:2x"]):
            with self.subTest(consistency=words):
                out = self.path("t.json")
                run(*NULL, *PROCESSES, "--consistency", *words, "--trace", out)
                run("trace", "check", out)
                self.judge(read_trace(out), all_steps="--backup" not in words)

    def test_weights_are_not_updated_while_they_are_sent(self):
        """They may arrive later; a send that lasts until the next update is wrong."""
        path = self.path("t.json")
        run(*NULL, *PROCESSES, "--consistency", "async", "--trace", path)
        trace = read_trace(path)
        for event in trace["traceEvents"]:
            if event["name"] == "send" and event["args"].get("why") == "pull":
                event["dur"] += 1e6
                break
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
        text, _ = run("trace", "check", path, code=1)
        self.assertIn("BROKEN pull-before-update", text)

    def judge(self, trace, all_steps):
        """Each worker pulls from and pushes to each server, from process to process;
        the servers' processes make the updates."""
        for why in ("pull", "push"):
            sent = copies(trace, why)
            self.assertEqual(len(sent), 5 * 3 * 2)
            for args in sent:
                self.assertEqual(args["rank"], args["dst"])
        made = [event["args"]["rank"] for event in trace["traceEvents"]
                if event["name"] == "optimizer" and "version" in event["args"]]
        self.assertEqual(set(made), {3, 4})
        if all_steps:
            self.assertEqual(len(made), 5 * 3 * 2)

    def test_a_late_worker_is_not_kept_from_the_evaluation(self):
        """Those who are at the end of an epoch push no gradients."""
        for words in [], PROCESSES:
            with self.subTest(words=words):
                run(*TOY, "--devices", 3, *words, "--backup", 1, "--slow-rank", "1:3x",
                    "--epochs", 2)

    def test_async_with_one_worker_is_plain_sgd(self):
        words = ["--length", 12, "--epochs", 1, "--save"]
        run(*TOY, "--devices", 1, *words, self.path("ps"), *PROCESSES, "--servers", 3,
            "--consistency", "async")
        run(*TOY, "--mode", "ddp", "--devices", 1, *words, self.path("plain"))
        self.assertEqual(content(self.path("ps")), content(self.path("plain")))

    def test_a_worker_or_server_that_dies_or_hangs_is_named(self):
        for pace, rank, number, limits, says in (
                ("sync", 2, signal.SIGKILL, [], ": rank 2 died"),
                ("async", 1, signal.SIGKILL, [], ": rank 1 died"),
                ("sync", 1, signal.SIGSTOP, HANGS, ": rank 1 hangs or has died"),
                ("ssp", 2, signal.SIGSTOP, HANGS, ": rank 2 hangs or has died")):
            with self.subTest(pace=pace, rank=rank, signal=number.name):
                ranks = Run([*ENDLESS, *PROCESSES, "--consistency", pace, *limits])
                self.addCleanup(ranks.kill)
                ranks.wait_for(STEP, 5)
                os.kill(ranks.rank_pids()[rank], number)
                self.assertNotIn(ranks.end(), (0, 130))
                for other in {0, 1, 2} - {rank}:
                    its = [line for line in ranks.err
                           if line.startswith(f"lockstep: rank {other}: ")]
                    self.assertEqual(len(its), 1, ranks.err)
                    self.assertIn(says, its[0])
                self.assertEqual(group_members(ranks.pid), [])

    def test_ctrl_c(self):
        for pace in ("sync", "async"):
            with self.subTest(pace=pace):
                ranks = Run([*ENDLESS, *PROCESSES, "--consistency", pace])
                self.addCleanup(ranks.kill)
                ranks.wait_for(STEP, 5)
                ranks.signal(signal.SIGINT)
                self.assertEqual(ranks.end(), 130)
                self.assertRegex("\n".join(ranks.err),
                                 r"^lockstep: interrupted after \d+ steps$")
                self.assertEqual(group_members(ranks.pid), [])

    def test_a_slow_worker_is_named(self):
        """It is alive, but others wait for it longer than --timeout."""
        ranks = Run([*NET, "--device-type", "reference", "--image-size", 8, "--length",
                     600, "-b", 8, "--devices", 2, *PROCESSES, "--consistency", "ssp",
                     "--staleness", 0, "--slow-rank", "1:1000x", *START, "--timeout",
                     3])
        self.addCleanup(ranks.kill)
        self.assertEqual(ranks.end(), 1)
        self.assertRegex("\n".join(ranks.err),
                         r"rank 1 pushed no gradient within 3 s.* "
                         r"\(increase --timeout\)")
        self.assertEqual(group_members(ranks.pid), [])

    def test_a_signal_to_one_process_stops_all(self):
        """Before the epoch ends, which is long."""
        words = [*ENDLESS, *PROCESSES, "--consistency", "async"]
        words[words.index("--length") + 1] = 900000
        for rank in (1, 2):  # a worker, the server
            with self.subTest(rank=rank):
                ranks = Run(words)
                self.addCleanup(ranks.kill)
                ranks.wait_for(STEP, 5)
                os.kill(ranks.rank_pids()[rank], signal.SIGTERM)
                self.assertEqual(ranks.end(), 143)
                self.assertEqual(group_members(ranks.pid), [])

    def test_several_machines_need_one_for_the_servers(self):
        ps = [*TOY[:-2], "--epochs", 2, "--timeout", 20]
        _, error = run(*ps, "--devices", 2, *PROCESSES, "--world-size", 2, "--rank", 0,
                       "--dist-url", "tcp://127.0.0.1:1", code=2)
        fix = error.split("fix: on each machine NODE, from 0 to 1: ")[1].split(" train")
        words = fix[0].replace("HOST:PORT", f"127.0.0.1:{free_port()}").split()
        self.assertIn("train … --mode ps --servers 2, without", error)
        nodes = [Run([str(node) if word == "NODE" else word for word in words] +
                     [*ps, "--servers", 2]) for node in (0, 1)]
        for node in nodes:
            self.addCleanup(node.kill)
        self.assertEqual([node.end() for node in nodes], [0, 0])

    def test_by_hand_and_with_the_launcher(self):
        few = [*TOY[:-2], "--steps", 3, "--servers", 1]
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = [Run([*few, "--dist-url", url, "--world-size", 3, "--rank", rank])
                 for rank in range(3)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        self.assertEqual([rank.end() for rank in ranks], [0, 0, 0])
        self.assertIn("mode ps, 2 workers", "\n".join(ranks[0].out))
        text, _ = run("launch", "--nproc-per-node", 3, "--", *few)
        self.assertIn("2 workers (reference:0 to reference:1), 1 server (reference:2), "
                      "sync, batch 6, 3 on each", text)
        _, err = run("launch", "--nproc-per-node", 2, "--", *few, "--servers", 2,
                     code=2)
        self.assertIn("--servers 2 of 2 processes leaves no worker; fix: start", err)
        _, err = run(*few, *PROCESSES, "--dist-backend", "mpi", code=2)
        self.assertIn("the servers of --mode ps take part in none; fix:", err)


if __name__ == "__main__":
    unittest.main()
