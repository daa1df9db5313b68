"""--prefetch-to-device: the weights are those of a run without it, and what it cannot
do is refused."""

import unittest

from support import TempTest, content, read_trace, run

TRAIN = ["train", "-a", "resnet20", "--dataset", "generated", "--image-size", 8, "-b",
         4, "--length", 24, "--steps", 4, "--device-type", "cpu"]
WAYS = {
    "single": ["--gpu", 0],
    "dp": ["--mode", "dp", "--devices", 2, "--input-on", "device0"],
    "dp-criterion": ["--mode", "dp-criterion", "--devices", 2, "--input-on", "device0"],
    "ddp": ["--mode", "ddp", "--devices", 2],
    "local-sgd": ["--mode", "local-sgd", "--devices", 2, "--local-steps", 2],
    "ps": ["--mode", "ps", "--devices", 2],
    "locked": ["--mode", "locked", "--devices", 1],
    "model-parallel": ["--mode", "model-parallel", "--devices", 2, "--split", "layer3"],
}


class PrefetchToDevice(TempTest):  # gate
    def weights(self, *flags):
        path = self.path("w.safetensors")
        run(*TRAIN, *flags, "--save", path)
        return content(path)

    def test_the_weights_are_the_same(self):
        for way, flags in WAYS.items():
            with self.subTest(way):
                self.assertEqual(self.weights(*flags),
                                 self.weights(*flags, "--prefetch-to-device"))

    def test_a_traced_step_has_its_own_copies(self):
        trace = self.path("t.json")
        run(*TRAIN, "--gpu", 0, "--prefetch-to-device", "--trace", trace,
            "--trace-steps", "2:4")
        text, _ = run("trace", "check", trace)
        self.assertTrue(text.endswith("every law holds\n"), text)
        steps = {e["args"]["step"] for e in read_trace(trace)["traceEvents"]
                 if e.get("name") == "h2d"}
        self.assertEqual(steps, {2, 3})

    def test_what_it_cannot_do_is_refused(self):
        for flags, error in (
                (["--mode", "dp", "--devices", 2], "add --input-on device0"),
                (["--on-bad-image", "skip"], "--on-bad-image skip"),
                (["--mode", "hybrid", "--devices", 2, "-a", "vgg16"],
                 "no effect on --mode hybrid"),
                (["--summary", self.path("s.json")], "--summary records all"),
                (["-a", "toy", "--dataset", "random"], "no effect on -a toy")):
            _, said = run(*TRAIN, *flags, "--prefetch-to-device", code=2)
            self.assertIn(error, said)


if __name__ == "__main__":
    unittest.main()
