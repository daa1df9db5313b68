"""DistributedDataParallel from the command line: ranks as threads and as processes."""

import json
import os
import signal
import sys
import unittest

from ranks import STEP, TOY, Run, free_port, group_members, together
from support import ROOT, TempTest, read_trace, run

TOY64 = [*TOY, "--dtype", "float64", "--length", 60]
THREADS, PROCESSES = ["--mode", "ddp"], ["--multiprocessing-distributed"]
SMALL = ["train", "-a", "resnet18", "--dataset", "generated", "--length", 16, "-b", 4,
         "-j", 1]


class Ranks(TempTest):
    """The results of several ranks, and their files."""

    def losses(self, *words):
        out = self.path("s.json")
        run(*TOY64, *words, "--steps", 8, "--summary", out)
        with open(out, encoding="utf-8") as file:
            summary = json.load(file)
        return summary["world_size"], [step["loss"] for step in summary["steps"]]

    def test_the_number_of_ranks_changes_no_loss(self):
        # One rank has no peers. (--mode single is the notebook's run, which does not
        # train the toy net.)
        _, alone = self.losses(*THREADS, "--devices", 1)
        self.assertEqual(len(set(alone)), 8)
        for how, ranks in ((PROCESSES, 1), (THREADS, 2), (PROCESSES, 2), (THREADS, 3),
                           (PROCESSES, 3)):
            world, losses = self.losses(*how, "--devices", ranks)
            self.assertEqual(world, ranks)
            for one, many in zip(alone, losses, strict=True):
                self.assertAlmostEqual(one, many, delta=1e-12, msg=f"{how}, {ranks}")

    def test_without_a_seed_all_ranks_use_the_one_that_rank_0_draws(self):
        def losses(*words, **options):
            text, error = run(*TOY64, *PROCESSES, "--devices", 2, "--steps", 3,
                              "--summary", self.path("s.json"), *words, **options)
            with open(self.path("s.json"), encoding="utf-8") as file:
                summary = json.load(file)
            found = [step["loss"] for step in summary["steps"]]
            return found, summary["seed"], text + error

        drawn, seed, text = losses(draws_seed=True)
        self.assertEqual(text.count("=> seed "), 1, text)
        self.assertIn(f"=> seed {seed}, drawn; to use it again: --seed {seed}\n", text)
        again, same, text = losses("--seed", seed)
        self.assertEqual((again, same), (drawn, seed))
        self.assertNotIn("seed", text)
        self.assertNotEqual(losses(draws_seed=True)[0], drawn)

    def test_traces_are_whole(self):
        for how in THREADS, PROCESSES:
            run(*TOY64, *how, "--devices", 3, "--steps", 3, "--trace",
                self.path("t.json"))
            self.assertEqual(os.listdir(self.folder), ["t.json"])
            run("trace", "check", self.path("t.json"))
            text, _ = run("trace", "summary", "--json", self.path("t.json"))
            for step in json.loads(text)["train"]["steps"]:
                self.assertTrue(step["collectives"])

    def test_the_simple_ways_keep_every_law(self):
        for way in "naive", "bucketed":
            for how in THREADS, [*THREADS, "--device-type", "null"]:
                with self.subTest(way, how=how):
                    run(*TOY64, *how, "--devices", 2, "--steps", 2, "--ddp-sync", way,
                        "--trace", self.path("t.json"))
                    run("trace", "check", self.path("t.json"))

    def test_batch_norms_may_share_their_statistics(self):
        # With shared statistics, ResNet18 trains like on one device; without, every
        # rank normalizes by its own two pictures.
        def loss_after_a_step(*words):
            run(*SMALL, *words, "--device-type", "reference", "--dtype", "float64",
                "--image-size", 8, "--steps", 2, "--no-shuffle", "--no-augment",
                "--summary", self.path("s.json"))
            with open(self.path("s.json"), encoding="utf-8") as file:
                return json.load(file)["steps"][1]["loss"]

        alone = loss_after_a_step("--mode", "single")
        synced = loss_after_a_step(*THREADS, "--devices", 2, "--sync-bn", "--trace",
                                   self.path("t.json"))
        self.assertAlmostEqual(alone, synced, delta=1e-9)
        apart = loss_after_a_step(*THREADS, "--devices", 2)
        self.assertGreater(abs(alone - apart), 1e-3)
        run("trace", "check", self.path("t.json"))
        with open(self.path("t.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        shared = [event["name"] for event in events if event.get("cat") == "collective"
                  and event["args"].get("why") == "sync_batch_norm"]
        # 20 layers, 2 steps, 2 ranks
        self.assertEqual(sorted(shared), ["all_gather"] * 80 + ["all_reduce"] * 80)

    def test_sync_bn_needs_ranks_and_a_batch_norm(self):
        _, err = run(*SMALL, "--sync-bn", "--mode", "dp", code=2)
        self.assertIn("--sync-bn shares statistics between ranks", err)
        _, err = run(*SMALL, "-a", "vgg16", "--sync-bn", *THREADS, "--devices", 2,
                     "--device-type", "null", code=1)
        self.assertIn("no batch norm", err)

    def test_flags_that_nobody_would_read(self):
        for flag in (["--ddp-sync", "naive"], ["--bucket-cap-mb", 1],
                     ["--find-unused-parameters"], ["--no-broadcast-buffers"]):
            _, err = run(*SMALL, *flag, "--mode", "dp", code=2)
            self.assertIn(f"{flag[0]} requires DistributedDataParallel", err)
        _, err = run(*TOY, *PROCESSES, "--mode", "dp", code=2)
        self.assertIn("--mode dp uses one process", err)
        _, err = run(*TOY, *THREADS, "--dist-backend", "gloo", code=2)
        self.assertIn("--dist-backend gloo requires processes", err)

    def test_a_trace_beside_a_summary(self):
        for how in THREADS, PROCESSES:
            run(*TOY64, *how, "--devices", 2, "--steps", 9, "--summary",
                self.path("s.json"), "--trace", self.path("t.json"))
            run("trace", "check", self.path("t.json"))

    def test_ctrl_c(self):
        out = self.path("t.json")
        ranks = Run([*TOY64, *PROCESSES, "--devices", 3, "--epochs", 9999, "-p", 1,
                     "--trace-steps", "0:100000", "--trace", out])
        self.addCleanup(ranks.kill)
        ranks.wait_for(STEP, 5)
        ranks.signal(signal.SIGINT)
        self.assertEqual(ranks.end(), 130)
        self.assertEqual(len(ranks.err), 1, ranks.err)
        self.assertRegex(ranks.err[0], r"^lockstep: interrupted after \d+ steps$")
        self.assertEqual(group_members(ranks.pid), [])
        self.assertEqual(os.listdir(self.folder), ["t.json"])
        run("trace", "check", out)


    def test_ctrl_c_at_one_rank_ends_the_others(self):
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = [Run([*TOY64, "--dist-url", url, "--world-size", 2, "--rank", rank,
                      "--epochs", 9999, "-p", 1]) for rank in (0, 1)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        ranks[0].wait_for(STEP, 3)
        ranks[0].signal(signal.SIGINT)
        self.assertEqual([rank.end() for rank in ranks], [130, 130])
        self.assertEqual(ranks[1].err,
                         ["lockstep: rank 1 is stopping because another rank was "
                           "interrupted"])


class Merging(TempTest):
    """`trace merge` on the files of ranks from different folders."""

    def rank_files(self):
        """The files of three ranks that each ran in a separate folder, as on three
        machines."""
        folders = [self.path(f"{len(os.listdir(self.folder))}-{rank}")
                   for rank in range(3)]
        for folder in folders:
            os.mkdir(folder)
        runs = together([*TOY, "--dist-url", "env://", "--steps", 2, "--trace",
                         "t.json"], folders, MASTER_ADDR="127.0.0.1",
                        MASTER_PORT=free_port())
        for rank in runs:
            self.addCleanup(rank.kill)
            self.assertEqual(rank.end(), 0, rank.err)
        self.assertEqual(runs[0].err, [
            "lockstep: t.rank1.json is not on this machine; fix: collect all "
            "ranks' files and run `trace merge FILE… -o t.json`"])
        return [f"{folder}/t.rank{rank}.json" for rank, folder in enumerate(folders)]

    def merge(self, *files, **how):
        return run("trace", "merge", *files, "-o", self.path("m.json"), **how)

    def test_by_hand(self):
        files = self.rank_files()
        text, _ = self.merge(*reversed(files))
        self.assertEqual(text, f"=> trace written: {self.path('m.json')} (3 ranks)\n")
        run("trace", "check", self.path("m.json"))

        os.remove(self.path("m.json"))
        _, error = self.merge(*files, files[1], code=1)
        self.assertIn("both belong to rank 1", error)
        self.assertFalse(os.path.exists(self.path("m.json")))


class Overlap(TempTest):
    """Gradients are reduced while backward runs, by the trace's dependencies."""

    def test_bucket_0_leaves_during_backward(self):
        for _ in range(int(os.environ.get("LOCKSTEP_OVERLAP_RUNS", 3))):
            out = self.path("t.json")
            run(*SMALL, *PROCESSES, "--devices", 2, "--steps", 3, "--trace-steps",
                "2:3", "--trace", out)
            run("trace", "check", out)
            events = [e for e in read_trace(out)["traceEvents"] if e["ph"] == "X"]
            for rank in 0, 1:
                self.judge(events, rank)

    def judge(self, events, rank):
        def of(cat, **wanted):
            found = [e for e in events if e["cat"] == cat
                     and all(e["args"].get(key) == wanted[key] for key in wanted)]
            return sorted(found, key=lambda e: e["ts"])

        reduction, = of("collective", rank=rank, bucket=0)
        first, *_ = of("copy", group=reduction["args"]["group"],
                       seq=reduction["args"]["seq"], dst=rank)
        backward = of("kernel", rank=rank, phase="backward")
        by_id = {e["args"]["id"]: e for e in events if "id" in e["args"]}

        def enqueued(event):
            return by_id[event["args"]["op"]]["ts"]

        # The host enqueues the reduction among backward's kernels, before most of them.
        after = [e for e in backward if enqueued(e) > enqueued(reduction)]
        self.assertGreater(len(after), len(backward) / 2)
        # The reduction runs on a separate stream.
        self.assertNotIn(reduction["args"]["stream"],
                         {e["args"]["stream"] for e in backward})
        # Backward's stream does not wait for it.
        queue = [e for e in of("kernel") if lane(e) == lane(after[0])]
        for task in queue[:queue.index(after[-1]) + 1]:
            self.assertNotIn(reduction["args"]["id"], ancestors(by_id, task), task)
        # Neither does the host. The time of the transfer depends on the peers and their
        # processors.
        for wait in of("sync", rank=rank):
            if wait["ts"] < enqueued(after[-1]):
                self.assertNotIn(reduction["args"]["id"], wait["args"]["for"], wait)
        # The reduction itself depends on the gradients in its bucket, which are
        # backward's.
        self.assertGreaterEqual(len(reduction["args"]["deps"]), 2)
        needed = ancestors(by_id, reduction) | ancestors(by_id, first)
        self.assertTrue([e for e in backward if e["args"]["id"] in needed])


def lane(event):
    return event["pid"], event["tid"]


def ancestors(by_id, event):
    """Ids of all events that this one depends on through `deps`, transitively."""
    found, ahead = set(), list(event["args"]["deps"])
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += by_id[one]["args"].get("deps", []) if one in by_id else []
    return found


class Seed(TempTest):
    """The original command line, with `lockstep train` for `python main.py`."""

    def test_one_node_of_two_devices_on_real_pictures(self):
        data = os.environ.get("LOCKSTEP_SHARED", ROOT + "/../shared") + "/data"
        if not os.path.isdir(data + "/cifar-10-batches-bin"):
            self.skipTest("LOCKSTEP_SHARED does not name the shared folder")
        text, error = run(
            "train", "-a", "resnet18", "--steps", 2, "--batch-size", 16, "--dist-url",
            f"tcp://127.0.0.1:{free_port()}", "--dist-backend", "nccl",
            "--multiprocessing-distributed", "--world-size", 1, "--rank", 0,
            data, "--devices", 2, "-p", 1)
        self.assertEqual(error, "")
        self.assertIn("=> starting 2 DistributedDataParallel processes, "
                      "rendezvous at tcp://", text)
        self.assertIn("nccl requires CUDA devices: using ring", text)
        self.assertEqual(text.count(STEP), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
