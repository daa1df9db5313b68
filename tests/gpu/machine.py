"""Shared by tests/gpu/run and tests/gpu/bench: the library paths of programs copied to
another machine, and a time limit."""

import glob
import os
import shutil
import signal
import subprocess
import sysconfig


def environment(binaries):
    """The environment of our programs. Not for PyTorch, which must not load the copied
    libraries. cuDNN, cuBLAS, NCCL and CUPTI may be in the toolkit or in Python
    packages."""
    places = [str(binaries), str(binaries / "lib")]
    places += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    places += sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib"))
    places += ["/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"]
    return {**os.environ, "NO_COLOR": "1", "LD_LIBRARY_PATH": ":".join(places)}


class TooLong(Exception):
    """The command was killed together with its child processes."""


def backtraces(pid):
    """The stacks of all threads of a process that hangs, or "" without a debugger."""
    for debugger in ("cuda-gdb", "/usr/local/cuda/bin/cuda-gdb", "gdb"):
        program = shutil.which(debugger)
        if not program:
            continue
        try:
            said = subprocess.run(
                [program, "-batch", "-p", str(pid), "-ex", "thread apply all bt 12"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                check=False).stdout
        except subprocess.TimeoutExpired:
            continue
        return "\n".join(line for line in said.splitlines()
                         if line.startswith(("#", "Thread")))
    return ""


def run(command, seconds, env=None):
    """Runs a command. Returns (exit code, stdout, stderr)."""
    with subprocess.Popen([str(word) for word in command], text=True, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            stacks = backtraces(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise TooLong(f"still running after {seconds:.0f} s\n{stacks}") from None
    return process.returncode, out, err
