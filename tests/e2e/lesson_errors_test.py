"""`lesson check` on code that does not compile, crashes, hangs or races."""

import sys
import unittest

from lesson_test import Workspace


class LearnersCode(Workspace):  # gate
    """For every error of the learner's code, the verdict is a one-line message."""

    def test_no_cxx(self):
        self.start_with("  return chunks")
        result = self.check(passes=False)
        self.assertEqual(result["status"], "error")
        self.assertIn("does not compile", result["message"])
        self.assertTrue(result["output"].startswith("05-scatter/scatter.cpp:"))
        self.assertNotIn(self.workspace, result["output"])

    def test_crash(self):
        self.start_with("  int* nothing = nullptr;\n  *nothing = 1;\n  return {};")
        guilty = self.guilty(self.check(passes=False))
        self.assertEqual((guilty["name"], guilty["status"]), ("right_samples", "error"))
        self.assertIn("accessed invalid memory", guilty["got"])
        self.assertIn("--sanitize address", guilty["got"])

    def test_index_out_of_range(self):
        self.start_with("  std::vector<Tensor> none;\n  return {none[3]};")
        guilty = self.guilty(self.check(passes=False))
        self.assertIn("index out of range", guilty["got"])

    def test_end_of_the_program(self):
        self.start_with("  std::exit(0);")
        guilty = self.guilty(self.check(passes=False))
        self.assertIn("terminated the whole program with exit code 0", guilty["got"])

    def test_exception_in_a_thread(self):
        self.start_with("  std::thread([] { throw 1; }).join();\n  return {};")
        self.file.write_text("#include <thread>\n" + self.file.read_text())
        guilty = self.guilty(self.check(passes=False))
        self.assertIn("exception in a thread", guilty["got"])

    def test_memory_without_end(self):
        self.start_with("  std::vector<char> much(int64_t{1} << 40);\n  return {};")
        guilty = self.guilty(self.check(passes=False))
        self.assertIn("bad_alloc", guilty["got"])

    def test_crash_in_a_training_run(self):
        self.spoil_training("    __builtin_trap();")
        guilty = self.guilty(self.check(passes=False))
        self.assertEqual(guilty["name"], "bytes_once")
        self.assertIn("signal 4", guilty["got"])
        self.assertIn("lesson run --mine 5 -- -a resnet18", guilty["about"])
        self.assertNotIn("trace", guilty)

    def test_last_words_of_a_training_run(self):
        self.spoil_training("    throw std::runtime_error(\"deep inside\");")
        result = self.check(passes=False)
        self.assertIn("deep inside", self.guilty(result)["got"])
        self.assertIn("deep inside", result["output"])

    def test_undefined_tensor(self):
        self.start_with("  return std::vector<Tensor>(4);")
        guilty = self.guilty(self.check(passes=False))
        self.assertIn("undefined Tensor", guilty["got"])
        self.assertIn("an undefined Tensor", guilty["likely"])

    def test_undefined_tensor_in_a_training_run(self):
        self.spoil_training("    return std::vector<Tensor>(4);")
        guilty = self.guilty(self.check(passes=False))
        self.assertEqual(guilty["name"], "bytes_once")
        self.assertIn("undefined Tensor", guilty["got"])

    def test_thrown_text(self):
        self.start_with("  throw \"oops\";")
        guilty = self.guilty(self.check(passes=False))
        self.assertEqual(guilty["got"], "your code threw: oops")

    def test_without_a_compiler(self):
        self.lesson("start", 5)
        _, errors = self.lesson("check", 5, code=1, CXX="no-such-compiler")
        self.assertIn("apt-get install g++", errors)


class Sanitizers(Workspace):  # gate first
    """If requested, they report the faulty line, in tests and in training runs."""

    OVERFLOW = ("    int* one = new int[1];\n    one[input.dim()] = 2;\n"
                "    delete[] one;")
    RACE = ("    int shared = 0;\n"
            "    std::thread other([&] { ++shared; });\n    ++shared;\n"
            "    other.join();")
    LEAK = "    int* volatile lost = new int[1000];\n    lost = nullptr;"

    def report(self, kind):
        result = self.check(False, "--sanitize", kind)
        self.assertIn("05-scatter/scatter.cpp:", result["output"])
        self.assertNotIn(self.workspace, result["output"])
        return result

    def with_threads(self):
        self.file.write_text("#include <thread>\n" + self.file.read_text())

    def test_wrong_access(self):
        self.start_with(self.OVERFLOW + "\n  return {};")
        result = self.report("address")
        self.assertRegex(result["output"], "heap-buffer-overflow|insufficient space")
        self.assertIn("printed below", self.guilty(result)["got"])

    def test_race(self):
        self.start_with(self.RACE + "\n  return {};")
        self.with_threads()
        self.assertIn("data race", self.report("thread")["output"])

    def test_leak(self):
        self.start_with(self.LEAK + "\n  return {};")
        self.assertIn("detected memory leaks", self.report("leak")["output"])

    def test_in_a_training_run(self):
        for kind, code, said in (
                ("address", self.OVERFLOW, "heap-buffer-overflow|insufficient space"),
                ("thread", self.RACE, "data race"),
                ("leak", self.LEAK, "detected memory leaks")):
            with self.subTest(kind=kind):
                self.spoil_training(code)
                self.with_threads()
                result = self.report(kind)
                guilty = self.guilty(result)
                self.assertEqual(guilty["name"], "bytes_once")
                self.assertRegex(guilty["got"], said)
                self.assertIn("first line that names your own", guilty["likely"])

    def test_nothing_to_find(self):
        self.write_solution()
        for kind in ("address", "thread", "leak"):
            self.check(True, "--sanitize", kind)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
