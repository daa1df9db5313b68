"""cmake/embed.cmake in a separate project: the program returns the embedded files."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE = f"""
cmake_minimum_required(VERSION 3.25)
project(embedding CXX)
set(CMAKE_CXX_STANDARD 20)
include({ROOT}/cmake/embed.cmake)
include_directories({ROOT})
embed_sources(embedded_sources engine cli)
add_executable(show show.cpp ${{embedded_sources}})
"""
SHOW = r"""
#include <cstdio>
#include "tracer/record/embedded.h"
int main() {
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    std::printf("%s %zu\n", file.path, size_t(file.end - file.begin));
    std::fwrite(file.begin, 1, file.end - file.begin, stdout);
  }
}
"""


class Embed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="embed test ")
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name)
        self.write("CMakeLists.txt", CMAKE)
        self.write("show.cpp", SHOW)
        self.write("engine/nn/module.h", 'quotes "" and \\ and é\n')
        self.write("engine/empty.cpp", "")
        self.write("engine/.#module.h", "an editor's")
        self.write("engine/notes.txt", "no source")
        self.write("cli/main.cpp", "no newline at the end")

    def write(self, name, text):
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_in_project(self, *command):
        done = subprocess.run(command, cwd=self.project, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def shown(self):
        self.run_in_project("cmake", "--build", "build")
        return self.run_in_project("build/show")

    def test_texts_are_whole_and_follow_the_files(self):
        self.run_in_project("cmake", "-S", ".", "-B", "build", "-G", "Ninja",
                            "-DCMAKE_CXX_COMPILER_LAUNCHER="
                            + (shutil.which("ccache") or ""))
        text = 'quotes "" and \\ and é\n'
        self.assertEqual(self.shown(), "cli/main.cpp 21\nno newline at the end"
                         "engine/empty.cpp 0\nengine/nn/module.h 23\n" + text)
        self.write("cli/main.cpp", "changed")
        (self.project / "engine/empty.cpp").unlink()
        self.write("engine/ops/new.h", "new")
        self.assertEqual(self.shown(), "cli/main.cpp 7\nchangedengine/nn/module.h 23\n"
                         + text + "engine/ops/new.h 3\nnew")


if __name__ == "__main__":
    os.environ.pop("NINJA_STATUS", None)
    sys.argv[1:] = [f"Embed.test_{check}" for check in sys.argv[1:]]
    unittest.main()
