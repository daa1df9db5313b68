"""Runs Python code for the tests of PyTorch, and imports PyTorch once for all of it:
that takes seconds. Forks for each request, so that none affects another.

Each line of stdin is a JSON list of the words of a command line, without `python3`: a
script and its arguments, or `-c CODE`. Each line of stdout is [exit code, its stdout,
its stderr]."""

import gc
import importlib
import json
import os
import runpy
import sys
import tempfile
import traceback


def execute(words):
    """Returns the exit code."""
    try:
        sys.argv = words
        if words[0] == "-c":
            exec(words[1], {"__name__": "__main__"})
        else:
            sys.path[0] = os.path.dirname(words[0])
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main():
    importlib.import_module("torchvision")
    gc.freeze()  # the children need not copy what they do not change
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), sys.stdout.fileno())
                os.dup2(err.fileno(), sys.stderr.fileno())
                code = execute(json.loads(line))
                sys.stdout.flush()
                os._exit(code)  # the usual end would touch, and so copy, every object
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            print(json.dumps([code, out.read(), err.read()]), flush=True)


if __name__ == "__main__":
    main()
