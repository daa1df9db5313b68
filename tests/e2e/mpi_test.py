"""--dist-backend mpi: ranks that mpirun starts, and collectives by MPI."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from ranks import STEP, TOY, Run, environment_of, processes_with
from support import LOCKSTEP, TempTest, run

ENGINE_TEST = os.path.join(os.path.dirname(LOCKSTEP), "tests",
                           "engine_test")
TOY64 = [*TOY, "--dtype", "float64", "--length", 60, "--steps", 8, "--timeout", 20,
         "--dist-url", "env://"]
PIPELINE = ["train", "-a", "resnet20", "--dataset", "generated", "--length", 16, "-b",
            8, "-j", 1, "--steps", 2, "--mode", "model-parallel", "--split", "layer2",
            "--pipeline-schedule", "1f1b", "--micro-batches", 2]


def mpirun(ranks, *more):
    words = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np",
             str(ranks), *more]
    return [*words, "--allow-run-as-root"] if os.geteuid() == 0 else words


class Mpi(TempTest):  # gate
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which("mpirun.openmpi"):
            raise unittest.SkipTest("mpirun is not installed: openmpi-bin")
        if not os.path.exists(os.path.join(os.path.dirname(LOCKSTEP),
                                           "liblockstep_mpi.so")):
            raise unittest.SkipTest("this build has no MPI: libopenmpi-dev")

    def losses(self, ranks, backend, training=TOY64):
        out = self.path(f"{backend}.json")
        started = Run([*training, "--dist-backend", backend, "--summary", out,
                       "--trace", self.path(f"{backend}.trace.json")],
                      before=mpirun(ranks))
        self.addCleanup(started.kill)
        self.assertEqual(started.end(), 0, started.err)
        with open(out, encoding="utf-8") as file:
            return [step["loss"] for step in json.load(file)["steps"]]

    def test_losses_are_those_of_the_ring_and_every_law_holds(self):
        self.assertEqual(self.losses(2, "mpi"), self.losses(2, "ring"))
        both = zip(self.losses(3, "mpi"), self.losses(3, "ring"), strict=True)
        for mpi, ring in both:
            self.assertAlmostEqual(mpi, ring, delta=1e-12)
        run("trace", "check", self.path("mpi.trace.json"))

    def test_pipelines_too(self):
        """Losses are those of the ring, and every law holds."""
        pipeline = [*PIPELINE, "--timeout", 20, "--dist-url", "env://"]
        self.assertEqual(self.losses(2, "mpi", pipeline),
                         self.losses(2, "ring", pipeline))
        run("trace", "check", self.path("mpi.trace.json"))

    def collectives(self, name, ranks, *more):
        done = subprocess.run([*mpirun(ranks, *more), ENGINE_TEST,
                               f"--gtest_filter=Mpi.{name}", "--gtest_color=no"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.count("[  PASSED  ] 1 test."), ranks,
                         done.stdout + done.stderr)
        return done.returncode

    def test_every_collective_is_the_same_as_the_rings(self):
        for ranks in 1, 2, 3:
            self.assertEqual(self.collectives("Every*", ranks), 0)

    def test_errors(self):
        unfinished = ["--mca", "orte_allowed_exit_without_sync", "1"]
        for name in "Processes*", "Late*", "Abort*", "Another*":
            self.collectives(name, 2, *unfinished)

    def test_ranks_that_mpirun_did_not_start(self):
        _, err = run(*TOY64[:-2], "--dist-backend", "mpi", "--devices", 2,
                     "--multiprocessing-distributed", code=1)
        self.assertIn("of 2, but rank 0 of 1 in MPI; fix: start the ranks with `mpirun "
                      "-np 2 ./lockstep train … --dist-url env:// "
                      "--dist-backend mpi`", err)
        _, err = run(*TOY64[:-2], "--dist-backend", "mpi", "--devices", 2, "--mode",
                     "ddp", code=2)
        self.assertIn("--dist-backend mpi requires processes, but without processes "
                      "ranks are threads with a ring in memory; fix: omit it, or use "
                      "mpirun", err)

    def test_a_rank_that_is_killed_ends_the_job(self):
        mark = ["--seed", os.getpid()]  # identifies our processes
        started = Run([*TOY64, "--steps", 100000, "--epochs", 100000, "-p", 1,
                       "--dist-backend", "mpi", *mark], before=mpirun(2))
        self.addCleanup(started.kill)
        started.wait_for(STEP)
        for pid in processes_with(mark):
            if environment_of(pid).get("OMPI_COMM_WORLD_RANK") == "1":
                os.kill(pid, signal.SIGKILL)
        self.assertNotEqual(started.end(), 0)


if __name__ == "__main__":
    unittest.main()
