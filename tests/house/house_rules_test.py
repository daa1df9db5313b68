"""The rules of house_test.py on made-up files: each rejects a wrong case."""

import sys
import unittest

import house_test as house

TABLE = {"low": [], "middle": ["low"], "high": ["low", "middle"]}


class Rules(unittest.TestCase):
    def against(self, file, included):
        return house.against_arrows([(file, included)], "top", TABLE)

    def test_sanitizers_that_the_build_does_not_read(self):
        for line in ("// sanitize: address", "// sanitize: address thread"):
            text = f"// A.\n{line}\n#include x"
            self.assertEqual(house.misspelt_sanitizers(text), [])
        for text in ("// sanitise: address\n#include", "// sanitize: adress\n#include",
                     "// sanitize:\n#include", "\n#include x\n// sanitize: thread"):
            self.assertEqual(len(house.misspelt_sanitizers(text)), 1, text)

    def test_arrows_to_rooms_above(self):
        self.assertEqual(self.against("top/high/a.cpp", "top/low/b.h"), set())
        self.assertEqual(self.against("top/low/a.cpp", "top/low/b.h"), set())
        self.assertEqual(self.against("top/low/deep/a.cpp", "top/low/b.h"), set())

    def test_arrows_of_other_rooms(self):
        self.assertEqual(self.against("top/low/a.cpp", "other/high/b.h"), set())
        self.assertEqual(self.against("other/low/a.cpp", "top/high/b.h"), set())
        self.assertEqual(self.against("topmost/low/a.cpp", "topmost/high/b.h"), set())
        self.assertEqual(self.against("topmost/low/a.cpp", "top/high/b.h"), set())

    def test_an_arrow_to_a_room_below_fails(self):
        self.assertEqual(self.against("top/low/a.cpp", "top/high/b.h"),
                         {("top/low/a.cpp", "high")})
        self.assertEqual(self.against("top/low/deep/a.h", "top/middle/deep/b.h"),
                         {("top/low/deep/a.h", "middle")})

    def test_an_arrow_from_or_to_an_unknown_room_fails(self):
        self.assertEqual(self.against("top/new/a.cpp", "top/low/b.h"),
                         {("top/new/a.cpp", "low")})
        self.assertEqual(self.against("top/high/a.cpp", "top/new/b.h"),
                         {("top/high/a.cpp", "new")})

    def test_a_table_in_order(self):
        self.assertEqual(house.out_of_order(TABLE), [])

    def test_a_table_out_of_order_fails(self):
        self.assertEqual(house.out_of_order({"low": ["high"], "high": ["low"]}),
                         ["low: high"])
        self.assertEqual(house.out_of_order({"low": ["low"]}), ["low: low"])
        self.assertEqual(house.out_of_order({"low": ["unknown"]}), ["low: unknown"])

    def test_exceptions_that_are_needed(self):
        both = {("a.cpp", "b")}
        house.House().only_listed(both, both, "TABLE", "rule")

    def test_a_missing_exception_fails(self):
        with self.assertRaisesRegex(AssertionError, r"rule:\s+a\.cpp includes b$"):
            house.House().only_listed({("a.cpp", "b")}, set(), "TABLE", "rule")

    def test_an_obsolete_exception_fails(self):
        with self.assertRaisesRegex(
                AssertionError, r"fix: delete these from TABLE:\s+a\.cpp: b$"):
            house.House().only_listed(set(), {("a.cpp", "b")}, "TABLE", "rule")

    def test_includes_without_a_cycle(self):
        self.assertEqual(house.in_cycles([("a.cpp", "a.h"), ("a.h", "b.h"),
                                          ("a.cpp", "c.h"), ("b.cpp", "c.h")]), set())

    def test_a_cycle_fails(self):
        self.assertEqual(house.in_cycles([("a.cpp", "b.h"), ("b.cpp", "a.h"),
                                          ("c.cpp", "a.h"), ("b.h", "d.h")]),
                         {("a.cpp", "b"), ("b.cpp", "a")})

    def test_a_long_cycle_fails(self):
        self.assertEqual(house.in_cycles([("run/a.h", "run/b.h"),
                                          ("run/b.h", "run/c.h"),
                                          ("run/c.cpp", "run/a.h")]),
                         {("run/a.h", "b"), ("run/b.h", "c"), ("run/c.cpp", "a")})

    def test_a_budget_is_read(self):
        self.assertEqual(house.parse_budget("# a comment\n\nlow 100\nhigh 2000\n"),
                         {"low": 100, "high": 2000})

    def test_the_innermost_room_counts(self):
        lengths = {"low/a.h": 1, "low/deep/b.h": 2, "low/deep/er/c.h": 4,
                   "lower/d.h": 8, "e.sh": 16}
        self.assertEqual(house.lines_of_rooms(lengths, ["low", "low/deep"]),
                         {"low": 1, "low/deep": 6})

    def test_a_room_within_its_budget(self):
        self.assertEqual(house.over_budget({"low": 100}, {"low": 100}), [])

    def test_a_room_over_its_budget_fails(self):
        self.assertEqual(house.over_budget({"low": 101, "high": 1},
                                           {"low": 100, "high": 1}),
                         ["low has 101 lines, its budget is 100; fix: make the room "
                          "smaller, or raise the budget in a commit that says why"])


if __name__ == "__main__":
    sys.argv[1:] = [f"Rules.test_{check}" for check in sys.argv[1:]]
    unittest.main()
