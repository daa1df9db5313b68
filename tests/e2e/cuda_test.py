"""--device-type cuda without a GPU: error messages; and CPU runs do not load CUDA. On a
machine with a GPU, tests/gpu/run checks it."""

import os
import re
import sys
import unittest

from support import ROOT, TempTest, run

CUDA = ["--device-type", "cuda", "--dataset", "generated", "--steps", 1]


class Cuda(TempTest):
    def setUp(self):
        super().setUp()
        self.doctor = next(line for line in run("doctor")[0].splitlines()
                           if re.search(r"\bCUDA\b", line))
        self.has_gpu = self.doctor.startswith("ok")
        self.built = "this build has no CUDA" not in self.doctor

    def needs_no_gpu(self):
        if self.has_gpu:
            self.skipTest("this machine has a GPU; tests/gpu/run checks it")

    def test_doctor_says_what_is_missing(self):
        self.needs_no_gpu()
        self.assertTrue(self.doctor.startswith("missing"))
        self.assertIn("use --device-type cpu", self.doctor)
        if self.built:
            self.assertRegex(self.doctor, "no CUDA (driver|GPU)")
            self.assertRegex(self.doctor, r"built with CUDA \d+\.\d+, cuDNN 9\.\d+")

    def test_training_ends_with_the_mend(self):
        self.needs_no_gpu()
        train = ["train", *CUDA]
        for words in ([*train, "--gpu", 0], [*train, "--devices", 2],
                      [*train, "--mode", "ddp", "--devices", 2],
                      ["bench-step", "--device-type", "cuda", "--batch", 2]):
            _, error = run(*words, code=1)
            self.assertEqual(len(error.strip().splitlines()), 1, error)
            self.assertIn("no CUDA", error)
            self.assertIn("use --device-type cpu", error)

    def test_a_cpu_run_loads_none_of_it(self):
        if not self.built:
            self.skipTest("this build has no CUDA backend")

        def loaded(*words, **options):
            _, said = run(*words, LD_DEBUG="files", **options)
            return [name for name in ("liblockstep_cuda", "libcudnn", "libnccl",
                                      "libcublas", "libcupti") if name in said]
        self.assertIn("libcudnn", loaded("doctor"))  # the library's expected name
        train = ["train", "--device-type", "reference", "-a", "toy", "--mode", "ddp",
                 "--devices", 2, "-b", 10, "--steps", 1]
        self.assertEqual(loaded(*train), [])
        self.assertEqual(loaded(*train, "--trace", self.path("t.json")), [])

    def test_flags_that_only_cuda_reads(self):
        for flag, words in (("--no-tf32", []), ("--cuda-graph", []),
                            ("--amp", ["--device-type", "null"])):  # CPUs may have it
            _, error = run("train", "--dataset", "generated", flag, *words, code=2)
            self.assertIn(flag, error)
        if self.has_gpu:
            return
        _, error = run("train", *CUDA, "--dtype", "float64", code=1)
        self.assertIn("no CUDA", error)

    def test_the_gpu_scripts_say_that_there_is_nothing_to_check(self):
        self.needs_no_gpu()
        import subprocess
        folder = os.path.dirname(os.environ["LOCKSTEP_BIN"])
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tests", "gpu", "run"), "--binaries",
             folder, "--out", self.path("out")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("nothing can be checked here", done.stdout)
        self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
