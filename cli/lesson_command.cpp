// `lockstep lesson`: the exercises.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/processes.h"
#include "cli/subcommands.h"
#include "lessons/machine/contain.h"
#include "lessons/machine/exercise.h"
#include "lessons/machine/judge.h"
#include "lessons/machine/watch.h"
#include "tracer/record/program.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using lessons::Lesson;
using lessons::Progress;
using lessons::Workspace;

struct LessonOptions {
  std::string lesson, workspace, course, sanitize;
  bool json = false, show_anyway = false, mine = false, again = false;
  std::vector<std::string> train;
  std::vector<std::string> judge;  ///< as in lessons::Judging
};

Workspace open_workspace(const LessonOptions& o) {
  if (!o.course.empty()) setenv("LOCKSTEP_COURSE", o.course.c_str(), 1);
  const char* named = std::getenv("LOCKSTEP_WORKSPACE");
  if (!o.workspace.empty()) return Workspace(o.workspace);
  if (named) return Workspace(named);
  // Also from inside the workspace, where learners edit.
  for (fs::path here = fs::current_path(); here.has_relative_path();
       here = here.parent_path()) {
    if (fs::exists(here / "progress.json") && fs::exists(here / ".lockstep")) {
      return Workspace(here);
    }
  }
  return Workspace("workspace");
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::localtime(&now));
  return text;
}

bool colours() { return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr; }

const char* state_of(const Workspace& workspace, const Lesson& lesson) {
  if (workspace.progress(lesson).passed) return "passed";
  return workspace.started(lesson) ? "started" : "new";
}

int list(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  if (o.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Lesson& lesson : lessons::all_lessons()) {
      const Progress progress = workspace.progress(lesson);
      rows.push_back({{"lesson", lesson.slug},
                      {"title", lesson.title},
                      {"goal", lesson.goal},
                      {"minutes", lesson.minutes},
                      {"needs_compiler", !lesson.quiz},
                      {"state", state_of(workspace, lesson)},
                      {"passed_on", progress.passed_on},
                      {"checks", progress.checks},
                      {"hints", progress.hints},
                      {"solution_shown_early", progress.solution_shown_early}});
    }
    std::puts(
        nlohmann::ordered_json{{"version", 1}, {"lessons", rows}}.dump(2).c_str());
    return 0;
  }
  size_t passed = 0;
  const Lesson* next = nullptr;
  for (const Lesson& lesson : lessons::all_lessons()) {
    const std::string state = state_of(workspace, lesson);
    const Progress progress = workspace.progress(lesson);
    passed += state == "passed";
    if (!next && state != "passed") next = &lesson;
    fmt::print("  {} {:02}  {:<52} {:>3} min  {}\n",
               state == "passed"    ? "✓"
               : state == "started" ? "…"
                                    : " ",
               lesson.number, lesson.title, lesson.minutes,
               progress.hints > 0 ? fmt::format("{} hint{} used", progress.hints,
                                                progress.hints == 1 ? "" : "s")
               : lesson.quiz      ? "needs no compiler"
                                  : "");
  }
  fmt::print("\n{} of {} passed, in {}\n", passed, lessons::all_lessons().size(),
             workspace.root().string());
  if (next) {
    fmt::print("Next: {} lesson {} {}\n", program(),
               workspace.started(*next) ? "check" : "start", next->number);
  }
  return 0;
}

void prepare_headers(const Workspace& workspace, const Lesson& lesson) {
  if (lesson.quiz || lessons::headers_are_prepared(workspace)) return;
  std::fputs("Compiling the engine's headers, once, so that checks are quick…\n",
             stderr);
  try {
    lessons::prepare_headers(workspace);
  } catch (const std::runtime_error&) {
    // `lesson check` says what is missing.
  }
}

int start(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  workspace.start(lesson);
  prepare_headers(workspace, lesson);
  fmt::print("{}  {}\n{}\n\n", lesson.slug, lesson.title, lesson.goal);
  fmt::print("  your file   {}\n", workspace.file(lesson).string());
  fmt::print("  the chapter lessons/{}/chapter.md, or in the book\n", lesson.slug);
  fmt::print("  judge it    {} lesson check {}     (watch {}: whenever you save)\n",
             program(), lesson.number, lesson.number);
  return 0;
}

lessons::Sanitizer sanitizer_of(const LessonOptions& o) {
  if (o.sanitize == "address") return lessons::Sanitizer::address;
  if (o.sanitize == "thread") return lessons::Sanitizer::thread;
  return lessons::Sanitizer::none;
}

int check(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  const lessons::Verdict verdict = lessons::check(workspace, lesson, sanitizer_of(o));
  Progress progress = workspace.progress(lesson);
  ++progress.checks;
  if (verdict.status == "pass") {
    if (!progress.passed) progress.passed_on = today();
    progress.passed = true;
    progress.passed_text = workspace.fingerprint(lesson);
  }
  workspace.save(lesson, progress);
  if (o.json) {
    std::puts(lessons::verdict_json(lesson, verdict).dump(2).c_str());
  } else {
    std::fputs(lessons::verdict_text(lesson, verdict, colours()).c_str(), stdout);
  }
  return verdict.status == "pass" ? 0 : 1;
}

int watch(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  if (!workspace.started(lesson)) workspace.start(lesson);
  prepare_headers(workspace, lesson);
  lessons::FileWatch file(workspace.file(lesson));
  std::signal(SIGINT, SIG_DFL);
  for (;;) {
    if (colours()) std::fputs("\033[H\033[2J", stdout);
    const int code = check(o);
    if (code == 0) return 0;
    fmt::print("\nWaiting for you to save {} (Ctrl-C ends)\n",
               workspace.file(lesson).string());
    std::fflush(stdout);
    if (!file.wait()) return 130;
  }
}

int hint(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  Progress progress = workspace.progress(lesson);
  const int count = static_cast<int>(lesson.hints.size());
  if (o.again) {
    for (int i = 0; i < progress.hints; ++i) {
      fmt::print("Hint {} of {}\n\n{}\n\n", i + 1, count, lesson.hints[i]);
    }
    if (progress.hints == 0) fmt::print("You have taken none yet.\n");
    return 0;
  }
  const int number = std::min(progress.hints + 1, count);
  fmt::print("Hint {} of {}{}\n\n{}\n", number, count,
             progress.hints >= count ? " (there are no more)" : "",
             lesson.hints[number - 1]);
  progress.hints = number;
  workspace.save(lesson, progress);
  return 0;
}

int solution(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  Progress progress = workspace.progress(lesson);
  if (!progress.passed && !o.show_anyway) {
    throw std::runtime_error(fmt::format(
        "the solution of {} is shown once you have passed; to see it now: {} "
        "lesson solution {} --show-anyway",
        lesson.slug, program(), lesson.number));
  }
  if (!progress.passed && !progress.solution_shown_early) {
    progress.solution_shown_early = true;
    workspace.save(lesson, progress);
  }
  std::fputs(lessons::solution_of(lesson.exercise(), lesson.slug).c_str(), stdout);
  return 0;
}

int reset(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  const auto aside = workspace.reset(lesson);
  fmt::print("{} is as it was at the start; yours is {}\n",
             workspace.file(lesson).string(), aside.string());
  return 0;
}

/// The learner's pieces that have passed as they are now: their libraries, and the
/// slots that they fill.
struct Pieces {
  std::string libraries, slots;
};

Pieces collect_pieces(const Workspace& workspace) {
  Pieces pieces;
  bool some = false;
  for (const Lesson& lesson : lessons::all_lessons()) {
    const Progress progress = workspace.progress(lesson);
    if (lesson.quiz || lesson.slots.empty() || !progress.passed) continue;
    some = true;
    if (workspace.fingerprint(lesson) != progress.passed_text) {
      std::fprintf(
          stderr,
          "lockstep: %s has changed since it passed, and is left out; mend: %s "
          "lesson check %d\n",
          workspace.file(lesson).c_str(), program().c_str(), lesson.number);
      continue;
    }
    const lessons::Built built = lessons::build_library(workspace, lesson);
    if (!built.ok) throw std::runtime_error(lesson.slug + ":\n" + built.messages);
    pieces.libraries += (pieces.libraries.empty() ? "" : ":") + built.library.string();
    for (const std::string& slot : lesson.slots) {
      pieces.slots += (pieces.slots.empty() ? "" : ", ") + slot;
    }
  }
  if (!pieces.libraries.empty()) return pieces;
  throw std::runtime_error(some ? "none of your pieces is as it passed"
                                : "no lesson with a piece of the engine is passed yet; "
                                  "mend: " +
                                      program() + " lesson start 5");
}

/// What `lesson run` adds to the words for `train`, unless they say otherwise.
std::vector<std::string> completed(std::vector<std::string> words,
                                   const fs::path& trace) {
  const auto said = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool folder = std::any_of(words.begin(), words.end(), [](const auto& word) {
    return fs::is_directory(word);
  });
  const bool toy = said("toy");
  if (words.empty()) words = {"-a", "resnet18", "-b", "32", "--lr", "0.01"};
  if (!said("--dataset") && !folder && !toy) {
    words.insert(words.end(), {"--dataset", "generated"});
  }
  if (!said("--steps") && !said("--epochs")) {
    words.insert(words.end(), {"--steps", "3"});
  }
  if (!said("--trace")) words.insert(words.end(), {"--trace", trace.string()});
  return words;
}

/// `lesson run [--mine] [-- WORDS OF train]`: trains with the learner's pieces.
int run_with_pieces(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  if (!o.train.empty() &&
      o.train[0].find_first_not_of("0123456789") == std::string::npos) {
    throw UsageError(
        "lesson run takes no lesson: it trains with all pieces that you "
        "have passed; see " +
        program() + " lesson run --help");
  }
  const Pieces pieces = o.mine ? collect_pieces(workspace) : Pieces{};
  std::vector<std::string> words{lessons::this_program(), "train"};
  const auto of_train =
      completed(o.train, workspace.root() / (o.mine ? "mine.json.gz" : "run.json.gz"));
  words.insert(words.end(), of_train.begin(), of_train.end());
  if (o.mine) fmt::print("=> with your own {}\n", pieces.slots);
  std::fflush(stdout);
  fs::create_directories(workspace.root());
  Processes processes(std::chrono::seconds(5));
  processes.start("train",
                  {{"LOCKSTEP_SLOTS", pieces.libraries},
                   {"LOCKSTEP_WORKSPACE_ROOT", workspace.root().string()}},
                  words);
  return processes.wait();
}

}  // namespace

void add_lesson(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("lesson", "the exercises");
  auto options = std::make_shared<LessonOptions>();
  const auto add = [&](const char* name, const char* help,
                       int (*run)(const LessonOptions&), bool about_one) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_option("--workspace", options->workspace,
                    "your folder (default: $LOCKSTEP_WORKSPACE, else ./workspace)");
    sub->add_option("--course", options->course,
                    "a folder of lessons that you are writing");
    if (about_one) {
      sub->add_option("LESSON", options->lesson, "number or name")->required();
    }
    sub->callback(
        [&action, options, run] { action = [options, run] { return run(*options); }; });
    return sub;
  };
  auto* listing = add("list", "all lessons and how far you are", list, false);
  listing->add_flag("--json", options->json, "for programs");
  add("start", "write the exercise into your workspace", start, true);
  auto* checking = add("check", "build and judge your work", check, true);
  checking->add_flag("--json", options->json,
                     "the result as docs/lesson-result.md says");
  checking
      ->add_option("--sanitize", options->sanitize,
                   "find wrong memory accesses (address) or races (thread)")
      ->check(CLI::IsMember({"address", "thread"}));
  add("watch", "check whenever you save", watch, true);
  add("hint", "three hints, each more telling", hint, true)
      ->add_flag("--again", options->again, "those that you have taken");
  add("solution", "our solution, once you have passed", solution, true)
      ->add_flag("--show-anyway", options->show_anyway, "before you have passed");
  add("reset", "begin anew; your file is kept aside", reset, true);
  auto* running = add("run", "train; with --mine, with your own pieces plugged in",
                      run_with_pieces, false);
  running->add_flag("--mine", options->mine, "all that you have passed");
  running->add_option("WORDS", options->train, "of `train`, after --");
  running->positionals_at_end();

  auto* judging = command->add_subcommand("judge", "")->group("");  // not in --help
  judging->add_option("LESSON", options->lesson)->required();
  judging->add_option("FILES", options->judge)->expected(4)->required();
  judging->callback([&action, options] {
    action = [options] {
      const auto& files = options->judge;
      return lessons::judge(lessons::find_lesson(options->lesson),
                            {files[0], files[1], files[2], files[3]});
    };
  });
  require_known_subcommand(*command);
}

}  // namespace lockstep::cli
