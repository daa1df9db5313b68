"""Tests of the directives that make tables.

    tables_test.py [CLASS …]     # Rosetta, Equality, LessonTable
"""

import json
import re
import sys

from support import ROOT, SmallBook, main

sys.path.insert(0, str(ROOT / "book"))
from literate import misconceptions, regions  # noqa: E402 (needs the path)


class Rosetta(SmallBook):  # gate
    def table(self, ours):
        self.write("engine/a.h", "class A {\n  void run();  // walk\n};\n")
        self.write("book/rosetta.txt",
                   f"## Part\nwhat | torch/a.py :: A | = | {ours}\n")
        return "```{rosetta} book/rosetta.txt\n```\n"

    def test_what_is_there_is_shown(self):
        html = self.passes(self.table("engine/a.h :: A, A::run"))
        self.assertIn("torch/a.py", html)
        self.assertIn("the same", html)

    def test_a_missing_file_or_name_fails(self):
        self.fails(self.table("engine/b.h"), "engine/b.h: there is no such file")
        self.fails(self.table("engine/a.h :: B"), "engine/a.h has no B")
        self.fails(self.table("engine/a.h :: walk"), "has no walk")  # in a comment only

    def test_a_damaged_table_fails(self):
        self.write("book/rosetta.txt", "## Part\nwhat | torch/a.py\n")
        self.fails("```{rosetta} book/rosetta.txt\n```\n", "line 2 is not")


class Equality(SmallBook):  # gate
    """The table of equal ways of training."""

    head = f"{'way':<18}{'as':<18}{'toy':<10}vgg d\n"
    rows = (f"{'1f1b M=2':<18}{'accumulate 2':<18}{'bit-equal':<10}≠ d u\n"
            f"{'hybrid':<18}{'single':<18}{'–':<10}1e-12\n")
    why = "\n1f1b M=2 is not accumulate 2: a device has its own dropout masks\n"

    def table(self, text):
        self.write("equal.txt", text)
        return "```{equality} equal.txt\n```\n"

    def test_cells_and_reasons_are_shown(self):
        html = self.passes(self.table(self.head + self.rows + self.why))
        self.assertRegex(html, r'class="bits"><p>≡</p>')
        self.assertRegex(html, r'class="unequal"><p>≠ d u</p>')
        self.assertRegex(html, r'class="equal"><p>=</p>')
        self.assertIn("on vgg d: a device has its own dropout masks", html)

    def test_an_unknown_cell_or_a_missing_reason_fails(self):
        self.fails(self.table(self.head + self.rows.replace("1e-12", "unclear")
                              + self.why), "the cell `unclear` is unknown")
        self.fails(self.table(self.head + self.rows),
                   "no reason says why `1f1b M=2` is not `accumulate 2`")
        self.fails(self.table(self.head + self.rows.replace("1e-12", "") + self.why),
                   "`hybrid` has 3 cells, expected 4")


class LessonTable(SmallBook):  # gate
    """The table of what each lesson corrects."""

    LESSON = {"title": "The tape", "minutes": 45, "slots": ["tape_walk"], "gates": [
        {"name": "operations before it is ready", "unit": "operations",
         "naive": 1611.62, "correct": 3.0},
        {"name": "another", "unit": "calls", "naive": 2, "correct": 1}]}
    ENTRY = ("01-tape | Hooks run at the end. | "
             "https://github.com/pytorch/pytorch/issues/149938 "
             "https://discuss.pytorch.org/t/about-hooks/10964\n")
    PAGE = "```{lessons}\n```\n\n```{lesson_table} book/misconceptions.txt\n```\n"

    def table(self, entries, **changes):
        self.write("lessons/01-tape/chapter.md", "# Lesson 01: The tape\n")
        self.write("lessons/01-tape/lesson.json",
                   json.dumps(self.LESSON | changes))
        self.write("book/misconceptions.txt", "# lesson | …\n\n" + entries)
        return self.PAGE

    def test_a_row_has_title_threads_slot_first_gate_and_minutes(self):
        html = self.passes(self.table(self.ENTRY)).split("<table")[1]
        for text in ('href="../lessons/01-tape/chapter.html"', "01 The tape",
                     "Hooks run at the end.", ">pytorch 149938</a>", ">forum 10964</a>",
                     "tape_walk", "1,611.62 → 3 operations",
                     "operations before it is ready", "<p>45</p>"):
            self.assertIn(text, html)
        self.assertNotIn("another", html)

    def test_what_is_not_there_is_said(self):
        html = self.passes(self.table("01-tape | Hooks run at the end. | none found\n",
                                      slots=[], gates=[]))
        self.assertIn("<p>none found</p>", html)
        self.assertEqual(html.count("<p>none</p>"), 2)

    def test_a_lesson_without_an_entry_fails(self):
        self.fails(self.table(""), "01-tape has a chapter and no entry; fix: add its "
                   "misconception")

    def test_an_entry_without_a_lesson_fails(self):
        entry = self.ENTRY + self.ENTRY.replace("01-tape", "02-shapes")
        self.fails(self.table(entry), "no lesson 02-shapes has a chapter; fix: remove "
                   "the entry")
        self.write("lessons/02-shapes/lesson.json", json.dumps(self.LESSON))
        self.fails(self.PAGE, "no lesson 02-shapes has a chapter")

    def test_a_chapter_without_its_lesson_file_fails(self):
        page = self.table(self.ENTRY)
        (self.root / "lessons/01-tape/lesson.json").unlink()
        self.fails(page, "lessons/01-tape/lesson.json: there is no such file")

    def test_a_damaged_file_is_an_error(self):
        for text, error in (
                ("01-tape | Hooks run.", "line 1 is not `lesson | misc"),
                ("01-tape | | none found", "line 1 is not `lesson | misc"),
                (2 * self.ENTRY, "line 2 has a second entry for 01-tape"),
                ("01-tape | Hooks run. | https://example.org/1",
                 "`https://example.org/1` is not the address of a thread"),
                ("01-tape | Hooks run. | https://github.com/pytorch/pytorch",
                 "is not the address of a thread")):
            with self.subTest(text), self.assertRaisesRegex(
                    regions.SourceError, re.escape(error)):
                misconceptions.parse(text)


if __name__ == "__main__":
    sys.exit(main(__name__))
