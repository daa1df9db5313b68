"""tools/compare_traces.py on the hand-written trace and on changed copies of it."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = json.loads((ROOT / "tests/golden/minimal.json").read_text())


def compared(change):
    """The exit code and output for the trace and a changed copy."""
    changed = copy.deepcopy(TRACE)
    change(changed["traceEvents"], changed["lockstep"])
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("before.json", "after.json")]
        for file, trace in zip(files, (TRACE, changed)):
            file.write_text(json.dumps(trace))
        script = ROOT / "tools/compare_traces.py"
        done = subprocess.run([sys.executable, script, *files], capture_output=True,
                              text=True)
    return done.returncode, done.stdout + done.stderr


def first(events, **facts):
    return next(event for event in events if event["ph"] in "Xi"
                and all(event.get(key) == value for key, value in facts.items()))


class Compare(unittest.TestCase):
    def expect_difference(self, change, *words):
        code, output = compared(change)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_times_lines_and_ids_do_not_count(self):
        def later(events, _):
            for event in events:
                if event["ph"] == "M":
                    continue
                event["ts"] += 5
                args = event["args"]
                for key in ("id", "parent", "op", "fwd", "by"):
                    if key in args:
                        args[key] += 1000
                if "line" in args:
                    args["line"] += 7

        self.assertEqual(compared(later),
                         (0, "equal but for times and source lines\n"))

    def test_an_event_more(self):
        def add(events, _):
            events.append(dict(copy.deepcopy(first(events, cat="kernel"))))

        self.expect_difference(add, "events became")

    def test_other_bytes(self):
        def change(events, _):
            first(events, cat="copy")["args"]["bytes"] += 4

        self.expect_difference(change, '"bytes"')

    def test_another_cause(self):
        def change(events, _):
            kernel = first(events, cat="kernel")
            other = next(event["args"]["id"] for event in events
                         if event["ph"] == "X" and "id" in event["args"]
                         and event["args"]["id"] != kernel["args"]["op"])
            kernel["args"]["op"] = other

        self.expect_difference(change, '"op"')

    def test_another_order(self):
        def change(events, _):
            ops = [event for event in events if event.get("cat") == "op"]
            one, two = ops[0], next(op for op in ops if op["name"] != ops[0]["name"]
                                    and op["tid"] == ops[0]["tid"])
            one["name"], two["name"] = two["name"], one["name"]

        self.expect_difference(change, "#")

    def test_another_header(self):
        self.expect_difference(lambda _, header: header.update(arch="vgg16"),
                               "lockstep.arch")


if __name__ == "__main__":
    sys.argv[1:] = [f"Compare.test_{check}" for check in sys.argv[1:]]
    unittest.main()
