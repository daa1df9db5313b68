// `lesson check --grade` and `lesson verify`: for instructors.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/lesson_options.h"
#include "lessons/machine/grade.h"

namespace lockstep::cli {
namespace {

using lessons::Key;

/// Throws UsageError if the options contradict each other.
void expect_consistent(const LessonOptions& o) {
  if (o.sanitizer != lessons::Sanitizer::none) {
    throw UsageError("--grade does not use --sanitize; fix: omit one of them");
  }
  if (o.checkpoint != 0) {
    throw UsageError("--grade judges the whole lesson; fix: omit --checkpoint");
  }
  if (o.result.empty() != o.key.empty()) {
    throw UsageError(
        "a result is signed: --result needs --key, and --key needs "
        "--result; fix: give both");
  }
}

/// Returns the key that results are signed with. Throws std::runtime_error.
Key signing_key(const std::string& file) {
  const Key key = Key::read(file);
  if (!key.can_sign()) {
    throw std::runtime_error(file +
                             " is a public key and cannot sign; fix: name the "
                             "private key");
  }
  return key;
}

void write_result(const std::string& file, const std::string& text) {
  AtomicFile result(file, AtomicFile::Packing::none);
  result.write(text);
  result.commit();
}

std::string text_of_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(file + " cannot be read; fix: check the path");
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

int check_for_a_grade(const LessonOptions& o) {
  expect_consistent(o);
  const lessons::Workspace workspace = open_workspace(o);
  const lessons::Lesson& lesson = lessons::find_lesson(o.lesson);
  if (!o.key.empty()) signing_key(o.key);  // an error now rather than at the end
  const lessons::Grade grade = lessons::grade(workspace, lesson);
  if (!o.result.empty()) {
    write_result(o.result, signed_result(lesson, grade, signing_key(o.key)));
  }
  const lessons::Verdict& verdict = grade.verdict;
  if (o.json) {
    using Json = nlohmann::ordered_json;
    const Json json = lessons::verdict_json(lesson, verdict);
    std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    const bool next = false;  // the learner's next command
    std::fputs(lessons::verdict_text(lesson, verdict, colours(), next).c_str(), stdout);
  }
  return verdict.status == "pass" ? 0 : 1;
}

int verify_result(const LessonOptions& o) {
  const auto result = lessons::verified_result(o.result, Key::read(o.key));
  const std::string judged = result["submission"]["sha256"];
  if (!o.submission.empty() && lessons::sha256(text_of_file(o.submission)) != judged) {
    throw std::runtime_error(fmt::format(
        "{} is the result of a different file than {}; fix: judge that file, too",
        o.result, o.submission));
  }
  fmt::print("{}  {}  judged {} by {}, seed {}\nsubmission SHA-256 {}\n",
             result["lesson"].get<std::string>(), result["status"].get<std::string>(),
             result["time"].get<std::string>(),
             result["judge"]["program"].get<std::string>(),
             result["seed"].get<std::string>(), judged);
  return 0;
}

}  // namespace lockstep::cli
