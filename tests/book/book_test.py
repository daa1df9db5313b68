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
from listings import ListingReader
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


class Built(unittest.TestCase):  # gate first
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

    def test_words_come_before_code(self):
        folder, wrong = built(self), []
        for page in browser.pages(folder):
            for lines, first, heading in ListingReader(
                    page.read_text(encoding="utf-8")).runs:
                if first or lines > MOST_LINES:
                    wrong.append(f"{page.relative_to(folder)}, “{heading}”: {lines} "
                                 f"lines {'first' if first else 'without a word'}")
        self.assertEqual(wrong, [])

    def test_every_chapter_has_a_picture(self):
        for chapter in (ROOT / "lessons").glob("*/chapter.md"):
            text = chapter.read_text(encoding="utf-8")
            self.assertRegex(text, r"```\{(trace-figure|drawing)\} ", chapter)

    def test_commands_can_be_pasted(self):
        """In the repository's root, and each lesson's traces are in its workspace."""
        pages = [*(ROOT / "book").rglob("*.md"), *(ROOT / "lessons").glob("*/*.md"),
                 *(ROOT / "book/output").glob("*.txt"), *(ROOT / "docs").glob("*.md")]
        commands = ("lesson|train|view|trace|emulate|demo|book|experiment|launch|"
                    "doctor|data|bench-step")
        bare = re.compile(rf"(?:`|^\$ )lockstep (?:{commands})\b", re.M)
        wrong = []
        for page in pages:
            text = page.read_text(encoding="utf-8")
            wrong += [f"{page}: {hit[0]}" for hit in bare.finditer(text)]
            if page.name == "chapter.md":
                wrong += [f"{page}: {hit[0]}" for hit in re.finditer(
                    r"^.*(?:(?:view|summary|emulate|--trace|-o) (?!workspace/)\S+\.json"
                    r"|lessons/\S+\.json).*$", text, re.M)]
        self.assertEqual(wrong, [])

    def test_figures_are_small(self):
        large = [f"{file.name}: {file.stat().st_size}"
                 for file in (ROOT / "book/figures").glob("*.png")
                 if file.stat().st_size > 260_000]
        self.assertEqual(large, [])


MOST_LINES = 72  # of code without a word between them


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


class Links(unittest.TestCase):  # gate
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


class Printed(unittest.TestCase):  # gate
    def test_one_page_holds_all_of_them_unfolded(self):
        folder = built(self)
        with tempfile.TemporaryDirectory() as place:
            file = pathlib.Path(place) / "book.html"
            subprocess.run(
                ["/usr/bin/python3", "-m", "literate.one_page", str(folder), str(file)],
                env={**os.environ, "PYTHONPATH": str(ROOT / "book")}, check=True)
            text = file.read_text(encoding="utf-8")
        self.assertEqual(text.count('<article class="sheet"'),
                         len(browser.pages(folder)) + 1)
        self.assertEqual(text.count("<details"), text.count("<details open"))
        pages, answers = text.split('<article class="sheet" id="answers">')
        self.assertGreaterEqual(answers.count('<h2 id="answer-'), 13)
        self.assertEqual(answers.count('<h2 id="answer-'),
                         pages.count('<p class="answered" id="question-'))
        self.assertIn("44,734,408 bytes to each of the three replicas", answers)
        self.assertNotIn("44,734,408 bytes to each of the three replicas", pages)


class Pages(unittest.TestCase):  # gate first
    """In Chromium, with wide and narrow windows."""

    def test_no_page_is_wider_than_its_window(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        wrong = []
        with browser.Browser() as reader:
            for page in [*browser.pages(folder), folder / "search.html"]:
                reader.open(page.as_uri(), browser.WIDTHS[0], "light")
                for width in browser.WIDTHS:
                    reader.resize(width)
                    seen = reader.value(browser.PAGE_JS)
                    name = f"{page.relative_to(folder)} at {width}"
                    if seen["width"] > width:
                        wrong.append(f"{name}: {seen['width']} pixels wide")
                    wrong += [f"{name}: broken picture {one}" for one in seen["broken"]]
                    if seen["formulas"] > 0:
                        wrong.append(f"{name}: {seen['formulas']} formulas are not set")
                    wrong += [f"{name}: Tab does not reach the box {one}"
                              for one in seen["unreachable"]]
                    if width < 600:
                        wrong += [f"{name}: {one} scrolls sideways"
                                  for one in seen["sideways"]]
                    if seen["levels"]:
                        wrong.append(f"{name}: headings without aria-level")
                    wrong += [f"{name}: {one}" for one in reader.complaints]
        self.assertEqual(wrong, [])

    def test_words_stand_out_from_their_ground(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        low = {}
        with browser.Browser() as reader:
            for name in ("book/index", "book/rosetta", "book/engine/nn",
                         "lessons/07-dp-cost/chapter"):
                for theme in browser.THEMES:
                    reader.open((folder / f"{name}.html").as_uri(), 1280, theme)
                    found = reader.value(browser.CONTRAST_JS)
                    low.update({f"{theme} {where}": what
                                for where, what in found.items()})
        self.assertEqual(low, {})

    def test_keys_turn_pages_and_skip_the_navigation(self):
        folder = built(self)
        if not browser.chromium():
            skip_or_fail(self, "no chromium; fix: apt-get install chromium")
        page = folder / "book/engine/nn.html"
        text = page.read_text(encoding="utf-8")
        following = re.search(r'<link rel="next"[^>]* href="([^"]+)"', text)[1]
        with browser.Browser() as reader:
            reader.open(page.as_uri(), 1280, "light")
            reader.press("Tab")
            self.assertEqual(reader.value("document.activeElement.className"), "skip")
            reader.press("Enter")
            self.assertEqual(reader.value("document.activeElement.id"), "text")
            reader.press("ArrowRight", leaves=True)
            self.assertEqual(reader.value("location.pathname.split('/').pop()"),
                             following)
            reader.press("ArrowLeft", leaves=True)
            self.assertEqual(reader.value("location.pathname.split('/').pop()"),
                             "nn.html")
            reader.value("document.querySelector('.sidebar-search').focus()")
            reader.press("ArrowRight")  # moves the cursor
            self.assertEqual(reader.value("location.pathname.split('/').pop()"),
                             "nn.html")

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
                const hits = document.querySelectorAll(
                  "#search-results li .context").length;
                if (hits <= 3) return requestAnimationFrame(look);
                done(document.querySelector("#search-results .context").textContent);
              };
              look();
            })""")
            reader.open((folder / "search.html").as_uri() + "?q=Glossary", 1280,
                        "light")
            titles = reader.value("""new Promise((done) => {
              const look = () => {
                const told = document.querySelector(".search-summary")?.textContent;
                if (!told?.startsWith("Search finished")) {
                  return requestAnimationFrame(look);
                }
                done([...document.querySelectorAll("#search-results li a")]
                  .map((link) => link.textContent));
              };
              look();
            })""")
        self.assertIn("scatter", found.lower())  # an excerpt
        self.assertEqual(titles.count("Glossary"), 1)

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
        self.assertEqual(typed, "./lockstep train -a toy --devices 2 -b 30 --steps 2")


if __name__ == "__main__":
    sys.exit(main(__name__))
