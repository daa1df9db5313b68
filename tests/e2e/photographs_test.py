"""Photographs are decoded, cropped, normalized and classified by ResNet18, ResNet50 and
VGG16 with PyTorch's weights. Each loss equals PyTorch's: it is the log-probability of
one class, to which the outputs of all classes contribute. Skipped without PyTorch or
the sample photographs (LOCKSTEP_SHARED)."""

import glob
import json
import os
import sys
import unittest

from support import ROOT, run
from torch_training_test import CONVERT
from with_torch import TorchTest

PEER = os.path.join(ROOT, "tests", "e2e", "photographs_peer.py")
CLASSES = 4


class Photographs(TorchTest):  # all
    def expect_equal(self, arch, count, converted=False):
        sample = os.path.join(os.environ.get("LOCKSTEP_SHARED", ""), "data",
                              "imagenet-sample")
        photographs = sorted(glob.glob(f"{sample}/*/*/*.JPEG"))[:count]
        if len(photographs) < count:
            self.skipTest("LOCKSTEP_SHARED names no sample photographs")
        for i, photograph in enumerate(photographs):
            folder = self.path(f"set/val/c{i % CLASSES}")
            os.makedirs(folder, exist_ok=True)
            os.symlink(photograph, f"{folder}/{i:02}.JPEG")
        os.symlink("val", self.path("set/train"))
        weights = self.path("w.pth")
        theirs = json.loads(self.ask(PEER, arch, CLASSES, weights, *photographs))
        if converted:
            weights = self.path("w.safetensors")
            self.ask(CONVERT, self.path("w.pth"), weights)
        run("train", self.path("set"), "-a", arch, "-e", "-b", 1, "--gpu", 0, "-j", 1,
            "--classes", CLASSES, "--pretrained", weights, "--summary",
            self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            losses = [step["loss"] for step in json.load(file)["steps"]]
        order = [(i, label) for label in range(CLASSES)
                 for i in range(label, count, CLASSES)]
        worst = max(abs(loss + theirs[i][label])
                    for loss, (i, label) in zip(losses, order, strict=True))
        print(f"{arch}: {count} photographs, farthest log-probability {worst:.1e}")
        self.assertLess(worst, 1e-4)

    def test_resnet18(self):
        self.expect_equal("resnet18", 16, converted=True)

    def test_resnet50(self):
        self.expect_equal("resnet50", 4)

    def test_vgg16(self):
        self.expect_equal("vgg16", 4)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
