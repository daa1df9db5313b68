#include "lessons/machine/grade.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/program.h"
#include "lessons/machine/graded_program.h"
#include "lessons/machine/plain_text.h"
#include "lessons/machine/sandbox.h"
#include "tracer/format/file_io.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostText = 1 << 20;
constexpr int kCompileSeconds = 60;
constexpr int64_t kCompileMemory = int64_t{4} << 30;
const fs::path kProgram = "/lockstep/lockstep";  // in the sandbox

/// A temporary folder.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "lockstep-grade-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(name + ": cannot be created; fix: set TMPDIR");
    }
    path_ = fs::canonical(name);
  }
  ~Scratch() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Returns the learner's text. Rejects links, which could make compiler messages show
/// another file.
std::string submission_of(const Workspace& workspace, const Lesson& lesson) {
  const fs::path file = workspace.file(lesson);
  std::error_code error;
  const fs::path root = fs::canonical(workspace.root(), error);
  const fs::path real = fs::canonical(file, error);
  if (error) {
    throw std::runtime_error(
        fmt::format("{} does not exist; fix: name the learner's "
                    "folder with --workspace",
                    file.string()));
  }
  if (real != root / lesson.slug / lesson.file || !fs::is_regular_file(real)) {
    throw std::runtime_error(file.string() +
                             " is a link or not a regular file, and is not judged; "
                             "fix: replace it with the learner's text");
  }
  if (fs::file_size(real) > kMostText) {
    throw std::runtime_error(file.string() +
                             " is larger than 1 MiB; fix: judge a "
                             "file that a learner wrote");
  }
  std::ifstream stream(real, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

uint64_t new_seed() {
  const char* given = std::getenv("LOCKSTEP_LESSON_SEED");
  return given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

/// GCC and Clang mark inline assembly in their output. Directives that read files are
/// refused in any form.
bool has_inline_assembly(const fs::path& assembly) {
  std::ifstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    for (const char* part : {"InlineAsm Start", ".incbin", ".include"}) {
      if (line.find(part) != line.npos) return true;
    }
    if (line.ends_with("#APP")) return true;
  }
  return false;
}

/// Returns false, with the reason in `verdict`, for a text that could write assembly
/// otherwise: in an asm label, or in a section's name.
bool is_plain(const std::string& text, Verdict& verdict) {
  const std::string why = not_plain(text);
  if (why.empty()) return true;
  verdict.message = fmt::format(
      "it {}, with which machine code could be smuggled past the compiler; an exercise "
      "needs only plain C++.",
      why);
  return false;
}

/// Compiles the learner's file in `copy` in a sandbox that contains only this file,
/// headers and compilers, and assembles the output if it contains no inline assembly.
/// Returns the library; on failure an empty path, with the reason in `verdict`.
fs::path compile(const Workspace& copy, const Lesson& lesson, Verdict& verdict) {
  const fs::path source = copy.file(lesson), folder = copy.root() / "output";
  const fs::path assembly = folder / "lesson.s", library = folder / "lesson.so";
  fs::create_directories(folder);
  std::vector<std::string> to_assembly = compiler_command(copy);
  const std::vector<std::string> to_library{to_assembly[0], "-shared",
                                            assembly.string(), "-o", library.string()};
  to_assembly.insert(to_assembly.end(),
                     {"-S", source.string(), "-o", assembly.string()});
  Sandbox sandbox;
  sandbox.show_compilers();
  sandbox.hide(program_path());
  sandbox.show(source);
  sandbox.show(copy.headers());
  sandbox.let_write(folder);
  Limits limits;
  limits.seconds = kCompileSeconds;
  limits.memory = kCompileMemory;
  const auto fails = [&](const std::vector<std::string>& words) {
    const Ended ended = sandbox.run(words, limits);
    if (ended.exit_code == 0) return false;
    verdict.message =
        ended.timed_out
            ? fmt::format("the compiler did not finish within {} s.", kCompileSeconds)
            : "It does not compile. The compiler's first message matters most:";
    verdict.output =
        without_prefix(without_prefix(ended.output, copy.headers().string() + "/"),
                       copy.root().string() + "/");
    return true;
  };
  if (fails(to_assembly)) return {};
  if (has_inline_assembly(assembly)) {
    verdict.message =
        "it contains inline assembly, which could read files while it is assembled; "
        "an exercise needs none.";
    return {};
  }
  return fails(to_library) ? fs::path() : library;
}

/// Judges `judged`, a library or a quiz's answers.
void run_tests(const Workspace& copy, const Lesson& lesson, const fs::path& judged,
               const fs::path& program, Grade& grade) {
  const fs::path tests = build_tests(copy, lesson);
  const fs::path course = copy.root() / "course";
  Sandbox sandbox;
  sandbox.show_own_libraries();
  sandbox.show_as(program, kProgram);
  sandbox.show(judged);
  if (!tests.empty()) sandbox.show(tests);
  if (!course_folder().empty()) {
    write_lesson_without_answers(lesson, course / lesson.slug);
    sandbox.show(course);
    sandbox.set("LOCKSTEP_COURSE", course.string());
  }
  sandbox.set("LOCKSTEP_GRADED", "1");
  sandbox.set("LOCKSTEP_LESSON_SEED", std::to_string(grade.seed));
  sandbox.set("LOCKSTEP_PROGRAM", lockstep::program());
  sandbox.set("OMP_WAIT_POLICY", "passive");
  JudgedProcess process;
  process.library = judged;
  process.root = copy.root();
  process.run = [&](const Limits& limits, int results) {
    return sandbox.run({kProgram.string(), "lesson", "judge", lesson.slug,
                        judged.string(), "/tmp/traces", tests.string(), ""},
                       limits, results);
  };
  decide(lesson, process, grade.verdict);
  judge_checkpoints(lesson, grade.verdict);
  for (TestResult& test : grade.verdict.tests) {  // the trace is gone
    test.trace.clear();
    test.event = -1;
  }
}

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

Grade grade(const Workspace& workspace, const Lesson& lesson) {
  if (lesson.python) {
    throw std::runtime_error(fmt::format(
        "lesson {} runs Python, which the sandbox of --grade does not contain; fix: {}",
        lesson.number, lesson_command(fmt::format("check {}", lesson.number))));
  }
  const Scratch scratch;
  const fs::path program = scratch.path() / "program";
  write_program_without_answers(program);
  Grade grade;
  grade.sandbox = require_sandbox(program);
  grade.submission = submission_of(workspace, lesson);
  grade.seed = new_seed();

  const Workspace copy(scratch.path());
  fs::create_directories(copy.folder(lesson));
  std::ofstream text(copy.file(lesson), std::ios::binary);
  text << grade.submission << std::flush;
  if (!text) {
    throw std::runtime_error(copy.file(lesson).string() +
                             ": cannot be written; fix: free space, or set TMPDIR");
  }
  text.close();
  const auto start = std::chrono::steady_clock::now();
  const fs::path judged = lesson.quiz ? copy.file(lesson)
                          : is_plain(grade.submission, grade.verdict)
                              ? compile(copy, lesson, grade.verdict)
                              : fs::path();
  grade.verdict.build_seconds = seconds_from(start);
  if (!judged.empty()) run_tests(copy, lesson, judged, program, grade);
  return grade;
}

}  // namespace lockstep::lessons
