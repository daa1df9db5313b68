"""Compares training recipes with runs of PyTorch: schedules, warm-up, weight decay by
groups, label smoothing, accumulation, clipping, and weights exchanged as .pth files.
Skipped if PyTorch is not installed (packages.txt: [optional])."""

import json
import os
import subprocess
import sys
import unittest

from support import ROOT, content, run
from with_torch import NETS, PYTHON, TorchTest

PEER = os.path.join(ROOT, "tests", "e2e", "torch_training_peer.py")
CONVERT = os.path.join(ROOT, "tools", "convert_weights.py")
BATCH, IMAGES = 2, 6  # 3 batches: the last group of an epoch is smaller


class LiveTraining(TorchTest):  # all first
    def setUp(self):
        super().setUp()
        self.weights = self.path("w.safetensors")

    def make(self, arch="resnet20", batch=BATCH, images=IMAGES, more=()):
        """Creates a training set and initial weights."""
        self.arch, self.batch, self.images = arch, batch, images
        self.net = ["train", self.path("set"), "-a", arch, "--device-type",
                    "reference", "--dtype", "float64", "--gpu", 0, "-b", batch, "-j", 1]
        run("data", "make", self.path("set"), "--train", images, "--test", 1)
        run(*self.net, *more, "--seed", 3, "--steps", 0, "--save", self.weights)

    def train_theirs(self, recipe, epochs):
        return json.loads(self.ask(PEER, self.arch, self.path("set"), self.weights,
                                   self.batch, epochs, self.images, json.dumps(recipe)))

    def expect_equal(self, recipe, flags, epochs):
        self.make()
        self.theirs = theirs = self.train_theirs(recipe, epochs)
        run(*self.net, "--pretrained", self.weights, "--no-shuffle", "--no-augment",
            "--epochs", epochs, "--lr", recipe["lr"], "--wd", recipe["wd"], *flags,
            "--summary", self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        ours = [step["loss"] for step in steps if step["kind"] == "train"]
        self.assertEqual(len(ours), epochs * IMAGES // BATCH)
        self.assertEqual(len(set(theirs["losses"])), len(ours))
        for i, (mine, torchs) in enumerate(zip(ours, theirs["losses"], strict=True)):
            self.assertAlmostEqual(mine, torchs, delta=1e-9, msg=f"step {i}")
        return theirs["rates"]

    def test_cosine_with_warm_up_smoothing_and_decay_by_groups(self):
        rates = self.expect_equal(
            {"lr": 0.02, "wd": 0.01, "norm_weight_decay": 0, "bias_weight_decay": 0.3,
             "schedule": "cosine", "warmup": 2, "label_smoothing": 0.1},
            ["--norm-weight-decay", 0, "--bias-weight-decay", 0.3, "--schedule",
             "cosine", "--warmup-epochs", 2, "--label-smoothing", 0.1], 4)
        self.assertEqual(len(set(rates)), 4)

    def test_steps_with_accumulation_and_clipping(self):
        recipe = {"lr": 0.02, "wd": 0.001, "step_size": 1, "gamma": 0.5,
                  "accumulate": 2, "clip": 0.5}
        flags = ["--lr-step-size", 1, "--lr-gamma", 0.5, "--accumulate", 2,
                 "--clip-grad-norm", 0.5]
        self.expect_equal(recipe, flags, 2)

    def expect_equal_cycle(self, kind, flag):
        # 3 batches in groups of two: two updates in each of three epochs.
        self.expect_equal(
            {"lr": 0.01, "wd": 0.1, "schedule": "one-cycle", "updates": 6,
             "accumulate": 2, "nesterov": True, "optimizer": kind,
             "options": {"weight_decay": 0.1, "amsgrad": True}},
            ["--schedule", "one-cycle", "--accumulate", 2, "--optimizer", kind, flag],
            3)

    def test_one_cycle_of_sgd_with_nesterov(self):
        self.expect_equal_cycle("sgd", "--nesterov")

    def test_one_cycle_of_adamw(self):
        self.expect_equal_cycle("adamw", "--amsgrad")

    def test_multi_step(self):
        rates = self.expect_equal(
            {"lr": 0.02, "wd": 0, "schedule": "multi-step", "milestones": [1, 3],
             "gamma": 0.5, "nesterov": True},
            ["--schedule", "multi-step", "--lr-milestones", "1,3", "--lr-gamma", 0.5,
             "--nesterov"], 4)
        self.assertEqual(len(set(rates)), 3)

    def expect_equal_deep(self, arch):
        """torchvision's, whose checkpoints have these names and shapes. Batch norms of
        eight values and a hundred layers amplify rounding, hence the small rate."""
        stem = ["--stem", "imagenet"]
        self.make(arch, 8, 8, stem)
        theirs = self.train_theirs({"lr": 2e-7, "wd": 0}, 2)["losses"]
        run(*self.net, *stem, "--pretrained", self.weights, "--no-shuffle",
            "--no-augment", "--lr", 2e-7, "--wd", 0, "--epochs", 2, "--summary",
            self.path("s.json"))
        ours = self.losses()[::2]  # an evaluation after each
        self.assertGreater(abs(ours[1] - ours[0]), 1e-6)
        for mine, torchs in zip(ours, theirs, strict=True):
            self.assertAlmostEqual(mine, torchs, delta=1e-9)

    def test_resnet101(self):
        self.expect_equal_deep("resnet101")

    def test_resnet152(self):
        self.expect_equal_deep("resnet152")

    def expect_sums(self, file, theirs, kinds):
        """Compares the sums of some tensors of a file with PyTorch's."""
        ours = json.loads(self.ask("-c", f"""if True:
            import json, sys
            sys.path.insert(0, {os.path.dirname(PEER)!r})
            from torch_ddp_peer import read_weights
            print(json.dumps({{name: float(value.sum()) for name, value in
                              read_weights({file!r}).items()}}))
            """))
        self.assertEqual(set(ours), set(theirs))
        compared = [name for name in ours if any(kind in name for kind in kinds)]
        self.assertGreater(len(compared), 20)
        for name in compared:
            self.assertAlmostEqual(ours[name], theirs[name], delta=1e-9, msg=name)

    def test_recomputation(self):
        """Losses, and running statistics, which both passes update."""
        end = self.path("end")
        self.expect_equal({"lr": 0.02, "wd": 0.001, "recompute": True},
                          ["--recompute", "--save", end], 2)
        self.expect_sums(end, self.theirs["end"], ["weight", "running", "tracked"])

    def test_the_average_of_the_weights(self):
        average = self.path("average")
        self.expect_equal({"lr": 0.02, "wd": 0.001, "ema": 0.8, "ema_steps": 2},
                          ["--ema", 0.8, "--ema-steps", 2, "--save-ema", average], 2)
        self.expect_sums(average, self.theirs["average"], ["weight", "bias", "running"])
        self.assertNotEqual(self.theirs["average"], self.theirs["end"])

    def test_the_linear_scaling_rule(self):
        # Batches of 2 accumulated twice: 4 images, 1/64 of 256.
        self.expect_equal({"lr": 0.64 / 64, "wd": 0, "accumulate": 2},
                          ["--scale-lr", "--lr", 0.64, "--accumulate", 2], 1)

    def test_weights_travel_as_pth(self):
        self.make()
        done = subprocess.run([PYTHON, CONVERT, self.weights, self.path("w.pth")],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual((done.stdout, done.returncode),
                         (f"{self.path('w.pth')}: 128 tensors\n", 0), done.stderr)
        self.ask("-c", f"""if True:
            import sys, torch
            sys.path.insert(0, {NETS!r})
            import nets
            net = nets.resnet20().double()
            net.load_state_dict(torch.load({self.path("w.pth")!r}))
            wrapped = torch.nn.DataParallel(net).state_dict()
            torch.save({{"epoch": 3, "state_dict": wrapped}}, {self.path("c.pth")!r})
            """)
        self.ask(CONVERT, self.path("c.pth"), self.path("back.safetensors"))
        again = self.path("again.safetensors")
        run(*self.net, "--steps", 0, "--pretrained", self.path("back.safetensors"),
            "--save", again)
        self.assertEqual(content(self.weights), content(again))
        error = self.ask(CONVERT, PEER, self.path("x.safetensors"), fails=True)
        self.assertIn("not a .pth file of tensors", error)
        self.assertEqual(len(error.splitlines()), 1)
        self.assertFalse(os.path.exists(self.path("x.safetensors")))

    def test_a_run_of_main_py_is_resumed(self):
        """Weights, momentum, epoch and learning rates come from its .pth.tar."""
        self.make("resnet18", 4, 8, ["--stem", "imagenet"])
        saved, summary = self.path("checkpoint.pth.tar"), self.path("s.json")
        theirs = self.train_theirs({"lr": 0.02, "wd": 0.01, "step_size": 1,
                                    "gamma": 0.5, "checkpoint": saved}, 2)["losses"]
        text, _ = run(*self.net, "--resume", saved, "--no-shuffle", "--no-augment",
                      "--epochs", 2, "--steps", 2, "--summary", summary)
        self.assertIn(f"=> loaded checkpoint '{saved}' (epoch 1)\n", text)
        with open(summary, encoding="utf-8") as file:
            ours = [step["loss"] for step in json.load(file)["steps"]]
        self.assertEqual(len(ours), 2)
        for mine, torchs in zip(ours, theirs[2:], strict=True):
            self.assertAlmostEqual(mine, torchs, delta=1e-9)
        run(*self.net, "-e", "--resume", saved)
        _, error = run(*self.net, "-e", "--pretrained", saved, "--stem", "cifar",
                       code=1)
        self.assertIn("'conv1.weight' is F64 [64, 3, 7, 7]", error)

    def losses(self):
        with open(self.path("s.json"), encoding="utf-8") as file:
            return [step["loss"] for step in json.load(file)["steps"]]

    def test_a_run_of_main_py_with_another_optimizer_is_resumed(self):
        """The averages and the number of updates come from its .pth.tar, too."""
        self.make("resnet20", 4, 8)
        for kind, options in {"adam": {"betas": [0.8, 0.99], "amsgrad": True},
                              "adamw": {"weight_decay": 0},
                              "rmsprop": {"momentum": 0.5, "centered": True}}.items():
            with self.subTest(optimizer=kind):
                saved = self.path(f"{kind}.pth.tar")
                theirs = self.train_theirs(
                    {"lr": 0.002, "wd": 0, "optimizer": kind, "options": options,
                     "step_size": 1, "gamma": 0.5, "checkpoint": saved}, 2)["losses"]
                run(*self.net, "--resume", saved, "--no-shuffle", "--no-augment",
                    "--epochs", 2, "--steps", 2, "--optimizer", kind,
                    "--summary", self.path("s.json"))
                for mine, torchs in zip(self.losses(), theirs[2:], strict=True):
                    self.assertAlmostEqual(mine, torchs, delta=1e-9)

    def test_main_py_resumes_ours(self):
        """Weights, the optimizer's state, the epoch and its rate, converted."""
        self.make("resnet20", 4, 8)
        same = [*self.net, "--pretrained", self.weights, "--no-shuffle", "--no-augment",
                "--lr", 0.002, "--lr-step-size", 1, "--lr-gamma", 0.5]
        for kind in ("sgd", "adam", "adamw", "rmsprop"):
            with self.subTest(optimizer=kind):
                flags = [*same, "--wd", 0, "--optimizer", kind]
                run(*flags, "--epochs", 2, "--summary", self.path("s.json"))
                ours = self.losses()[3:5]  # after two steps and an evaluation
                run(*flags, "--epochs", 1, "--checkpoint", self.path(kind))
                saved = self.path(f"{kind}.pth.tar")
                said = self.ask(CONVERT, self.path(kind) + "/checkpoint.safetensors",
                                saved)
                self.assertIn("128 tensors, the optimizer's state, epoch 1", said)
                theirs = self.train_theirs({"lr": 0.002, "wd": 0, "optimizer": kind,
                                            "resume": saved}, 2)["losses"]
                for mine, torchs in zip(ours, theirs, strict=True):
                    self.assertAlmostEqual(mine, torchs, delta=1e-9)

    def test_pretrained_of_another_number_of_classes(self):
        """The last layer keeps its initial values; an evaluation is refused."""
        self.make()
        weights = self.path("c100.pth")
        self.ask("-c", f"""if True:
            import sys, torch
            sys.path.insert(0, {NETS!r})
            import nets
            net = nets.resnet20()
            net.fc = torch.nn.Linear(64, 100)
            torch.save(net.double().state_dict(), {weights!r})
            """)
        again = [*self.net, "--seed", 3, "--steps", 0]
        text, _ = run(*again, "--pretrained", weights, "--save", self.path("a"))
        self.assertIn(f"=> loaded weights '{weights}'\n=> left out: fc.weight, "
                      "fc.bias, whose number of classes differs in the file\n",
                      text)
        loaded, initial, theirs = (
            json.loads(self.ask("-c", f"""if True:
                import json, sys
                sys.path.insert(0, {os.path.dirname(PEER)!r})
                import torch
                from torch_ddp_peer import read_weights
                name = {name!r}
                state = torch.load(name) if name.endswith("pth") else read_weights(name)
                print(json.dumps([state[n].flatten()[:9].tolist()
                                  for n in ("fc.weight", "conv1.weight")]))
                """)) for name in (self.path("a"), self.weights, weights))
        self.assertEqual(loaded, [initial[0], theirs[1]])
        _, error = run(*self.net, "-e", "--pretrained", weights, code=1)
        self.assertIn("'fc.weight' is F64 [100, 64]", error)

    def test_what_main_py_saves_is_converted(self):
        """With the optimizer's floats, in both formats; and half-precision weights."""
        self.ask("-c", f"""if True:
            import argparse, sys, torch
            sys.path.insert(0, {NETS!r})
            import nets
            net = nets.resnet20()
            optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9,
                                        weight_decay=1e-4)
            net(torch.zeros(2, 3, 32, 32)).sum().backward()
            optimizer.step()
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)
            saved = {{"epoch": 3, "arch": "resnet20", "best_acc1": torch.tensor(12.5),
                     "state_dict": torch.nn.DataParallel(net).state_dict(),
                     "optimizer": optimizer.state_dict(),
                     "scheduler": schedule.state_dict(),
                     "args": argparse.Namespace(lr=0.1)}}
            folder = {self.folder!r}
            torch.save(saved, folder + "/zip.pth.tar")
            torch.save(saved, folder + "/old.pth.tar",
                       _use_new_zipfile_serialization=False)
            torch.save(net.state_dict(), folder + "/plain.pth")
            torch.save(net.bfloat16().state_dict(), folder + "/bf16.pth")
            torch.save(net.half().state_dict(), folder + "/f16.pth",
                       _use_new_zipfile_serialization=False)
            """)
        for name in ("zip.pth.tar", "old.pth.tar", "plain.pth", "bf16.pth", "f16.pth"):
            self.assertIn("128 tensors", self.ask(CONVERT, self.path(name),
                                                  self.path(name + ".safetensors")))
        plain = content(self.path("plain.pth.safetensors"))
        for name in ("zip.pth.tar", "old.pth.tar"):
            self.assertEqual(content(self.path(name + ".safetensors")), plain, name)
        run("data", "make", self.path("set"), "--train", 8, "--test", 1)
        for name in ("bf16.pth", "f16.pth"):
            run("train", self.path("set"), "-a", "resnet20", "-b", 8, "--gpu", 0,
                "-e", "--pretrained", self.path(name + ".safetensors"))

    def test_a_files_code_is_never_executed(self):
        self.ask("-c", f"""if True:
            import os, torch
            class Evil:
                def __reduce__(self):
                    return os.mkdir, ({self.path("executed")!r},)
            folder = {self.folder!r}
            for zipped in True, False:
                for name, content in (("beside", {{"state_dict": {{"w": torch.ones(1)}},
                                                  "args": Evil()}}),
                                      ("inside", {{"w": Evil()}})):
                    torch.save(content, f"{{folder}}/{{name}}{{int(zipped)}}.pth",
                               _use_new_zipfile_serialization=zipped)
            """)
        for zipped in "01":
            self.ask(CONVERT, self.path(f"beside{zipped}.pth"),
                     self.path("x.safetensors"))
            error = self.ask(CONVERT, self.path(f"inside{zipped}.pth"),
                             self.path("y.safetensors"), fails=True)
            self.assertIn("'w' is not a tensor", error)
        self.assertFalse(os.path.exists(self.path("executed")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
