"""Tests that the book's directives detect errors.

    directives_test.py [CLASS …]     # Regions, Functions, Finder, Evidence, …
"""

import sys
import unittest

from support import ROOT, SmallBook, main

sys.path.insert(0, str(ROOT / "book"))
from literate import cxx, regions  # noqa: E402 (needs the path)

SOURCE = """\
// [ring]
int a = 1;
// [inner]
int b = 2;
// [/inner]
int c = 3;
// [/ring]
"""


def region(name, file="engine/a.cpp"):
    return f"```{{region}} {file} {name}\n```\n"


def function(names, options="", file="engine/f.cpp"):
    return f"```{{function}} {file} {names}\n{options}```\n"


class Regions(SmallBook):  # gate
    def test_shows_the_lines_with_their_numbers(self):
        self.write("engine/a.cpp", SOURCE)
        html = self.passes(region("ring") + region("inner"))
        self.assertIn("engine/a.cpp:2", html)
        self.assertIn('<span class="linenos">6</span>', html)  # after the inner region
        self.assertNotIn("[inner]", html)

    def test_a_missing_region_fails(self):
        self.write("engine/a.cpp", "int a;\n")
        self.fails(region("ring"), "there is no region [ring]", "engine/a.cpp")

    def test_a_missing_file_fails(self):
        self.fails(region("ring"), "there is no such file")

    def test_a_path_out_of_the_repository_fails(self):
        self.fails(region("ring", "../a.cpp"), "there is no such file")

    def test_an_unclosed_region_fails(self):
        self.write("engine/a.cpp", SOURCE.replace("// [/ring]\n", ""))
        self.fails(region("ring"), "[ring] of line 1 is never closed")

    def test_a_second_region_of_one_name_fails(self):
        self.write("engine/a.cpp", SOURCE + SOURCE)
        self.fails(region("ring"), "line 8 opens [ring] a second time")

    def test_an_empty_region_fails(self):
        self.write("engine/a.cpp", "// [ring]\n\n// [/ring]\n")
        self.fails(region("ring"), "region [ring] is empty")

    def test_a_closing_marker_alone_fails(self):
        self.write("engine/a.cpp", "int a;\n// [/ring]\n")
        self.fails("", "line 2 closes [ring], which is not open")

    def test_a_region_that_no_page_shows_fails(self):
        for room in ("engine", "tracer", "lessons/01-tape"):
            self.write(f"{room}/a.cpp", SOURCE)
            self.fails("", f"{room}/a.cpp:1: no page shows region [ring]",
                       f"{room}/a.cpp:3: no page shows region [inner]")
            (self.root / room / "a.cpp").unlink()

    def test_a_solution_need_not_be_shown(self):
        self.write("lessons/05-scatter/exercise.cpp",
                   "// [solution]\nint a;\n// [/solution]\n"
                   "// [solution-2]\nint b;\n// [/solution-2]\n")
        self.passes("")

    def test_the_markers_of_scripts_count_as_well(self):
        self.write("engine/make.py", "# [table]\nx = 1\n# [/table]\n")
        self.fails("", "no page shows region [table]")
        self.passes(region("table", "engine/make.py"))

    def test_a_chapter_shows_regions_and_is_found(self):
        self.write("lessons/01-tape/exercise.cpp", SOURCE)
        self.write("lessons/01-tape/chapter.md", "# The tape\n\n" + region(
            "ring", "lessons/01-tape/exercise.cpp") + region(
                "inner", "lessons/01-tape/exercise.cpp"))
        html = self.passes("```{lessons}\n```\n")
        self.assertIn("../lessons/01-tape/chapter.html", html)

    def test_without_a_chapter_there_is_a_sentence(self):
        self.write("lessons/01-tape/lesson.txt", "soon")
        self.assertIn("No lesson has a chapter yet",
                      self.passes("```{lessons}\n```\n"))


class Functions(SmallBook):  # gate
    def setUp(self):
        super().setUp()
        self.write("engine/f.cpp", "namespace a {\n/// Adds.\nint add(int x) {\n"
                   "  return x + 1;\n}\n}\n"
                   "namespace b {\nint add(double x) { return 0; }\n}\n")

    def test_shows_the_function_with_its_comment(self):
        html = self.passes(function("a::add"))
        self.assertIn("engine/f.cpp:2", html)
        self.assertIn("Adds.", html)

    def test_an_ambiguous_name_fails(self):
        self.fails(function("add"), "add is ambiguous", "a::add (line 2)",
                   "b::add (line 8)")
        self.assertIn("engine/f.cpp:8", self.passes(
            function("add", ":with: double\n")))

    def test_a_name_that_is_not_there_fails(self):
        self.fails(function("subtract"), "there is no subtract")

    def test_a_fold_is_told_apart(self):
        html = self.passes(function("a::add", ":fold:\n"))
        self.assertIn('<details class="short fold"', html)

    def test_a_file_that_must_exist(self):
        self.passes("{src}`engine/f.cpp`")
        self.fails("{src}`engine/g.cpp`", "there is no engine/g.cpp")

    def test_a_whole_file(self):
        self.assertIn("engine/f.cpp:1", self.passes(
            "```{file} engine/f.cpp\n:fold:\n```\n"))
        self.write("engine/empty.cpp", "\n")
        self.fails("```{file} engine/empty.cpp\n```\n", "is empty")


class Finder(unittest.TestCase):  # gate
    """The function finder on difficult C++."""

    def lines(self, text, name, having=None):
        found = cxx.function(text, name, having)
        return text.splitlines()[found.first - 1:found.last]

    def test_braces_in_texts_and_comments(self):
        text = ('void f() {\n  g("}{", \'{\');  // }\n  /* } */ h(R"x(}")x");\n}\n'
                "void z() {}\n")
        self.assertEqual(len(self.lines(text, "f")), 4)
        self.assertEqual(self.lines(text, "z"), ["void z() {}"])

    def test_constructors_with_braces_in_their_lists(self):
        text = "A::A(int x)\n    : a_{x}, b_(x, [] { return 1; }) {\n  go();\n}\n"
        self.assertEqual(len(self.lines(text, "A::A")), 4)

    def test_types_hide_what_lies_in_them(self):
        text = "struct A {\n  A() {}\n  int f() { return 1; }\n};\n"
        self.assertEqual(len(self.lines(text, "A")), 4)
        self.assertEqual(self.lines(text, "A::f"), ["  int f() { return 1; }"])

    def test_operators_and_templates(self):
        text = ("template <typename T>\nT* all(std::map<int, T>& m) {\n  return 0;\n}\n"
                "bool B::operator()(int x) const { return x == 1; }\n"
                "template <typename R, typename... A>\nclass S<R(A...)> {\n"
                "  int x = 1;\n};\nclass O::I : public J {\n};\n")
        self.assertEqual(len(self.lines(text, "all")), 4)
        self.assertEqual(len(self.lines(text, "B::operator()")), 1)
        self.assertEqual(len(self.lines(text, "S")), 4)
        self.assertEqual(len(self.lines(text, "O::I")), 2)

    def test_after_labels_and_declarations(self):
        text = ("class A {\n public:\n  /// Says.\n  int f() const { return 1; }\n"
                " private:\n  int x_ = 0;\n  std::vector<int> v_{1, 2};\n"
                "  void g(int = 3) {\n  }\n};\n")
        self.assertEqual(self.lines(text, "A::f")[0], "  /// Says.")
        self.assertEqual(len(self.lines(text, "A::g")), 2)

    def test_a_declaration_where_there_is_no_definition(self):
        text = ("namespace p {\n/// Cuts.\nstd::vector<int> cut(int total,\n"
                "                     int n = 2);\nint twice();\n"
                "int twice() { return 2; }\n}\n")
        self.assertEqual(len(self.lines(text, "p::cut")), 3)
        self.assertEqual(self.lines(text, "twice"), ["int twice() { return 2; }"])

    def test_every_definition_of_the_engine_is_understood(self):
        files = [file for room in ("engine", "tracer")
                 for file in sorted((ROOT / room).rglob("*.cpp"))]
        found = 0
        for file in files:
            text = file.read_text(encoding="utf-8")
            for one in cxx.definitions(text):
                with self.subTest(file=file.name, name=one.name):
                    self.assertLessEqual(one.first, one.last)
                    last = text.splitlines()[one.last - 1]
                    self.assertIn(";" if one.declared else "}", last)
                    found += 1
        self.assertGreater(found, 700)

    def test_few_lines_of_the_sources_are_markers(self):
        lines = marked = 0
        for room in ("engine", "tracer"):
            for file in (ROOT / room).rglob("*"):
                if file.suffix in (".h", ".cpp"):
                    text = file.read_text(encoding="utf-8").splitlines()
                    lines += len(text)
                    marked += regions.marker_lines(text)
        self.assertLess(marked, lines / 10)


class Evidence(SmallBook):  # gate
    OUTPUT = "```{output} book/output/toy.txt\n```\n"
    FIGURE = ("```{trace-figure} book/figures/forward.png\n:alt: a picture\n"
              "A caption.\n```\n")

    def test_output_is_shown_in_part(self):
        self.write("book/output/toy.txt", "$ lockstep train\none\ntwo\nthree\n")
        html = self.passes("```{output} book/output/toy.txt\n:from: two\n:until: two\n"
                           "```\n")
        self.assertIn("two", html)
        self.assertNotIn("three", html)
        self.fails("```{output} book/output/toy.txt\n:from: four\n```\n",
                   "no line has 'four'")

    def test_all_that_was_typed_is_shown(self):
        self.write("book/output/toy.txt", "$ lockstep train \\\n      -a toy\n"
                   "$ lockstep emulate\none\ntwo\n")
        html = self.passes("```{output} book/output/toy.txt\n:from: two\n```\n")
        for text in ("-a<", "toy\n", "emulate", "two"):
            self.assertIn(text, html)
        self.assertNotIn("one\n", html)

    def test_output_without_a_maker_fails(self):
        self.write("book/output/toy.txt", "$ lockstep train\none\n")
        self.write("book/capture.sh", "prints other\n")
        self.fails(self.OUTPUT, "book/capture.sh does not generate toy.txt")

    def test_output_that_is_missing_empty_or_unused_fails(self):
        self.fails(self.OUTPUT, "there is no such file")
        self.write("book/output/toy.txt", "\n")
        self.fails(self.OUTPUT, "is empty")
        self.write("book/output/toy.txt", "$ x\n")
        self.fails("", "book/output/toy.txt: no page shows it")

    def test_a_figure_needs_file_maker_caption_and_words(self):
        self.fails(self.FIGURE, "is missing; fix: book/figures.sh")
        self.write("book/figures/forward.png", "not looked into")
        self.passes(self.FIGURE)
        self.fails(self.FIGURE.replace("A caption.\n", ""), "requires a caption")
        self.fails(self.FIGURE.replace(":alt: a picture\n", ""), "requires :alt:")
        self.write("book/figures.sh", "draw another\n")
        self.fails(self.FIGURE, "book/figures.sh does not generate forward.png")


class Drawings(SmallBook):  # gate
    PAGE = ("```{drawing} book/drawings/queue.svg\n:alt: a \"queue\"\n"
            "A caption.\n```\n")
    SVG = '<svg viewBox="0 0 9 9"><rect class="box" width="9" height="9"/></svg>\n'

    def test_it_is_part_of_the_page(self):
        self.write("book/drawings/queue.svg", self.SVG)
        html = self.passes(self.PAGE)
        self.assertIn('<svg role="img" aria-label="a &quot;queue&quot;" viewBox', html)
        self.assertIn("A caption.", html)

    def test_it_has_the_colours_of_the_page(self):
        self.write("book/drawings/queue.svg",
                   self.SVG.replace('class="box"', 'fill="#fff"'))
        self.fails(self.PAGE, "has colours of its own")

    def test_what_is_missing_fails(self):
        self.fails(self.PAGE, "there is no such file")
        self.write("book/drawings/queue.svg", "<p>no drawing</p>")
        self.fails(self.PAGE, "is not an <svg>")
        self.write("book/drawings/queue.svg", self.SVG)
        self.fails(self.PAGE.replace("A caption.\n", ""),
                   "requires :alt: and a caption")
        self.fails("", "book/drawings/queue.svg: no page shows it")


class Answers(SmallBook):  # gate
    def test_an_answer_opens_without_a_script(self):
        html = self.passes("What?\n\n```{answer}\nEight, in *four* places.\n```\n")
        self.assertIn("<summary>Answer</summary>", html)
        before, after = html.split("Eight, in <em>four</em> places.")
        self.assertIn("<details class=\"answer\"", before)
        self.assertIn("</details>", after)

    def test_an_empty_one_fails(self):
        self.fails("What?\n\n```{answer}\n```\n", "answer: ")


class Share(SmallBook):  # gate
    """The share of the engine that no page shows."""

    limit = 0.5

    def test_what_counts(self):
        text = ("// a comment\n#include <a>\n\nnamespace x {\nint a;\n/* b */\n"
                "void f() {\n  g();  // c\n}\n}  // namespace x\n")
        self.assertEqual(cxx.code_lines(text), {5, 7, 8, 9})

    def test_too_little_fails_and_is_listed(self):
        self.write("engine/nn/a.cpp", "int a() {\n  return 1;\n}\nint b() {\n"
                   "  return 2;\n}\nint c() { return 3; }\n")
        page = function("a", file="engine/nn/a.cpp")
        self.fails(page, "engine/nn: the pages leave out 57.1 % of its lines")
        html = self.passes(page + function("b", ":fold:\n", "engine/nn/a.cpp")
                           + "```{coverage}\n```\n")
        self.assertIn("14.3 %", html)
        self.assertIn("engine/nn/a.cpp", html)


if __name__ == "__main__":
    sys.exit(main(__name__))
