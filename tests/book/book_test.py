"""Tests of the built book: built with warnings as errors, links checked, pages opened
in a browser.

    book_test.py [CLASS …]     # Built, Links, Printed, Pages
"""

import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import browser
from support import ROOT, main, ready, skip_or_fail

_built = {}


def built(test):
    """Returns the folder with the built book: built once here, in BOOK_OUT if it is
    set, or BOOK_DIR, which another test has built."""
    reason = ready()
    if reason:
        skip_or_fail(test, reason)
    if "folder" not in _built:
        given = os.environ.get("BOOK_DIR")
        if given:
            _built["folder"] = pathlib.Path(given).resolve()
        else:
            _built["place"] = tempfile.TemporaryDirectory(prefix="the book ")
            out = os.environ.get("BOOK_OUT", _built["place"].name)
            _built["folder"] = pathlib.Path(out).resolve() / "book"
            _built["done"] = subprocess.run(
                ["bash", str(ROOT / "book/make.bash"), str(_built["folder"])],
                capture_output=True, text=True, timeout=600)
    done = _built.get("done")
    test.assertTrue(not done or done.returncode == 0,
                    done and done.stderr + done.stdout)
    return _built["folder"]


class Built(unittest.TestCase):
    def test_without_a_warning(self):
        folder = built(self)
        self.assertTrue((folder / "book/engine/parallel.html").is_file())
        if "done" in _built:
            self.assertRegex(_built["done"].stdout, r"book: +\d+\.\d % of +\d+ lines "
                             r"of engine/distributed are not shown")

    def test_the_coverage_page_has_numbers(self):
        text = (built(self) / "book/coverage.html").read_text(encoding="utf-8")
        for room in ("autograd", "nn", "parallel", "distributed"):
            self.assertIn(f"engine/{room}", text)

    def test_nothing_comes_from_the_network(self):
        """No page, style or script refers to anything outside its folder."""
        folder = built(self)
        asks = re.compile(r'(?:src|href)="(?:https?:)?//[^"]*"[^>]*(?:rel="stylesheet"|'
                          r'></script>)|<(?:script|img|iframe)[^>]*src="(?:https?:)?//|'
                          r"@import\s*[\"'(]*(?:url\()?[\"']?https?:")
        found = [f"{page.name}: {hit.group()[:90]}"
                 for page in [*folder.rglob("*.html"), folder / "_static/book.css",
                              folder / "_static/styles/furo.css"]
                 for hit in asks.finditer(page.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])

    def test_figures_are_small(self):
        large = [f"{file.name}: {file.stat().st_size}"
                 for file in (ROOT / "book/figures").glob("*.png")
                 if file.stat().st_size > 260_000]
        self.assertEqual(large, [])


class PageReader(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("id", "name"):
            if attributes.get(name):
                self.ids.add(attributes[name])
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])


class Links(unittest.TestCase):
    def test_every_link_and_anchor_leads_somewhere(self):
        folder = built(self)
        read = {page.resolve(): PageReader(page.read_text(encoding="utf-8"))
                for page in folder.rglob("*.html")}
        dead, followed = [], 0
        for page, reader in read.items():
            for link in reader.links:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme or parts.netloc or link.startswith("#svg-"):
                    continue
                target = page if not parts.path else (
                    page.parent / urllib.parse.unquote(parts.path)).resolve()
                followed += 1
                anchor = urllib.parse.unquote(parts.fragment)
                there = target.is_file() and (
                    not anchor or target not in read or anchor in read[target].ids)
                if not there:
                    dead.append(f"{page.relative_to(folder.resolve())}: {link}")
        self.assertGreater(followed, 500)
        self.assertEqual(sorted(set(dead)), [])


class Printed(unittest.TestCase):
    def test_one_page_holds_all_of_them_unfolded(self):
        folder = built(self)
        with tempfile.TemporaryDirectory() as place:
            file = pathlib.Path(place) / "book.html"
            subprocess.run(
                ["/usr/bin/python3", "-m", "literate.one_page", str(folder), str(file)],
                env={**os.environ, "PYTHONPATH": str(ROOT / "book")}, check=True)
            text = file.read_text(encoding="utf-8")
        self.assertEqual(text.count('<article class="sheet"'),
                         len(browser.pages(folder)))
        self.assertGreaterEqual(text.count('<details open class="answer"'), 13)
        self.assertEqual(text.count("<details"), text.count("<details open"))


class Pages(unittest.TestCase):
    """In Chromium, with wide and narrow windows."""

    def test_no_page_is_wider_than_its_window(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        wrong = []
        with browser.Browser() as reader:
            for page in browser.pages(folder):
                for width in browser.WIDTHS:
                    reader.open(page.as_uri(), width, "light")
                    wide, broken, formulas = reader.value("""[
                      document.documentElement.scrollWidth,
                      [...document.images].filter((x) => !x.naturalWidth)
                        .map((x) => x.src),
                      [...document.querySelectorAll(".math")]
                        .filter((x) => !x.querySelector(".mjx-chtml")).length]""")
                    name = page.relative_to(folder)
                    if wide > width:
                        wrong.append(f"{name}: {wide} pixels wide in {width}")
                    wrong += [f"{name}: broken picture {image}" for image in broken]
                    if formulas > 0:
                        wrong.append(f"{name}: {formulas} formulas are not set")
        self.assertEqual(wrong, [])

    def test_dark_is_dark_and_the_switch_works(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        ground = "getComputedStyle(document.body).backgroundColor"
        with browser.Browser() as reader:
            page = (folder / "book/index.html").as_uri()
            reader.open(page, 1280, "light")
            light = reader.value(ground)
            reader.open(page, 1280, "dark")
            dark = reader.value(ground)
            self.assertNotEqual(light, dark)
            # From dark, the switch goes to light first.
            reader.value("document.querySelector('.theme-toggle-content .theme-toggle')"
                         ".click()")
            self.assertEqual(reader.value(ground), light)

    def test_answers_are_folded_until_somebody_asks(self):
        """Also without our script."""
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        shown = "document.querySelector('.answer p').checkVisibility()"
        page = (folder / "lessons/05-scatter/chapter.html").as_uri()
        with browser.Browser() as reader:
            for scripts in (True, False):
                reader.call("Emulation.setScriptExecutionDisabled", value=not scripts)
                reader.open(page, 1280, "light")
                with self.subTest(scripts=scripts):
                    self.assertFalse(reader.value(shown))
                    reader.value("document.querySelector('.answer summary').click()")
                    self.assertTrue(reader.value(shown))

    def test_what_is_printed_is_not_folded(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        shown = "document.querySelector('.answer p').checkVisibility()"
        with browser.Browser() as reader:
            page = (folder / "lessons/05-scatter/chapter.html").as_uri()
            reader.open(page, 1280, "light")
            reader.value("dispatchEvent(new Event('beforeprint'))")
            self.assertTrue(reader.value(shown))
            reader.value("dispatchEvent(new Event('afterprint'))")
            self.assertFalse(reader.value(shown))

    def test_search_works_without_a_server(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        with browser.Browser() as reader:
            reader.open((folder / "search.html").as_uri() + "?q=scatter", 1280, "light")
            found = reader.value("""new Promise((done) => {
              const look = () => {
                const hits = document.querySelectorAll("#search-results li").length;
                if (hits > 3) done(hits); else requestAnimationFrame(look);
              };
              look();
            })""")
        self.assertGreater(found, 3)

    def test_copied_code_has_no_line_numbers(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        with browser.Browser() as reader:
            reader.open((folder / "book/reading.html").as_uri(), 1280, "light")
            copied = reader.value("""new Promise((done) => {
              window.copied = done;
              Object.defineProperty(navigator, "clipboard",
                { value: { writeText: async (text) => window.copied(text) } });
              document.querySelector(".listing button.copy").click();
            })""")
            typed = reader.value("""new Promise((done) => {
              window.copied = done;
              document.querySelector(".highlight-console button.copy").click();
            })""")
        self.assertTrue(copied.startswith("std::vector<Group> coalesce_broadcast("),
                        copied)
        self.assertEqual(typed, "lockstep train -a toy --devices 2 -b 30 --steps 2")


if __name__ == "__main__":
    sys.exit(main(__name__))
