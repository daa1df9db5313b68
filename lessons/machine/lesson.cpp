#include "lessons/machine/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/hash.h"
#include "tracer/record/embedded.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Returns an embedded file by its path relative to the repository's root.
std::optional<std::string> embedded(const std::string& path) {
  const EmbeddedFile* begin = lockstep_embedded_files();
  const EmbeddedFile* end = begin + lockstep_embedded_file_count();
  const auto found = std::find_if(
      begin, end, [&](const EmbeddedFile& file) { return path == file.path; });
  if (found == end) return {};
  return std::string(found->begin, found->end);
}

std::string needed_file(const std::string& slug, const std::string& name) {
  auto text = lesson_file(slug, name);
  if (!text) throw std::runtime_error("lesson " + slug + " lacks " + name);
  return *std::move(text);
}

/// Returns the text below each `## Hint` heading.
std::vector<std::string> split_hints(const std::string& text) {
  std::vector<std::string> hints;
  for (size_t at = text.find("## Hint"); at != std::string::npos;) {
    const size_t begin = text.find('\n', at) + 1;
    const size_t next = text.find("## Hint", begin);
    std::string hint =
        text.substr(begin, next == std::string::npos ? next : next - begin);
    hint.erase(0, hint.find_first_not_of('\n'));
    hint.erase(hint.find_last_not_of('\n') + 1);
    hints.push_back(std::move(hint));
    at = next;
  }
  return hints;
}

Lesson read_lesson(const std::string& slug) {
  const Json facts = Json::parse(needed_file(slug, "lesson.json"));
  Lesson lesson;
  lesson.slug = slug;
  lesson.number = std::stoi(slug.substr(0, 2));
  lesson.title = facts.at("title");
  lesson.goal = facts.at("goal");
  lesson.minutes = facts.at("minutes");
  lesson.file = facts.at("file");
  lesson.quiz = facts.value("quiz", false);
  lesson.python = lesson.file.ends_with(".py");
  lesson.seconds = facts.value("seconds", lesson.seconds);
  lesson.run = facts.value("run", "");
  lesson.calls_traced = facts.value("calls_traced", true);
  lesson.slots = facts.value("slots", lesson.slots);
  lesson.not_called = facts.value("not_called", lesson.not_called);
  for (const Json& gate : facts.value("gates", Json::array())) {
    lesson.gates.push_back({gate.at("name"), gate.at("unit"), gate.at("why"),
                            gate.at("naive"), gate.at("correct"), gate.at("limit")});
  }
  for (const Json& stage : facts.value("checkpoints", Json::array())) {
    lesson.checkpoints.push_back(
        {stage.at("title"), stage.at("minutes"), stage.at("until")});
  }
  lesson.hints = split_hints(needed_file(slug, "hints.md"));
  return lesson;
}

/// Returns the names of the lesson folders, e.g. `05-scatter`.
std::set<std::string> all_slugs() {
  std::set<std::string> slugs;
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const std::string path = lockstep_embedded_files()[i].path;
    if (!path.starts_with("lessons/") || !path.ends_with("/lesson.json")) continue;
    slugs.insert(path.substr(8, path.size() - 8 - 12));
  }
  if (course_folder().empty()) return slugs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(course_folder(), error)) {
    const std::string slug = entry.path().filename();
    const bool named =
        slug.size() > 3 && std::isdigit(slug[0]) && std::isdigit(slug[1]);
    if (named && fs::exists(entry.path() / "lesson.json")) slugs.insert(slug);
  }
  if (error) {
    throw std::runtime_error(course_folder().string() + ": " + error.message() +
                             "; fix: name a folder of lessons with --course");
  }
  return slugs;
}

std::vector<Lesson> read_all() {
  std::vector<Lesson> lessons;
  for (const std::string& slug : all_slugs()) {
    try {
      lessons.push_back(read_lesson(slug));
    } catch (const std::exception& error) {  // the other lessons remain usable
      std::fprintf(stderr, "lockstep: lesson %s is skipped: %s\n", slug.c_str(),
                   error.what());
    }
  }
  return lessons;
}

}  // namespace

std::filesystem::path course_folder() {
  const char* named = std::getenv("LOCKSTEP_COURSE");
  return named ? named : "";
}

std::optional<std::string> lesson_file(const std::string& slug,
                                       const std::string& name) {
  const fs::path path = course_folder() / slug / name;
  if (!course_folder().empty() && fs::exists(path)) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  return embedded("lessons/" + slug + "/" + name);
}

const char* Lesson::exercise_name() const {
  return quiz ? "exercise.txt" : python ? "exercise.py" : "exercise.cpp";
}

std::string Lesson::exercise() const { return needed_file(slug, exercise_name()); }

const std::vector<Lesson>& all_lessons() {
  static const std::vector<Lesson> lessons = read_all();
  return lessons;
}

const Lesson& find_lesson(std::string_view name) {
  std::string known;
  for (const Lesson& lesson : all_lessons()) {
    if (name == lesson.slug || name == std::string_view(lesson.slug).substr(3) ||
        name == std::to_string(lesson.number) || name == lesson.slug.substr(0, 2)) {
      return lesson;
    }
    known += (known.empty() ? "" : ", ") + lesson.slug;
  }
  throw std::runtime_error(
      fmt::format("unknown lesson '{}'; available: {}", name, known));
}

std::vector<std::pair<std::string, std::string_view>> engine_headers() {
  std::vector<std::pair<std::string, std::string_view>> headers;
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    const std::string path = file.path;
    const bool shared = path.starts_with("base/") || path.starts_with("engine/") ||
                        path.starts_with("tracer/") ||
                        path.starts_with("lessons/machine/") ||
                        path == "lessons/plugin.h" || path == "lessons/prelude.h";
    if (!shared || !path.ends_with(".h")) continue;
    headers.emplace_back(path, std::string_view(file.begin, file.end - file.begin));
  }
  return headers;
}

const std::string& headers_stamp() {
  static const std::string stamp = [] {
    uint64_t sum = 0;
    for (const auto& [path, text] : engine_headers()) {
      sum = sum * 31 + fnv1a64(path) * 7 + fnv1a64(text);
    }
    return fmt::format("{:016x}", sum);
  }();
  return stamp;
}

}  // namespace lockstep::lessons
