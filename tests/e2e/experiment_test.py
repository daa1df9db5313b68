"""The original project's studies at a small size: runs, logs, tables, pictures,
errors."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from support import LOCKSTEP, TempTest, run

NO_SUMS = ["--device-type", "null"]  # for tests that do not depend on computed values
TABLE = ["experiment", "imagenet-table", "-a", "resnet20", "--divide-batches", 64,
         "--length", 32, "--devices", 2]
NAMES = ["resnet_s_4", "resnet_s_2", "resnet_p_4", "resnet_p_16", "resnet_d_4",
         "resnet_d_16"]
BATCHES = ["experiment", "batch-size", "--batches", "5,10", "--epochs", 2,
           "--warmup-epochs", 1, "--length", 20, *NO_SUMS]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Experiments(TempTest):  # gate
    def test_imagenet_table_on_emulated_devices(self):
        out = self.path("t")
        run("experiment", "imagenet-table", "--device-type", "emulated", "--out", out,
            "--divide-batches", 4, "--steps", 3)
        table = json.loads(read(out, "table.json"))
        single, of_128, parallel, large, _, _ = table["runs"]
        # Published: ResNet50 on a V100, batches of 64 and 32 (v100-pcie.json).
        self.assertGreater(single["seconds_per_iteration"], 0.15)
        self.assertGreater(of_128["seconds_per_iteration"], 0.07)
        self.assertEqual({one["acc1"] for one in table["runs"]}, {None})
        self.assertIn("--hardware v100-pcie", parallel["command"])
        self.assertIn("no device computes: each takes the published times of v100-pcie",
                      " ".join(table["notes"]))
        self.assertEqual(large["batch"], 256)

    def test_imagenet_table(self):
        out = self.path("t")
        text, _ = run(*TABLE, "--out", out)
        table = json.loads(read(out, "table.json"))
        self.assertEqual([r["log"] for r in table["runs"]], [n + ".log" for n in NAMES])
        single, parallel = table["runs"][0], table["runs"][2]
        for one in table["runs"]:
            self.assertEqual(one["iterations"], 32 // one["batch"])
            self.assertAlmostEqual(one["images_per_second"],
                                   one["batch"] / one["seconds_per_iteration"])
            self.assertAlmostEqual(one["speedup"], one["images_per_second"]
                                   / single["images_per_second"])
            self.assertGreater(one["emulated_speedup"], 0)
            # The log is train's output, preceded by the command that reproduces it.
            log = read(out, one["log"])
            self.assertTrue(log.startswith(f"$ {one['command']}\n"))
            self.assertIn(f" * Acc@1 {one['acc1']:.3f} Acc@5 {one['acc5']:.3f}\n", log)
            self.assertIn(f"$ {one['command']}\n", text)
        self.assertAlmostEqual(parallel["seed_speedup"], 0.742 / 0.378)
        self.assertIn("--multiprocessing-distributed", table["runs"][5]["command"])
        self.assertIn("using ring", read(out, "resnet_d_16.log"))
        for row in ("| resnet_p_4 | DataParallel, 2 | 4 |", "1.963x", "generated"):
            self.assertIn(row, read(out, "table.md"))
        self.expect_pictures(out)

        # Finished runs are not repeated; only the missing one is run.
        os.remove(os.path.join(out, "resnet_p_16.log"))
        kept = os.path.join(out, "resnet_s_4.log")
        before = os.stat(kept).st_mtime_ns
        text, _ = run(*TABLE, "--out", out)
        self.assertEqual(text.count("already finished"), 5)
        self.assertEqual(text.count("$ lockstep train"), 1)
        self.assertEqual(before, os.stat(kept).st_mtime_ns)
        # Runs with other settings are not mixed with these.
        _, error = run(*TABLE, "--out", out, "--epochs", 2, code=1)
        self.assertIn("resnet_s_4.log: written by another command", error)
        self.assertIn("--again", error)

    def expect_pictures(self, out):
        if shutil.which("gnuplot") is None:
            self.skipTest("gnuplot is missing; fix: apt-get install gnuplot-nox")
        self.assertIn("<svg", read(out, "plot.svg"))
        with open(os.path.join(out, "plot.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_logs_from_elsewhere_and_no_gnuplot(self):
        out = self.path("t")
        os.makedirs(out)
        line = ("Epoch: [0][{}/5005]\tTime {:.3f} ({:.3f})\tData 0.1 (0.1)\tLoss 7.0 "
                "(7.0)\tAcc@1 0.0 (0.0)\tAcc@5 0.0 (0.0)\n")
        for name, seconds in zip(NAMES, (0.742, 0.4, 0.378, 1.5, 0.3, 1.2)):
            with open(os.path.join(out, name + ".log"), "w", encoding="utf-8") as log:
                log.write(line.format(0, seconds, seconds))
                log.write(line.format(5000, seconds, seconds))
                log.write(" * Acc@1 20.000 Acc@5 40.000\n")
        with open(os.path.join(out, "plot.svg"), "w", encoding="utf-8") as old:
            old.write("older")
        text, error = run(*TABLE, "--out", out, "--json", PATH="/nonexistent")
        self.assertEqual(len(error.splitlines()), 2, error)
        self.assertIn("gnuplot is missing; fix: apt-get install gnuplot-nox", error)
        table = json.loads(read(out, "table.json"))
        self.assertIn(json.dumps(table["runs"][2]["speedup"])[:6], text)
        self.assertAlmostEqual(table["runs"][2]["speedup"], 0.742 / 0.378)
        self.assertAlmostEqual(table["runs"][3]["speedup"], 4 * 0.742 / 1.5)
        self.assertEqual(table["runs"][0]["acc1"], 20)
        self.assertEqual(read(out, "plot.svg"), "older")

    def test_scaling(self):
        out = self.path("s")
        words = ["experiment", "scaling", "--devices", "1,2", "-b", 2, "--steps", 2,
                 "--image-size", 16, "--out", out]
        text, _ = run(*words)
        runs = json.loads(read(out, "table.json"))["runs"]
        self.assertEqual([(r["log"], r["clock"], r["devices"], r["batch"])
                          for r in runs],
                         [(name + ".log", clock, devices, 2 * devices)
                          for name, devices in (("resnet_s_2", 1), ("resnet_p_4", 2),
                                                ("resnet_d_4", 2))
                          for clock in ("measured", "emulated")])
        for one in runs:
            self.assertEqual(one["steps"], 2)
            parts = one["parts"]
            inner = [name for name in parts if name.startswith("forward: ")]
            self.assertAlmostEqual(sum(parts[name] for name in inner),
                                   parts["forward"], delta=1e-9)
            self.assertAlmostEqual(sum(parts[name] for name in parts
                                       if name not in inner), one["seconds"],
                                   delta=1e-9)
            self.assertEqual(one["speedup"] is None, one["devices"] == 1)
        # Of two devices, DataParallel reduces gradients, and so does DDP.
        for one in runs:
            if one["clock"] == "emulated" and one["devices"] == 2:
                self.assertGreater(one["parts"]["reduce, all_reduce"], 0)
        self.assertIn("DP, 4 on 2: 4 images on 2 devices take", text)
        self.expect_pictures(out)
        # The emulated clock is recomputed from the traces, without new runs.
        text, _ = run(*words, "--compute-scale", 2, "--json")
        self.assertEqual(text.count("already finished"), 3)
        os.remove(os.path.join(out, "resnet_p_4.trace.json.gz"))
        _, error = run(*words, code=1)
        self.assertIn("resnet_p_4.trace.json.gz: missing; fix: --again", error)
        for wrong in ("2,4", "1", "1,1"):
            _, error = run("experiment", "scaling", "--devices", wrong, "--out", out,
                           code=2)
            self.assertIn("in ascending order, beginning with 1", error)

    def test_logs(self):
        log = self.path("ours.log")
        text, _ = run("train", *NO_SUMS, "--dataset", "generated", "--length", 12, "-b",
                      4, "--epochs", 1, "-p", 1, "--devices", 2)
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
        table, _ = run("log", log, log, "-b", "4,8")
        rows = table.splitlines()
        self.assertIn("mode dp, 2 devices", rows[1])
        self.assertIn("2.000x", rows[2])  # twice the batch in the same time
        read_as = json.loads(run("log", log, "--json")[0])["logs"][0]
        self.assertEqual((read_as["iterations"], read_as["batch"]), (3, None))
        self.assertIn(f" * Acc@1 {read_as['acc1']:.3f}", text)
        self.assertIn("unknown", run("log", log)[0])
        with open(self.path("noise"), "wb") as file:
            file.write(bytes(range(256)) * 40)
        for words, code, wanted in ((["/nowhere"], 1, "/nowhere: cannot be read"),
                                    ([log, self.folder], 1, "cannot be read"),
                                    ([self.path("noise")], 1, "no progress lines"),
                                    ([log, "-b", "1,2"], 2, "2 batch sizes for 1 log"),
                                    ([], 2, "FILE")):
            _, error = run("log", *words, code=code)
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertIn(wanted, error)

    def test_an_interrupted_run_is_repeated(self):
        out = self.path("t")
        words = [LOCKSTEP, *map(str, TABLE + NO_SUMS), "--out", out,
                 "--epochs", "100000"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stdout:
                if line.startswith("$ "):
                    break
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertIn("resnet_s_4 was interrupted", error)
        self.assertEqual([n for n in os.listdir(out) if ".log" in n], [])

    def test_batch_size(self):
        out = self.path("b")
        run(*BATCHES, "--out", out, "--data", self.cifar(20))
        table = json.loads(read(out, "table.json"))
        self.assertEqual([(r["batch"], r["learning_rate"]) for r in table["runs"]],
                         [(5, "constant"), (10, "constant"), (10, "scaled"),
                          (10, "warmed")])
        first = table["runs"][0]
        for one in table["runs"]:
            self.assertEqual(one["iterations"], 2 * 20 // one["batch"])
            self.assertEqual(len(one["epochs"]), 2)
            last = one["epochs"][-1]
            self.assertAlmostEqual(one["gap"], last["train_acc1"] - last["test_acc1"])
            self.assertAlmostEqual(one["behind_smallest_batch"],
                                   first["test_acc1"] - one["test_acc1"])
        # The recipes differ only in the rate; the scaled one is computed by train.
        self.assertIn("--scale-lr", table["runs"][2]["command"])
        self.assertAlmostEqual(table["runs"][2]["lr"], 2 * table["runs"][1]["lr"])
        self.expect_pictures(out)

    def test_bad_input(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for words, code, wanted in (
                ([*TABLE, "--out", self.path("file") + "/x"], 1, "--out"),
                ([*TABLE, "--out", self.path("file")], 1, "--out"),
                ([*TABLE, "--data", self.path("none")], 1, "no such folder"),
                (["experiment", "imagenet-table", "-a", "resnet99"], 2, "resnet99"),
                (["experiment", "imagenet-table", "-a", "toy"], 2, "toy"),
                (["experiment", "nothing"], 2, "imagenet-table, batch-size, scaling"),
                (["experiment", "imagenet-table", "--length", 32], 2, "--epochs 3"),
                ([*TABLE, "--divide-batches", 0], 2, "--divide-batches"),
                ([*TABLE, "--divide-batches", 128], 2, "resnet_s_1 would leave"),
                ([*BATCHES, "--batches", "64,32"], 2, "ascending order"),
                ([*BATCHES, "--warmup-epochs", 2], 2, "must be less than"),
                ([*BATCHES, "--data", self.folder], 1, "not contain CIFAR-10")):
            if "--out" not in words and code == 1 or words[-1] in (32, "64,32", 2):
                words = [*words, "--out", self.path("out")]
            _, error = run(*words, code=code, cwd=self.folder)
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertIn(wanted, error)

    def test_a_run_that_fails_is_named(self):
        _, error = run(*TABLE, *NO_SUMS, "--out", self.path("t"), "--", "--momentum",
                       "-1", code=2)
        self.assertIn("--momentum must be", error)
        self.assertIn("resnet_s_4 exited with code 2", error)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
