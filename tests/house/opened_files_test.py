"""opened_files.py on a made-up dpkg database, and on commands that it runs."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import fanotify

SCRIPT = pathlib.Path(__file__).with_name("opened_files.py")
SKIPPED = 77


def package(name, *fields):
    return "\n".join([f"Package: {name}", "Status: install ok installed", *fields, ""])


class Judge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "info").mkdir()
        self.install(package("listed", "Depends: base (>= 2), first | second"),
                     package("base", "Depends: virtual"), package("stranger"))
        self.has("listed", "/usr/include/listed.h")
        self.has("stranger", *(f"/usr/include/{i}.h" for i in range(5)))
        (self.path / "packages.txt").write_text("# text\n[tests]\nlisted  # why\n")

    def install(self, *packages):
        with open(self.path / "status", "a", encoding="utf-8") as file:
            file.write("".join(text + "\n" for text in packages))

    def has(self, name, *paths):
        (self.path / "info" / f"{name}.list").write_text("\n".join(["/.", *paths, ""]))

    def judged(self, *paths, code, more=()):
        """What it prints of these opened files."""
        with open(self.path / "opened", "w", encoding="utf-8") as file:
            file.write("# a comment\n" + "".join(f"{path}\tcat\n" for path in paths))
        return self.judge(self.path / "opened", code=code, more=more)

    def judge(self, *files, code, more=()):
        done = subprocess.run(
            [sys.executable, SCRIPT, "judge", *files, self.path / "packages.txt",
             "--dpkg", self.path, "--tree", "/tree", *more], text=True,
            stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def provides(self, name, *fields):
        """Installs a package with one file, and judges that."""
        self.install(package(name, *fields))
        self.has(name, f"/usr/lib/{name}.so")
        return lambda code: self.judged(f"/usr/lib/{name}.so", code=code)

    def test_unlisted(self):
        text = self.judged("/usr/include/listed.h", "/usr/include/4.h",
                           *(f"/usr/include/{i}.h" for i in range(4)), code=1)
        self.assertEqual(text, "opened: a comment\n"
                         "6 opened files of 2 packages; 0 of no package\n"
                         "stranger: neither in packages.txt nor needed by a package "
                         "there\n"
                         "  /usr/include/0.h, opened by cat\n"
                         "  /usr/include/1.h, opened by cat\n"
                         "  /usr/include/2.h, opened by cat\n"
                         "  fix: add stranger to packages.txt, or do not use it\n")

    def test_dependency(self):
        self.has("base", "/usr/lib/it.so")
        self.judged("/usr/lib/it.so", code=0)

    def test_pre_dependency(self):
        self.install(package("second", "Pre-Depends: base, early:any (<< 3)"))
        self.provides("early")(0)

    def test_recommended(self):
        self.install(package("second", "Recommends: nice"))
        self.provides("nice")(1)

    def test_alternative(self):
        self.provides("second")(0)

    def test_only_the_first_installed_alternative(self):
        """It is the one that apt installs on a bare system."""
        self.install(package("first"))
        self.provides("second")(1)

    def test_provided_name(self):
        self.provides("provider", "Provides: other, virtual (= 1)")(0)

    def test_provided_name_that_nothing_needs(self):
        self.provides("provider", "Provides: other")(1)

    def test_not_installed(self):
        """What it depended on does not count."""
        removed = package("first", "Depends: old").replace("ok installed",
                                                           "ok config-files")
        self.install(removed)
        self.provides("old")(1)

    def test_essential(self):
        self.provides("essential", "Essential: yes")(0)

    def test_priority(self):
        self.provides("required", "Priority: required")(0)
        self.provides("important", "Priority: important")(1)

    def test_merged_usr(self):
        self.has("stranger", "/lib/x.so", "/bin/ss", "/usr/bin/y", "/usr/share/bin/z")
        for path in "/usr/lib/x.so", "/usr/bin/ss", "/bin/y", "/usr/share/bin/z":
            self.judged(path, code=1)
        self.judged("/share/bin/z", code=0)

    def test_architecture(self):
        self.has("stranger:amd64", "/usr/lib/x.so")
        self.assertIn("add stranger to", self.judged("/usr/lib/x.so", code=1))

    def test_one_of_two_owners(self):
        self.has("listed", "/usr/share/doc/both")
        self.has("stranger", "/usr/share/doc/both")
        self.judged("/usr/share/doc/both", code=0)

    def test_what_comes_with_another(self):
        """Only the package to add is named."""
        self.install(package("program", "Depends: its-library"), package("its-library"))
        self.has("program", "/usr/bin/p")
        self.has("its-library", "/usr/lib/p.so")
        self.assertEqual(self.judged("/usr/bin/p", "/usr/lib/p.so", code=1)
                         .count("fix:"), 1)

    def test_cuda(self):
        for name in "cuda-cudart-13-0", "libcudnn9-cuda-13", "libnccl2", "libcublas-13":
            self.provides(name)(0)
        self.provides("libcurl4")(1)

    def test_elsewhere(self):
        self.has("stranger", "/tree/x", "/usr/lib/python3/dist-packages/x.pth",
                 "/usr/lib/x86_64-linux-gnu/libnss_x.so.2")
        text = self.judged("/tree/x", "/usr/lib/python3/dist-packages/x.pth",
                           "/usr/lib/x86_64-linux-gnu/libnss_x.so.2", "/usr/local/y",
                           code=0)
        self.assertIn("0 opened files of 0 packages; 1 of no package\n", text)

    def test_two_lists(self):
        (self.path / "headers").write_text("/usr/include/1.h\tg++\n")
        (self.path / "opened").write_text("/usr/include/listed.h\tcat\n")
        for names in ("opened", "headers"), ("headers", "opened"):
            text = self.judge(*(self.path / name for name in names), code=1)
            self.assertIn("/usr/include/1.h, opened by g++", text)

    def test_nothing_recorded(self):
        (self.path / "empty").write_text("")
        for name in "absent", "empty":
            self.assertEqual(self.judge(self.path / name, code=SKIPPED),
                             "no opened files were recorded\n")

    def test_no_dpkg(self):
        (self.path / "status").unlink()
        self.assertEqual(self.judged("/usr/x", code=SKIPPED), "no dpkg here\n")

    def test_junit(self):
        more = "--output-junit", str(self.path / "junit.xml")
        self.judged("/usr/include/1.h", code=1, more=more)
        text = (self.path / "junit.xml").read_text()
        self.assertIn('name="opened_files"', text)
        self.assertIn('status="fail"', text)
        self.assertIn("fix: add stranger", text)

    def need_fanotify(self):
        try:
            fanotify.Opened([])
        except OSError as error:
            self.skipTest(f"no fanotify here: {error.strerror}")

    def recorded(self):
        lines = (self.path / "opened").read_text().splitlines()
        return {line.partition("\t")[0] for line in lines}

    def test_record(self):
        """By short and long processes, in other mount namespaces, without parents. Not
        by others, and not in the tree."""
        self.need_fanotify()
        opened, inside = self.path / "opened", SCRIPT.with_name("house_test.py")
        command = f"""
            cat /etc/passwd {inside} > /dev/null
            unshare --mount sh -c 'mount --bind /etc /usr/share
              cat /usr/share/group > /dev/null'
            sh -c 'sh -c "while kill -0 $0 2> /dev/null; do :; done  # it has ended
              cat /etc/debian_version > {self.path}/seen" $$ &'
            until [ -s {self.path}/seen ]; do sleep 0.01; done"""
        foreign = subprocess.Popen(["sh", "-c", "while :; do cat /etc/shells; done"],
                                   stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            subprocess.run([sys.executable, SCRIPT, "record", opened, "--", "sh", "-c",
                            command], check=True)
        finally:
            os.killpg(foreign.pid, signal.SIGKILL)
            foreign.wait()
        paths = self.recorded()
        self.assertLessEqual({"/etc/passwd", "/etc/group", "/etc/debian_version"},
                             paths)
        self.assertNotIn("/etc/shells", paths)
        self.assertNotIn(str(inside), paths)
        subprocess.run([sys.executable, SCRIPT, "record", opened, "--", "cat",
                        "/etc/shells"], check=True, stdout=subprocess.DEVNULL)
        self.assertLessEqual(paths | {"/etc/shells"}, self.recorded())

    def test_record_in_a_chroot(self):
        """In a folder that is otherwise ignored."""
        self.need_fanotify()
        (self.path / "root").mkdir()
        subprocess.run(["unshare", "--mount", "sh", "-c",
                        'mount --rbind / "$0" && exec chroot "$0" "$@"',
                        self.path / "root", sys.executable, SCRIPT, "record",
                        self.path / "opened", "--", "cat", "/etc/passwd"], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertIn("/etc/passwd", self.recorded())

    def test_record_ends_as_the_command_does(self):
        """Also without fanotify."""
        def code(script):
            return subprocess.run([sys.executable, SCRIPT, "record",
                                   self.path / "opened", "--", "sh", "-c", script],
                                  stderr=subprocess.DEVNULL).returncode
        self.assertEqual(code("exit 0"), 0)
        self.assertEqual(code("exit 5"), 5)
        self.assertEqual(code("kill -INT $$"), -signal.SIGINT)

    def test_record_passes_signals(self):
        for number, send in ((signal.SIGTERM, os.kill), (signal.SIGINT, os.killpg)):
            with subprocess.Popen(
                    [sys.executable, SCRIPT, "record", self.path / "opened", "--", "sh",
                     "-c", "trap 'exit 9' INT TERM; echo ready; while :; do sleep 0.1; "
                     "done"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    start_new_session=True) as process:
                process.stdout.readline()
                send(process.pid, number)
                try:
                    self.assertEqual(process.wait(20), 9)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    test = unittest.main(argv=[sys.argv[0],
                               *(f"Judge.test_{check}" for check in sys.argv[1:])],
                         exit=False).result
    if not test.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if test.testsRun == len(test.skipped) else 0)
