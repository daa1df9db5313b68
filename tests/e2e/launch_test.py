"""`launch`, like torchrun, and the files that a failed run leaves."""

import os
import signal
import socket
import time
import unittest

from ranks import STEP, TOY, Run, free_port, group_members
from support import TempTest, read_trace, run

TOY64 = [*TOY, "--dtype", "float64", "-b", "8"]


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = file.read().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


class Launch(TempTest):
    def ranks_of(self, launcher, count):
        """The environments of its `count` processes, by rank."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = {}
            for pid in group_members(launcher.pid):
                try:
                    variables = environment_of(pid)
                except OSError:
                    continue
                if "LOCKSTEP_RANK" in variables:
                    found[variables["RANK"]] = variables
            if len(found) == count:
                return found
            time.sleep(0.02)
        raise AssertionError(f"no {count} ranks: {launcher.err}")

    def test_flags_in_both_spellings(self):
        losses = []
        for words in (["--nproc-per-node", 2, "--"],
                      ["--nproc_per_node=2"],
                      ["--standalone", "--nproc-per-node", 2, "--"],
                      ["--nproc_per_node", 2, "--master_addr", "127.0.0.1",
                       "--master_port", free_port()],
                      ["--nproc-per-node", 2, "--master-port", free_port()],
                      ["--nproc_per_node", 2, "--rdzv_backend", "c10d", "--rdzv_id",
                       "job", "--tee", 3]):
            out, _ = run("launch", *words, *TOY64, "--steps", 2, "-p", 1)
            losses.append([line.split("Loss")[1].split()[0]
                           for line in out.splitlines() if STEP in line])
        self.assertEqual(len(losses[0]), 2)
        self.assertEqual(losses, [losses[0]] * 6)

    def test_the_port_alone_is_rank_0s(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            _, error = run("launch", "--master-port", taken.getsockname()[1], *TOY64,
                           code=1)
        self.assertIn("Address already in use", error)

    def test_as_many_processes_as_devices(self):
        cores = len(os.sched_getaffinity(0))
        out, _ = run("launch", "--nproc-per-node", "cpu", *TOY, "--dtype", "float64",
                     "-b", 8 * cores, "--steps", 1)
        self.assertIn(f"batch {8 * cores}, 8 on each", out)
        _, error = run("launch", "--nproc-per-node", "many", *TOY64, code=2)
        self.assertIn("must be from 1 to 64, or auto, gpu or cpu", error)

    def test_variables_are_torchruns(self):
        port = free_port()
        for words, host, url in (
                (["--rdzv-endpoint", f"127.0.0.1:{port}"], "127.0.0.1", "127.0.0.1"),
                (["--rdzv-endpoint", f"[::1]:{port}"], "::1", "[::1]"),
                (["--master-addr", "::1", "--master-port", port], "::1", "[::1]")):
            launcher = Run(["launch", "--nnodes", 2, "--node-rank", 1,
                            "--nproc-per-node", 2, *words, *TOY64])
            self.addCleanup(launcher.kill)
            ranks = self.ranks_of(launcher, 2)  # they wait for node 0, which is absent
            self.assertEqual(sorted(ranks), ["2", "3"])
            for rank, local in ("2", "0"), ("3", "1"):
                said = {name: ranks[rank].get(name) for name in (
                    "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                    "MASTER_ADDR", "LOCKSTEP_INIT")}
                self.assertEqual(said, {
                    "WORLD_SIZE": "4", "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": "2",
                    "GROUP_RANK": "1", "MASTER_ADDR": host,
                    "LOCKSTEP_INIT": f"tcp://{url}:{port}"})

    def test_a_limit_of_open_files_is_the_cause(self):
        """It is raised as far as the system allows, or named before ranks start."""
        words = [*TOY64, "--length", 40, "--epochs", 1, "--steps", 1, "-b", 40,
                 "--multiprocessing-distributed", "--devices", 20]
        limited = ["prlimit", "--nofile=60:60"]
        done = Run(words, before=limited)
        self.assertEqual(done.end(), 1)
        self.assertEqual(done.err, [
            "lockstep: 20 ranks need about 88 open files, and the limit is 60; fix: "
            "ulimit -n 88, which an administrator may have to allow"])
        self.assertEqual(Run(words, before=["prlimit", "--nofile=60:88"]).end(), 0)

    def test_wrong_usage(self):
        for words, fix in (
                ([], "launch runs `train`, not nothing"),
                (["python3", "main.py"], "launch runs `train`, not 'python3'"),
                ([*TOY64, "--nnodes", 2], "--nnodes is an option of launch"),
                ([*TOY64, "--rank=1"], "--rank: launch gives each rank its number"),
                ([*TOY64, "--dist-url", "tcp://a:1"], "--dist-url: launch gives"),
                (["--nproc-pernode", 2, *TOY64], "--nproc-pernode"),
                (["--nnodes", 2, *TOY64], "HOST:PORT, or --master-addr HOST, of"),
                (["--nnodes", 2, "--rdzv-endpoint", "a:1", "--rdzv-backend", "c10d",
                  *TOY64], "c10d: unlike torchrun's, it does not number the nodes"),
                (["--standalone", "--nnodes", 2, *TOY64], "uses one machine"),
                (["--master-addr", "a", "--rdzv-endpoint", "b:1", *TOY64],
                 "mutually exclusive"),
                (["--node-rank", 1, *TOY64], "must be from 0 to 0")):
            _, error = run("launch", *words, code=2)
            self.assertIn(fix, error)
            self.assertEqual(error.count("\n"), 1, error)


class Survivors(TempTest):
    """A rank that fails does not damage the other ranks' traces."""

    def start(self, *words):
        url = f"tcp://127.0.0.1:{free_port()}"
        ranks = [Run([*TOY64, "--dist-url", url, "--world-size", 2, "--rank", rank,
                      "--epochs", 9999, "-p", 1, "--timeout", 20, "--trace",
                      self.path("t.json"), *words]) for rank in (0, 1)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        return ranks

    def test_steps_that_were_finished_are_kept(self):
        ranks = self.start("--trace-steps", "0:100000")
        ranks[0].wait_for(STEP, 4)
        ranks[1].signal(signal.SIGKILL)
        self.assertEqual(ranks[0].end(), 1)
        file = self.path("t.rank0.json")
        self.assertIn(f"lockstep: the trace of the preceding steps is in {file}",
                      ranks[0].err[0])
        steps = {e["args"]["step"] for e in read_trace(file)["traceEvents"]
                 if e.get("cat") == "phase" and e["name"] == "step"}
        self.assertEqual(steps, set(range(len(steps))))
        self.assertGreaterEqual(len(steps), 3)
        text, _ = run("trace", "summary", file)
        self.assertIn("rank 0 of 2 only", text)

    def test_a_trace_is_written_as_soon_as_it_is_whole(self):
        ranks = self.start("--trace-steps", "0:2")
        ranks[0].wait_for(STEP, 4)
        for rank in ranks:
            rank.signal(signal.SIGKILL)
            rank.end()
        files = [self.path(f"t.rank{rank}.json") for rank in (0, 1)]
        self.assertEqual([os.path.exists(file) for file in files], [True, True])
        run("trace", "merge", *files, "-o", self.path("t.json"))
        run("trace", "check", self.path("t.json"))

    def test_a_place_that_cannot_be_written_is_told_first(self):
        for place in self.folder, self.path("nowhere/t.json"):
            ranks = self.start("--trace", place)
            self.assertEqual([rank.end() for rank in ranks], [1, 1])
            self.assertRegex(" ".join(ranks[0].err),
                             "cannot be written|no such folder")
            self.assertFalse(any(STEP in line for rank in ranks for line in rank.out))
        out, error = run("train", "-a", "resnet18", "--device-type", "null",
                         "--dataset", "generated", "--trace", self.folder, code=1)
        self.assertIn("cannot be written (Is a directory)", error)
        self.assertNotIn(STEP, out)


if __name__ == "__main__":
    unittest.main()
