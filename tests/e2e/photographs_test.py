"""Photographs are decoded, cropped, normalized and classified by ResNet18, ResNet50 and
VGG16 with PyTorch's weights. The log-probabilities of all classes equal PyTorch's. Each
photograph is linked into every class's folder, so that the losses give the
log-probability of every class. Skipped without PyTorch or the sample photographs
(LOCKSTEP_SHARED)."""

import glob
import json
import os
import sys
import unittest

from support import ROOT, TempTest, run
from torch_ddp_live_test import torch_is_missing
from torch_training_test import CONVERT, ask

PEER = os.path.join(ROOT, "tests", "e2e", "photographs_peer.py")
CLASSES = 4


class Photographs(TempTest):
    def expect_equal(self, arch, count, mode):
        if reason := torch_is_missing():
            self.skipTest(reason)
        sample = os.path.join(os.environ.get("LOCKSTEP_SHARED", ""), "data",
                              "imagenet-sample")
        photographs = sorted(glob.glob(f"{sample}/*/*/*.JPEG"))[:count]
        if len(photographs) < count:
            self.skipTest("LOCKSTEP_SHARED names no sample photographs")
        for part in ("train", "val"):
            for label in range(CLASSES):
                folder = self.path(f"set/{part}/c{label}")
                os.makedirs(folder, exist_ok=True)
                for i, photograph in enumerate(photographs):
                    if not os.path.exists(f"{folder}/{i:02}.JPEG"):
                        os.symlink(photograph, f"{folder}/{i:02}.JPEG")
        theirs = json.loads(ask(PEER, arch, CLASSES, self.path("w.pth"), *photographs))
        ask(CONVERT, self.path("w.pth"), self.path("w.safetensors"))
        run("train", self.path("set"), "-a", arch, "-e", "-b", 1, *mode, "-j", 1,
            "--classes", CLASSES, "--pretrained", self.path("w.safetensors"),
            "--summary", self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            losses = [step["loss"] for step in json.load(file)["steps"]]
        self.assertEqual(len(losses), count * CLASSES)
        worst = max(abs(losses[label * count + i] + theirs[i][label])
                    for i in range(count) for label in range(CLASSES))
        print(f"{arch}: {count} photographs, farthest log-probability {worst:.1e}")
        self.assertLess(worst, 1e-4)

    def test_resnet18(self):
        self.expect_equal("resnet18", 16, ["--gpu", 0])

    def test_resnet50(self):
        self.expect_equal("resnet50", 16, ["--gpu", 0])

    def test_vgg16(self):
        self.expect_equal("vgg16", 16, ["--gpu", 0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
