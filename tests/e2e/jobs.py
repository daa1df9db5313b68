"""Starts a job of several ranks by any launcher, finds its ranks, and preempts it as
its scheduler would. The launchers that are not installed here are left out."""

import os
import re
import shutil
import signal
import subprocess
import time

from ranks import Run, environment_of, free_port, processes_with, text_of

TORCH = "/usr/bin/python3"  # Debian's, which finds python3-torch
# torchrun of PyTorch 1.13 reads no redirections on Python 3.11 (enum.Flag has changed).
TORCHRUN = """if True:
    import sys
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing import api
    api.Std.from_str = classmethod(lambda cls, text: api.Std(int(text)))
    sys.exit(run.main())"""


class Job:
    """A job by hand: one process per rank, whose places are in the environment."""

    name = "env://"
    variable = "RANK"  # where a rank reads its number
    names_all = True  # whether each survivor has the time to name a failed rank
    ends_stopped = False  # whether it ends a rank that does not react to SIGTERM

    def __init__(self, words, ranks, folder):
        """The folder of the checkpoints, of this job alone, identifies its ranks."""
        self.ranks, self.port = ranks, free_port()
        self.mark = ["--checkpoint", folder]
        self.runs = self.start([*words, *self.mark])

    @classmethod
    def missing(cls):
        """Returns why the launcher cannot be used; "" if it can."""
        return ""

    def start(self, words):
        return [Run([*words, "--dist-url", "env://"], RANK=rank, WORLD_SIZE=self.ranks,
                    LOCAL_RANK=rank, LOCAL_WORLD_SIZE=self.ranks,
                    MASTER_ADDR="127.0.0.1", MASTER_PORT=self.port)
                for rank in range(self.ranks)]

    def preempt(self):
        """By hand, SIGTERM comes to every rank."""
        for run in self.runs:
            tell_to_end(run)

    def code(self, number):
        """Returns the exit code of each process after a signal to a rank."""
        return 128 + number

    def pids(self):
        """{rank: pid} of the ranks that run."""
        found = {}
        for pid in processes_with(self.mark):
            rank = self.rank_of(pid)
            if rank and text_of(pid, "comm").startswith("lockstep"):
                found[int(rank)] = pid
        return found

    def rank_of(self, pid):
        return environment_of(pid).get(self.variable)

    def wait_for(self, text, count=1):
        """Waits for this many lines that contain the text, or for the job's end."""
        def is_there():
            ended = self.runs[0].ended()
            return ended or sum(text in line for line in self.runs[0].out) >= count
        if not wait_until(is_there, 60):
            raise AssertionError(f"no {count} lines of '{text}' in 60 s")

    def end(self):
        return [run.end(120) for run in self.runs]

    def out(self):
        return [line for run in self.runs for line in run.out]

    def err(self):
        return [line for run in self.runs for line in run.err]

    def said(self):
        """{rank: its last words}."""
        found = [re.search(r"lockstep: rank (\d+): (.*)", line) for line in self.err()]
        return {int(line[1]): line[2] for line in found if line}

    def kill(self):
        for run in self.runs:
            run.kill()
        for pid in processes_with(self.mark):
            tell(pid, signal.SIGKILL)


class Tcp(Job):
    """Each process counts as a node, which does not share its batch with others."""

    name = "tcp://"

    def start(self, words):
        batch = words.index("-b") + 1
        words = [*words[:batch], words[batch] // self.ranks, *words[batch + 1:]]
        url = ["--dist-url", f"tcp://127.0.0.1:{self.port}", "--world-size", self.ranks]
        return [Run([*words, *url, "--rank", rank]) for rank in range(self.ranks)]

    def rank_of(self, pid):
        _, _, rest = text_of(pid, "cmdline").partition("\0--rank\0")
        return rest.split("\0")[0]  # "" if it has ended


class Launcher(Job):
    """One process starts the ranks, and its scheduler tells that one alone to end."""

    ends_stopped = True

    def preempt(self):
        tell_to_end(self.runs[0])


class Launch(Launcher):
    name = "launch"
    variable = "LOCKSTEP_RANK"

    def start(self, words):
        return [Run(["launch", "--nproc-per-node", self.ranks, *words])]


class Multiprocessing(Launch):
    name = "--multiprocessing-distributed"

    def start(self, words):
        return [Run([*words, "--multiprocessing-distributed", "--world-size", 1,
                     "--rank", 0, "--devices", self.ranks])]


class Torchrun(Launcher):
    name = "torchrun"

    def start(self, words):
        before = [TORCH, "-c", TORCHRUN, "--no_python", "--nproc_per_node", self.ranks,
                  "--master_port", self.port, "--monitor_interval", 1]
        return [Run([*words, "--dist-url", "env://"], before=map(str, before))]

    @classmethod
    def missing(cls):
        found = subprocess.run([TORCH, "-c", "import torch"], capture_output=True,
                               check=False)
        return "" if found.returncode == 0 else "python3-torch is not installed"

    def code(self, number):
        return 1  # of its agent


class Mpirun(Launcher):
    name = "mpirun"
    variable = "OMPI_COMM_WORLD_RANK"
    names_all = False  # it ends all ranks when the first one fails

    def preempt(self):
        """Told itself, mpirun stops reading what its ranks print, a second before it
        passes SIGTERM on: ranks that print much wait for it and are killed."""
        for pid in self.pids().values():
            tell(pid, signal.SIGTERM)

    def start(self, words):
        before = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np",
                  str(self.ranks)]
        if os.geteuid() == 0:
            before.append("--allow-run-as-root")
        return [Run([*words, "--dist-url", "env://"], before=before)]

    @classmethod
    def missing(cls):
        return "" if shutil.which("mpirun.openmpi") else "openmpi-bin is not installed"


class Srun(Launcher):
    """`srun` itself ends its tasks by SIGKILL at SIGTERM: it is scancel that sends it
    to them."""

    name = "srun"
    variable = "SLURM_PROCID"

    def start(self, words):
        self.job = f"lockstep{self.port}"
        before = ["srun", "--nodes", "1", "--ntasks", str(self.ranks), "--overcommit",
                  "--wait", "10", "--job-name", self.job, "--oversubscribe"]
        return [Run([*words, "--dist-url", "env://"], before=before)]

    def preempt(self):
        subprocess.run(["scancel", "--signal", "TERM", "--name", self.job], check=False)

    @classmethod
    def missing(cls):
        if not shutil.which("srun"):
            return "slurm-wlm is not installed"
        asked = subprocess.run(["sinfo", "--noheader"], capture_output=True,
                               check=False, timeout=60)
        return "" if asked.returncode == 0 else "no Slurm controller answers"


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended


def tell_to_end(run):
    if not run.ended():
        os.kill(run.pid, signal.SIGTERM)


LAUNCHERS = [Job, Tcp, Launch, Multiprocessing, Torchrun, Mpirun, Srun]


def launchers_here():
    """Returns the launchers of LOCKSTEP_LAUNCHERS (names with commas between; all) that
    can be used."""
    asked = os.environ.get("LOCKSTEP_LAUNCHERS", "").split(",")
    return [launcher for launcher in LAUNCHERS
            if (asked == [""] or launcher.name in asked) and not launcher.missing()]


def wait_until(holds, seconds):
    """Returns whether it holds before the time is over."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
