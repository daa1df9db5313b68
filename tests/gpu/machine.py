"""What tests/gpu/run and tests/gpu/bench share: programs that were carried to a machine
find its libraries, and end when their time is over."""

import glob
import os
import signal
import subprocess
import sysconfig


def environment(binaries):
    """For our programs, not for PyTorch, which must not meet what was carried here.
    cuDNN, cuBLAS, NCCL and CUPTI may have come with the toolkit or with Python."""
    places = [str(binaries), str(binaries / "lib")]
    places += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    places += sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib"))
    places += ["/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"]
    return {**os.environ, "NO_COLOR": "1", "LD_LIBRARY_PATH": ":".join(places)}


class TooLong(Exception):
    """The command was ended, with all that it had started."""


def run(command, seconds, env=None):
    """(exit code, stdout, stderr)."""
    with subprocess.Popen([str(word) for word in command], text=True, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise TooLong(f"still running after {seconds:.0f} s") from None
    return process.returncode, out, err
