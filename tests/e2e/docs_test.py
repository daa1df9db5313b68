"""docs/commands.md must contain each command of the program and its help."""

import os
import subprocess
import sys
import unittest

from support import LOCKSTEP, ROOT, TempTest, run

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


if __name__ == "__main__":
    unittest.main()
