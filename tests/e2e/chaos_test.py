"""Thirty runs on three ranks, each with a fault at a random point.

In every case, a run ends within --timeout + 3 s, every surviving rank names the failed
one, and no process or open port is left. Events that are not faults must not end a run.
"""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from ranks import (STEP, TOY, Run, free_port, is_listening, processes_with,
                   without_own_pause)

FIRST_SEED = int(os.environ.get("LOCKSTEP_CHAOS_SEED", 0))
RUNS, AT_A_TIME = 30, 3
TIMEOUT, GRACE = 5, 3
HOW_LONG = ["--epochs", 100000, "-p", 5, "--timeout", TIMEOUT, "--rdzv-timeout", 60]
ENDLESS = [*TOY, "--length", 600, *HOW_LONG]
PIPELINE = ["train", "-a", "resnet18", "--dataset", "generated", "--device-type",
            "null", "--length", 60, "-b", 6, "-j", 1, "--mode", "model-parallel",
            "--split", "layer2,layer3", "--pipeline-schedule", "1f1b",
            "--micro-batches", 3, *HOW_LONG]


class Chaos(unittest.TestCase):  # gate alone
    def test_every_run_ends_as_it_should(self):
        kinds = [Killed, Stopped, Late, SocketClosed, Mismatched, WrongWorldSize,
                 PortTaken, Garbage, StageKilled, StageStopped, ServerKilled,
                 ServerStopped, WorkerKilled]
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            faults = [kinds[i % len(kinds)](FIRST_SEED + i) for i in range(RUNS)]
            done = [pool.submit(fault.whole_run) for fault in faults]
            for fault, result in zip(faults, done):
                with self.subTest(fault=type(fault).__name__, seed=fault.seed):
                    result.result()


class Fault(unittest.TestCase):
    """One run. The seed determines all random choices."""

    fails = True
    training = ENDLESS
    devices = 3

    def __init__(self, seed):
        super().__init__()
        self.seed = seed
        self.random = random.Random(seed)
        self.rank = self.random.randrange(3)
        self.port = free_port()
        self.mark = ["--seed", os.getpid() * 1000 + seed]  # identifies our processes
        self.runs = []

    def whole_run(self):
        try:
            self.start()
            self.since = time.monotonic()
            self.strike()
            if self.fails:
                self.ends_in_time()
            else:
                self.goes_on()
            self.assertEqual(processes_with(self.mark), [])
            self.assertFalse(is_listening(self.port))
        finally:
            for run in self.runs:
                run.kill()

    def start(self):
        """Starts three ranks and trains for a random time."""
        self.launch("--dist-url", f"tcp://127.0.0.1:{self.port}")
        self.run.wait_for(STEP, self.random.randrange(1, 30))
        self.pids = self.run.rank_pids()

    def strike(self):
        raise NotImplementedError

    def launch(self, *words):
        self.run = Run([*self.training, *self.mark, "--multiprocessing-distributed",
                        "--devices", self.devices, *words])
        self.runs.append(self.run)

    def by_hand(self, words, worlds=(3, 3, 3)):
        """Starts the ranks one by one. `words` are extra options of the faulty rank.
        The fault is in the start, which must end in time."""
        url = f"tcp://127.0.0.1:{self.port}"
        for rank, world in enumerate(worlds):
            more = words if rank == self.rank else []
            self.runs.append(Run([*ENDLESS, "--rdzv-timeout", TIMEOUT, *self.mark,
                                  "--dist-url", url, "--rank", rank, "--world-size",
                                  world, *more]))

    def ends_in_time(self):
        codes = [run.end() for run in self.runs]
        took = time.monotonic() - self.since
        self.said = [line for run in self.runs for line in run.err]
        self.assertNotIn(0, codes)
        self.blames()
        self.assertLess(took, TIMEOUT + GRACE, self.said)

    def each_says(self, pattern, ranks):
        for rank in ranks:
            its = [line for line in self.said
                   if line.startswith(f"lockstep: rank {rank}: ")]
            self.assertEqual(len(its), 1, f"rank {rank}: {self.said}")
            words = without_own_pause(its[0].split(": ", 2)[2])
            self.assertRegex(words, pattern)

    def survivors(self):
        return [rank for rank in range(3) if rank != self.rank]

    def goes_on(self):
        self.run.go_on()
        self.run.signal(signal.SIGINT)
        self.assertEqual(self.run.end(), 130)
        self.assertEqual(len(self.run.err), 1, self.run.err)
        self.assertIn("interrupted after", self.run.err[0])


class Killed(Fault):
    def strike(self):
        os.kill(self.pids[self.rank], signal.SIGKILL)

    def blames(self):
        self.each_says("^rank 0, which hosts the store, hangs or has died" if
                       self.rank == 0 else f"^rank {self.rank} died",
                       self.survivors())
        self.assertIn(f"lockstep: rank {self.rank} was terminated by signal 9 (Killed)",
                      self.said)


class Stopped(Fault):
    def strike(self):
        os.kill(self.pids[self.rank], signal.SIGSTOP)

    def blames(self):
        self.each_says("^rank 0, which hosts the store, hangs or has died" if
                       self.rank == 0 else f"^rank {self.rank} hangs or has died",
                       self.survivors())


class StageKilled(Killed):
    training = PIPELINE


class StageStopped(Stopped):
    training = PIPELINE


class OfServers:
    """Two workers and, as rank 2, a parameter server; at any consistency."""

    devices = 2

    def __init__(self, seed):
        super().__init__(seed)
        pace = self.random.choice(["sync", "async", "ssp"])
        self.training = [*ENDLESS, "--mode", "ps", "--consistency", pace]
        self.rank = self.struck()

    def struck(self):
        return 2


class ServerKilled(OfServers, Killed):
    pass


class ServerStopped(OfServers, Stopped):
    pass


class WorkerKilled(OfServers, Killed):
    def struck(self):
        return self.random.randrange(2)


class Late(Fault):
    """A rank that is stopped for less than the timeout."""

    fails = False

    def strike(self):
        os.kill(self.pids[self.rank], signal.SIGSTOP)
        time.sleep(self.random.uniform(0.1, 0.5) * TIMEOUT)
        os.kill(self.pids[self.rank], signal.SIGCONT)


class SocketClosed(Fault):
    """A connection between two ranks is closed."""

    def start(self):
        if not can_cut():
            raise unittest.SkipTest("`ss -K` is not permitted here")
        super().start()

    def strike(self):
        owners = {}  # (local end, remote end) → rank
        rank_of = {pid: rank for rank, pid in self.pids.items()}
        for line in connections():
            pid = re.search(r"pid=(\d+)", line)
            if pid and int(pid.group(1)) in rank_of:
                ends = tuple(line.split()[3:5])
                if not any(end.endswith(f":{self.port}") for end in ends):
                    owners[ends] = rank_of[int(pid.group(1))]
        one, other = self.random.choice(sorted(owners))
        self.ends = owners[one, other], owners[other, one]
        self.since = time.monotonic()
        cut(one, other)

    def blames(self):
        self.each_says("the connection to rank [{}{}] broke during".format(*self.ends),
                       range(3))


class Mismatched(Fault):
    """A rank with a different model, batch or order of collectives."""

    def start(self):
        other = self.random.choice([["--dtype", "float64"], ["-b", 12],
                                    ["--ddp-sync", "naive"]])
        self.by_hand(other)

    def strike(self):
        pass

    def blames(self):
        self.assertEqual(len(self.said), 3, self.said)
        for line in self.said:  # all ranks are compared with rank 0
            self.assertRegex(line, rf"rank {self.rank or 1} has --.*, but rank 0 has "
                                   r"--.*; fix: start all ranks with the same options")


class WrongWorldSize(Fault):
    def start(self):
        worlds = [4 if rank == self.rank else 3 for rank in range(3)]
        self.by_hand([], worlds)

    def strike(self):
        pass

    def blames(self):
        self.assertEqual(len(self.said), 3, self.said)
        self.assertTrue(any(re.search(r"has world size \d, but rank \d .*has \d",
                                      line) for line in self.said), self.said)
        for line in self.said:  # if rank 0 is rejected, the store ends
            self.assertRegex(line, r"world size|\(hosted by rank 0\)|no store after|"
                                   r"rank 0, which hosts the store")


class PortTaken(Fault):
    def start(self):
        self.stranger = socket.create_server(("127.0.0.1", self.port))
        self.launch("--dist-url", f"tcp://127.0.0.1:{self.port}")

    def strike(self):
        pass

    def ends_in_time(self):
        super().ends_in_time()
        self.stranger.close()

    def blames(self):
        self.assertIn(f"lockstep: tcp://127.0.0.1:{self.port}: cannot listen: Address "
                      "already in use; fix: stop the program that is listening "
                      "there, or use another port", self.said)


class Garbage(Fault):
    """Unknown clients connect to the store."""

    fails = False

    def strike(self):
        for size in (0, 1, 5, 100, 1 << 20):
            with socket.create_connection(("127.0.0.1", self.port), 10) as stranger:
                try:
                    stranger.sendall(self.random.randbytes(size))
                except ConnectionError:  # the store has closed the connection
                    pass


def connections():
    return subprocess.run(["ss", "-tnpH"], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def cut(one, other):
    """Closes a TCP connection of any process: both ends receive a reset."""
    subprocess.run(["ss", "-K", "-tn", "src", one, "dst", other], check=True,
                   capture_output=True)


def can_cut():
    """Needs root and a kernel with CONFIG_INET_DIAG_DESTROY."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with client, server:
            ends = ["{}:{}".format(*end.getsockname()) for end in (client, server)]
            try:
                cut(*ends)
                client.send(b"?")
            except (FileNotFoundError, subprocess.CalledProcessError):
                return False
            except ConnectionError:
                return True
    return False


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
