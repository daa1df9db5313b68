"""The viewer from the command line: pictures without a display, and a real window on a
virtual display (Xvfb), driven by key presses."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import LOCKSTEP, ROOT, TempTest, run  # noqa: E402

TRACES = os.path.join(ROOT, "tests", "golden", "viewer")
DP = os.path.join(TRACES, "dp.json.gz")
SINGLE = os.path.join(TRACES, "single.json.gz")


def png_size(path):
    with open(path, "rb") as file:
        head = file.read(24)
    assert head[:8] == b"\x89PNG\r\n\x1a\n", path
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


class Pictures(TempTest):
    def test_screenshot(self):
        out, _ = run("view", DP, "--at", "2:replicate", "--size", "1024x700",
                     "--screenshot", self.path("a.png"))
        self.assertIn("replicate", out)
        self.assertEqual(png_size(self.path("a.png")), (1024, 700))
        run("view", DP, "--at", "2:replicate", "--size", "1024x700",
            "--screenshot", self.path("b.png"))
        with open(self.path("a.png"), "rb") as a, open(self.path("b.png"), "rb") as b:
            self.assertEqual(a.read(), b.read())  # rendering is deterministic
        out, _ = run("view", DP, "--at", "2:parallel_apply", "--device", "1",
                     "--screenshot", self.path("d.png"))
        self.assertRegex(out, r"#\d+ \w+")
        with open(self.path("torch.json"), "w", encoding="utf-8") as file:
            file.write('[{"ph": "X", "name": "aten::add", "ts": 1, "dur": 2}]')
        out, _ = run("view", self.path("torch.json"), "--screenshot",
                     self.path("e.png"))
        self.assertIn("ms, aten::add", out)  # an event without an id
        run("view", DP, SINGLE, "--compare", "--theme", "light", "--scale", "2",
            "--size", "800x600", "--screenshot", self.path("c.png"))
        self.assertEqual(png_size(self.path("c.png")), (1600, 1200))

    def test_sliders_are_a_command_line(self):
        """What --emulate shows is what the printed command computes, to the ns."""
        for options in ["--mode ddp --devices 3 --link-gb-per-s 0.7",
                        "--mode ddp --devices 128 --bucket-cap-mb 4",
                        "--mode dp --devices 2 --link-latency-us 0.3 --host-scale 2.5"]:
            out, _ = run("view", SINGLE, "--emulate", options, "--size", "1024x640",
                         "--screenshot", self.path("s.png"))
            step, command = re.search(r"emulated step: (\d+) ns; \./lockstep (.*)",
                                      out).groups()
            self.assertIn(options, command)
            out, _ = run(*command.split(), "--json")
            result = json.loads(out)
            if isinstance(result, list):  # more ranks than a trace has
                seconds = result[0]["step_us"] * 1e-6
            else:
                seconds = result["train"]["steps"][0]["seconds"]
            self.assertEqual(round(seconds * 1e9), int(step), options)
        _, err = run("view", SINGLE, "--emulate", "--devices 4", code=2)
        self.assertIn("add --mode ddp", err)

    def test_film_as_pictures(self):
        run("view", SINGLE, "--seconds", "0.2", "--fps", "10", "--size", "640x480",
            "--video", self.path("f%04d.png"))
        self.assertEqual(png_size(self.path("f0001.png")), (640, 480))
        self.assertFalse(os.path.exists(self.path("f0002.png")))

    def test_a_film_of_the_stage_alone_ends_with_numbers(self):
        for size, pixels in ([], (1280, 720)), (["--size", "540x540"], (540, 540)):
            run("view", SINGLE, "--film", "--seconds", "0.2", "--fps", "1", *size,
                "--video", self.path("c%04d.png"))
            self.assertEqual(png_size(self.path("c0000.png")), pixels)
            self.assertTrue(os.path.exists(self.path("c0005.png")))
            self.assertFalse(os.path.exists(self.path("c0006.png")))
            with open(self.path("c0000.png"), "rb") as stage:
                with open(self.path("c0005.png"), "rb") as numbers:
                    self.assertNotEqual(stage.read(), numbers.read())

    def test_what_is_wrong_is_said(self):
        for words, code, says in [
                (["/nowhere.json"], 1, "/nowhere.json"),
                ([os.path.join(ROOT, "README.md")], 1, "README.md"),
                ([DP, "--at", "7"], 2, "7"),
                ([DP, "--at", "2:lunch"], 2, "lunch"),
                ([DP, "--note", "2:lunch=slow"], 2, "lunch"),
                ([DP, "--note", "2:forward"], 2, "STEP[:PHASE]=text"),
                ([DP, "--at", "#99999999"], 2, "99999999"),
                ([DP, "--rank", "1"], 2, "one rank"),
                ([DP, "--device", "77"], 2, "; fix: name one of"),
                ([DP, "--size", "3x3"], 2, "3x3"),
                ([DP, "--theme", "pink"], 2, "pink"),
                ([DP, "--compare"], 2, "compare"),
                ([DP, "--fps", "10"], 2, "; fix: add --video"),
                ([DP, "--pace", "even"], 2, "; fix: add --video"),
                ([DP, SINGLE, "--compare", "--film"], 2, "; fix: leave out"),
                ([DP, SINGLE, "--compare", "--why"], 2, "; fix: leave out"),
                ([DP, SINGLE, "--compare", "--overlap"], 2, "; fix: leave out"),
                ([DP, SINGLE, "--compare", "--pipeline"], 2, "; fix: leave out")]:
            _, error = run("view", *words, "--screenshot", self.path("x.png"),
                           code=code)
            self.assertIn(says, error)
            self.assertEqual(len(error.strip().splitlines()), 1, error)
            self.assertFalse(os.path.exists(self.path("x.png")))
        _, error = run("view", DP, "--screenshot", self.path("no/where/x.png"), code=1)
        self.assertIn("x.png", error)

    def test_no_display_offers_pictures(self):
        _, error = run("view", DP, code=1)
        self.assertIn("--screenshot", error)


class Screen:
    """Xvfb, which selects a free display number."""

    def __init__(self, *options):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24",
             "-nolisten", "tcp", *options], pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.display = ":" + pipe.readline().strip()

    def close(self):
        self.server.terminate()
        self.server.wait()


class Window(TempTest):
    """Waits for the state line that `--print-state` writes, never for a fixed time."""

    def setUp(self):
        super().setUp()
        for tool in ("Xvfb", "xdotool"):
            if shutil.which(tool) is None:
                if os.environ.get("CI"):
                    self.fail(f"{tool} is missing")
                self.skipTest(f"{tool} is not installed")
        self.unread = ""  # what the viewer has written beyond the last line returned
        self.screen = Screen()
        self.addCleanup(self.screen.close)
        self.env = dict(os.environ, DISPLAY=self.screen.display, HOME=self.folder,
                        XDG_STATE_HOME=self.path("state"), LIBGL_ALWAYS_SOFTWARE="1")

    def start(self, *words):
        viewer = subprocess.Popen(
            [LOCKSTEP, "view", *words, "--print-state"], env=self.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1)
        self.addCleanup(viewer.stdout.close)
        self.addCleanup(viewer.stderr.close)
        self.addCleanup(viewer.kill)
        return viewer

    def wait_for(self, viewer, wanted):
        # Lines are split here: select() does not know what a reader has buffered.
        seen, deadline = [], time.monotonic() + 120
        while time.monotonic() < deadline:
            if "\n" in self.unread:
                line, self.unread = self.unread.split("\n", 1)
                seen.append(line)
                if wanted in line:
                    return line
                continue
            if not select.select([viewer.stdout], [], [], 1)[0]:
                self.assertIsNone(viewer.poll(), "the viewer has ended")
                continue
            read = os.read(viewer.stdout.fileno(), 1 << 16).decode()
            if not read:
                break
            self.unread += read
        self.fail(f"no state line with '{wanted}', but {seen[-3:]}")

    def xdotool(self, *words):
        subprocess.run(["xdotool", *words], env=self.env, check=True, timeout=60)

    def key(self, viewer, name, wanted):
        self.xdotool("key", "--delay", "0", name)
        return self.wait_for(viewer, wanted)

    def count(self, viewer, lines):
        """Waits for this number of state lines."""
        for _ in range(lines):
            self.wait_for(viewer, "state:")

    def test_without_opengl_it_offers_pictures(self):
        screen = Screen("-extension", "GLX")  # like many remote connections
        self.addCleanup(screen.close)
        self.env["DISPLAY"] = screen.display
        viewer = self.start(DP)
        _, error = viewer.communicate(timeout=60)
        self.assertEqual(viewer.returncode, 1)
        self.assertIn("OpenGL 3 is not available", error)
        self.assertIn("--screenshot", error)

    def test_keys_move_it(self):
        trace = shutil.copy(DP, self.folder)  # notes are written beside it
        viewer = self.start(trace, "--at", "2:forward")
        self.wait_for(viewer, "forward")
        found = subprocess.run(
            ["xdotool", "search", "--sync", "--name", "^lockstep$"], env=self.env,
            capture_output=True, text=True, timeout=60, check=True)
        self.xdotool("windowfocus", "--sync", found.stdout.split()[0])
        self.key(viewer, "Down", "DataParallel.__call__")
        self.key(viewer, "Up", " forward")
        self.key(viewer, "Right", " loss")
        self.key(viewer, "Left", " forward")
        # No tap is lost, however short: each changes the order, and the state line.
        self.xdotool("key", "--delay", "1", *["o"] * 40)
        self.count(viewer, 40)
        # What the user writes and chooses is kept at once.
        self.xdotool("key", "--delay", "1", "t", *"aslow", "Return")
        self.key(viewer, "space", "playing")
        self.count(viewer, 2)  # drawn after the note was kept
        with open(trace + ".notes.json") as file:
            self.assertIn('"text": "slow"', file.read())
        with open(os.path.join(self.folder, "state", "lockstep", "viewer")) as file:
            kept = file.read()
        self.assertIn("light\n", kept)
        self.assertIn(f"file {trace}\n", kept)
        viewer.send_signal(signal.SIGTERM)
        viewer.wait(timeout=60)


if __name__ == "__main__":
    unittest.main()
