"""--recompute: the weights are those of a run without it, in every way of sharing; and
what the summary says of its price. PyTorch's numbers: torch_training_test.py."""

import json
import unittest

from support import TempTest, run, tensors_in

TRAIN = ["train", "-a", "resnet20", "--dataset", "generated", "--image-size", 8, "-b",
         4, "--length", 24, "--steps", 3, "--device-type", "cpu"]
WAYS = {
    "single": ["--gpu", 0, "--prefetch-to-device", "--normalize-on-device"],
    "dp": ["--mode", "dp", "--devices", 2],
    "dp-criterion": ["--mode", "dp-criterion", "--devices", 2, "--loss-in-forward"],
    "ddp": ["--mode", "ddp", "--devices", 2, "--find-unused-parameters"],
    "ddp of processes": ["--devices", 2, "--multiprocessing-distributed", "--sync-bn",
                         "--world-size", 1, "--rank", 0],
    "local-sgd": ["--mode", "local-sgd", "--devices", 2, "--local-steps", 2],
    "ps": ["--mode", "ps", "--devices", 2],
    "locked": ["--mode", "locked", "--devices", 1],
    "model-parallel within a layer": ["--mode", "model-parallel", "--devices", 2,
                                      "--split", "layer3.1", "--micro-batches", 2],
    "model-parallel": ["--mode", "model-parallel", "--devices", 2, "--split", "layer3",
                       "--micro-batches", 2],
}
BLOCKS, KERNELS_OF_A_BLOCK = 9, 5  # resnet20: conv, bn + relu, conv, bn, add + relu


class Recompute(TempTest):  # gate
    def weights(self, *flags):
        path = self.path("w.safetensors")
        run(*TRAIN, *flags, "--save", path)
        return {name: value for name, value in tensors_in(path).items()
                if "running" not in name and "tracked" not in name}

    def test_the_weights_are_the_same(self):
        for way, flags in WAYS.items():
            with self.subTest(way):
                self.assertEqual(self.weights(*flags),
                                 self.weights(*flags, "--recompute"))

    def test_traces_obey_the_laws_and_say_the_price(self):
        for way in ("single", "dp", "ddp", "model-parallel",
                    "model-parallel within a layer"):
            with self.subTest(way):
                trace = self.path("t.json")
                flags = [f for f in WAYS[way] if f != "--prefetch-to-device"]
                run(*TRAIN, *flags, "--recompute", "--trace", trace)
                text, _ = run("trace", "check", trace)
                self.assertTrue(text.endswith("every law holds\n"), text)
                text, _ = run("trace", "summary", trace)
                self.assertIn("activation checkpointing: ", text)
                text, _ = run("trace", "summary", trace, "--json")
                again = json.loads(text)["recomputed"]
                replicas = 1 if way == "single" else 2  # also micro-batches
                self.assertGreaterEqual(again["kernels"],
                                        3 * replicas * BLOCKS * KERNELS_OF_A_BLOCK)
                self.assertLess(again["time"], again["time_of_all_kernels"] / 2)

    def test_less_memory_is_needed(self):
        peaks = []
        for flags in [], ["--recompute"]:
            run(*TRAIN, "--gpu", 0, "-b", 24, "--image-size", 32, *flags, "--summary",
                self.path("s.json"))
            with open(self.path("s.json"), encoding="utf-8") as file:
                peaks += json.load(file)["peak_bytes_per_device"]
        self.assertLess(peaks[1], 0.7 * peaks[0])

    def test_a_resumed_run_recomputes(self):
        run(*TRAIN[:-4], "--device-type", "cpu", "--gpu", 0, "--epochs", 1,
            "--recompute", "--checkpoint", self.path("c"))
        run(*TRAIN, "--gpu", 0, "--resume", self.path("c/checkpoint.safetensors"),
            "--epochs", 2, "--trace", self.path("t.json"), "--trace-steps", "0:1")
        text, _ = run("trace", "summary", self.path("t.json"))
        self.assertIn("activation checkpointing: ", text)

    def test_other_nets_are_refused(self):
        _, error = run("train", "-a", "vgg16", "--dataset", "generated", "--recompute",
                       "--steps", 1, code=1)
        self.assertIn("no residual blocks; fix: ", error)


if __name__ == "__main__":
    unittest.main()
