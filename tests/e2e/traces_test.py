"""Traces of real kernels, and the output of the trace commands."""

import bisect
import json
import os
import sys
import tempfile
import unittest
from collections import Counter

from support import TempTest, expect_schema, read_trace, run


class Traces(TempTest):  # first
    """Traces recorded with real kernels are consistent."""

    @classmethod
    def setUpClass(cls):
        cls.shared_folder = tempfile.TemporaryDirectory()
        cls.files = {}
        for arch, mode in (("resnet18", "single"), ("resnet18", "dp"),
                           ("vgg16_bn", "dp")):
            out = os.path.join(cls.shared_folder.name, f"{arch}_{mode}.json.gz")
            cls.files[arch, mode] = cls.record(out, arch, mode)

    @staticmethod
    def record(out, arch, mode):
        # VGG has 1 GB per device, so it runs on two devices only.
        devices = 1 if mode == "single" else 2 if arch == "vgg16_bn" else 4
        run("train", "--dataset", "generated", "-a", arch, "--mode", mode,
            "--devices", devices, "-b", 16, "--steps", 4, "--lr", 0.001,
            "--trace-steps", "1:4", "--trace", out)
        return out

    @classmethod
    def tearDownClass(cls):
        cls.shared_folder.cleanup()

    def test_every_law_holds(self):
        for file in self.files.values():
            run("trace", "check", file)
            verdict = json.loads(run("trace", "check", "--json", file)[0])
            self.assertTrue(verdict["ok"])

    def test_schema(self):
        expect_schema(read_trace(file) for file in self.files.values())

    def test_the_recorded_edges_explain_the_step(self):
        """Or the thread that trains woke up late, which no dependency explains. Uses
        the best step, and records again if there is no good one."""
        for (arch, mode), file in self.files.items():
            for attempt in range(3):
                if attempt > 0:
                    file = self.record(self.path("again.json.gz"), arch, mode)
                late = late_wake_ups(read_trace(file))
                summary = json.loads(run("trace", "summary", "--json", file)[0])
                steps = summary["train"]["steps"]
                unexplained = min((
                    abs(step["seconds"] - step["longest_path_seconds"]
                        - late[step["step"]]) / step["seconds"]
                    for step in steps if late[step["step"]] < 0.5 * step["seconds"]),
                    default=1)
                if unexplained < 0.02:
                    break
            self.assertLess(unexplained, 0.02)

    def test_measured_emulation_is_exact(self):
        for file in self.files.values():
            out = self.path("e.json")
            run("emulate", "--measured-durations", file, "-o", out)
            self.assertEqual(times(read_trace(file)), times(read_trace(out)))

    def test_emulated_forwards_overlap(self):
        out = self.path("e.json")
        text, _ = run("emulate", self.files["resnet18", "dp"], "-o", out)
        trace = read_trace(out)
        self.assertEqual(trace["lockstep"]["clock"], "emulated")
        self.assertIn("assumed (--json says all): - each kernel takes its CPU time on "
                      "a device with its own hardware; the host keeps its recorded "
                      "pace but wakes up within 20 µs; copies: 12 GB/s + 10 µs, one at "
                      "a time out of a device and one at a time into it training",
                      " ".join(text.split()))
        self.assertIn(f"=> trace written: {out} (3 steps)\n", text)
        # The host's pace is recorded: in one step a thread may have had no core.
        self.assertTrue(any(self.overlaps(trace, step) for step in (1, 2, 3)))

    def overlaps(self, trace, step):
        """Whether the forwards of four devices run at the same time in the step."""
        spans = {}
        for e in trace["traceEvents"]:
            if (e.get("cat") == "kernel" and e["args"].get("phase") == "parallel_apply"
                    and e["args"]["step"] == step):
                begin, end = spans.get(e["args"]["device"], (e["ts"], e["ts"]))
                spans[e["args"]["device"]] = (min(begin, e["ts"]),
                                              max(end, e["ts"] + e["dur"]))
        self.assertEqual(sorted(spans), [0, 1, 2, 3])
        return max(b for b, _ in spans.values()) < min(e for _, e in spans.values())

    def test_who_calls_forward(self):
        text, _ = run("trace", "summary", "--calls", self.files["resnet18", "single"])
        header, *lines = text.splitlines()
        self.assertTrue(header.endswith("called at → defined at"), header)
        self.assertRegex(lines[0], r"engine/train/train_step.cpp:\d+ → "
                                   r"engine/nn/module_call.cpp:\d+$")
        names = [line.split()[0] for line in lines]
        self.assertEqual(names[:3],
                         ["ResNet.__call__", "Module._call_impl", "ResNet.forward"])
        self.assertIn("BasicBlock.__call__", names)
        self.assertIn("engine/models/resnet.cpp", text)
        text, _ = run("trace", "summary", "--calls", self.files["resnet18", "dp"])
        self.assertRegex(text, r"\[replica cpu:0 … replica cpu:3: 4 in parallel, "
                               r"time of the first\]")

        trace = read_trace(self.files["resnet18", "single"])
        calls = {e["name"]: e["args"] for e in trace["traceEvents"]
                 if e.get("cat") == "call"}
        sources = trace["lockstep"]["sources"]

        def line(file, number):
            return sources[file].splitlines()[number - 1]

        forward = calls["ResNet.forward"]
        definition = line(forward["def_file"], forward["def_line"])
        self.assertIn("ResNet::forward(", definition)
        self.assertIn("forward(given)", line(forward["file"], forward["line"] + 1)
                      + line(forward["file"], forward["line"]))
        conv = calls["Conv2d.__call__"]
        self.assertIn("(*", line(conv["file"], conv["line"]))


class OneDevice(TempTest):
    def test_constructed_devices_are_compared_with_one(self):
        """With the same batch, if that is recorded."""
        files = []
        for batch in (8, 16):
            files.append(self.path(f"{batch}.json"))
            run("train", "--dataset", "generated", "-a", "resnet20", "--gpu", "0", "-j",
                "1", "-b", batch, "--steps", 2, "--trace", files[-1])
        made = ["--mode", "dp", "--devices", 2, "--hardware", "v100-pcie"]
        text, _ = run("emulate", *files, *made)
        self.assertRegex(text, r"2 devices are (\S+ )?as (fast|slow) as one: the mean")
        self.assertRegex(text, r"\n2\.00x [−+] .* = \d\.\d\dx\n")
        summary = json.loads(run("emulate", *files, *made, "--json")[0])
        self.assertEqual(summary["one_device"]["train"]["steps"][0]["batch"], 16)
        text, _ = run("emulate", files[0], *made)
        self.assertIn("One device's step with the same batch of 16 is unknown; fix: ",
                      text)
        self.assertNotIn("one_device", run("emulate", files[0], *made, "--json")[0])


def late_wake_ups(trace):
    """By step, the seconds for which the thread that trains went on waiting although
    nothing that it could wait for was running: from the last end of an event of any
    other thread to the end of the wait."""
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    trains = {(e["pid"], e["tid"]) for e in spans
              if e["cat"] == "phase" and e["name"] == "step"}
    ends = sorted(e["ts"] + e["dur"] for e in spans
                  if (e["pid"], e["tid"]) not in trains)
    late = Counter()
    for e in spans:
        if e["cat"] == "sync" and (e["pid"], e["tid"]) in trains:
            end = e["ts"] + e["dur"]
            before = bisect.bisect_right(ends, end)
            last = ends[before - 1] if before > 0 else 0
            late[e["args"]["step"]] += (end - max(e["ts"], last)) / 1e6
    return late


def times(trace):
    return sorted((e["args"]["id"], e["ts"], e.get("dur", 0))
                  for e in trace["traceEvents"] if "id" in e.get("args", {}))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
