#!/usr/bin/env python3
"""run.py with fake peers of known results: dropped samples and ratios."""
import contextlib
import io
import json
import os
import stat
import tempfile
import unittest

import run

FAKE = """#!/usr/bin/env python3
import json, os, sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2])) if sys.argv[1][:2] == "--" else dict(
    zip(sys.argv[2::2], sys.argv[3::2]))
name = os.path.basename(sys.argv[0])
if name == "torch_step":
    name += flags["--channels-last"]
else:
    name += " " + flags["--conv"]
assert os.environ["OMP_NUM_THREADS"] == flags["--threads"]
assert len(os.sched_getaffinity(0)) == int(flags["--threads"])
samples, foreign, rss, *more = json.load(open(os.environ["FAKE_PEERS"]))[name]
impls = dict.fromkeys(more, 1)
print("noise")
print(json.dumps(dict(samples=samples, foreign=foreign, peak_rss_mib=rss,
                      impls={"jit_wino_4x3:avx512_core": 1, **impls})))
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("torch_step", "ceiling", "lockstep"):
            path = os.path.join(self.folder, name)
            with open(path, "w") as f:
                f.write(FAKE)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        # 9.0 and 0.1 are dirty samples and must not change the results.
        self.peers = {
            "torch_step0": ([5.0, 5.0], [0.0, 0.06], 900),
            "torch_step1": ([4.0, 0.1], [0.0, 0.07], 1000),
            "ceiling winograd": ([1.6, 9.0], [0.01, 0.5], 800),
            "lockstep auto": ([2.0, 2.0], [0.0, 0.0], 990),
        }

    def run_it(self):
        path = os.path.join(self.folder, "peers.json")
        with open(path, "w") as f:
            json.dump(self.peers, f)
        os.environ["FAKE_PEERS"] = path
        out = os.path.join(self.folder, "out")
        with contextlib.redirect_stdout(io.StringIO()) as text, \
                contextlib.redirect_stderr(text):
            code = run.main(["--build", self.folder, "--lockstep",
                             os.path.join(self.folder, "lockstep"), "--case",
                             "resnet18-b32", "--threads", "1", "--conv", "auto",
                             "--rounds", "2", "--extra-rounds", "1", "--min-clean", "4",
                             "--patience", "0", "--out", out])
        self.assertEqual(code, 0, text.getvalue())
        with open(out + ".json") as f:
            case = json.load(f)["cases"][0]
        with open(out + ".md") as f:
            return case, f.read(), {e["peer"]: e for e in case["ratios"]}

    def test_ratios_use_clean_samples_and_the_better_layout(self):
        case, _, ratios = self.run_it()
        mine = ratios["lockstep auto"]
        self.assertEqual(mine["best_libtorch"], "libtorch NHWC")
        self.assertAlmostEqual(mine["speedup"]["value"], 2.0)
        self.assertAlmostEqual(mine["of_ceiling"]["value"], 0.8)
        self.assertAlmostEqual(mine["memory"], 1.1)  # the smaller layout's 900
        self.assertAlmostEqual(ratios["ceiling auto"]["speedup"]["value"], 2.5)

    def test_peers_with_few_clean_samples_get_more_turns(self):
        case, _, _ = self.run_it()
        turns = {row["peer"]: len(row["reports"]) for row in case["peers"]}
        self.assertEqual(turns, {"libtorch NCHW": 2, "libtorch NHWC": 3,
                                 "ceiling auto": 3, "lockstep auto": 2})

    def test_no_clean_sample_is_said_and_no_ratio_made(self):
        self.peers["torch_step1"] = ([4.0], [0.5], 1000)
        case, text, ratios = self.run_it()
        self.assertIsNone(ratios["lockstep auto"]["speedup"])  # best layout unknown
        self.assertIn("| libtorch NHWC | no clean sample | 0 of 3 |", text)

    def test_slow_kernels_of_onednn_are_named_and_our_loops_are_not(self):
        self.peers["ceiling winograd"] += ("ref:any",)
        self.peers["lockstep auto"] += ("reference:float32",)
        _, text, _ = self.run_it()
        self.assertIn("ceiling auto ran ref:any", text)
        self.assertNotIn("reference:float32", text)

    def test_a_failing_peer_is_left_out(self):
        del self.peers["ceiling winograd"]
        case, _, ratios = self.run_it()
        self.assertEqual(list(ratios), ["lockstep auto"])
        self.assertIsNone(ratios["lockstep auto"]["of_ceiling"])


if __name__ == "__main__":
    unittest.main()
