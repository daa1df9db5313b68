#include "lessons/machine/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/file.h"
#include "base/hash.h"
#include "base/program.h"
#include "lessons/machine/exercise.h"
#include "tracer/format/file_io.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void write(const fs::path& path, std::string_view text) {
  AtomicFile file(path, AtomicFile::Packing::none, AtomicFile::Durability::renamed);
  file.write(text);
  file.commit();
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw std::runtime_error(fmt::format(
        "{}: cannot be created ({}); fix: choose another location with --workspace",
        path.string(), error.message()));
  }
}

fs::path progress_file(const fs::path& root) { return root / "progress.json"; }

Json read_progress(const fs::path& root) {
  const fs::path path = progress_file(root);
  if (!fs::exists(path)) return {{"version", 1}, {"lessons", Json::object()}};
  try {
    Json all = Json::parse(tracer::read_whole_file(path.string()));
    if (!all.at("lessons").is_object()) throw std::runtime_error("contains no lessons");
    return all;
  } catch (const nlohmann::json::exception&) {
  } catch (const std::runtime_error&) {
  }
  throw std::runtime_error(path.string() +
                           " is damaged; fix: rename it (it only records which lessons "
                           "have passed, and `lesson check` records that again)");
}

std::string& named() {
  static std::string path;
  return path;
}

std::string& flag() {
  static std::string text;
  return text;
}

void replace_all(std::string& text, const std::string& old, const std::string& by) {
  for (size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size()) {
    text.replace(at, old.size(), by);
  }
}

/// Returns the path as the user would type it: relative if it is below the current
/// folder.
std::string typed(const fs::path& path) {
  const fs::path near = path.lexically_proximate(fs::current_path());
  return (*near.begin() == ".." ? path : near).string();
}

}  // namespace

std::string lesson_command(const std::string& words) {
  const size_t verb = std::min(words.find(' '), words.size());
  return program() + " lesson " + words.substr(0, verb) + flag() + words.substr(verb);
}

void name_workspace_in_commands(const std::string& path) {
  named() = path;
  flag() = path.empty() ? "" : " --workspace " + shell_word(path);
}

const std::string& workspace_in_commands() { return named(); }

bool is_workspace(const fs::path& folder) {
  return fs::is_directory(folder / ".lockstep");
}

Workspace::Workspace(fs::path root) : root_(fs::absolute(root).lexically_normal()) {}

fs::path Workspace::folder(const Lesson& lesson) const { return root_ / lesson.slug; }

fs::path Workspace::file(const Lesson& lesson) const {
  return folder(lesson) / lesson.file;
}

fs::path Workspace::traces(const Lesson& lesson) const {
  return folder(lesson) / "traces";
}

bool Workspace::started(const Lesson& lesson) const { return fs::exists(file(lesson)); }

void Workspace::start(const Lesson& lesson) const {
  if (started(lesson)) {
    throw std::runtime_error(fmt::format(
        "{} already exists and was not overwritten; fix: to start over, use {}",
        file(lesson).string(), lesson_command(fmt::format("reset {}", lesson.number))));
  }
  write_exercise(lesson);
  if (!lesson.compiled()) return;
  write(root_ / "compile_flags.txt",  // for clangd: completion in the learner's editor
        fmt::format("-std=c++20\n-I{}\n", headers().string()));
}

void Workspace::write_exercise(const Lesson& lesson) const {
  make_folder(folder(lesson));
  make_folder(built());
  write(file(lesson), skeleton_of(exercise(lesson), lesson.slug));
  if (const auto trace = lesson_file(lesson.slug, "trace.json.gz")) {
    write(folder(lesson) / "trace.json.gz", *trace);  // already compressed
  }
  for (int i = 1;; ++i) {  // lesson 16 has ten recordings
    const std::string name = fmt::format("cases/{:02}.json.gz", i);
    const auto trace = lesson_file(lesson.slug, name);
    if (!trace) return;
    make_folder(folder(lesson) / "cases");
    write(folder(lesson) / name, *trace);
  }
}

/// Returns the text of the exercise, with `./lockstep` and `workspace/` replaced by the
/// actual program and folder.
std::string Workspace::exercise(const Lesson& lesson) const {
  std::string text = lesson.exercise();
  const std::string check = fmt::format("check {}", lesson.number);
  replace_all(text, "./lockstep lesson " + check, lesson_command(check));
  replace_all(text, "./lockstep ", program() + " ");
  const std::string here = "workspace/" + lesson.slug;
  for (size_t at = 0; (at = text.find(here, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string rest = text.substr(at + here.size(), end - at - here.size());
    const std::string path = shell_word(typed(folder(lesson)) + rest);
    text.replace(at, end - at, path);
    at += path.size();
  }
  return text;
}

std::string Workspace::solution(const Lesson& lesson) const {
  return solution_of(exercise(lesson), lesson.slug);
}

fs::path Workspace::reset(const Lesson& lesson) const {
  if (!started(lesson)) {
    throw std::runtime_error(
        fmt::format("{} has not been started; fix: {}", lesson.slug,
                    lesson_command(fmt::format("start {}", lesson.number))));
  }
  fs::path aside;
  for (int i = 1; aside.empty() || fs::exists(aside); ++i) {
    aside = file(lesson).string() + fmt::format(".backup-{}", i);
  }
  fs::rename(file(lesson), aside);
  write_exercise(lesson);
  return aside;
}

fs::path Workspace::headers() const {
  const char* shared = std::getenv("LOCKSTEP_HEADERS");
  const fs::path include = (shared && *shared ? fs::absolute(shared) : built()) /
                           ("include-" + headers_stamp());
  if (fs::exists(include / "complete")) return include;
  for (const auto& [path, text] : engine_headers()) {
    make_folder((include / path).parent_path());
    write(include / path, text);
  }
  write(include / "complete", "");
  return include;
}

std::string Workspace::fingerprint(const Lesson& lesson) const {
  if (!started(lesson)) return "";
  return fmt::format("{:016x}",
                     fnv1a64(tracer::read_whole_file(file(lesson).string())));
}

Progress Workspace::progress(const Lesson& lesson) const {
  const Json all = read_progress(root_);
  Progress progress;
  const auto found = all["lessons"].find(lesson.slug);
  if (found == all["lessons"].end()) return progress;
  progress.passed = found->value("passed", false);
  progress.passed_on = found->value("passed_on", "");
  progress.checks = found->value("checks", 0);
  progress.hints = found->value("hints", 0);
  progress.checkpoints = found->value("checkpoints", 0);
  progress.passed_text = found->value("passed_text", "");
  progress.solution_shown_early = found->value("solution_shown_early", false);
  return progress;
}

void Workspace::save(const Lesson& lesson, const Progress& progress) const {
  Json all = read_progress(root_);
  all["lessons"][lesson.slug] = {
      {"passed", progress.passed},
      {"passed_on", progress.passed_on},
      {"checks", progress.checks},
      {"hints", progress.hints},
      {"checkpoints", progress.checkpoints},
      {"solution_shown_early", progress.solution_shown_early},
      {"passed_text", progress.passed_text}};
  make_folder(built());
  write(progress_file(root_), all.dump(2) + "\n");
}

}  // namespace lockstep::lessons
