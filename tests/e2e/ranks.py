"""Starts, watches and disturbs runs of several ranks. Shared by the e2e tests."""

import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading

from support import LOCKSTEP, seeded

TOY = ["train", "-a", "toy", "--device-type", "reference", "-b", "6"]
STEP = "Epoch: ["  # the prefix of a progress line


class Run:
    """A program in a separate process group, whose output is read continuously."""

    def __init__(self, words, cwd=None, before=(), **environment):
        """`before`: a prefix of the command, such as `ip netns exec NAME`."""
        self.out, self.err = [], []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [*before, LOCKSTEP, *seeded(words)], text=True, cwd=cwd,
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": "",
                 **{name: str(value) for name, value in environment.items()}})
        self.pid = self._process.pid
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((self._process.stdout, self.out),
                                  (self._process.stderr, self.err))]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, lines):
        with stream:
            for line in stream:
                with self._news:
                    lines.append(line.rstrip("\n"))
                    self._news.notify_all()

    def wait_for(self, text, count=1, timeout=60):
        """Returns the `count`th line of output that contains the text."""
        def found():
            return [line for line in self.out if text in line][count - 1:]
        with self._news:
            came = self._news.wait_for(lambda: found() or self.ended(), timeout)
            if not came or not found():
                raise AssertionError(f"no {count} lines of '{text}' in {timeout} s; "
                                     f"stderr: {self.err}")
            return found()[0]

    def go_on(self, lines=3):
        """Waits for this many more progress lines."""
        with self._news:
            seen = sum(STEP in line for line in self.out)
        self.wait_for(STEP, seen + lines)

    def ended(self):
        return self._process.poll() is not None

    def signal(self, number):
        """Sends a signal to the process group, as a terminal does for Ctrl-C."""
        os.killpg(self.pid, number)

    def end(self, timeout=60):
        """Waits for the process to end. Returns the exit code."""
        code = self._process.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        return code

    def kill(self):
        """Kills all remaining processes of the group, for a test's clean-up."""
        for pid in group_members(self.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.end()

    def rank_pids(self):
        """{rank: pid} of the processes that --multiprocessing-distributed started."""
        pids = {}
        for pid in group_members(self.pid):
            rank = environment_of(pid).get("LOCKSTEP_RANK")
            if rank is not None:
                pids[int(rank)] = pid
        return pids


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def text_of(pid, file):
    """The content of /proc/PID/file; "" if the process has ended."""
    try:
        with open(f"/proc/{pid}/{file}", encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def group_members(group):
    """Pids of the processes of a group that have not ended."""
    members = []
    for pid in pids():
        state, _, its_group, *_ = (text_of(pid, "stat").rpartition(")")[2].split()
                                   or ["Z", "", ""])
        if its_group == str(group) and state != "Z":
            members.append(pid)
    return members


def processes_with(words):
    """Pids of the processes whose command lines contain these words in sequence."""
    wanted = "\0" + "\0".join(map(str, words)) + "\0"
    return [pid for pid in pids() if wanted in text_of(pid, "cmdline")]


def environment_of(pid):
    entries = text_of(pid, "environ").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def free_port():
    """A port on which nobody listens, and which no connection is given for its own end:
    the kernel takes those from a range of higher numbers."""
    limits = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    least, most = 10000, int(limits.split()[0]) - 1
    for _ in range(1000 if least < most else 0):
        port = random.SystemRandom().randint(least, most)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue
    with socket.create_server(("127.0.0.1", 0)) as listener:  # all ports are in it
        return listener.getsockname()[1]


def is_listening(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


def without_own_pause(text):
    """What a rank says of another, without the note that it has itself had no CPU time
    for a second or more: that is true on a busy machine."""
    return re.sub(r"^this rank was itself stopped, or had no CPU time, for "
                  r"([1-9]|\d\d+)\.\d s, so the others may have ended without it: ",
                  "", text)


def together(words, folders, **environment):
    """Starts one rank in each of the folders, as a user does without a launcher."""
    return [Run(words, cwd=folder, RANK=rank, WORLD_SIZE=len(folders), **environment)
            for rank, folder in enumerate(folders)]
