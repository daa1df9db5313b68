"""Tests of ./lockstep with fake tools (fake_tool.bash): nothing is built."""

import fcntl
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKES = "dpkg-query apt-get sudo id cmake ninja ctest cpack".split()
REAL = ("bash env readlink cksum mkdir rm cat grep head tail cut flock awk nproc sed "
        "chmod ls uname").split()
PACKAGES = ("# all\n[required]\ng++\ncmake  # why\n\n"
            "[window]\nglfw\n[package]\nfile\n[tests]\npython3\n[optional]\ntorch\n")


class Wrapper(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="wrapper test ")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name).resolve()
        self.fake = self.home / "fake"
        self.root = self.home / "checkout"
        (self.root / "tests/house").mkdir(parents=True)
        (self.root / "cmake").mkdir()
        for name in ("lockstep", "CMakePresets.json", "tests/house/run_tests.bash",
                     "tests/house/count_tests.py", "tests/house/run_suites.py",
                     "tests/house/tests_of.py", "tests/house/opened_files.py",
                     "tests/house/dpkg.py", "tests/house/fanotify.py",
                     "cmake/package.bash"):
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "packages.txt").write_text(PACKAGES)
        self.bin = self.home / "bin"
        self.bin.mkdir()
        self.fake.mkdir()
        for tool in REAL:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "python3").symlink_to(sys.executable)
        for tool in FAKES:
            (self.bin / tool).symlink_to(ROOT / "tests/house/fake_tool.bash")
        self.say("installed", "g++\ncmake\nglfw\nfile\npython3\n")
        self.say("uid", "1000")
        self.environment = {"PATH": str(self.bin), "FAKE": str(self.fake)}

    def say(self, what, text=""):
        (self.fake / what).write_text(text)

    def calls(self, tool):
        """The calls of a tool since the last call of this function."""
        path = self.fake / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("".join(f"{x}\n" for x in lines if not x.startswith(tool)))
        return [line for line in lines if line.startswith(tool)]

    def start(self, *arguments, script=None, **more):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": self.home, **more}
        return subprocess.run([script or self.root / "lockstep", *arguments], text=True,
                              env=self.environment, timeout=60, **options)

    def expect(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def on_terminal(self, answer, *arguments):
        """Runs the wrapper on a terminal, with `answer` as input."""
        try:
            ours, its = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        os.write(ours, answer.encode())
        done = self.start(*arguments, stdin=its, stderr=its)
        os.close(its)
        done.stderr = ""
        try:
            while True:
                done.stderr += os.read(ours, 65536).decode()
        except OSError:
            os.close(ours)
        return done

    # --- the program

    def test_runs_the_program_in_the_callers_folder(self):
        (self.home / "elsewhere").mkdir()
        (self.home / "link").symlink_to(self.root / "lockstep")
        done = self.start("train", "a b", "", "--yes", script=self.home / "link",
                          cwd=self.home / "elsewhere")
        self.expect(done, 3, "configuring (release)", "building 4/8", "building 8/8")
        self.assertEqual(done.stdout,
                         f"<{self.home}/elsewhere><train><a b><><--yes>")
        self.assertEqual(self.calls("ninja"),
                         [f"ninja -C {self.root}/build/release lockstep_core backends"])

    def targets(self, *arguments):
        self.start(*arguments)
        (call,) = self.calls("ninja")
        return call.split("build/release ")[1]

    def test_builds_no_more_than_the_command_needs(self):
        for words in (["demo"], ["trace", "check", "lesson"], ["view"], ["--help"], []):
            self.assertEqual(self.targets(*words), "lockstep_core", words)
        for word in ("train", "doctor", "launch", "bench"):  # may need a GPU
            self.assertEqual(self.targets(word), "lockstep_core backends")
        self.environment["LOCKSTEP_SLOTS"] = "mine.so"
        self.assertEqual(self.targets("train"), "lockstep")

    def test_keeps_to_the_whole_program_once_a_command_needed_it(self):
        for word in ("lesson", "experiment"):
            shutil.rmtree(self.root / "build", ignore_errors=True)
            self.assertEqual(self.targets("demo"), "lockstep_core")
            self.assertEqual(self.targets(word), "lockstep")
            self.assertEqual(self.targets("demo"), "lockstep")

    def test_a_process_of_a_job_starts_what_was_built(self):
        jobs = ({"LOCKSTEP_WORLD": "2"}, {"RANK": "1", "WORLD_SIZE": "2"},
                {"OMPI_COMM_WORLD_SIZE": "2"}, {"PMI_SIZE": "2"},
                {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"})
        self.environment.update(jobs[0])
        self.expect(self.start("train"), 1,
                    "not built yet, but this is one of a job's processes; fix: run "
                    "./lockstep doctor once before the job")
        del self.environment["LOCKSTEP_WORLD"]
        self.start("train")
        for job in jobs:
            self.calls("ninja"), self.calls("dpkg-query")
            (self.root / "packages.txt").touch()
            self.environment.update(job)
            with open(self.root / "build/.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # another process is building
                self.expect(self.start("train"), 3)
            self.assertEqual(self.calls("ninja") + self.calls("dpkg-query"), [], job)
            for name in job:
                del self.environment[name]
        for alone in ({"RANK": "0", "WORLD_SIZE": "1"}, {"SLURM_STEP_NUM_TASKS": "2"}):
            self.environment.update(alone)
            self.assertEqual(self.targets("train"), "lockstep_core backends")

    def test_installs_packages_of_the_window_where_there_is_a_display(self):
        self.say("uid", "0")
        self.say("installed", "g++\ncmake\n")
        self.start("demo")
        self.assertEqual(self.calls("apt-get"), [])
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            self.environment[name] = ":0"
            self.say("installed", "g++\ncmake\n")
            shutil.rmtree(self.root / "build")
            self.expect(self.start("demo"), 3, "packages missing: glfw")
            del self.environment[name]

    def test_tells_the_program_how_it_was_started(self):
        self.start("demo", script="./lockstep", cwd=self.root)
        self.assertEqual(self.calls("program"), ["program ./lockstep"])
        self.start("demo", script=self.root / "lockstep")
        self.assertEqual(self.calls("program"), [f"program {self.root}/lockstep"])

    def test_yes_is_eaten(self):
        self.assertEqual(self.start("--yes", "demo").stdout, f"<{self.home}><demo>")

    def test_a_warm_start_says_and_asks_nothing(self):
        self.start("demo")
        self.calls("cmake")
        done = self.start("demo")
        self.expect(done, 3)
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.calls("cmake"), [])
        self.assertEqual((self.fake / "dpkg_calls").read_text(), "asked\n")

    def test_shows_progress_on_one_line_of_a_terminal(self):
        self.environment["TERM"] = "xterm"
        shown = self.on_terminal("", "demo").stderr
        self.assertRegex(shown, r"\rlockstep: building 7/8 7 +\rlockstep: building 8/8")
        self.assertEqual(shown.count("\n"), 1)  # configuring

    def test_configures_again_when_presets_changed_or_the_checkout_moved(self):
        self.start("demo")
        self.calls("cmake")
        os.utime(self.root / "CMakePresets.json", (4e9, 4e9))
        self.start("demo")
        self.assertEqual(self.calls("cmake"),
                         [f"cmake -S {self.root} --preset release"])
        os.utime(self.root / "CMakePresets.json", (1e9, 1e9))
        moved = self.root.rename(self.home / "moved")
        self.start("demo", script=moved / "lockstep")
        self.assertEqual(self.calls("cmake"),
                         [f"cmake --fresh -S {moved} --preset release"])

    # --- packages

    def test_root_installs_without_a_question(self):
        self.say("uid", "0")
        self.say("installed", "g++\n")
        self.expect(self.start("demo"), 3, "packages missing: cmake")
        (call,) = self.calls("apt-get")
        self.assertTrue(call.endswith(" install --no-install-recommends cmake"), call)
        self.assertEqual(self.calls("sudo"), [])
        self.start("demo")
        self.assertEqual(self.calls("apt-get"), [])

    def test_a_changed_list_is_checked_again_and_configured_anew(self):
        self.start("demo")
        self.calls("cmake")
        with open(self.root / "packages.txt", "w") as file:
            file.write(PACKAGES.replace("g++", "g++\nmold"))
        self.say("uid", "0")
        self.expect(self.start("demo"), 3, "packages missing: mold")
        self.assertEqual(len(self.calls("cmake")), 1)

    def test_asks_on_a_terminal(self):
        self.say("installed", "g++\n")
        refused = self.on_terminal("n\n", "demo")
        self.expect(refused, 1, "packages missing: cmake", "[Y/n]",
                    "nothing installed; fix: sudo apt-get install cmake")
        self.assertEqual(self.calls("apt-get"), [])
        self.expect(self.on_terminal("y\n", "demo"), 3, "[Y/n]")
        (sudo,) = self.calls("sudo")
        self.assertIn("DEBIAN_FRONTEND=noninteractive apt-get -y", sudo)

    def test_does_not_ask_with_yes_or_in_ci(self):
        self.say("installed", "g++\n")
        asked = self.on_terminal("", "--yes", "demo")
        self.expect(asked, 3)
        self.assertNotIn("[Y/n]", asked.stderr)
        self.say("installed", "g++\n")
        shutil.rmtree(self.root / "build")
        self.environment["CI"] = "true"
        self.expect(self.start("demo"), 3)
        self.assertEqual(len(self.calls("sudo -n env")), 1)

    def test_without_terminal_and_without_yes_it_says_what_to_do(self):
        self.say("installed", "g++\n")
        self.expect(self.start("demo"), 1, "fix: sudo apt-get install cmake", "--yes")
        self.assertEqual(self.calls("apt-get"), [])

    def test_without_apt_it_prints_the_list(self):
        self.say("installed", "")
        (self.bin / "apt-get").unlink()
        self.expect(self.start("demo"), 1, "missing: g++ cmake\n", "no apt-get")

    def test_without_debian_it_prints_the_list_once_and_tries(self):
        (self.bin / "apt-get").unlink()
        (self.bin / "dpkg-query").unlink()
        self.expect(self.start("demo"), 3, "by Debian's names: g++ cmake\n")
        self.assertEqual(self.start("demo").stderr, "")
        shutil.rmtree(self.root / "build")
        (self.bin / "ninja").unlink()
        self.expect(self.start("demo"), 1, "g++ cmake\n", "no ninja here")

    def test_updates_apts_lists_when_an_install_fails(self):
        self.say("uid", "0")
        self.say("installed", "g++\n")
        self.say("apt_fails_once")
        self.expect(self.start("demo"), 3)
        calls = self.calls("apt-get")
        self.assertEqual([call.split()[4] for call in calls],
                         ["install", "update", "install"])

    def test_tools_of_the_tests_may_be_absent_but_not_what_is_required(self):
        self.say("uid", "0")
        self.say("installed", "g++\ncmake\nglfw\nfile\n")
        self.say("apt_lacks", "python3")
        self.expect(self.start("test"), 0,
                    "python3 cannot be installed; what needs it is skipped")
        self.say("installed", "g++\n")
        self.say("apt_lacks", "cmake")
        self.expect(self.start("demo"), 1, "cmake cannot be installed; log: ")

    # --- failures

    def test_a_failing_configure_names_its_log(self):
        self.say("cmake_fails")
        log = self.root / "build/release/configure.log"
        done = self.start("demo")
        self.expect(done, 1, "fmt is missing",
                    f"lockstep: configuration failed; full log: {log}\n")
        self.assertIn("CMake Error", log.read_text())

    def test_a_failing_build_shows_its_errors_and_names_its_log(self):
        self.say("ninja_fails")
        log = self.root / "build/release/build.log"
        done = self.start("demo")
        self.expect(done, 1, "a.cpp:7:1: error: expected a semicolon",
                    f"lockstep: the build failed; full log: {log}\n")
        self.assertNotIn("ccache", done.stderr)
        self.assertIn("ccache", log.read_text())
        self.assertEqual(done.stdout, "")

    # --- package

    def test_package_builds_the_whole_program_and_prints_the_files(self):
        self.say("uid", "0")
        self.say("installed", "g++\ncmake\nglfw\n")
        old = self.root / "build/packages/lockstep_0_amd64.deb"
        old.parent.mkdir(parents=True)
        old.touch()
        done = self.start("package")
        self.expect(done, 0, "packages missing: file", "packaging without the book")
        self.assertEqual(done.stdout, f"{old.parent}/lockstep_1_amd64.deb\n")
        self.assertEqual([path.name for path in old.parent.iterdir()],
                         ["lockstep_1_amd64.deb"])
        self.assertEqual(self.calls("ninja"),
                         [f"ninja -C {self.root}/build/release lockstep"])
        (self.root / "build/book").mkdir()
        (self.root / "build/book/index.html").touch()
        # Packages are for all GPUs, and later builds again for the one that is here.
        self.assertTrue([call for call in self.calls("cmake") if "GPUS=ALL" in call])
        self.assertFalse((self.root / "build/release/.configured").exists())
        self.assertEqual(self.start("package").stderr,
                         "lockstep: configuring (release)\n")

    def test_package_that_fails_names_its_log(self):
        self.say("cpack_fails")
        self.expect(self.start("package"), 1, "CPack Error: no libdnnl",
                    f"cannot be made; full log: {self.root}/build/package.log\n")

    def test_package_explains_itself_and_takes_no_options(self):
        self.assertIn("usage: ./lockstep package", self.start("package", "-h").stdout)
        self.expect(self.start("package", "--rpm"), 2)
        self.assertEqual(self.calls("ninja"), [])

    # --- test

    def test_test_runs_everything_and_counts(self):
        (self.home / "shared/data").mkdir(parents=True)
        done = self.start("test", "-R", "name")
        self.expect(done, 0)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 0 skipped")
        (ctest,) = self.calls("ctest")
        self.assertIn(f"--test-dir {self.root}/build/release", ctest)
        self.assertTrue(ctest.endswith(" -R name"), ctest)
        self.assertEqual(self.calls("LOCKSTEP"),
                         [f"LOCKSTEP_SHARED={self.home}/shared OMP="])
        self.assertTrue(self.calls("ninja")[0].endswith("/release all"))

    def builds(self):
        """What ninja was asked for since the last call: `PRESET TARGET…`."""
        return [call.split("/")[-1] for call in self.calls("ninja")
                if "-C" in call and "-t" not in call]

    def test_the_gate_sanitizes_when_asked_and_in_ci(self):
        for arguments, ci in ((["--gate"], ""), ([], "true")):
            self.environment["CI"] = ci
            done = self.start("test", *arguments)
            self.expect(done, 0)
            self.assertIn("3 passed, 0 failed, 1 skipped\n", done.stdout)  # no fanotify
            self.assertIn("Not run: the other wrong solutions", done.stdout)
            self.assertEqual(self.builds(),
                             ["release all", "dev unit_tests", "tsan unit_tests"])
            self.assertEqual(self.calls("LOCKSTEP"), ["LOCKSTEP_SHARED= OMP="] * 2
                             + ["LOCKSTEP_SHARED= OMP=1"])
            self.assertTrue(all(" -LE ^all$" in call for call in self.calls("ctest")))

    def test_users_run_neither_the_gate_nor_all(self):
        done = self.start("test")
        self.assertIn("wrong solutions, the book, sanitizers (./lockstep test --gate)",
                      done.stdout)
        self.assertIn(" -LE ^(gate|all)$", self.calls("ctest")[0])
        self.assertEqual(self.builds(), ["release all"])

    def test_all_runs_everything_or_parts(self):
        self.start("test", "--all", "release", "tsan")
        self.assertEqual(self.builds(), ["release all", "tsan all_unit_tests"])
        self.assertFalse([call for call in self.calls("ctest") if "-LE" in call])
        done = self.start("test", "--all", "asan")
        self.assertIn("Only these parts ran: asan.\n1 passed,", done.stdout)

    def test_a_path_builds_and_runs_its_tests(self):
        for file in ("docs/x.md", "engine/plan/chunk.h", "tests/plan/chunk_test.cpp"):
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            (self.root / file).touch()
        done = self.start("test", "engine/plan/chunk.h", cwd=self.root)
        self.expect(done, 0)
        self.assertTrue(done.stdout.endswith("Not run: all other tests (./lockstep "
                                             "test).\n1 passed, 0 failed, 0 skipped\n"))
        self.assertEqual(self.builds(), ["inner plan.chunk_test"])
        (ctest,) = self.calls("ctest")
        self.assertIn(r"-L ^(tests/plan/chunk_test\.cpp)$ -LE ^all$", ctest)
        self.start("test", "tests/plan/chunk_test.cpp", cwd=self.root)
        self.assertEqual(self.builds(), ["inner plan.chunk_test"])
        (ctest,) = self.calls("ctest")
        self.assertTrue(ctest.endswith(r"-L ^(tests/plan/chunk_test\.cpp)$"), ctest)
        self.start("test", "engine/plan/chunk.h", "docs/x.md", cwd=self.root)
        self.assertEqual(self.builds(), ["inner plan.chunk_test", "release lockstep"])
        self.assertIn("-L ^(tests/e2e/docs_test", self.calls("ctest")[1])
        self.expect(self.start("test", "engine/plan/chunk.cc", cwd=self.root), 1,
                    "no engine/plan/chunk.cc here; fix: ")

    def test_words_that_contradict_or_do_nothing_are_refused(self):
        for words, why in ((["--all", "engine"], "--all does not take engine"),
                           (["--gate", "engine"], "--gate does not take engine"),
                           (["-R", "x", "--gate"], "--gate must come first"),
                           (["-LE", "all"], "-LE would undo the choice"),
                           (["--chnaged"], "no option --chnaged")):
            self.expect(self.start("test", *words), 1, f"test: {why}", "; fix: ")
            self.assertEqual(self.builds(), [])

    def test_packages_of_another_command_are_not_these(self):
        """The last sections of `book` and of `test --gate` are the same."""
        self.start("test", "--gate")
        stamps = [path.name for path in (self.root / "build").glob(".packages-*")]
        self.assertEqual(stamps, [".packages-required-window-package-tests-book"])

    def test_help_of_test_comes_at_once(self):
        for word in ("-h", "--help"):
            done = self.start("test", word)
            self.expect(done, 0)
            self.assertIn("usage: ./lockstep test [PATH", done.stdout)
            self.assertTrue(done.stdout.endswith("among these tests.\n"), done.stdout)
        self.assertEqual(self.calls("ninja") + self.calls("ctest"), [])

    def test_test_fails_when_a_test_fails_or_none_ran(self):
        self.say("ctest_fails")
        done = self.start("test")
        self.expect(done, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")
        self.say("ctest_finds_nothing")
        done = self.start("test")
        self.expect(done, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    sys.argv[1:] = [f"Wrapper.test_{check}" for check in sys.argv[1:]]
    unittest.main()
