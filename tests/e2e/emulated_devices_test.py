"""--device-type emulated: eight devices of another machine, and this one's loader."""

import json
import unittest

from support import TempTest, read_trace, run

# The devices need about 45 ms for 96 images, of which a worker generates far fewer.
A100 = ["train", "-a", "resnet50", "--dataset", "generated", "--image-size", 224,
        "--device-type", "emulated", "--hardware", "dgx-a100", "--devices", 8, "-b", 96,
        "--length", 576, "--steps", 6]


class EmulatedDevices(TempTest):
    def test_the_loader_is_named(self):
        for workers in 1, 2:
            trace, summary = self.path("t.json"), self.path("s.json")
            out, _ = run(*A100, "--mode", "dp", "-j", workers, "--trace", trace,
                         "--trace-steps", "1:6", "--summary", summary, "-p", 1)
            self.assertIn("takes as long as A100-SXM4-40GB did", out)
            self.assertIn("Loss nan", out)
            self.assertIn("every law holds", run("trace", "check", trace)[0])
            text, _ = run("trace", "summary", trace)
            self.assertIn("8 devices · measured clock\nemulated devices: they take "
                          "the times of A100-SXM4-40GB\n", text)
            if workers == 1:  # two may be enough on a fast machine
                self.assertIn("with emulated devices, the loader is the bottleneck",
                              text)
            with open(summary, encoding="utf-8") as file:
                steps = json.load(file)["steps"]
            self.assertTrue(all(step["loss"] is None for step in steps))

    def test_ranks(self):
        trace = self.path("t.json")
        run(*A100, "--mode", "ddp", "--length", 96, "--steps", 1, "-j", 2, "--trace",
            trace)
        self.assertIn("every law holds", run("trace", "check", trace)[0])
        facts = read_trace(trace)["lockstep"]
        self.assertEqual(facts["clock"], "measured")
        self.assertEqual(facts["emulated_devices"]["hardware"], "dgx-a100")

    def test_errors(self):
        for words, error in (
                (["--hardware", "v1000"], "there is no hardware profile 'v1000'"),
                (["-b", 8 * 8], "with a batch of 8 are unknown"),
                (["-a", "resnet34"], "resnet34 on A100-SXM4-40GB"),
                (["--device-type", "cpu"], "--hardware has no effect")):
            with self.subTest(words=words):
                base = [word for word in A100]
                for flag, value in zip(words[::2], words[1::2]):
                    base[base.index(flag) + 1] = value
                self.assertIn(error, run(*base, code=2)[1])


if __name__ == "__main__":
    unittest.main()
