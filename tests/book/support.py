"""Shared by the book's tests: paths, and small books for error tests."""

import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPHINX = pathlib.Path("/usr/bin/sphinx-build")  # Debian's: others may lack furo
IN_CI = os.environ.get("CI") in ("true", "1")


def ready():
    """Returns why the book cannot be built here, or None."""
    if not SPHINX.exists():
        return "no sphinx-build; fix: ./lockstep book installs it"
    imports = "import sphinx, myst_parser, furo"
    tried = subprocess.run(["/usr/bin/python3", "-c", imports], capture_output=True)
    if tried.returncode:
        return "no MyST or furo; fix: ./lockstep book installs them"
    if not pathlib.Path("/usr/share/javascript/mathjax/MathJax.js").exists():
        return "no MathJax; fix: ./lockstep book installs it"
    return None


def skip_or_fail(test, reason):
    """Skips the test with the reason; in CI, fails it."""
    if IN_CI:
        test.fail(reason)
    test.skipTest(reason)


CONF = '''
import sys
sys.path.insert(0, {book!r})
extensions = ["myst_parser", "literate"]
root_doc = "book/index"
include_patterns = ["book/**.md", "lessons/*/chapter.md"]
primary_domain = None
coverage_limit = {limit}
'''


class SmallBook(unittest.TestCase):
    """A repository of a few files with its own book, in a temporary folder."""

    limit = 1.0

    def setUp(self):
        reason = ready()
        if reason:
            skip_or_fail(self, reason)
        folder = tempfile.TemporaryDirectory(prefix="book test ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("conf.py", CONF.format(book=str(ROOT / "book"), limit=self.limit))
        self.write("book/capture.sh", "prints toy train -a toy\n")
        self.write("book/figures.sh", "draw forward single\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def build(self, page):
        """Builds a book of one page. Returns (exit code, output, HTML)."""
        self.write("book/index.md", "# Book\n\n" + page)
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(
            [SPHINX, "-q", "-E", "-W", "--keep-going", "-b", "html", str(self.root),
             str(out)], capture_output=True, text=True, timeout=120)
        html = out / "book/index.html"
        text = html.read_text(encoding="utf-8") if html.exists() else ""
        return done.returncode, done.stderr + done.stdout, text

    def passes(self, page):
        code, said, html = self.build(page)
        self.assertEqual(code, 0, said)
        return html

    def fails(self, page, *texts):
        code, said, _ = self.build(page)
        self.assertEqual(code, 1, said)
        for text in texts:
            self.assertIn(text, said)


def main(module):
    """Runs the test classes named on the command line, or all. Exit code 77:
    skipped."""
    names = sys.argv[1:]
    loader, here = unittest.defaultTestLoader, sys.modules[module]
    tests = (loader.loadTestsFromNames(names, here) if names
             else loader.loadTestsFromModule(here))
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        result = unittest.TextTestRunner(stream=output, verbosity=2).run(tests)
    print(output.getvalue())
    if not result.wasSuccessful():
        return 1
    return 77 if result.testsRun == len(result.skipped) else 0
