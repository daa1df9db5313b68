// `lockstep lesson run`: training with the learner's pieces.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/program.h"
#include "cli/commands.h"
#include "cli/lesson_options.h"
#include "engine/train/trainer.h"
#include "lessons/machine/build.h"
#include "lessons/machine/contain.h"
#include "lessons/machine/own_code.h"
#include "run/child_group.h"
#include "tracer/format/trace.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using lessons::Lesson;
using lessons::lesson_command;
using lessons::Workspace;
using Words = std::vector<std::string>;

/// The learner's pieces to be plugged in.
struct Pieces {
  std::vector<const Lesson*> lessons;
  std::string libraries;
};

void add_piece(Pieces& pieces, const Workspace& workspace, const Lesson& lesson) {
  const lessons::Built built = lessons::build_library(workspace, lesson);
  if (!built.ok) throw std::runtime_error(lesson.slug + ":\n" + built.messages);
  pieces.libraries += (pieces.libraries.empty() ? "" : ":") + built.library.string();
  pieces.lessons.push_back(&lesson);
}

/// Selects one lesson's file in its current state, whether or not it has passed.
Pieces one_piece(const Workspace& workspace, const Lesson& lesson) {
  if (lesson.slots.empty()) {
    throw std::runtime_error(lesson.slug +
                             " fills no slot of the engine, so only its check runs it");
  }
  if (!workspace.started(lesson)) {
    throw std::runtime_error(
        fmt::format("{} has not been started; fix: {}", lesson.slug,
                    lesson_command(fmt::format("start {}", lesson.number))));
  }
  Pieces pieces;
  add_piece(pieces, workspace, lesson);
  return pieces;
}

/// Selects all files that have passed and have not changed since. If two fill the same
/// slot, the later lesson takes precedence.
Pieces passed_pieces(const Workspace& workspace) {
  Pieces pieces;
  std::string fix = lesson_command("start 5");
  std::vector<const Lesson*> passed;
  for (const Lesson& lesson : lessons::all_lessons()) {
    if (!lesson.compiled() || lesson.slots.empty()) continue;
    const lessons::Progress progress = workspace.progress(lesson);
    const std::string check = lesson_command(fmt::format("check {}", lesson.number));
    if (!progress.passed) {
      if (workspace.started(lesson)) fix = check;
      continue;
    }
    if (workspace.fingerprint(lesson) != progress.passed_text) {
      std::fprintf(
          stderr, "lockstep: %s has changed since it passed and is not used; fix: %s\n",
          workspace.file(lesson).c_str(), check.c_str());
      fix = check;
      continue;
    }
    std::erase_if(passed, [&](const auto* one) { return one->slots == lesson.slots; });
    passed.push_back(&lesson);
  }
  for (const Lesson* lesson : passed) add_piece(pieces, workspace, *lesson);
  if (pieces.lessons.empty()) {
    throw std::runtime_error(
        "no lesson that replaces a part of the engine has passed yet; fix: " + fix);
  }
  return pieces;
}

bool said(const Words& words, std::initializer_list<const char*> any) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(any.begin(), any.end(), word.substr(0, word.find('='))) !=
           any.end();
  });
}

/// Adds the default arguments of `lesson run` that were not given. If a piece is called
/// only in some mode, its lesson names the mode; the last lesson takes precedence.
Words completed(Words words, const Pieces& pieces, const fs::path& trace) {
  const bool folder = std::any_of(words.begin(), words.end(), [](const auto& word) {
    return fs::is_directory(word);
  });
  const bool toy = said(words, {"toy"});
  const bool nothing = words.empty();
  const bool mode =
      said(words, {"--mode", "--gpu", "--devices", "--multiprocessing-distributed"});
  if (!pieces.lessons.empty()) {
    std::istringstream stream(pieces.lessons.back()->run);
    for (std::string flag, value; stream >> flag;) {
      const bool about_mode =
          flag == "--mode" || flag == "--devices" || flag == "--gpu";
      const bool arch = flag == "-a";
      const bool leave = about_mode ? mode
                         : arch     ? said(words, {"-a", "--arch"})
                                    : said(words, {flag.c_str()});
      if (!leave) words.push_back(flag);
      const bool alone = flag == "--sync-bn";
      if (!alone && stream >> value && !leave) words.push_back(value);
    }
  }
  if (nothing) {
    if (!said(words, {"-a"})) words.insert(words.end(), {"-a", "resnet18"});
    if (!said(words, {"-b"})) words.insert(words.end(), {"-b", "32"});
    words.insert(words.end(), {"--lr", "0.01"});
  }
  if (!said(words, {"--dataset"}) && !folder && !toy) {
    words.insert(words.end(), {"--dataset", "generated"});
  }
  if (!said(words, {"--steps", "--epochs"})) {
    words.insert(words.end(), {"--steps", "3"});
  }
  if (!said(words, {"--trace"})) {
    words.insert(words.end(), {"--trace", trace.string()});
  }
  return words;
}

std::string trace_in(const Words& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--trace=")) return words[i].substr(8);
    if (words[i] == "--trace" && i + 1 < words.size()) return words[i + 1];
  }
  return "";
}

std::string slots_of(const std::vector<const Lesson*>& lessons) {
  Words slots;
  for (const Lesson* lesson : lessons) {
    slots.insert(slots.end(), lesson->slots.begin(), lesson->slots.end());
  }
  return fmt::format("{}", fmt::join(slots, ", "));
}

bool called(const tracer::Trace& trace, const Lesson& lesson) {
  return std::ranges::any_of(lesson.slots, [&](const auto& slot) {
    return lessons::shows_call(trace, lesson, slot);
  });
}

/// Warns if the run never called the piece that it was made for.
void expect_call(const Lesson& lesson, const std::string& file) {
  if (!lesson.calls_traced || called(tracer::read_trace(file), lesson)) return;
  std::fprintf(stderr,
               "lockstep: your %s was not called: this run does not use it; fix: train "
               "with %s, the default without other arguments\n",
               slots_of({&lesson}).c_str(), lesson.run.c_str());
}

/// Says which pieces the run called, where to see them, and what comes next.
void sum_up(const Workspace& workspace, const Pieces& pieces, const std::string& file) {
  const tracer::Trace trace = tracer::read_trace(file);
  std::vector<const Lesson*> seen;
  std::ranges::copy_if(pieces.lessons, std::back_inserter(seen),
                       [&](const Lesson* lesson) { return called(trace, *lesson); });
  if (!seen.empty()) fmt::print("This run called your {}.\n", slots_of(seen));
  fmt::print("See it: {} view {}\n", program(), shell_word(file));
  fmt::print("Predict it first: {} view --quiz {}\n", program(), shell_word(file));
  for (const Lesson& lesson : lessons::all_lessons()) {
    if (workspace.progress(lesson).passed) continue;
    if (lesson.number < pieces.lessons.front()->number) continue;
    fmt::print("Next: {}\n", lesson_command(fmt::format(
                                 "{} {}", workspace.started(lesson) ? "check" : "start",
                                 lesson.number)));
    return;
  }
}

}  // namespace

int run_with_pieces(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  Words of_train = o.train;
  const Lesson* only = nullptr;
  std::erase(of_train, "--");
  if (!of_train.empty() && !of_train[0].starts_with("-") &&
      !fs::is_directory(of_train[0])) {
    only = &lessons::find_lesson(of_train[0]);
    of_train.erase(of_train.begin());
    if (!o.mine) {
      throw UsageError(
          fmt::format("lesson run uses the engine's own functions; fix: {} uses yours",
                      lesson_command(fmt::format("run --mine {}", only->number))));
    }
  }
  const Pieces pieces = !o.mine ? Pieces{}
                        : only  ? one_piece(workspace, *only)
                                : passed_pieces(workspace);
  of_train = completed(of_train, pieces,
                       workspace.root() / (o.mine ? "mine.json.gz" : "run.json.gz"));
  Words words{program_path(), "train"};
  words.insert(words.end(), of_train.begin(), of_train.end());
  if (o.mine) {
    fmt::print("=> with your {}\n", slots_of(pieces.lessons));
  }
  std::fflush(stdout);
  fs::create_directories(workspace.root());
  run::ChildGroup children(std::chrono::seconds(5));
  children.start("train", words,
                 {{"LOCKSTEP_SLOTS", pieces.libraries},
                  {"LOCKSTEP_WORKSPACE_ROOT", workspace.root().string()}});
  const int code = children.wait(train::Trainer::stop);
  if (code == 0 && only) expect_call(*only, trace_in(of_train));
  if (code == 0 && o.mine && !only) sum_up(workspace, pieces, trace_in(of_train));
  return code;
}

}  // namespace lockstep::cli
