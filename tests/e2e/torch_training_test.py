"""Compares training recipes with runs of PyTorch: schedules, warm-up, weight decay by
groups, label smoothing, accumulation, clipping, and weights exchanged as .pth files.
Skipped if PyTorch is not installed (packages.txt: [optional])."""

import json
import os
import subprocess
import sys
import unittest

from support import ROOT, TempTest, run
from torch_ddp_live_test import PYTHON, torch_is_missing

PEER = os.path.join(ROOT, "tests", "e2e", "torch_training_peer.py")
CONVERT = os.path.join(ROOT, "tools", "convert_weights.py")
BATCH, IMAGES = 8, 24  # 3 batches: the last group of an epoch is smaller


def ask(*words, fails=False):
    done = subprocess.run([PYTHON, *map(str, words)], capture_output=True, text=True,
                          timeout=600)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stderr}")
    return done.stderr if fails else done.stdout


class LiveTraining(TempTest):
    @classmethod
    def setUpClass(cls):
        reason = torch_is_missing()
        if reason:
            raise unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.weights = self.path("w.safetensors")
        self.net = ["train", self.path("set"), "-a", "resnet18", "--stem", "imagenet",
                    "--device-type", "reference", "--dtype", "float64", "--gpu", 0,
                    "-b", BATCH, "-j", 1]
        run("data", "make", self.path("set"), "--train", IMAGES, "--test", 1)
        run(*self.net, "--seed", 3, "--steps", 0, "--save", self.weights)

    def expect_equal(self, recipe, flags, epochs):
        theirs = json.loads(ask(PEER, self.path("set"), self.weights, BATCH, epochs,
                                IMAGES, json.dumps(recipe)))
        run(*self.net, "--pretrained", self.weights, "--no-shuffle", "--no-augment",
            "--epochs", epochs, "--lr", recipe["lr"], "--wd", recipe["wd"], *flags,
            "--summary", self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        length = IMAGES // BATCH + 1  # the last one of each epoch is the evaluation
        ours = [s["loss"] for i, s in enumerate(steps) if (i + 1) % length]
        self.assertEqual(len(ours), epochs * IMAGES // BATCH)
        self.assertEqual(len(set(theirs["losses"])), len(ours))
        for i, (mine, torchs) in enumerate(zip(ours, theirs["losses"], strict=True)):
            self.assertAlmostEqual(mine, torchs, delta=1e-7, msg=f"step {i}")
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

    def test_the_linear_scaling_rule(self):
        # Batches of 8 accumulated twice: 16 images, 1/16 of 256.
        self.expect_equal({"lr": 0.16 / 16, "wd": 0, "accumulate": 2},
                          ["--scale-lr", "--lr", 0.16, "--accumulate", 2], 1)

    def test_weights_travel_as_pth(self):
        self.assertIn("122 tensors", ask(CONVERT, self.weights, self.path("w.pth")))
        ask("-c", f"""if True:
            import torch, torchvision
            net = torchvision.models.resnet18(num_classes=10).double()
            net.load_state_dict(torch.load({self.path("w.pth")!r}))
            wrapped = torch.nn.DataParallel(net).state_dict()
            torch.save({{"epoch": 3, "state_dict": wrapped}}, {self.path("c.pth")!r})
            """)
        ask(CONVERT, self.path("c.pth"), self.path("back.safetensors"))
        again = self.path("again.safetensors")
        run(*self.net, "--steps", 0, "--pretrained", self.path("back.safetensors"),
            "--save", again)
        with open(self.weights, "rb") as a, open(again, "rb") as b:
            self.assertEqual(a.read(), b.read())
        error = ask(CONVERT, PEER, self.path("x.safetensors"), fails=True)
        self.assertIn("not a .pth file of tensors", error)
        self.assertEqual(len(error.splitlines()), 1)
        self.assertFalse(os.path.exists(self.path("x.safetensors")))

    def test_a_run_of_main_py_is_resumed(self):
        """Weights, momentum, epoch and learning rates come from its .pth.tar."""
        saved, summary = self.path("checkpoint.pth.tar"), self.path("s.json")
        recipe = {"lr": 0.02, "wd": 0.01, "step_size": 1, "gamma": 0.5,
                  "checkpoint": saved}
        theirs = json.loads(ask(PEER, self.path("set"), self.weights, BATCH, 2, IMAGES,
                                json.dumps(recipe)))["losses"]
        net = [word for word in self.net if word not in ("--stem", "imagenet")]
        text, _ = run(*net, "--resume", saved, "--no-shuffle", "--no-augment",
                      "--epochs", 2, "--steps", 2, "--summary", summary)
        self.assertIn(f"=> loaded checkpoint '{saved}' (epoch 1)\n", text)
        with open(summary, encoding="utf-8") as file:
            ours = [step["loss"] for step in json.load(file)["steps"]]
        self.assertEqual(len(ours), 2)
        for mine, torchs in zip(ours, theirs[IMAGES // BATCH:]):
            self.assertAlmostEqual(mine, torchs, delta=1e-7)
        run(*net, "-e", "--resume", saved)
        _, error = run(*net, "-e", "--pretrained", saved, "--stem", "cifar", code=1)
        self.assertIn("'conv1.weight' is F64 [64, 3, 7, 7]", error)

    def test_pretrained_of_another_number_of_classes(self):
        """The last layer keeps its initial values; an evaluation is refused."""
        weights = self.path("c100.pth")
        ask("-c", f"""if True:
            import torch, torchvision
            net = torchvision.models.resnet18(num_classes=100).double()
            torch.save(net.state_dict(), {weights!r})
            """)
        again = [*self.net, "--seed", 3, "--steps", 0]
        text, _ = run(*again, "--pretrained", weights, "--save", self.path("a"))
        self.assertIn(f"=> loaded weights '{weights}'\n=> left out: fc.weight, "
                      "fc.bias, whose number of classes differs in the file\n",
                      text)
        loaded, initial, theirs = (
            json.loads(ask("-c", f"""if True:
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
        self.assertIn("'fc.weight' is F64 [100, 512]", error)

    def test_what_main_py_saves_is_converted(self):
        """With the optimizer's floats, in both formats; and half-precision weights."""
        ask("-c", f"""if True:
            import argparse, torch, torchvision
            net = torchvision.models.resnet18(num_classes=10)
            optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9,
                                        weight_decay=1e-4)
            net(torch.zeros(2, 3, 32, 32)).sum().backward()
            optimizer.step()
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)
            saved = {{"epoch": 3, "arch": "resnet18", "best_acc1": torch.tensor(12.5),
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
            self.assertIn("122 tensors", ask(CONVERT, self.path(name),
                                             self.path(name + ".safetensors")))
        with open(self.path("plain.pth.safetensors"), "rb") as file:
            plain = file.read()
        for name in ("zip.pth.tar", "old.pth.tar"):
            with open(self.path(name + ".safetensors"), "rb") as file:
                self.assertEqual(file.read(), plain, name)
        for name in ("bf16.pth", "f16.pth"):
            run("train", self.path("set"), "--stem", "imagenet", "-b", 8, "--gpu", 0,
                "-e", "--pretrained", self.path(name + ".safetensors"))

    def test_a_files_code_is_never_executed(self):
        ask("-c", f"""if True:
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
            ask(CONVERT, self.path(f"beside{zipped}.pth"), self.path("x.safetensors"))
            error = ask(CONVERT, self.path(f"inside{zipped}.pth"),
                        self.path("y.safetensors"), fails=True)
            self.assertIn("'w' is not a tensor", error)
        self.assertFalse(os.path.exists(self.path("executed")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
