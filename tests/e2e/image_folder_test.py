"""Training on photographs in folders, from the command line."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from ranks import free_port
from support import LOCKSTEP, ROOT, TempTest, read_trace, run

PICTURES = os.path.join(ROOT, "tests", "engine", "data", "pictures")
KINDS = ["420.jpeg", "progressive.jpeg", "grey.jpeg", "cmyk.jpeg", "png.JPEG"]
SMALL = ["-a", "resnet20", "--image-size", 32, "--classes", 5, "--lr", 0.01, "-j", 2]
LINE = (r"Epoch: \[0\]\[0/\d+\]\tTime +[\d.]+ \( *[\d.]+\)\tData +[\d.]+ \( *[\d.]+\)"
        r"\tLoss \d\.\d{4}e[+-]\d\d \(\d\.\d{4}e[+-]\d\d\)"
        r"\tAcc@1 +[\d.]+ \( *[\d.]+\)\tAcc@5 +[\d.]+ \( *[\d.]+\)\n")


class ImageFolders(TempTest):  # gate first
    def folders(self, copies=4):
        """Creates train/ and val/ with a class for each kind of file."""
        for part in ("train", "val"):
            for label, kind in enumerate(KINDS):
                folder = os.path.join(self.folder, "set", part, f"n{label:08}")
                os.makedirs(folder)
                for i in range(copies):
                    shutil.copy(os.path.join(PICTURES, kind),
                                os.path.join(folder, f"{i}.JPEG"))
        return self.path("set")

    def summary(self, *words):
        run("train", *words, "--summary", self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_single_dp_and_ddp_train_and_evaluate(self):
        data = self.folders()
        modes = (["--gpu", 0], ["--devices", 4], ["--mode", "ddp", "--devices", 2],
                 ["--multiprocessing-distributed", "--devices", 2, "--world-size", 1,
                  "--rank", 0, "--dist-backend", "nccl", "--dist-url",
                  f"tcp://127.0.0.1:{free_port()}"])
        for mode in modes:
            trace = self.path("t.json")
            text, _ = run("train", data, *SMALL, *mode, "-b", 8, "--epochs", 1,
                          "--trace", trace)
            self.assertIn("(20 training, 20 test images of 5 classes; the model has "
                          "5 outputs)", text)
            self.assertRegex(text, LINE)
            self.assertRegex(text, r" \* Acc@1 \d+\.\d{3} Acc@5 \d+\.\d{3}\n")
            run("trace", "check", trace)
            run("emulate", trace, "-o", self.path("e.json"))

    def test_images_that_devices_normalise(self):
        """The losses have the same bits, and images are copied as bytes."""
        data = self.folders()
        shutil.copy(os.path.join(PICTURES, "truncated.jpeg"),
                    os.path.join(data, "train", "n00000000", "0.JPEG"))
        for sent, *mode in (
                ("h2d", "--gpu", 0), ("scatter", "--mode", "dp", "--devices", 2),
                ("scatter", "--mode", "dp-criterion", "--devices", 2),
                ("scatter", "--mode", "dp-criterion", "--devices", 2,
                 "--loss-in-forward"),
                ("scatter", "--mode", "dp-features", "--devices", 2, "-a", "alexnet",
                 "--image-size", 64, "--steps", 1),
                ("h2d", "--mode", "ddp", "--devices", 2),
                ("h2d", "--mode", "local-sgd", "--devices", 2),
                ("h2d", "--mode", "ps", "--devices", 2),
                ("h2d", "--mode", "locked", "--devices", 1)):
            trace = self.path("t.json")
            words = [data, *SMALL, "-b", 10, "--lr", 0.001, "--seed", 1, "--epochs", 1,
                     "--on-bad-image", "skip", *mode]
            plain = self.summary(*words)
            as_bytes = self.summary(*words, "--normalize-on-device", "--trace", trace,
                                    "--trace-steps", "0:4")
            self.assertEqual([step["loss"] for step in plain["steps"]],
                             [step["loss"] for step in as_bytes["steps"]], mode)
            run("trace", "check", trace)
            copies = [e["args"] for e in read_trace(trace)["traceEvents"]
                      if e.get("cat") == "copy" and e["name"] == sent]
            images = [copy["bytes"] for copy in copies if copy["dtype"] == "uint8"]
            self.assertEqual(sum(images) % (3 * 32 * 32), 0)
            self.assertGreaterEqual(sum(images), 9 * 3 * 32 * 32, mode)
            self.assertEqual({copy["dtype"] for copy in copies
                              if copy["tensor"] in ("images", "input")}, {"uint8"})

    def test_devices_that_normalise_need_images(self):
        for words, error in (
                (["-a", "toy", "--dataset", "random"],
                 "--normalize-on-device has no effect on random samples"),
                (["-a", "resnet18", "--dataset", "generated", "--mode",
                  "model-parallel", "--devices", 2],
                 "--normalize-on-device has no effect on --mode model-parallel")):
            self.assertIn(error, run("train", *words, "--normalize-on-device",
                                     code=2)[1])

    def test_workers_have_lanes(self):
        data = self.folders()
        trace = self.path("t.json")
        run("train", data, *SMALL, "--gpu", 0, "-b", 1, "--steps", 12, "--trace", trace,
            "--trace-steps", "0:12")
        events = read_trace(trace)["traceEvents"]
        lanes = {e["args"]["name"]: (e["pid"], e["tid"]) for e in events
                 if e["name"] == "thread_name"}
        made, waits = set(), 0
        for event in events:
            if event["name"] == "_MapDatasetFetcher.fetch":
                batch = event["args"]["batch"]
                lane = lanes[f"loader worker {batch % 2}"]
                self.assertEqual((event["pid"], event["tid"]), lane)
                self.assertEqual(event["args"]["samples"], 1)
                made.add(batch)
                # Batch 4 begins after batch 0 has been taken.
                self.assertEqual("after" in event["args"], batch >= 4)
            elif event["name"] == "wait for batch":
                waits += 1
        # Two workers prefetch four batches: the first four may precede the trace, the
        # others cannot.
        self.assertLessEqual(set(range(4, 12)), made)
        self.assertEqual(waits, len(made & set(range(12))))  # others precede the trace

    def test_any_number_of_workers_trains_on_the_same_bytes(self):
        data = self.folders()
        losses = [[step["loss"] for step in self.summary(
            data, *SMALL, "-j", j, "--gpu", 0, "-b", 8, "--epochs", 1)["steps"]]
            for j in (0, 1, 3)]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[0], losses[2])

    def test_bad_images_are_errors_or_skipped_and_counted(self):
        data = self.folders()
        bad = os.path.join(data, "train", "n00000002", "1.JPEG")
        shutil.copy(os.path.join(PICTURES, "truncated.jpeg"), bad)
        words = [data, *SMALL, "--gpu", 0, "-b", 8, "--steps", 3]
        _, error = run("train", *words, code=1)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"{bad}: the file is truncated; fix: replace it, or use "
                      "--on-bad-image skip", error)
        _, error = run("train", *words, "-j", 0, code=1)
        self.assertIn("or use --on-bad-image skip", error)

        words += ["--on-bad-image", "skip", "--summary", self.path("s.json")]
        _, error = run("train", *words)
        self.assertEqual(error, f"lockstep: skipped {bad}: the file is truncated\n"
                                "lockstep: skipped bad images 1 times\n")
        with open(self.path("s.json"), encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["skipped_images"], 1)
        self.assertEqual(sum(step["batch"] for step in summary["steps"]), 19)

    def test_ranks_that_are_processes_count_together(self):
        data = self.folders()
        for label in (1, 2):  # for two ranks without shuffling: one file for each rank
            shutil.copy(os.path.join(PICTURES, "truncated.jpeg"), os.path.join(
                data, "train", f"n{label:08}", f"{label % 2}.JPEG"))
        _, error = run("train", data, *SMALL, "--multiprocessing-distributed",
                       "--devices", 2, "--world-size", 1, "--rank", 0, "--dist-url",
                       f"tcp://127.0.0.1:{free_port()}", "-b", 8, "--no-shuffle",
                       "--epochs", 1, "--on-bad-image", "skip")
        self.assertEqual(error.count(f"lockstep: skipped {data}"), 2, error)
        self.assertIn("lockstep: skipped bad images 2 times\n", error)

    def with_bad(self, *names):
        """Folders in which these pictures are damaged."""
        data = self.folders()
        for name in names:
            shutil.copy(os.path.join(PICTURES, "truncated.jpeg"),
                        os.path.join(data, name))
        return data

    def test_a_batch_of_bad_images_alone_is_skipped(self):
        # In file order: batches 4 and 19 of the training, 3 of the test.
        data = self.with_bad("train/n00000001/0.JPEG", "train/n00000004/3.JPEG",
                             "val/n00000000/3.JPEG")
        words = [data, *SMALL, "--gpu", 0, "-b", 1, "--epochs", 1, "--no-shuffle"]
        run("train", *words, code=1)
        trace = self.path("t.json")
        out, error = run("train", *words, "--on-bad-image", "skip", "--summary",
                         self.path("s.json"), "--trace", trace, "--trace-steps", "3:24",
                         "-p", 1)
        self.assertIn("lockstep: Epoch: [0][4/20] skipped: none of its samples could "
                      "be loaded\n", error)
        self.assertIn("lockstep: Epoch: [0][19/20] skipped: ", error)
        self.assertIn("lockstep: Test: [3/20] skipped: ", error)
        self.assertIn("skipped bad images 3 times", error)
        self.assertIn(" * Acc@1 ", out)
        with open(self.path("s.json"), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        self.assertEqual([step["step"] for step in steps],
                         [i for i in range(40) if i not in (4, 19, 23)])
        run("trace", "check", trace)
        run("emulate", trace)

    def test_accumulation_goes_on_over_a_skipped_batch(self):
        """What is trained is what would be without the pictures."""
        words = [*SMALL, "--gpu", 0, "-b", 1, "--epochs", 1, "--no-shuffle",
                 "--accumulate", 2, "--no-augment", "--deterministic",
                 "--on-bad-image", "skip"]
        bad = "train/n00000001/0.JPEG"
        data = self.with_bad(bad)
        losses = []
        for _ in range(2):
            summary = self.summary(data, *words)
            losses.append([step["loss"] for step in summary["steps"]
                           if step["kind"] == "train"])
            if not losses[1:]:
                os.remove(os.path.join(data, bad))
        self.assertEqual(len(losses[0]), 19)
        self.assertEqual(losses[0], losses[1])

    def test_ranks_skip_a_batch_together(self):
        # Without shuffling rank 1 of 2 gets every other picture: 5, 7, …
        data = self.with_bad("train/n00000001/1.JPEG", "val/n00000000/1.JPEG")
        words = [data, *SMALL, "-b", 2, "--epochs", 1, "--no-shuffle",
                 "--on-bad-image", "skip", "--trace-steps", "0:14", "--summary",
                 self.path("s.json")]
        for mode in (["--mode", "ddp", "--devices", 2],
                     ["--multiprocessing-distributed", "--devices", 2, "--world-size",
                      1, "--rank", 0, "--dist-url",
                      f"tcp://127.0.0.1:{free_port()}"]):
            trace = self.path("t.json")
            out, error = run("train", *words, *mode, "--trace", trace)
            self.assertIn("Epoch: [0][2/10] skipped: none of a rank's samples",
                          error)
            self.assertEqual(error.count("] skipped: "), 2, error)
            self.assertIn(" * Acc@1 ", out)
            with open(self.path("s.json"), encoding="utf-8") as file:
                steps = json.load(file)["steps"]
            self.assertEqual([step["step"] for step in steps],
                             [i for i in range(20) if i not in (2, 10)])
            run("trace", "check", trace)

    def test_nothing_but_bad_images_is_an_error(self):
        data = self.with_bad(*(f"train/n{label:08}/{i}.JPEG" for label in range(5)
                               for i in range(4)))
        _, error = run("train", data, *SMALL, "--gpu", 0, "-b", 8, "--epochs", 1,
                       "--on-bad-image", "skip", code=1)
        self.assertIn("no sample could be loaded; fix: ", error)

    def test_a_pipe_is_no_picture(self):  # nobody waits for a writer that never comes
        data = self.folders()
        pipe = os.path.join(data, "train", "n00000003", "0.JPEG")
        os.remove(pipe)
        os.mkfifo(pipe)
        _, error = run("train", data, *SMALL, "--gpu", 0, "-b", 8, "--epochs", 1,
                       code=1)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"{pipe}: is not a regular file", error)

    def test_a_loader_that_takes_too_long(self):
        data = self.folders()
        # Devices that compute nothing are always faster than the loader.
        words = ["train", data, *SMALL, "--device-type", "null", "--gpu", 0, "-b", 20,
                 "--epochs", 20]
        _, error = run(*words, "--loader-timeout", 0.0001, code=1)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertRegex(error, r"DataLoader timed out after 0\.0001 seconds: worker "
                         r"[01] has not produced batch \d+")
        run(*words, "--loader-timeout", 60)
        _, error = run(*words, "-j", 0, "--loader-timeout", 1, code=2)
        self.assertIn("-j 0 has none", error)

    def test_what_is_missing_is_named(self):
        data = self.folders()
        _, error = run("train", data, "--classes", 3, code=1)
        self.assertIn("5 class folders, but the model has 3 outputs", error)
        os.makedirs(os.path.join(data, "val", "unknown"))
        _, error = run("train", data, code=1)
        self.assertIn("val/unknown: no images", error)
        shutil.rmtree(os.path.join(data, "val"))
        _, error = run("train", data, code=1)
        self.assertIn("val: no such folder; expected", error)
        run("train", "--dataset", "imagefolder", code=2)

    def test_files_that_only_torchvision_reads_are_counted(self):
        data = self.folders(2)
        for part, name in (("train", "a.bmp"), ("train", "b.webp"), ("val", "c.bmp")):
            with open(os.path.join(data, part, "n00000000", name), "wb"):
                pass
        text, _ = run("train", data, *SMALL, "--gpu", 0, "--steps", 0)
        self.assertIn("=> left out: 3 files (2 .bmp, 1 .webp): only .jpeg, .jpg and "
                      ".png are read; fix: convert them\n", text)
        _, error = run("train", data, *SMALL, "--length", 5, code=2)
        self.assertIn("--length has no effect on image folders", error)

    def test_a_picture_is_never_replaced(self):
        data = self.folders(1)
        picture = os.path.join(data, "val", "n00000002", "0.JPEG")
        _, error = run("train", data, *SMALL, "--summary", picture, code=1)
        self.assertIn("is in the data set and would be overwritten", error)

    def test_ctrl_c_ends_it_with_workers_at_work(self):
        data = self.folders()
        with subprocess.Popen(
                [LOCKSTEP, "train", data, *map(str, SMALL), "--gpu", "0", "-b", "4",
                 "-p", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as process:
            while not process.stdout.readline().startswith("Epoch"):
                pass
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted after", error)


if __name__ == "__main__":
    unittest.main()
