"""--device-type emulated: eight devices of another machine, and this one's loader."""

import json
import os
import struct
import unittest
import zlib

from support import TempTest, read_trace, run

# The devices need about 45 ms for 96 images.
ON_A100S = ["-a", "resnet50", "--device-type", "emulated", "--hardware", "dgx-a100",
            "--devices", 8, "-b", 96]
A100 = ["train", *ON_A100S, "--dataset", "generated", "--image-size", 224, "--length",
        576, "--steps", 6]


def write_png(path, side):
    """Writes a gradient of side x side pixels, which is slow to decode."""
    line = b"\0" + bytes(i * 37 % 251 for i in range(3 * side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(line * side)),
                           (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + name + data +
                       struct.pack(">I", zlib.crc32(name + data)))


class EmulatedDevices(TempTest):  # gate
    def test_eight_devices(self):
        trace, summary = self.path("t.json"), self.path("s.json")
        out, _ = run(*A100, "--mode", "dp", "-j", 2, "--trace", trace,
                     "--trace-steps", "1:6", "--summary", summary, "-p", 1)
        self.assertIn("takes as long as A100-SXM4-40GB did", out)
        self.assertIn("Loss nan", out)
        self.assertIn("every law holds", run("trace", "check", trace)[0])
        text, _ = run("trace", "summary", trace)
        self.assertIn("8 devices · measured clock\nemulated devices: they take "
                      "the times of A100-SXM4-40GB\n", text)
        with open(summary, encoding="utf-8") as file:
            steps = json.load(file)["steps"]
        self.assertTrue(all(step["loss"] is None for step in steps))

    def test_the_loader_is_named(self):
        # One worker decodes 96 pictures in more than ten times the time that a step
        # takes otherwise, so a busy machine does not change the answer.
        for part in ("train", "val"):
            os.makedirs(self.path(f"set/{part}/n0"))
            write_png(self.path(f"set/{part}/n0/0.png"), 1800)
            for i in range(1, 192):
                os.link(self.path(f"set/{part}/n0/0.png"),
                        self.path(f"set/{part}/n0/{i}.png"))
        trace = self.path("t.json")
        run("train", self.path("set"), *ON_A100S, "--mode", "dp", "-j", 1, "--steps", 2,
            "--trace", trace, "--trace-steps", "0:2")
        self.assertIn("with emulated devices, the loader is the bottleneck",
                      run("trace", "summary", trace)[0])

    def test_ranks(self):
        trace = self.path("t.json")
        run(*A100, "--mode", "ddp", "--length", 96, "--steps", 1, "-j", 2, "--trace",
            trace)
        self.assertIn("every law holds", run("trace", "check", trace)[0])
        facts = read_trace(trace)["lockstep"]
        self.assertEqual(facts["clock"], "measured")
        self.assertEqual(facts["emulated_devices"]["hardware"], "dgx-a100")

    def test_errors(self):
        base = list(A100)
        base[base.index("--hardware") + 1] = "v1000"
        self.assertIn("there is no hardware profile 'v1000'", run(*base, code=2)[1])


if __name__ == "__main__":
    unittest.main()
