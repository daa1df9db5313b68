"""Runs our DistributedDataParallel and PyTorch's: same weights, same images, including
BatchNorm. Skipped if PyTorch is not installed (packages.txt: [optional])."""

import json
import os
import subprocess
import sys
import unittest

from support import ROOT, TempTest, run
from with_torch import PYTHON, torch_is_missing

PEER = os.path.join(ROOT, "tests", "e2e", "torch_ddp_peer.py")
RANKS, BATCH, LR = 2, 4, 0.01
STEPS = 3  # the third loss depends on weights updated with rebuilt buckets


class LiveTorch(TempTest):  # all
    def test_losses_equal_those_of_pytorch_on_gloo(self):
        reason = torch_is_missing()
        if reason:
            self.skipTest(reason)
        folder = self.cifar(BATCH * STEPS)
        net = ["train", folder, "-a", "resnet20", "--device-type", "reference",
               "--dtype", "float64", "-b", BATCH, "-j", 1]
        weights, summary = self.path("w.safetensors"), self.path("s.json")
        run(*net, "--seed", 3, "--mode", "single", "--devices", 1, "--steps", 0,
            "--save", weights)
        asked = subprocess.run(
            [PYTHON, PEER, folder, weights, *map(str, (RANKS, BATCH, STEPS, LR))],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        theirs = json.loads(asked.stdout.splitlines()[-1])
        # With a different seed: the weights must come from the file.
        run(*net, "--seed", 4, "--mode", "ddp", "--devices", RANKS, "--pretrained",
            weights, "--bucket-cap-mb", 1, "--no-shuffle", "--no-augment", "--lr", LR,
            "--steps", STEPS, "--summary", summary)
        with open(summary, encoding="utf-8") as file:
            ours = [step["loss"] for step in json.load(file)["steps"]]
        self.assertEqual(len(set(theirs)), STEPS)
        for step, (mine, torchs) in enumerate(zip(ours, theirs, strict=True)):
            self.assertAlmostEqual(mine, torchs, delta=1e-9, msg=f"step {step}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
