"""Faults at random steps of jobs that any launcher started, and preemptions of them.

A few cheap runs by default. By hand, all launchers, with a table of what was right:

    LOCKSTEP_CHAOS_RUNS=100 LOCKSTEP_PREEMPTED_RUNS=50 LOCKSTEP_CHAOS_TABLE=table.md \\
        LOCKSTEP_BIN=build/release/lockstep python3 tests/e2e/launcher_chaos_test.py
"""

import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from collections import Counter

from jobs import Job, Multiprocessing, Tcp, launchers_here, wait_until
from preemption_test import contents
from ranks import STEP, processes_with, without_own_pause
from support import LOCKSTEP, TempTest, run

FIRST_SEED = int(os.environ.get("LOCKSTEP_CHAOS_SEED", 0))
RUNS = int(os.environ.get("LOCKSTEP_CHAOS_RUNS", 0))
PREEMPTED = int(os.environ.get("LOCKSTEP_PREEMPTED_RUNS", 0))
TABLE = os.environ.get("LOCKSTEP_CHAOS_TABLE")
RANKS, TIMEOUT, GRACE = 3, 5 if RUNS else 4, 3
SHAPE = ["train", "-a", "sparse", "--features", 64, "--device-type", "reference", "-b",
         6, "-j", 1, "-p", 1]
ENDLESS = [*SHAPE, "--length", 6000, "--epochs", 100000, "--timeout", TIMEOUT,
           "--rdzv-timeout", 60]
SHORT = [*SHAPE, "--length", 1200, "--epochs", 4]
SYS_PIDFD_GETFD = 438


class Table:
    """How many runs of each launcher and fault were right."""

    def __init__(self, title):
        self.title, self.runs, self.right = title, Counter(), Counter()

    def add(self, launcher, fault, is_right):
        self.runs[launcher, fault] += 1
        self.right[launcher, fault] += is_right

    def write(self):
        if not TABLE or not self.runs:
            return
        faults = list(dict.fromkeys(fault for _, fault in self.runs))
        rows = [["launcher", *faults], ["---"] * (len(faults) + 1)]
        for launcher in dict.fromkeys(launcher for launcher, _ in self.runs):
            cells = [(self.right[launcher, f], self.runs[launcher, f]) for f in faults]
            rows.append([launcher, *(f"{a} of {b}" if b else "" for a, b in cells)])
        with open(TABLE, "a", encoding="utf-8") as file:
            file.write(f"\n{self.title}, {sum(self.runs.values())} runs, "
                       f"{sum(self.right.values())} right:\n\n")
            for row in rows:
                file.write(f"| {' | '.join(row)} |\n")


def cut(pids):
    """Closes a connection between two ranks, not one with rank 0's store, for both
    ends. Returns the two ranks; none if there was no connection."""
    rank_of = {pid: rank for rank, pid in pids.items()}
    listening = {line[3].rpartition(":")[2] for line in sockets("-tlnpH")
                 if owner(line)[0] == pids[0]}
    ends = {}  # (local end, remote end) → (pid, descriptor)
    for line in sockets("-tnpH"):
        if owner(line)[0] in rank_of:
            ends[line[3], line[4]] = owner(line)
    for (one, other), (pid, descriptor) in sorted(ends.items()):
        ports = {end.rpartition(":")[2] for end in (one, other)}
        if (other, one) in ends and not ports & listening:
            shut_down(pid, descriptor)
            return sorted([rank_of[pid], rank_of[ends[other, one][0]]])
    return []


def sockets(how):
    return [line.split() for line in subprocess.run(
        ["ss", how], capture_output=True, text=True, check=True).stdout.splitlines()]


def owner(line):
    """(pid, descriptor) of a socket in the output of `ss -p`."""
    found = re.search(r"pid=(\d+),fd=(\d+)", line[-1])
    return (int(found[1]), int(found[2])) if found else (None, None)


def shut_down(pid, descriptor):
    libc, process = ctypes.CDLL(None, use_errno=True), os.pidfd_open(pid)
    copy = libc.syscall(SYS_PIDFD_GETFD, process, descriptor, 0)
    os.close(process)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    with socket.socket(fileno=copy) as connection:
        connection.shutdown(socket.SHUT_RDWR)


class LauncherChaos(TempTest):  # gate alone
    def test_faults(self):
        table, launchers = Table("Faults"), launchers_here() if RUNS else []
        faults = ["KILL", "STOP", "TERM", "INT", "cut", "slow"]
        runs = [(launchers[i % len(launchers)],
                 faults[i // len(launchers) % len(faults)], FIRST_SEED + i)
                for i in range(RUNS)]
        for launcher, fault, seed in runs or [
                (Tcp, "cut", 0), (Job, "STOP", 2), (Multiprocessing, "INT", 3)]:
            with self.subTest(launcher=launcher.name, fault=fault, seed=seed):
                if fault == "cut" and not shutil.which("ss"):
                    self.skipTest("`ss` (iproute2) is not installed")
                is_right = False
                try:
                    self.one(launcher, fault, random.Random(seed), f"run{seed}")
                    is_right = True
                finally:
                    table.add(launcher.name, fault, is_right)
        table.write()

    def one(self, launcher, fault, dice, folder):
        self.place = self.path(folder)
        os.mkdir(self.place)
        self.trace = self.place + "/t.json"
        job = launcher([*ENDLESS, "--checkpoint-steps", 5, "--trace", self.trace,
                        "--trace-steps", "0:100000"], RANKS, self.place + "/c")
        steps, struck = dice.randrange(8, 60), dice.randrange(RANKS)
        try:
            job.wait_for(STEP, steps)
            self.assertEqual(sorted(job.pids()), list(range(RANKS)))
            {"KILL": self.dies, "STOP": self.dies, "TERM": self.ends, "INT": self.ends,
             "cut": self.is_cut, "slow": self.is_late}[fault](job, fault, struck, dice)
            self.assertEqual(processes_with(job.mark), [])
            self.checkpoint_is_whole()
        except AssertionError as error:
            raise AssertionError(f"rank {struck}: {error}\nout: {job.out()[-3:]}\n"
                                 f"err: {job.err()}") from error
        finally:
            job.kill()

    def dies(self, job, fault, struck, _):
        others = [pid for rank, pid in job.pids().items() if rank != struck]
        os.kill(job.pids()[struck], getattr(signal, f"SIG{fault}"))
        gone = wait_until(lambda: not set(others) & set(job.pids().values()),
                          TIMEOUT + GRACE)
        self.assertTrue(gone, "a survivor goes on")
        if fault == "STOP" and not job.ends_stopped:  # it goes on, and finds them gone
            os.kill(job.pids()[struck], signal.SIGCONT)
        self.assertNotIn(0, job.end())
        said = job.said()
        its_own = said.pop(struck, "")
        if fault == "STOP" and not job.ends_stopped or its_own:
            self.assertRegex(its_own, "^this rank was itself stopped, or had no CPU")
        how = "hangs or has died|died" if fault == "STOP" or struck == 0 else "died"
        self.names(said, rf"^rank {struck}(, which hosts the store,)? ({how})",
                   set(range(RANKS)) - {struck}, job.names_all)
        self.survivors_traces(job, set(range(RANKS)) - {struck})

    def is_cut(self, job, fault, struck, _):
        try:
            ends = cut(job.pids())
        except PermissionError as error:
            self.skipTest(f"not permitted here: {error.strerror}")
        self.assertEqual(len(ends), 2)
        self.assertNotIn(0, job.end())
        broke = "the connection to rank [{}{}] broke during".format(*ends)
        self.names(job.said(), broke, set(range(RANKS)), job.names_all)
        self.survivors_traces(job, set(range(RANKS)))

    def names(self, said, pattern, ranks, all_of_them):
        for text in said.values():
            self.assertRegex(without_own_pause(text), pattern)
        if all_of_them:
            self.assertEqual(set(said) & ranks, ranks)
        else:
            self.assertTrue(said)

    def survivors_traces(self, job, ranks):
        """A rank that reported has first written what it had recorded."""
        for rank in set(job.said()) & ranks:
            own = self.trace.replace(".json", f".rank{rank}.json")
            self.assertTrue(os.path.exists(own), f"no trace of rank {rank}")
            self.check(own, but="halves-matched")  # of messages to other ranks

    def check(self, trace, but=None):
        checked = subprocess.run([LOCKSTEP, "trace", "check", trace], check=False,
                                 capture_output=True, text=True)
        self.assertEqual(checked.stderr, "")
        broken = re.findall(r"^BROKEN (\S+) .*", checked.stdout, re.M)
        self.assertEqual(set(broken) - {but}, set(), checked.stdout)

    def ends(self, job, fault, struck, _):
        number = getattr(signal, f"SIG{fault}")
        os.kill(job.pids()[struck], number)
        self.is_over(job, job.code(number))

    def is_late(self, job, _, struck, dice):
        pid = job.pids()[struck]
        for _ in range(2):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(dice.uniform(0.1, 0.5) * TIMEOUT)
            os.kill(pid, signal.SIGCONT)
            job.runs[0].go_on()
        job.preempt()
        self.is_over(job, job.code(signal.SIGTERM))

    def is_over(self, job, code):
        self.assertEqual(set(job.end()), {code})
        text = "\n".join(job.out())
        self.assertIn("=> checkpoint written: ", text)
        self.assertIn(f"=> trace written: {self.trace} ({RANKS} ranks)", text)
        self.check(self.trace)
        self.assertEqual([f for f in os.listdir(self.place) if ".rank" in f], [])

    def checkpoint_is_whole(self):
        state, tensors = contents(self.place + "/c/checkpoint.safetensors")
        self.assertGreaterEqual(state["steps"], 5)
        self.assertTrue(tensors)


class LauncherPreemption(TempTest):  # gate
    def test_preempted_jobs_end_like_uninterrupted_ones(self):
        table = Table("Preempted and resumed")
        launchers = launchers_here() if PREEMPTED else []
        runs = [(launchers[i % len(launchers)], FIRST_SEED + i)
                for i in range(PREEMPTED)]
        whole = self.path("whole")
        run(*SHORT, "--mode", "ddp", "--devices", RANKS, "--checkpoint", whole,
            "--seed", 1)
        wanted = contents(whole + "/checkpoint.safetensors")
        for launcher, seed in runs or [(Job, 0)]:
            with self.subTest(launcher=launcher.name, seed=seed):
                is_right, strikes = False, 0
                try:
                    folder = f"run{seed}"
                    strikes = self.preempted(launcher, random.Random(seed), folder)
                    state, tensors = contents(self.path(folder) +
                                              "/checkpoint.safetensors")
                    self.assertEqual(tensors, wanted[1])
                    for key in "epoch", "samples", "steps", "best_acc1":
                        self.assertEqual(state[key], wanted[0][key], key)
                    is_right = True
                finally:
                    table.add(launcher.name, f"{strikes} times", is_right)
        table.write()

    def preempted(self, launcher, dice, folder):
        """Preempts a job up to three times. Returns how often."""
        strikes = 0
        for strike in range(4):
            job = launcher([*SHORT, "--seed", 1, "--resume", "auto"], RANKS,
                           self.path(folder))
            try:
                if strike < 3:
                    job.wait_for(STEP, dice.randrange(1, 400))
                    if not job.runs[0].ended():
                        job.preempt()
                codes = set(job.end())
                self.assertEqual(processes_with(job.mark), [])
                if codes == {0}:
                    return strikes
                self.assertEqual(codes, {job.code(signal.SIGTERM)}, job.err())
                newest = self.path(folder) + "/checkpoint.safetensors"
                written = any("=> checkpoint written: " in line for line in job.out())
                done = contents(newest)[0]["epoch"] == 4  # before the signal came
                self.assertTrue(written or done, (job.out()[-5:], job.err()))
                strikes += 1
            finally:
                job.kill()
        raise AssertionError("the last run did not end by itself")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
