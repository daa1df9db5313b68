"""The installed program: everything that it needs comes along, and nothing of the
checkout is used. Also the smaller program of a first build."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import LOCKSTEP, NULL, ROOT, TempTest, run

BUILD = os.path.dirname(LOCKSTEP)
CORE = os.path.join(BUILD, "core", "lockstep")
# Runs "$@" where the checkout is an empty folder.
HIDE = ["unshare", "--map-root-user", "--mount", "bash", "-c",
        f'mount -t tmpfs hidden "{ROOT}" && cd / && exec "$@"', "bash"]
CAN_HIDE = subprocess.run([*HIDE, "true"], capture_output=True, check=False,
                          timeout=60).returncode == 0


def install(prefix, component):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component",
                    component], check=True, stdout=subprocess.DEVNULL, timeout=600)


def files_below(folder):
    return [os.path.join(parent, name) for parent, _, names in os.walk(folder)
            for name in names]


class Package(TempTest):  # gate
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="installed ")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = os.path.realpath(folder.name)
        install(cls.prefix, "program")

    def installed(self, *words, **environment):
        command = [os.path.join(self.prefix, "bin/lockstep"), *map(str, words)]
        done = subprocess.run([*(HIDE if CAN_HIDE else []), *command], text=True,
                              capture_output=True, timeout=300, check=False,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_trains_checks_and_draws_without_the_checkout(self):
        trace, picture = self.path("t.json.gz"), self.path("t.png")
        self.installed("train", *NULL, "-a", "resnet18", "--mode", "dp", "-b", 8,
                       "--devices", 2, "--steps", 1, "--trace", trace)
        self.assertIn("every law holds", self.installed("trace", "check", trace))
        if os.path.exists(os.path.join(BUILD, "liblockstep_gui.a")):
            self.installed("view", trace, "--screenshot", picture)
            self.assertGreater(os.path.getsize(picture), 10_000)

    def test_lessons_come_along_with_their_chapters(self):
        workspace = self.path("workspace")
        for lesson in (0, 12):
            shown = self.installed("lesson", "start", lesson, "--workspace", workspace)
            chapter = re.search(r"the chapter (.*)", shown).group(1)
            self.assertTrue(chapter.startswith(self.prefix), chapter)
            self.assertTrue(os.path.exists(chapter))
        self.assertTrue(os.path.exists(workspace + "/00-first-trace/trace.json.gz"))

    def test_nothing_names_the_checkout(self):
        for path in files_below(self.prefix):
            with open(path, "rb") as file:
                self.assertNotIn(ROOT.encode() + b"/", file.read(), path)

    def test_documents_come_along(self):
        names = {os.path.relpath(path, self.prefix)
                 for path in files_below(self.prefix)}
        for name in ("README.md", "LICENSE", "NOTICE", "copyright", "docs/commands.md"):
            self.assertIn("share/doc/lockstep/" + name, names)
        self.assertEqual({name for name in names if "mutants" in name}, set())

    @unittest.skipUnless(shutil.which("patchelf"), "patchelf is not installed")
    def test_the_tarball_has_all_libraries_but_the_compilers(self):
        prefix = os.path.realpath(self.path("tarball"))
        for component in ("program", "libraries"):
            install(prefix, component)
        shown = subprocess.run(["ldd", prefix + "/bin/lockstep"], check=True,
                               capture_output=True, text=True, timeout=60).stdout
        elsewhere = {name for name, path in re.findall(r"(\S+) => (\S+)", shown)
                     if not os.path.realpath(path).startswith(prefix)}
        allowed = r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so.*"
        self.assertEqual({x for x in elsewhere if not re.fullmatch(allowed, x)}, set())
        licences = os.listdir(prefix + "/share/doc/lockstep/licences")
        self.assertIn("libfmt9", licences)


@unittest.skipUnless(os.path.exists(CORE), "lockstep_core is not built")
class FirstBuild(TempTest):  # gate
    def core(self, *words, **environment):
        return subprocess.run([CORE, *words], capture_output=True, text=True,
                              timeout=60, check=False,
                              env={**os.environ, **environment})

    def test_help_lists_the_same_commands(self):
        self.assertEqual(self.core("--help").stdout, run("--help")[0])

    def test_what_is_left_out_is_refused(self):
        for words, what in ((["lesson", "list", "--json"], "lessons"),
                            (["experiment"], "experiments")):
            done = self.core(*words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"built without {what}; fix: build", done.stderr)
        done = self.core("doctor", LOCKSTEP_SLOTS="mine.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("built without lessons (LOCKSTEP_SLOTS)", done.stderr)


if __name__ == "__main__":
    unittest.main()
