"""`lesson check --grade`: attempts to cheat, results, and refusals.

    grade_test.py Cheats | Results | Refusals

A file of `cheats` begins with `// because: WORDS`, which the verdict must contain. It
is a complete submission for lesson 05, or a text before its skeleton. In it, @ROOT@ is
the repository, @PROGRAM@ the program, @KEY@ the instructor's key, @RESULT@ the
result's file, @WORKSPACE@ the learner's folder, @PID@ (FOREIGN_PROCESS) a process and
LISTENING_PORT a port of the instructor's.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LOCKSTEP_BIN", str(ROOT / "build/release/lockstep"))
CHEATS = pathlib.Path(__file__).resolve().parent / "cheats"


def why_no_sandbox():
    """What bubblewrap says where it can make none, as in a chroot; otherwise ""."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed; fix: apt-get install bubblewrap"
    words = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind",
             "/", "/", "--proc", "/proc", "true"]
    made = subprocess.run(words, capture_output=True, text=True)
    return f"no sandbox here: {made.stderr.strip()}" if made.returncode else ""


def processes_with(text):
    """Pids of the other processes whose command lines contain this text."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text in (folder / "cmdline").read_text(errors="replace"):
                found.add(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return found - {os.getpid()}


class Graded(unittest.TestCase):
    judges = True  # needs a sandbox

    @classmethod
    def setUpClass(cls):
        if cls.judges and (reason := why_no_sandbox()):
            raise unittest.SkipTest(reason)

    def setUp(self):
        keep = tempfile.TemporaryDirectory()
        self.addCleanup(keep.cleanup)
        self.path = pathlib.Path(keep.name)
        self.workspace = self.path / "workspace"
        self.file = self.workspace / "05-scatter" / "scatter.cpp"
        self.result = self.path / "result.json"
        self.key = self.new_key("key.pem")
        self.lesson("start", 5)
        self.skeleton = self.file.read_text()

    def new_key(self, name):
        key = self.path / name
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key],
                       check=True)
        return key

    def run_lesson(self, command, *words, **environment):
        return subprocess.run(
            [PROGRAM, "lesson", command, *map(str, words)], capture_output=True,
            text=True, timeout=300,
            env={**os.environ, "LOCKSTEP_WORKSPACE": str(self.workspace),
                 **environment})

    def lesson(self, command, *words, code=0, **environment):
        ended = self.run_lesson(command, *words, **environment)
        self.assertEqual(ended.returncode, code, f"{words}: {ended.stdout}"
                         f"{ended.stderr}")
        return ended.stdout if code == 0 else ended.stderr

    def write_solution(self):
        self.file.write_text(self.lesson("solution", 5, "--show-anyway"))

    def grade(self, *words):
        """The verdict, and the signed result."""
        ended = self.run_lesson("check", 5, "--grade", "--json", "--key", self.key,
                                "--result", self.result, *words)
        self.assertNotEqual(ended.stdout, "", ended.stderr)
        self.lesson("verify", self.result, "--key", self.key)
        return json.loads(ended.stdout), json.loads(self.result.read_text())


class Cheats(Graded):  # gate
    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.listener.settimeout(0)

    def submission(self, path):
        text = path.read_text().replace('#include "by_address.h"',
                                        (CHEATS / "by_address.h").read_text())
        for name, value in {"ROOT": ROOT, "PROGRAM": PROGRAM, "KEY": self.key,
                            "RESULT": self.result, "WORKSPACE": self.workspace,
                            "PID": os.getpid()}.items():
            text = text.replace(f"@{name}@", str(value))
        text = text.replace("LISTENING_PORT", str(self.listener.getsockname()[1]))
        text = text.replace("FOREIGN_PROCESS", str(os.getpid()))
        return text if "LOCKSTEP_LESSON(" in text else text + self.skeleton

    def files(self):
        return {path: path.read_bytes() for path in self.workspace.rglob("*")
                if path.is_file()}

    def test(self):
        cheats = sorted(CHEATS.glob("*.cpp"))
        self.assertGreaterEqual(len(cheats), 10)
        secret = "".join(self.key.read_text().split()[3:-3])
        for path in cheats:
            with self.subTest(path.stem):
                self.file.write_text(self.submission(path))
                before, key = self.files(), self.key.read_bytes()
                verdict, result = self.grade()
                self.assertNotEqual(verdict["status"], "pass")
                self.assertNotEqual(result["status"], "pass")
                because = re.match(r"// because: (.+)\n", path.read_text())[1]
                told = json.dumps(verdict, ensure_ascii=False)
                self.assertIn(json.dumps(because, ensure_ascii=False)[1:-1], told)
                self.assertNotIn(secret, told)
                self.assertEqual(self.files(), before, "the workspace is as it was")
                self.assertEqual(self.key.read_bytes(), key)
        with self.assertRaises(BlockingIOError):  # nobody has connected
            self.listener.accept()
        self.assertEqual(processes_with(str(self.path)), set())

    def test_a_link_is_not_judged(self):
        """A compiler's message would show the file that it leads to."""
        self.file.unlink()
        self.file.symlink_to(self.key)
        self.assertIn("is a link", self.lesson("check", 5, "--grade", code=1))
        self.file.unlink()
        self.file.parent.rename(self.path / "elsewhere")
        self.file.parent.symlink_to(self.path / "elsewhere")
        (self.path / "elsewhere" / "scatter.cpp").write_text(self.skeleton)
        self.assertIn("is a link", self.lesson("check", 5, "--grade", code=1))

    def test_prepared_files_are_not_used(self):
        """Headers and libraries in the learner's folder are the learner's."""
        built = self.workspace / ".lockstep"
        for header in built.glob("include-*/lessons/plugin.h"):
            header.write_text("#error the learner's header\n")
        self.write_solution()
        self.assertEqual(self.grade("--workspace", self.workspace)[0]["status"], "pass")


class Results(Graded):  # gate
    def test(self):
        self.write_solution()
        progress = (self.workspace / "progress.json").read_text()
        verdict, result = self.grade()
        self.assertEqual((verdict["status"], result["status"]), ("pass", "pass"))
        self.assertEqual([test["name"] for test in verdict["tests"]],
                         [test["name"] for test in result["tests"]])
        self.assertEqual((self.workspace / "progress.json").read_text(), progress)
        text = (ROOT / "docs" / "lesson-result.md").read_text()
        for key in [*result, *result["submission"], *result["judge"],
                    *result["signature"]]:
            self.assertIn(f"`{key}`", text)
        self.expect_verified()
        self.expect_refused(result)

    def expect_verified(self):
        public = self.path / "public.pem"
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", public],
                       check=True)
        words = [self.result, "--key", public, "--submission"]
        told = self.lesson("verify", *words, self.file)
        self.assertIn("05-scatter  pass", told)
        self.file.write_text(self.skeleton)
        self.assertIn("the result of a different file",
                      self.lesson("verify", *words, self.file, code=1))
        self.assertIn("cannot sign", self.lesson(
            "check", 5, "--grade", "--key", public, "--result", self.result, code=1))

    def expect_refused(self, result):
        whole = self.result.read_text()
        cases = {"was changed": [
            whole.replace('"pass"', '"fail"', 1), whole.replace("\n", " "),
            whole.replace(result["signature"]["value"], "00" * 64),
            whole.replace(result["signature"]["value"], "not hexadecimal"),
            whole.replace('"status"', '"status": "pass",\n  "status"', 1)],
            "is not a signed result": ["", "{}", "[1]", whole[:300],
                                       json.dumps({**result, "signature": 1})]}
        for why, texts in cases.items():
            for text in texts:
                self.result.write_text(text)
                told = self.lesson("verify", self.result, "--key", self.key, code=1)
                self.assertIn(why, told)
                self.assertIn("; fix: ", told)
                self.assertEqual(told.count("\n"), 1, told)
        self.result.write_text(whole)
        other = self.new_key("other.pem")
        self.assertIn("it was not signed with yours",
                      self.lesson("verify", self.result, "--key", other, code=1))
        renamed = json.loads(whole)  # claims to be signed with the other key
        self.lesson("check", 5, "--grade", "--key", other, "--result", self.path / "o",
                    code=1)
        renamed["signature"]["key"] = json.loads(
            (self.path / "o").read_text())["signature"]["key"]
        self.result.write_text(json.dumps(renamed, indent=2, ensure_ascii=False) + "\n")
        self.assertIn("was changed",
                      self.lesson("verify", self.result, "--key", other, code=1))
        self.assertIn("contains no Ed25519 key",
                      self.lesson("verify", self.result, "--key", self.file, code=1))


class Refusals(Graded):  # gate
    """Without a sandbox there is no verdict."""

    judges = False

    def test_no_bubblewrap(self):
        told = self.lesson("check", 5, "--grade", code=1, PATH="/nonexistent")
        self.assertIn("bubblewrap is not installed; fix: apt-get install", told)

    def test_no_namespaces(self):
        """In a user namespace that allows no others."""
        script = ("echo 0 > /proc/sys/user/max_user_namespaces && exec "
                  f"'{PROGRAM}' lesson check 5 --grade --workspace '{self.workspace}'")
        own = ["unshare", "--user", "--map-root-user"]
        probe = subprocess.run([*own, "true"], capture_output=True, text=True)
        if probe.returncode:  # as in a chroot
            self.skipTest(f"no user namespaces here: {probe.stderr.strip()}")
        ended = subprocess.run([*own, "sh", "-c", script], capture_output=True,
                               text=True)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("bubblewrap cannot make one here (bwrap: ", ended.stderr)
        self.assertIn("; fix: allow user namespaces", ended.stderr)
        self.assertNotIn("Passed", ended.stdout)

    def test_options(self):
        for words in (["--result", "r"], ["--key", "k"], ["--sanitize", "address"]):
            self.assertIn("; fix: ", self.lesson("check", 5, "--grade", *words, code=2))

    def test_unprivileged(self):
        """A user without rights gets a verdict, too."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root, to leave it")
        if reason := why_no_sandbox():
            self.skipTest(reason)
        self.write_solution()
        for folder in (self.path, self.workspace, self.file.parent):
            folder.chmod(stat.S_IRWXU | stat.S_IROTH | stat.S_IXOTH)
        ended = subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
             PROGRAM, "lesson", "check", "5", "--grade"], capture_output=True,
            text=True, env={**os.environ, "LOCKSTEP_WORKSPACE": str(self.workspace)})
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:2] + ["-v"])
