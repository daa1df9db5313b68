"""Tests that ask PyTorch. They are skipped if it is not installed (packages.txt:
[optional])."""

import json
import os
import subprocess
import unittest

from support import ROOT, TempTest

PYTHON = "/usr/bin/python3"  # Debian's, which finds python3-torch
NETS = os.path.join(ROOT, "tests", "golden", "torch")  # where Python finds `nets`
SERVER = os.path.join(ROOT, "tests", "e2e", "torch_server.py")


def torch_is_missing():
    """Returns why PyTorch cannot be used; "" if it can."""
    code = """if True:  # found, not imported: that takes seconds
        import importlib.util
        for name in ("numpy", "torch", "torchvision"):
            if not importlib.util.find_spec(name):
                print(name)"""
    try:
        missing = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True,
                                 timeout=120, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError) as error:
        return f"{PYTHON} cannot be asked: {error}"
    if not missing:
        return ""
    return (f"{PYTHON} has no {', '.join(missing)} "
            "(apt-get install python3-torch python3-torchvision)")


class TorchTest(TempTest):
    """One process imports PyTorch for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if reason := torch_is_missing():
            raise unittest.SkipTest(reason)
        cls.server = subprocess.Popen([PYTHON, SERVER], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.server.communicate)

    def ask(self, *words, fails=False):
        """Runs a script with arguments, or `-c CODE`. Returns its stdout, or its stderr
        if it `fails`."""
        words = list(map(str, words))
        self.server.stdin.write(json.dumps(words) + "\n")
        self.server.stdin.flush()
        code, out, err = json.loads(self.server.stdout.readline())
        self.assertEqual(code != 0, fails, f"{words}: exit code {code}\n{err}")
        return err if fails else out
