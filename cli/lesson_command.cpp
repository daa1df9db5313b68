// `lockstep lesson`: the exercises.
#include <fmt/format.h>
#include <fmt/ranges.h>
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

#include "base/program.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/lesson_options.h"
#include "lessons/machine/contain.h"
#include "lessons/machine/exercise.h"
#include "lessons/machine/judge.h"
#include "lessons/machine/watch.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using lessons::Lesson;
using lessons::lesson_command;
using lessons::Progress;
using lessons::Workspace;

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::localtime(&now));
  return text;
}

const char* state_of(const Workspace& workspace, const Lesson& lesson) {
  if (workspace.progress(lesson).passed) return "passed";
  return workspace.started(lesson) ? "started" : "new";
}

std::string remark(const Lesson& lesson, const Progress& progress) {
  std::vector<std::string> remarks;
  if (lesson.quiz) remarks.push_back("requires no compiler");
  if (lesson.python) remarks.push_back("requires python3-torch");
  if (progress.checkpoints > 0 && !progress.passed) {
    remarks.push_back(fmt::format("{} of {} checkpoints", progress.checkpoints,
                                  lesson.checkpoints.size()));
  }
  if (progress.hints > 0) {
    remarks.push_back(
        fmt::format("{} hint{} used", progress.hints, progress.hints == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(remarks, ", "));
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
                      {"needs_compiler", lesson.compiled()},
                      {"state", state_of(workspace, lesson)},
                      {"passed_on", progress.passed_on},
                      {"checks", progress.checks},
                      {"hints", progress.hints},
                      {"checkpoints", lesson.checkpoints.size()},
                      {"checkpoints_passed", progress.checkpoints},
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
               lesson.number, lesson.title, lesson.minutes, remark(lesson, progress));
  }
  fmt::print("\n{} of {} passed; workspace: {}\n", passed,
             lessons::all_lessons().size(), workspace.root().string());
  if (next) {
    fmt::print("Next: {}\n", lesson_command(fmt::format(
                                 "{} {}", workspace.started(*next) ? "check" : "start",
                                 next->number)));
  }
  return 0;
}

void prepare_headers(const Workspace& workspace, const Lesson& lesson) {
  if (!lesson.compiled() || lessons::headers_are_prepared(workspace)) return;
  std::fputs("Compiling the engine's headers once to speed up checks…\n", stderr);
  try {
    lessons::prepare_headers(workspace);
  } catch (const std::runtime_error&) {
    // `lesson check` reports what is missing.
  }
}

/// Returns where to read the chapter: its page in the built book, which has the
/// listings, or the command that builds it; for a lesson under development, the source.
std::string chapter_of(const Lesson& lesson) {
  const fs::path source = lessons::course_folder() / lesson.slug / "chapter.md";
  if (!lessons::course_folder().empty() && fs::exists(source)) {
    return fs::absolute(source).lexically_normal().string();
  }
  const fs::path page = fs::path("lessons") / lesson.slug / "chapter.html";
  const fs::path build = fs::path(program_path()).parent_path().parent_path();
  if (fs::exists(build / "book" / page)) return (build / "book" / page).string();
  if (fs::exists(build.parent_path() / "book" / "build.bash")) {
    return fmt::format("{} book     (builds it: {})", program(),
                       (build / "book" / page).string());
  }
  for (const fs::path& file :
       {installed("share/doc/lockstep/book") / page,
        installed("share/lockstep/lessons") / lesson.slug / "chapter.md"}) {
    if (fs::exists(file)) return file.lexically_normal().string();
  }
  return fmt::format("“Lesson {:02}: {}” in the book (a checkout's ./lockstep book)",
                     lesson.number, lesson.title);
}

void introduce(const Workspace& workspace, const Lesson& lesson) {
  fmt::print("{}  {}\n{}\n\n", lesson.slug, lesson.title, lesson.goal);
  fmt::print("  your file   {}\n", workspace.file(lesson).string());
  fmt::print("  the chapter {}\n", chapter_of(lesson));
  for (const lessons::Checkpoint& stage : lesson.checkpoints) {
    const auto number = &stage - lesson.checkpoints.data() + 1;
    fmt::print("  {:<11} {}. {} ({} min)\n", number == 1 ? "checkpoints" : "", number,
               stage.title, stage.minutes);
  }
}

int start(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  workspace.start(lesson);
  prepare_headers(workspace, lesson);
  introduce(workspace, lesson);
  fmt::print("  check it    {}     (watch {}: checks whenever you save)\n",
             lesson_command(fmt::format("check {}", lesson.number)), lesson.number);
  return 0;
}

int check_one(const LessonOptions& o, const Workspace& workspace,
              const Lesson& lesson) {
  const lessons::Verdict verdict =
      lessons::check(workspace, lesson, o.sanitizer, o.checkpoint);
  Progress progress = workspace.progress(lesson);
  ++progress.checks;
  progress.checkpoints =
      std::max(progress.checkpoints, lessons::passed_checkpoints(verdict));
  const bool whole =
      o.checkpoint == 0 || o.checkpoint == std::ssize(lesson.checkpoints);
  if (verdict.status == "pass" && whole) {
    if (!progress.passed) progress.passed_on = today();
    progress.passed = true;
    progress.passed_text = workspace.fingerprint(lesson);
  }
  workspace.save(lesson, progress);
  if (o.json) {
    std::puts(lessons::verdict_json(lesson, verdict)  // output may be any bytes
                  .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  .c_str());
  } else {
    std::fputs(lessons::verdict_text(lesson, verdict, colours()).c_str(), stdout);
  }
  return verdict.status == "pass" ? 0 : 1;
}

int check(const LessonOptions& o) {
  if (o.grade) return check_for_a_grade(o);
  if (!o.result.empty() || !o.key.empty()) {
    throw UsageError("--result and --key sign a grade; fix: add --grade");
  }
  return check_one(o, open_workspace(o), lessons::find_lesson(o.lesson));
}

/// Returns the next lesson that has not passed; null after the last one.
const Lesson* lesson_after(const Workspace& workspace, const Lesson& lesson) {
  for (const Lesson& next : lessons::all_lessons()) {
    if (next.number > lesson.number && !workspace.progress(next).passed) return &next;
  }
  return nullptr;
}

bool saved(const Workspace& workspace, const Lesson& lesson, lessons::FileWatch& file) {
  fmt::print("\nWaiting for you to save {} (Ctrl-C ends)\n",
             workspace.file(lesson).string());
  std::fflush(stdout);
  return file.wait();
}

/// Checks immediately if `now`, else after the next save, and again until the lesson
/// passes. Returns false if interrupted.
bool watch_one(const LessonOptions& o, const Workspace& workspace, const Lesson& lesson,
               bool now) {
  lessons::FileWatch file(workspace.file(lesson));
  if (!now && !saved(workspace, lesson, file)) return false;
  for (;;) {
    if (colours()) std::fputs("\033[H\033[2J", stdout);
    if (check_one(o, workspace, lesson) == 0) return true;
    if (!saved(workspace, lesson, file)) return false;
  }
}

int watch(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& first = lessons::find_lesson(o.lesson);
  std::signal(SIGINT, SIG_DFL);
  for (const Lesson* lesson = &first; lesson;
       lesson = lesson_after(workspace, *lesson)) {
    if (!workspace.started(*lesson)) workspace.start(*lesson);
    prepare_headers(workspace, *lesson);
    if (lesson != &first) {
      std::fputs("\n", stdout);
      introduce(workspace, *lesson);
    }
    if (!watch_one(o, workspace, *lesson, lesson == &first)) return 130;
  }
  fmt::print("\nThere is no further lesson. Your progress: {}\n",
             lesson_command("list"));
  return 0;
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
    if (progress.hints == 0) fmt::print("You have not used any hints yet.\n");
    return 0;
  }
  const int number = std::min(progress.hints + 1, count);
  fmt::print("Hint {} of {}{}\n\n{}\n", number, count,
             progress.hints >= count ? " (this was the last one)" : "",
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
        "the solution of {} is available once you have passed; fix: {} shows it now",
        lesson.slug,
        lesson_command(fmt::format("solution {} --show-anyway", lesson.number))));
  }
  if (!progress.passed && !progress.solution_shown_early) {
    progress.solution_shown_early = true;
    workspace.save(lesson, progress);
  }
  std::fputs(workspace.solution(lesson).c_str(), stdout);
  return 0;
}

int reset(const LessonOptions& o) {
  const Workspace workspace = open_workspace(o);
  const Lesson& lesson = lessons::find_lesson(o.lesson);
  const auto aside = workspace.reset(lesson);
  fmt::print("{} has been reset; your version was saved as {}\n",
             workspace.file(lesson).string(), aside.string());
  return 0;
}

}  // namespace

bool colours() { return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr; }

Workspace open_workspace(const LessonOptions& o) {
  if (!o.course.empty()) setenv("LOCKSTEP_COURSE", o.course.c_str(), 1);
  const char* named = std::getenv("LOCKSTEP_WORKSPACE");
  lessons::name_workspace_in_commands(o.workspace);
  if (!o.workspace.empty()) return Workspace(o.workspace);
  if (named) return Workspace(named);
  // Also works inside the workspace, where learners edit.
  for (fs::path here = fs::current_path(); here.has_relative_path();
       here = here.parent_path()) {
    if (lessons::is_workspace(here)) return Workspace(here);
  }
  return Workspace("workspace");
}

void add_lesson(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("lesson", kLessonHelp);
  auto options = std::make_shared<LessonOptions>();
  const auto add = [&](const char* name, const char* help,
                       int (*run)(const LessonOptions&), bool about_one) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_option("--workspace", options->workspace,
                    "your folder (default: $LOCKSTEP_WORKSPACE, else ./workspace)");
    sub->add_option("--course", options->course, "folder of lessons under development");
    if (about_one) {
      sub->add_option("LESSON", options->lesson, "lesson number or name")->required();
    }
    sub->callback(
        [&action, options, run] { action = [options, run] { return run(*options); }; });
    return sub;
  };
  auto* listing = add("list", "list all lessons and your progress", list, false);
  listing->add_flag("--json", options->json, "print JSON");
  add("start", "write the exercise into your workspace", start, true);
  auto* checking = add("check", "build and check your solution", check, true);
  checking->add_flag("--json", options->json,
                     "print the result as JSON (docs/lesson-result.md)");
  using lessons::Sanitizer;
  add_choice<Sanitizer>(
      *checking, "--sanitize", options->sanitizer,
      "detect memory errors (address), leaks (leak) or data races (thread)",
      {{"address", Sanitizer::address},
       {"leak", Sanitizer::leak},
       {"thread", Sanitizer::thread}});
  checking->add_option("--checkpoint", options->checkpoint,
                       "check only up to this stage of a long lesson, from 1");
  checking->add_flag(
      "--grade", options->grade,
      "judge somebody else's file, in a sandbox, without recording progress");
  checking->add_option("--result", options->result,
                       "with --grade: write a result signed with --key");
  checking->add_option("--key", options->key,
                       "with --grade: file with your Ed25519 private key (PEM)");
  add("watch", "check whenever you save, lesson after lesson", watch, true);
  add("hint", "show the next of three hints, each more explicit", hint, true)
      ->add_flag("--again", options->again, "show only the hints already used");
  add("solution", "show the reference solution, once you have passed", solution, true)
      ->add_flag("--show-anyway", options->show_anyway,
                 "show it before you have passed");
  auto* verifying =
      add("verify", "verify a result of check --grade", verify_result, false);
  verifying->add_option("FILE", options->result, "the result")->required();
  verifying
      ->add_option("--key", options->key, "your key, private or public (Ed25519, PEM)")
      ->required();
  verifying->add_option("--submission", options->submission,
                        "file that must be the one that was judged");
  add("reset", "start over; your file is saved under another name", reset, true);
  auto* running = add("run", "train a model; with --mine, using your solutions",
                      run_with_pieces, false);
  running->add_flag("--mine", options->mine,
                    "use all solutions that have passed; with a LESSON, only its file, "
                    "as it is now");
  running->add_option("WORDS", options->train,
                      "LESSON, then after -- arguments for `train`");
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
