"""docs/commands.md must contain each command of the program and its help; the commands
of docs/four-cards.md must print what it shows."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from support import LOCKSTEP, ROOT, TempTest, content, run
from with_torch import PYTHON, torch_is_missing

COMMANDS = os.path.join(ROOT, "docs", "commands.py")
PAGE = os.path.join(ROOT, "docs", "commands.md")


class Documented(TempTest):
    def check(self, script=COMMANDS):
        return subprocess.run([sys.executable, script, "--check", LOCKSTEP],
                              capture_output=True, text=True, timeout=120)

    def changed(self, old, new):
        """The output of the check for a copy of the page with `old` replaced."""
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        self.assertIn(old, page)
        with open(COMMANDS, encoding="utf-8") as file:
            script = file.read()
        for name, text in (("commands.py", script),
                           ("commands.md", page.replace(old, new))):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        done = self.check(self.path("commands.py"))
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    @unittest.skipIf("not built" in run("--help")[0], "this build lacks commands")
    def test_every_command_is_documented(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_missing_is_named(self):
        self.assertIn("`trace merge` has 0 blocks",
                      self.changed("<!-- help: trace merge -->", ""))
        self.assertIn("`doctor` is not in the table",
                      self.changed("- [`doctor`](#doctor)", "- doctor"))
        self.assertIn("`trace sumary` is no command",
                      self.changed("help: trace summary", "help: trace sumary"))
        self.assertIn("help has changed",
                      self.changed("  --steps INT", "  --stepz INT"))


def without_times(text):
    """The text without bars, and with # for each number but those of bytes: what does
    not depend on the host's pace."""
    text = re.sub(r"\d(?:[\d.,]*\d)?( ?[kMG]?B\b)?(?: [nµm]?s\b)?",
                  lambda number: number[0] if number[1] else "#", text)
    return "\n".join(" ".join(line.split())
                     for line in re.sub("[█-▏]", "", text).splitlines()) + "\n"


def pattern(shown):
    """… is a part of a line or, on a line of its own, any lines. What is missing beside
    the host's time depends on the recording machine."""
    shown = re.sub(r"(?<= host) [−+].*(?= =)", " …", shown)
    return "".join(r"(?:.*\n)*?" if line == "…" else
                   ".*?".join(map(re.escape, line.split("…"))) + r"\n"
                   for line in without_times(shown).splitlines())


class FourCards(unittest.TestCase):  # gate
    """The commands of docs/four-cards.md print what it shows."""

    @classmethod
    def setUpClass(cls):
        cls.page = content(os.path.join(ROOT, "docs", "four-cards.md")).decode()

    def blocks(self, kind):
        return re.findall(rf"^```{kind}\n(.*?)^```$", self.page, re.M | re.S)

    @unittest.skipIf("not built" in run("--help")[0], "this build lacks commands")
    def test_commands_print_what_is_shown(self):
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)",
                              "".join(self.blocks("console")), re.M)
        self.assertGreater(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(LOCKSTEP, os.path.join(folder, "lockstep"))
            for command, shown in commands:
                said = without_times(subprocess.run(
                    ["bash", "-ec", command], cwd=folder, text=True, check=True,
                    stdout=subprocess.PIPE, timeout=300).stdout)
                self.assertRegex(said, rf"\A(?:{pattern(shown)})\Z", command)
                for line in filter(re.compile("[a-z]{3}").search, shown.splitlines()):
                    wrong = shown.replace(line, line.upper())
                    self.assertNotRegex(said, rf"\A(?:{pattern(wrong)})\Z", line)

    def test_the_profiled_parts_have_their_names(self):
        if reason := torch_is_missing():
            self.skipTest(reason)
        stubs = """if True:
            import torch
            DP = torch.nn.DataParallel
            DP.scatter = lambda self, inputs, more, devices: ([inputs], [more])
            DP.replicate = lambda self, module, devices: [module]
            DP.parallel_apply = lambda self, nets, inputs, more: nets[0](*inputs[0])
            DP.gather = lambda self, output, device: output"""
        step = """if True:
            net = DP(torch.nn.Linear(2, 2))
            net.device_ids, net.output_device = [0, 1], 0
            net.src_device_obj = torch.device("cpu")
            with torch.autograd.profiler.profile() as recorded:
                net(torch.ones(2, 2)).sum().backward()
            print(*[event.name for event in recorded.function_events])"""
        said = subprocess.run(
            [PYTHON, "-c", "\n".join([stubs, *self.blocks("python"), step])],
            capture_output=True, text=True, check=True, timeout=300).stdout.split()
        for part in ("scatter", "replicate", "parallel_apply", "gather", "backward"):
            self.assertEqual(said.count(part), 1, part)


if __name__ == "__main__":
    unittest.main()
