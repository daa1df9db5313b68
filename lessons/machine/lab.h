// What lesson 27's judge.py measured on each rank, and the profiles that it wrote.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/process.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/lesson.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/python.h"
#include "lessons/plugin.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::lessons::lesson_27 {

namespace fs = std::filesystem;
using Facts = nlohmann::json;

inline constexpr int kRanks = 3;
inline constexpr double kRounding = 1e-12;

/// Returns the folder with what the judge wrote.
inline fs::path folder_of(const Exam& exam) {
  return fs::path(exam.library()).parent_path() / "traces";
}

inline Facts read(const fs::path& file) {
  std::ifstream stream(file);
  return stream ? Facts::parse(stream, nullptr, false) : Facts();
}

/// Throws what is to be told about an exception in the learner's code.
[[noreturn]] inline void tell(const std::string& what, const Facts& error,
                              const std::string& calls) {
  const std::string kind = error.at("kind"), text = error.at("text");
  if (kind == "skeleton") throw NotWritten(text);
  if (kind == "reference") {
    throw Wrong{"uses of PyTorch's " + text,
                "none",
                "your code uses it",
                {"this is PyTorch's solution to the exercise: yours must be written, "
                 "not called",
                 "Exercise"}};
  }
  const bool none =
      text.find("NoneType") != text.npos || text.find("type torch.Tensor") != text.npos;
  const int line = error.at("line");
  const std::string where = line > 0 ? fmt::format(", line {}", line) : "";
  if (kind == "lost") {
    throw Wrong{what,
                "all ranks meet in each collective",
                fmt::format("a rank waited in vain{}: {}", where, calls),
                {"every rank must call the same collectives in the same order: one "
                 "that only some of the ranks call never ends",
                 "Four pieces"}};
  }
  if (text.starts_with("Unable to cast [tensor")) {
    throw Wrong{
        what,
        "a future of a tensor",
        "a future of a list of tensors" + where,
        {"an all-reduce's future has a list of one tensor; DDP wants the tensor: "
         "future.value()[0]",
         "In the middle of backward"}};
  }
  throw Wrong{what,
              "no exception",
              fmt::format("{}: {}{}", std::string(error.at("type")), text, where),
              {none ? "a frozen parameter has no gradient: parameter.grad is None"
               : text.starts_with("module 'lab' has no")
                   ? "the functions and the class keep the names that the skeleton has"
                   : "",
               ""}};
}

/// Runs the learner's file on three ranks, once. The lesson's number is `exam`'s.
inline void run_once(const Exam& exam) {
  static bool done = false;
  if (done) return;
  done = true;
  const Lesson& lesson = find_lesson("27");
  const fs::path folder = folder_of(exam);
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path judge = folder / "judge.py", guards = folder / "guards.py";
  for (const fs::path& file : {judge, guards}) {
    std::ofstream(file) << lesson_file(lesson.slug, file.filename()).value();
  }
  const ProcessResult ran =
      run_process({python_for(lesson), "-B", judge.string(), exam.library(),
                   folder.string(), std::to_string(exam.seed() % 1000)});
  fs::remove(judge);
  fs::remove(guards);
  std::fputs((ran.output + ran.errors).c_str(), stderr);
}

/// Returns the facts of a part, by rank. `what` names the part in messages.
inline std::vector<Facts> facts_of(const Exam& exam, const std::string& part,
                                   const std::string& what) {
  run_once(exam);
  if (const Facts error = read(folder_of(exam) / "load.json"); error.is_object()) {
    tell("your file, when it is imported", error, "");
  }
  std::vector<Facts> facts;
  std::string calls;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Facts all = read(folder_of(exam) / fmt::format("facts-{}.json", rank));
    facts.push_back(all.is_object() ? all.value(part, Facts()) : Facts());
    if (!facts.back().is_object()) facts.back() = Facts::object();
    const bool wrong =
        facts.back().contains("error") && facts.back()["error"].is_object();
    if (!wrong) continue;
    calls += fmt::format("{}{} on rank {}",
                         calls.empty() ? "calls of all_reduce until then: " : ", ",
                         facts.back()["error"].value("calls", 0), rank);
  }
  const Facts* worst = nullptr;
  for (const Facts& fact : facts) {  // a rank that fails leaves others waiting
    const auto error = fact.find("error");
    if (error == fact.end() || !error->is_object()) continue;
    if (worst == nullptr || (*worst)["kind"] == "lost") worst = &*error;
  }
  if (worst != nullptr) tell(what, *worst, calls);
  for (const Facts& fact : facts) {
    if (!fact.empty()) continue;
    throw Wrong{what,
                "a result of each of three ranks",
                "a rank has ended without one",
                {"your code must not end the process that it runs in", "Exercise"}};
  }
  return facts;
}

/// Returns the profile of a rank, as `lockstep trace import` reads it.
inline tracer::Trace profile_of(const Exam& exam, const std::string& name, int rank) {
  return tracer::open_trace(
      (folder_of(exam) / fmt::format("{}-{}.json", name, rank)).string());
}

/// Returns how many values each recorded all-reduce has, in the order of time; −1 where
/// the profile does not tell.
inline std::vector<int64_t> all_reduces(const tracer::Trace& trace) {
  std::vector<int64_t> sizes;
  for (const tracer::Event* event : events_of(trace, "op", "gloo:all_reduce")) {
    const auto shapes = event->args["shapes"];
    if (!shapes.is_array() || shapes.empty() || shapes[0].empty()) {
      sizes.push_back(-1);
      continue;
    }
    int64_t size = 1;
    for (const auto& extent : shapes[0]) size *= extent.get<int64_t>();
    sizes.push_back(size);
  }
  return sizes;
}

/// Returns the names of Gloo's other collectives in a profile, without those that only
/// wait.
inline std::vector<std::string> other_collectives(const tracer::Trace& trace) {
  std::vector<std::string> names;
  for (const tracer::Event* event : events_of(trace, "op")) {
    const std::string name(event->name.view());
    if (name.starts_with("gloo:") && name != "gloo:all_reduce") names.push_back(name);
  }
  return names;
}

inline std::vector<int64_t> sorted(std::vector<int64_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace lockstep::lessons::lesson_27
