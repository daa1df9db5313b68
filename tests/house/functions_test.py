"""functions.py on small sources: what counts as a function, how long it is, and what
the list of long functions allows."""

import sys
import unittest

import functions
from functions import LIMIT


def found(code):
    """Returns the functions of a source as (name, line, lines)."""
    return [(function.name, function.line, function.lines)
            for function in functions.functions(code)]


def names(code):
    return [function.name for function in functions.functions(code)]


def of_length(lines, name="f"):
    """Returns a function of that many lines."""
    return f"void {name}() {{\n" + "  g();\n" * (lines - 2) + "}\n"


class Functions(unittest.TestCase):
    def test_counts_from_the_name_to_the_closing_brace(self):
        self.assertEqual(found("int f() {\n  return 1;\n}\n"), [("f", 1, 3)])
        self.assertEqual(found("template <typename T>\nstd::vector<T>\nf(int a,\n"
                               "  int b) {\n}\n"), [("f", 3, 3)])
        self.assertEqual(found("void f() {}\n\nvoid g() {\n}\n"),
                         [("f", 1, 1), ("g", 3, 2)])

    def test_endings_of_signatures(self):
        for end in ("const", "noexcept", "noexcept(sizeof(T) > 1)", "override", "final",
                    "const noexcept override", "&&", "-> std::vector<int>",
                    "-> decltype(g(1))", "requires(sizeof(int) == 4)"):
            self.assertEqual(names(f"struct S {{ auto f(int a = g(1)) {end} {{ }} }};"),
                             ["S::f"], end)

    def test_constructors(self):
        self.assertEqual(found("A::A(int a)\n    : B(a),\n      b_{a, {1}},\n"
                               "      c_([a] { return a; }) {\n  g();\n}\n"),
                         [("A::A", 1, 6)])
        self.assertEqual(found("A::A() : a_{1} {}\nA::~A() {\n}\n"),
                         [("A::A", 1, 1), ("A::~A", 2, 2)])
        self.assertEqual(names("struct A { A() : B<int>{1}, c_(2) { } ~A() { } };"),
                         ["A::A", "A::~A"])
        self.assertEqual(names("template <class... B> struct A : B... {\n"
                               "  explicit(true) A(B... b) : B(b)... { } };"), ["A::A"])

    def test_templates(self):
        self.assertEqual(
            names("template <>\nvoid f<int>() { }\n"
                  "template <int N, bool B = (N > 1), class F = void(int)>\n"
                  "void g() { }\n"), ["f", "g"])

    def test_operators(self):
        self.assertEqual(
            names("struct A {\n"
                  "  bool operator<(A b) const { }\n  A& operator<<(int) { }\n"
                  "  auto operator<=>(A b) const { }\n  void operator()(int a) { }\n"
                  "  int operator[](int i) { }\n  A& operator=(const A&) { }\n"
                  "  A* operator->() { }\n  operator bool() const { }\n};\n"
                  'int operator""_ms(unsigned long long n) { }\n'),
            ["A::operator<", "A::operator<<", "A::operator<=>", "A::operator()",
             "A::operator[]", "A::operator=", "A::operator->", "A::operator bool",
             "operator _ms"])

    def test_names_have_classes_but_no_namespaces(self):
        self.assertEqual(
            names("namespace a::b {\nnamespace {\nclass C final : public D<int> {\n"
                  " public:\n  void f() { }\n  struct E {\n    void g() { }\n  };\n"
                  "};\n}  // namespace\nvoid C::h() { }\n"
                  "template <typename T>\nvoid F<T>::i() { }\n}  // namespace a::b\n"
                  'extern "C" {\nvoid j() { }\n}\n'
                  "struct alignas(64) G { void k() { } };"),
            ["C::f", "C::E::g", "C::h", "F::i", "j", "G::k"])

    def test_no_functions(self):
        for code in ("const auto f = [](int a) {\n  return a;\n};",
                     "const A a = f(1) + B{2};", "int f(int a);",
                     "void f() = delete;", "int a[] = {1, 2};",
                     "std::function<void(int)> f{g};", "enum class E : int { a, b };",
                     "using F = void (*)(int);", "constexpr int kB{f(3)};",
                     "std::vector<int> v = g({1, 2});", "struct S {\n  int a = 1;\n};",
                     "template <class T>\nconcept C = requires(T t) { t.f(); };",
                     "class A;\nfriend class B;", "static_assert(sizeof(int) == 4);"):
            self.assertEqual(names(code + "\nvoid last() { }"), ["last"], code)

    def test_statements_and_lambdas_belong_to_their_function(self):
        self.assertEqual(
            found("void f() {\n  if (a) {\n  } else {\n  }\n"
                  "  auto g = [&](int b) {\n    for (;;) {\n    }\n  };\n"
                  "  struct Local {\n    void h() {\n    }\n  };\n}\nvoid i() { }\n"),
            [("f", 1, 13), ("i", 14, 1)])

    def test_braces_in_literals_and_comments(self):
        for code in ('a("}");', r'a("\"}");', "a('}');", r"a('\'', '}');", "// }",
                     "/* }\n} */", 'a(R"(})" "}");', 'a(R"x()" } )x");', "a(u8'}');",
                     "a(1'000, '}', 0xf'f);", "a(); // it's", 'a(L"}");'):
            text = f"void f() {{\n  {code}\n}}\nvoid g() {{ }}\n"
            lines = 3 + code.count("\n")
            self.assertEqual(found(text), [("f", 1, lines), ("g", lines + 1, 1)], code)

    def test_directives(self):
        self.assertEqual(found("#define BEGIN(x) { \\\n  {\nvoid f() {\n}\n"),
                         [("f", 3, 2)])
        self.assertEqual(names('#define QUOTE "/*"\nvoid f() { }\n'
                               "#define ONE 1  // see a/*\nvoid g() { }\n"
                               "#define TWO 2  /* see {\n and { */\nvoid h() { }\n"
                               "// */\n"), ["f", "g", "h"])
        self.assertEqual(found("#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n"
                               "  g();\n}\n"), [("f", 4, 4)])
        self.assertEqual(found("#if A\nvoid f() {\n}\n#elif B\nvoid g() {\n}\n#else\n"
                               "void h() {\n}\n#endif\n"),
                         [("f", 2, 2), ("g", 5, 2), ("h", 8, 2)])

    def test_unbalanced_braces(self):
        with self.assertRaisesRegex(ValueError, "^a.cpp: a brace is not closed$"):
            functions.functions("void f() {\n", "a.cpp")
        with self.assertRaisesRegex(ValueError, "^a.cpp:3: this brace closes none$"):
            functions.functions("void f() {\n}\n}\n", "a.cpp")

    def test_only_long_functions_are_found(self):
        sources = {"a.cpp": of_length(LIMIT) + of_length(LIMIT + 1, "g")}
        self.assertEqual(functions.long_functions(sources), {("a.cpp", "g"): LIMIT + 1})

    def test_overloads_are_numbered(self):
        code = of_length(3) + of_length(LIMIT + 1) + of_length(LIMIT + 2)
        self.assertEqual(functions.long_functions({"a.cpp": code}),
                         {("a.cpp", "f#2"): LIMIT + 1, ("a.cpp", "f#3"): LIMIT + 2})

    def test_the_list_is_read(self):
        self.assertEqual(functions.parse_list("# a comment\n\na.cpp C::f 61\n"
                                              "b/c.h C::operator bool 70\n"),
                         {("a.cpp", "C::f"): 61, ("b/c.h", "C::operator bool"): 70})

    def test_listed_functions_pass(self):
        long = {("a.cpp", "f"): 70}
        self.assertEqual(functions.violations(long, long), [])
        self.assertIn("f has 70 lines now; fix: lower its 80",
                      functions.violations(long, {("a.cpp", "f"): 80})[0])

    def test_a_new_long_function_fails(self):
        self.assertEqual(functions.violations({("a.cpp", "f"): 61}, {}),
                         ["a.cpp: f has 61 lines, the limit is 60; fix: split it into "
                          "functions with a name each"])

    def test_a_listed_function_that_grew_fails(self):
        self.assertEqual(
            functions.violations({("a.cpp", "f"): 71}, {("a.cpp", "f"): 70}),
            ["a.cpp: f grew from 70 to 71 lines; fix: split it into functions with a "
             "name each"])

    def test_a_listed_function_that_is_short_or_gone_fails(self):
        self.assertEqual(functions.violations({}, {("a.cpp", "f"): 70}),
                         ["a.cpp: f does not exceed 60 lines any more; fix: delete the "
                          "line"])


if __name__ == "__main__":
    sys.argv[1:] = [f"Functions.test_{check}" for check in sys.argv[1:]]
    unittest.main()
