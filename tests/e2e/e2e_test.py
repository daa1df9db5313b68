"""The program from the command line: text, files and exit codes."""

import json
import os
import struct
import subprocess
import sys
import unittest

from support import LOCKSTEP, NULL, TempTest, copies, read_trace, run


class Notebook(TempTest):
    """The original project's notebook: 100 samples, batches of 30, two devices."""

    def test_prints_its_lines(self):
        text, _ = run("train", "-a", "toy", "--dataset", "random", "--devices", 2,
                      "-b", 30, "--trace", self.path("t.json"))
        inside = ("\tIn Model: input size torch.Size([{0}, 5]) "
                  "output size torch.Size([{0}, 2])\n")
        outside = ("Outside: input size torch.Size([{0}, 5]) "
                   "output_size torch.Size([{0}, 2])\n")
        full = inside.format(15) * 2 + outside.format(30)
        last = inside.format(5) * 2 + outside.format(10)
        written = f"=> trace written: {self.path('t.json')} (4 steps, 0 to 3)\n"
        start = ("torch.Size([30, 5])\nLet's use 2 GPUs!\n"
                 "DataParallel(\n  (module): Model(\n    (fc): Linear(in_features=5, "
                 "out_features=2, bias=True)\n  )\n)\n"
                 "a.is_cuda False\na.is_cuda False\nb.is_cuda True\n"
                 "False\nTrue\nTrue\n")
        self.assertEqual(text, start + full * 3 + last + written)

        trace = read_trace(self.path("t.json"))
        self.assertEqual(copies(trace, "h2d", 0)[0]["bytes"], 600)
        self.assertEqual([c["bytes"] for c in copies(trace, "scatter", 0)], [300])
        run("trace", "check", self.path("t.json"))

    def test_its_arguments_of_data_parallel(self):
        run("train", "-a", "toy", "--devices", 3, "-b", 30, "--steps", 1,
            "--device-ids", "2,0", "--output-device", 1, "--input-on", "host",
            "--trace", self.path("t.json"))
        run("trace", "check", self.path("t.json"))
        trace = read_trace(self.path("t.json"))
        self.assertEqual([(c["src"], c["dst"]) for c in copies(trace, "gather", 0)],
                         [(2, 1), (0, 1)])
        for words in (["--device-ids", "1;0"], ["--device-ids", "3"],
                      ["--output-device", 3]):
            run("train", "-a", "toy", "--devices", 3, *words, code=2)

    def test_steps_and_save_are_honoured(self):
        text, _ = run("train", "-a", "toy", "--devices", 2, "-b", 30, "--steps", 1,
                      "--save", self.path("w.safetensors"))
        self.assertEqual(text.count("Outside"), 1)
        self.assertTrue(os.path.isfile(self.path("w.safetensors")))


class Ledger(TempTest):
    """The byte counts of section 3.1 of the emulation notes, with the real
    DataParallel."""

    def moved(self, *words):
        out = self.path("n.json")
        run("train", *NULL, *words, "--steps", 1, "--trace", out)
        run("trace", "check", out)
        trace = read_trace(out)
        return {why: sum(c["bytes"] for c in copies(trace, why))
                for why in ("scatter", "replicate", "gather", "grad_scatter", "reduce")}

    def test_resnet18_cifar(self):
        self.assertEqual(
            self.moved("-a", "resnet18", "--devices", 4, "-b", 128),
            {"scatter": 128 * 12288, "replicate": 3 * (44695848 + 38560),
             "gather": 3 * 1280, "grad_scatter": 3 * 1280, "reduce": 3 * 44695848})

    def test_resnet18_imagenet(self):
        words = ["-a", "resnet18", "--image-size", 224, "--classes", 1000,
                 "--length", 256, "--devices", 4, "-b", 256]
        self.assertEqual(
            self.moved(*words),
            {"scatter": 4 * 38535168, "replicate": 3 * (46758048 + 38400 + 160),
             "gather": 3 * 256000, "grad_scatter": 3 * 256000, "reduce": 3 * 46758048})

    def test_resnet50_and_vgg16_at_224(self):
        for devices in (4, 8):
            large = ["--image-size", 224, "--classes", 1000, "--length", 32,
                     "--devices", devices, "-b", 32]
            others = devices - 1
            moved = self.moved("-a", "resnet50", *large)
            self.assertEqual(moved["reduce"], others * 102228128)
            self.assertEqual(moved["replicate"], others * (102228128 + 212480 + 424))
            moved = self.moved("-a", "vgg16", "--mode", "dp", *large)
            self.assertEqual(moved["reduce"], others * 553430176)
            moved = self.moved("-a", "vgg16", *large)  # dp-features, as main.py
            self.assertEqual(moved["reduce"], others * 58858752)
            self.assertEqual(moved["gather"], (32 - 32 // devices) * 100352)

    def test_groups_have_the_sizes_of_the_notes(self):
        out = self.path("n.json")
        run("train", *NULL, "-a", "resnet18", "--devices", 2, "-b", 8, "--steps", 1,
            "--trace", out)
        trace = read_trace(out)
        self.assertEqual([c["bytes"] for c in copies(trace, "replicate")][:4],
                         [11098368, 14161920, 19410944, 24616])
        self.assertEqual([c["bytes"] for c in copies(trace, "reduce")],
                         [8739072, 7084032, 9969664, 9441280, 9461800])

    def test_chunk_vectors(self):
        for batch, devices, chunks in ((9, 8, [2, 2, 2, 2, 1]), (7, 8, [1] * 7),
                                       (143, 4, [36, 36, 36, 35]), (5, 4, [2, 2, 1]),
                                       (10, 4, [3, 3, 3, 1]), (1, 4, [1])):
            out = self.path("n.json")
            run("train", *NULL, "-a", "vgg16", "--mode", "dp", "--length", batch, "-b",
                batch, "--devices", devices, "--steps", 1, "--trace", out)
            run("trace", "check", out)
            sent = sorted((c["dst"], c["shape"][0])
                          for c in copies(read_trace(out), "scatter"))
            self.assertEqual([size for _, size in sent], chunks)

    def test_input_on_device0(self):
        moved = self.moved("--devices", 4, "-b", 128, "--input-on", "device0")
        self.assertEqual(moved["scatter"], 96 * 12288)


class Training(TempTest):
    def test_two_runs_are_equal(self):
        data = self.cifar(96)
        results = []
        for name in "ab":
            out = self.path(name)
            run("train", data, "-b", 32, "--steps", 2, "--lr", 0.01, "-j", 2,
                "--mode", "dp", "--devices", 2, "--summary", out + ".json",
                "--save", out + ".safetensors")
            with open(out + ".json", encoding="utf-8") as file:
                summary = json.load(file)
            with open(out + ".safetensors", "rb") as file:
                results.append(([s["loss"] for s in summary["steps"]],
                                summary["peak_bytes_per_device"], file.read()))
        self.assertEqual(results[0], results[1])

    def test_summary_has_the_contracts_keys(self):
        run("train", *NULL, "-b", 8, "--length", 32, "--epochs", 1, "--summary",
            self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            summary = json.load(file)
        for key in ("mode", "arch", "dataset", "devices", "world_size", "global_batch",
                    "steps", "images_per_second", "peak_bytes_per_device", "parameters",
                    "clock"):
            self.assertIn(key, summary)
        self.assertEqual(summary["parameters"], 11173962)
        self.assertEqual(len(summary["peak_bytes_per_device"]), 4)
        self.assertIn("backward", summary["steps"][0]["phases"])

    def test_steps_include_those_of_evaluations(self):
        summary = self.path("s.json")
        run("train", "-a", "sparse", "--features", 16, "--device-type", "reference",
            "--length", 60, "-b", 6, "--steps", 14, "--summary", summary)
        kinds = [step["kind"] for step in read_trace(summary)["steps"]]
        self.assertEqual(kinds, ["train"] * 10 + ["eval"] * 2 + ["train"] * 2)

    def test_weights_travel(self):
        data, weights = self.cifar(), self.path("w.safetensors")
        run("train", data, "--steps", 0, "--seed", 7, "--save", weights)
        run("train", data, "--steps", 0, "--pretrained", weights, "--save",
            self.path("again.safetensors"))
        with open(weights, "rb") as a, open(self.path("again.safetensors"), "rb") as b:
            header = a.read()
            self.assertEqual(header, b.read())
        length = struct.unpack("<Q", header[:8])[0]
        names = json.loads(header[8:8 + length])
        self.assertEqual(names["layer1.0.conv1.weight"]["shape"], [64, 64, 3, 3])
        self.assertIn("bn1.num_batches_tracked", names)
        _, error = run("train", data, "-a", "resnet34", "--steps", 0, "--pretrained",
                       weights, code=1)
        self.assertIn("layer1.2.conv1.weight", error)

    def test_progress_lines_have_mains_form(self):
        text, _ = run("train", *NULL, "-b", 8, "--length", 80, "--epochs", 1, "-p", 5)
        self.assertRegex(text, r"Epoch: \[0\]\[ 5/10\]"
                               r"\tTime +\d+\.\d{3} \( *\d+\.\d{3}\)"
                               r"\tData +\S+ \( *\S+\)\tLoss \S+ \(\S+\)"
                               r"\tAcc@1 +\S+ \( *\S+\)\tAcc@5 +\S+ \( *\S+\)\n")
        self.assertRegex(text, r" \* Acc@1 \S+ Acc@5 \S+\n")

    def test_says_what_runs_and_what_was_written(self):
        files = {flag: self.path(flag) for flag in ("trace", "summary", "save")}
        flags = [f"--{flag}={file}" for flag, file in files.items()]
        text, _ = run("train", *NULL, "-b", 7, "--length", 64, "--steps", 8,
                      "--devices", 4, *flags)
        for part in ("=> data: images generated on the fly (64 training, 12 test "
                     "images, generated)\n",
                     "=> mode dp, 4 devices (null:0 to null:3), batch 7 in 3 chunks "
                     "of 2 and one of 1, 1 thread per device\n",
                     "Epoch: [0][ 7/10]",  # the line of the last step
                     f"=> trace written: {files['trace']} (5 steps, 2 to 6)\n",
                     f"=> summary written: {files['summary']}\n",
                     f"=> weights written: {files['save']}\n",
                     "=> device type null computes nothing: losses and times are "
                     "meaningless, byte counts are exact\n"):
            self.assertIn(part, text)
        self.assertNotIn("Epoch: [0][ 6/10]", text)
        text, _ = run("trace", "summary", files["trace"])
        self.assertTrue(text.endswith("\ndevice type null computes nothing: losses and "
                                      "times are meaningless, byte counts are "
                                      "exact.\n"), text)
        text, _ = run("train", *NULL, "-b", 5, "--length", 5, "--steps", 1)
        self.assertIn("2 chunks of 2 and one of 1 (1 of 4 devices idle)", text)

    def test_evaluate(self):
        text, _ = run("train", self.cifar(), "-e", "-b", 20, "--gpu", 0)
        self.assertIn("Use GPU: 0 for training\n=> creating model 'resnet18'\n", text)
        self.assertRegex(text, r"Test: \[0/2\]")


class Commands(TempTest):
    def test_doctor(self):
        text, _ = run("doctor")
        for part in ("cores", "CPU quota", "memory limit", "/dev/shm", "oneDNN", "CUDA",
                     "CIFAR-10"):
            self.assertIn(part, text)

    def test_a_generated_set_is_called_so(self):
        def ours(*words, **more):
            return run(*words, cwd=self.folder, HOME=self.folder, **more)

        text, _ = ours("data", "make", "--train", 16, "--test", 8,
                       LOCKSTEP_PROGRAM="./lockstep")
        self.assertIn("data/generated/cifar-10-batches-bin: ", text)
        self.assertIn("`./lockstep train data/generated`", text)
        self.assertIn("generated", ours("data", "check", "data/generated")[0])
        _, error = ours("data", "fetch", "data/generated", code=1)
        self.assertIn("contains a generated data set", error)
        _, error = ours("train", code=1)  # a generated set is not used as the real one
        self.assertIn("CIFAR-10 was not found", error)
        text, _ = ours("train", "data/generated", "--device-type", "null", "--steps", 1,
                       "-b", 8, "--summary", "s.json")
        self.assertIn("=> data: data/generated/cifar-10-batches-bin (16 training, 8 "
                      "test images, generated)\n", text)
        with open(self.path("s.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["dataset"], "generated")
        os.rename(self.path("data/generated/cifar-10-batches-bin"),
                  self.path("data/cifar-10-batches-bin"))
        self.assertIn("contains a generated data set", ours("doctor")[0])

    def test_help_and_version(self):
        self.assertIn("train", run("--help")[0])
        text, _ = run("train", "--help")
        for part in ("--trace-steps", "=resnet18", "(default: 2:7",
                     "dp-features for AlexNet and VGG", "mixed precision"):
            self.assertIn(part, text)
        self.assertIn("12 GB/s + 10 µs", run("emulate", "--help")[0])
        self.assertIn("lockstep 0.", run("--version")[0])

    def test_bench_step_answers_each_request(self):
        requests = '{"batch": 2, "steps": 1}\n{"bath": 2}\nnonsense\n'
        done = subprocess.run([LOCKSTEP, "bench-step", "--serve", "--warmup", "0"],
                              input=requests, capture_output=True, text=True,
                              timeout=300, check=True)
        measured, unknown, broken = map(json.loads, done.stdout.splitlines())
        self.assertEqual(len(measured["samples"]), 1)
        self.assertIn("no option bath", unknown["error"])
        self.assertIn("parse error", broken["error"])

    def test_bench_host_times_each_kind_of_call(self):
        out, _ = run("bench-host", "--calls", 2)
        times = json.loads(out)["us_per_call"]
        self.assertEqual(len(times), 6)
        self.assertTrue(all(time > 0 for time in times.values()), times)

    def test_diff(self):
        for name, devices in (("a", 2), ("b", 4)):
            run("train", *NULL, "--devices", devices, "-b", 16, "--steps", 1, "--trace",
                self.path(name + ".json"))
        text, _ = run("trace", "diff", self.path("a.json"), self.path("b.json"))
        self.assertIn("reduce", text)

    def test_demo(self):
        text, _ = run("demo", "--data", self.make_set(), "--out", self.path("out"),
                      "-b", 16, "--steps", 1)
        for part in ("measured", "emulated", "replicate", "device 3", "not add up",
                     "Emulated: each kernel takes its CPU time", "peak memory"):
            self.assertIn(part, text)
        self.assertRegex(text, r"What 4 devices give: .+\n"  # a busy machine: less
                               r"What (takes the rest|limits them): .+\n"
                               r"What would help.*: .+\n\n +measured on this machine")
        self.assertNotIn("no conclusion", text)  # the lesson says it
        rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
        self.assertEqual(rows["forward"][3], "–")  # DataParallel's, measured
        made = os.listdir(self.path("out"))
        pictures = [name for name in made if name.endswith(".png")]
        self.assertEqual(len(pictures), 3 if "writing images" in text else 0)
        for name in set(made) - set(pictures):
            run("trace", "check", os.path.join(self.path("out"), name))

    def make_set(self):
        shared = os.environ.get("LOCKSTEP_SHARED")
        if shared and os.path.isdir(shared + "/data/cifar-10-batches-bin"):
            return shared + "/data/cifar-10-batches-bin"
        if os.environ.get("CI") == "true":
            self.fail("LOCKSTEP_SHARED does not name the shared folder")
        return self.cifar()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
