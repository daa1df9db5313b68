"""What the program says to impossible command lines, files and folders: one line, and
an exit code. Nothing that exists is harmed."""

import os
import re
import signal
import subprocess
import unittest

from support import (LOCKSTEP, NULL, RECORD, ROOT, TempTest, cifar_file, expect_schema,
                     read_trace, run)


class Faults(TempTest):
    def fails(self, wanted, *words, code=1):
        _, error = run(*words, code=code)
        lines = [line for line in error.splitlines() if line]
        self.assertEqual(len(lines), 1, error)
        for part in [wanted] if isinstance(wanted, str) else wanted:
            self.assertIn(part, error)

    def broken_set(self, name, content):
        folder = self.path("broken")
        os.makedirs(folder, exist_ok=True)
        for i in range(1, 6):
            cifar_file(f"{folder}/data_batch_{i}.bin", [0, 1, 2])
        cifar_file(f"{folder}/test_batch.bin", [0, 1])
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content)
        return folder

    def test_data(self):
        self.fails("no such folder", "train", self.path("nowhere"))
        truncated = self.broken_set("data_batch_2.bin", bytes(RECORD + 5))
        self.fails("data_batch_2.bin", "train", truncated)
        empty = self.broken_set("data_batch_2.bin", b"")
        self.fails("data_batch_2.bin", "train", empty)
        self.broken_set("data_batch_3.bin", bytes([10]) + bytes(RECORD - 1))
        os.rename(self.path("broken"), self.path("label"))
        cifar_file(self.path("label") + "/data_batch_2.bin", [1])
        self.fails(["data_batch_3.bin", "10"], "train", self.path("label"))

    def test_usage(self):
        for words in (["-b", 0], ["--devices", 0], ["-a", "resnet99"], ["--bogus"],
                      ["--lr", "fast"],
                      ["--trace-steps", "3:1", "--trace", "x.json"]):
            self.fails("lockstep: ", "train", *NULL, *words, code=2)
        self.fails("unknown command", "trane", code=2)
        self.fails("trace import --help", "trace", "import", code=2)

    def test_options_that_the_data_would_ignore(self):
        data = self.cifar()
        for flag in ("--classes", "--image-size", "--length"):
            self.fails([f"{flag} has no effect on CIFAR-10", "; fix: "], "train", data,
                       flag, 64, code=2)
        self.fails("--classes has no effect on random samples", "train", "-a", "toy",
                   "--classes", 5, code=2)

    def test_spellings_of_argparse(self):
        one = ["train", "--device-t", "null", "--datas=generated", "-a=resnet18",
               "--batch", 8, "--len", 16, "--ste", 1]
        self.fails("--ste may be --steps, --stem", *one, code=2)
        one[-2] = "--steps"
        text, _ = run(*one, "--no-accel")
        self.assertIn("=> mode single, 1 device (null:0), batch 8", text)
        text, _ = run("train", "--device-type", "null", "--dummy", "--steps", 0, "-b",
                      8, "-j", 1)
        self.assertIn("(1281167 training, 256233 test images, generated)", text)
        text, _ = run(*one, "--mode", "model-parallel", "--split", "layer2,layer4",
                      "--schedule", "1f1b", "--micro-batches", 4)
        self.assertIn("1f1b", text)
        run(*one, "--schedule=cosine")
        self.fails("--pipeline-schedule has no effect on --mode dp; fix: omit it", *one,
                   "--mode", "dp", "--schedule=gpipe", code=2)
        data = self.cifar()
        for flag in (["--data", data], [f"--data={data}"]):
            text, _ = run("train", *flag, "--device-type", "null", "--steps", 0)
            self.assertIn(f"=> data: {data}", text)
        self.fails("fix: use --mode model-parallel", *one, "--mode", "pipeline", code=2)
        self.fails("--no-accel", *one, "--no-accel", "--device-type", "cuda", code=2)
        self.fails("2^64", *one, "--seed", 2 ** 64, code=2)
        run(*one, "--seed", 2 ** 64 - 1)

    def test_names_cannot_reach_the_terminal(self):
        _, error = run("train", self.path("\x1b[31mred"), code=1)
        self.assertIn("\\x1b[31mred: no such folder", error)
        self.assertNotIn("\x1b", error)

    def test_a_long_message_is_shortened(self):
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": [{"name": "' + "x" * 20000)
        _, error = run("trace", "check", self.path("t.json"), code=1)
        self.assertLess(len(error), 2200)
        self.assertIn("t.json", error)

    def test_nothing_is_left_out_in_silence(self):
        one = ["train", *NULL, "-b", 8, "--length", 16, "--steps", 1]
        for wanted, words in (
                ("on one device", ["--mode", "single", "--devices", 2]),
                ("--trace FILE", ["--trace-steps", "0:1"]),
                ("only steps 0 to 0", ["--trace-steps", "1:2", "--trace", "x"]),
                ("0 steps", ["--steps", 0, "--trace", "x"]),
                ("--lr", ["--lr", "nan"]), ("--lr", ["--lr", -1]),
                ("--momentum", ["--momentum", -1]),
                ("cannot use the folder", [self.folder])):
            self.fails(wanted, *one, *words, code=2)
        self.fails("cannot use the folder", "train", "-a", "toy", self.folder, code=2)
        self.fails("multicast", *one, "--world-size", 2, "--rank", 0)
        self.fails("which of them is this?", *one, "--world-size", 2, code=2)
        self.fails("toy", "demo", "-a", "toy", code=2)

    def test_files_of_another_kind_and_typing_errors(self):
        readme = os.path.join(ROOT, "README.md")
        self.fails("is not a trace (JSON expected)", "trace", "summary", readme)
        self.fails("is a folder", "trace", "check", self.folder)
        self.fails("is a file, not a folder", "train", readme)
        for folder in self.folder, "imagenet":
            self.fails(["unlike main.py's, it takes a file of weights",
                        f"--pretrained {folder}: "], "train", "--pretrained", folder,
                       code=2)
        self.fails(["contains no train/ (image folders: ", "no CIFAR-10"], "train",
                   self.folder)
        os.makedirs(self.path("val/cat"))
        self.fails("contains no folder beside val/ named train/", "train", self.folder)
        self.fails(["'trace sumary'", "summary, check, diff"], "trace", "sumary",
                   code=2)
        self.fails("trace needs a command", "trace", code=2)
        self.fails("'data mak'", "data", "mak", code=2)

    def test_unwritable(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        one = ["train", *NULL, "--steps", 1, "-b", 8, "--length", 16]
        for flag in ("--trace", "--summary", "--save"):
            self.fails("/dev/full", *one, flag, "/dev/full")
            self.fails("folder", *one, flag, self.path("none") + "/x.json")
        self.assertFalse(os.path.isfile("/dev/full"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_outputs_are_checked_before_the_first_step(self):
        one = ["train", *NULL, "--steps", 1, "-b", 8, "--length", 16]
        old, folder = self.path("old.json"), self.path("folder")
        os.makedirs(folder + "/model_best.safetensors")
        with open(old, "w", encoding="utf-8") as file:
            file.write("kept")
        for wanted, *words in (
                ("cannot be written (Is a directory)", "--save", folder),
                ("cannot be written (Is a directory)", "--summary", folder),
                ("cannot be written (Is a directory)", "--checkpoint", folder),
                ("cannot be created", "--checkpoint", old + "/c"),
                ("no such folder", "--save", self.path("none/w")),
                ("--trace and --summary would both write", "--trace", old,
                 "--summary", old),
                ("--summary and --save would both write", "--summary",
                 self.path("new"), "--save", folder + "/../new"),
                ("--save and --checkpoint would both write", "--checkpoint",
                 self.path("c"), "--save", self.path("c.link"))):
            if words[-1].endswith("c.link"):
                os.makedirs(self.path("c"))
                with open(self.path("c/checkpoint.safetensors"), "wb"):
                    os.link(self.path("c/checkpoint.safetensors"), words[-1])
            text, error = run(*one, "--summary", old, *words, code=1)
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertIn(wanted, error)
            self.assertIn("; fix: ", error)
            self.assertEqual(text, "")  # not even the data was opened
        with open(old, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["c", "c.link", "folder", "old.json"])

    def test_what_a_run_reads_is_never_replaced(self):
        data, weights = self.cifar(), self.path("w.safetensors")
        one = ["train", data, "--gpu", 0, "-b", 8, "--device-type", "null"]
        run(*one, "--steps", 1, "--save", weights, "--trace", self.path("t.json"))
        batch = os.path.join(data, "cifar-10-batches-bin", "test_batch.bin")
        link = self.path("link")
        os.symlink(batch, link)
        with open(batch, "rb") as file:
            before = file.read()
        for flag in ("--trace", "--summary", "--save"):
            for path in (batch, link):
                self.fails([f"{flag} {path}", "is read by this run"], *one, flag, path)
            self.fails("is read by this run", *one, "--pretrained", weights, flag,
                       weights)
        with open(batch, "rb") as file:
            self.assertEqual(file.read(), before)
        trace = self.path("t.json")
        for words in (["emulate", trace, "-o", trace],
                      ["trace", "merge", trace, "-o", trace],
                      ["trace", "import", trace, "-o", trace]):
            self.fails("is also the output file", *words)
        run("trace", "check", trace)

    def test_size_mismatch_of_old_torchvision(self):
        """The calls that led to the error, and a trace that ends and opens there."""
        trace, legacy = self.path("t.json"), ["train", *NULL, "-a", "vgg16_legacy"]
        _, error = run(*legacy, "--mode", "dp", "-b", 1600, "--trace", trace, code=1)
        *calls, last = error.splitlines()
        self.assertRegex(last, r"^lockstep: Caught RuntimeError in replica 0 on device "
                         r"0: mat1 and mat2 shapes cannot be multiplied \(400x512 and "
                         r"25088x4096\).* size mismatch, m1: \[400 x 512\], m2: "
                         r"\[25088 x 4096\].*classifier\.0.*224 to 255 pixels.*; fix: ")
        self.assertEqual(calls[-2:], [
            '  File "engine/nn/layers.cpp", line ' + re.findall(r"\d+", calls[-2])[0] +
            ", in Linear.forward (classifier.0)",
            "    return ops::linear(input, weight_, bias_);"])
        where = calls.index("  In the thread of replica 0 (null:0), started by "
                            "parallel_apply:")
        self.assertIn("Traceback (most recent call last):", calls[:where])
        self.assertIn("    return (*classifier_)(x);", calls[where:])
        self.assertIn("    output = forward(given);", calls[where:])
        self.assertIn("every law holds", run("trace", "check", trace)[0])
        self.assertIn("the run failed: Caught", run("trace", "summary", trace)[0])
        expect_schema([read_trace(trace)])
        shown, _ = run("view", trace, "--screenshot", self.path("t.png"))
        self.assertIn(" aten::linear", shown)

    def test_a_failing_rank_is_named(self):
        _, error = run("train", *NULL, "-a", "vgg16_legacy", "--mode", "ddp",
                       "--devices", 2, "-b", 8, "--length", 8, "--steps", 1, code=1)
        *calls, last = error.splitlines()
        self.assertRegex(last, r"^lockstep: rank [01]: mat1 and mat2 shapes")
        self.assertEqual(calls[1], f"  In the thread of {last[10:16]}:")

    def test_not_built_yet_is_said(self):
        if re.search(r"^ok\b.*\bCUDA\b", run("doctor")[0], re.M):
            self.skipTest("this machine has a GPU: --device-type cuda works")
        _, error = run("train", "--device-type", "cuda", "--dataset", "generated",
                       code=1)
        self.assertRegex(error, "not built yet|no CUDA")

    def test_interrupt_leaves_a_valid_trace(self):
        out = self.path("t.json")
        self.interrupted(["train", *NULL, "-b", "8", "--length", "100000", "-p", "1",
                          "--trace-steps", "0:1000000", "--trace", out], "Epoch: [0][")
        run("trace", "check", out)

    def test_a_batch_systems_end_does_too(self):
        out = self.path("t.json")
        self.interrupted(["train", *NULL, "-b", "8", "--length", "100000", "-p", "1",
                          "--trace-steps", "0:1000000", "--trace", out], "Epoch: [0][",
                         signal.SIGTERM)
        run("trace", "check", out)

    def test_interrupt_before_the_first_recorded_step(self):
        out = self.path("t.json")
        error = self.interrupted(
            ["train", *NULL, "-b", "8", "--length", "100000", "-p", "1",
             "--trace-steps", "9000:9001", "--trace", out], "Epoch: [0][")
        self.assertIn("no trace written", error)
        self.assertFalse(os.path.exists(out))

    def test_interrupted_demo(self):
        self.interrupted(["demo", "--data", self.cifar(), "--out", self.path("out"),
                          "-b", "16", "--steps", "200"], "resnet18 on ")

    def interrupted(self, words, after, number=signal.SIGINT):
        """Sends Ctrl-C, or another signal, after the line that begins so; returns what
        went to stderr."""
        process = subprocess.Popen([LOCKSTEP, *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if line.startswith(after):
                break
        process.send_signal(number)
        text, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + number)
        by = "by SIGTERM " if number == signal.SIGTERM else ""
        self.assertIn(f"lockstep: interrupted {by}", error)
        self.assertNotIn("one step", text)  # the demo's table
        return error


if __name__ == "__main__":
    unittest.main()
