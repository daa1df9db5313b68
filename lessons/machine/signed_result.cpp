#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/program.h"
#include "lessons/machine/grade.h"
#include "lessons/machine/graded_program.h"

namespace lockstep::lessons {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kKind = "lockstep lesson result";
constexpr uintmax_t kMostBytes = 1 << 20;

/// Returns the text that is signed and written to the file. Equal contents give equal
/// text, whatever the learner's output contains.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw std::runtime_error(fmt::format("{} {}", file.string(), why));
}

Json read_result(const fs::path& file, std::string& text) {
  std::error_code none;
  if (!fs::is_regular_file(file, none) || fs::file_size(file, none) > kMostBytes) {
    refuse(file,
           "is not a file of at most 1 MiB; fix: name a file that `lesson check "
           "--grade --result` wrote");
  }
  std::ifstream stream(file, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(stream), {});
  Json json = Json::parse(text, nullptr, false);
  const auto is_text = [](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
  };
  const bool known = is_text(json, "kind") && json["kind"] == kKind &&
                     json.contains("signature") && is_text(json["signature"], "key") &&
                     is_text(json["signature"], "value");
  if (!known) {
    refuse(file,
           "is not a signed result; fix: name a file that `lesson check --grade "
           "--result` wrote");
  }
  return json;
}

}  // namespace

std::string signed_result(const Lesson& lesson, const Grade& grade, const Key& key) {
  const Json verdict = verdict_json(lesson, grade.verdict);
  Json tests = Json::array();
  for (const TestResult& test : grade.verdict.tests) {
    tests.push_back({{"name", test.name}, {"status", test.status}});
  }
  Json result{
      {"kind", kKind},
      {"version", 1},
      {"lesson", lesson.slug},
      {"status", grade.verdict.status},
      {"tests", tests},
      {"seed", std::to_string(grade.seed)},
      {"submission",
       {{"file", lesson.slug + "/" + lesson.file},
        {"sha256", sha256(grade.submission)}}},
      {"judge",
       {{"lesson_sha256", hash_of_lesson(lesson)},
        {"program_sha256", hash_of_program()},
        {"program", kVersion},
        {"sandbox", grade.sandbox}}},
      {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  const std::string signature = key.sign(text_of(result));
  result["signature"] = {
      {"algorithm", "Ed25519"}, {"key", key.name()}, {"value", signature}};
  return text_of(result);
}

Json verified_result(const fs::path& file, const Key& key) {
  std::string text;
  Json json = read_result(file, text);
  const Json signature = json["signature"];
  if (signature["key"] != key.name()) {
    refuse(file,
           fmt::format("names the key {}, but yours is {}: it was not signed with "
                       "yours; fix: verify it with the key that it was signed with",
                       signature["key"].get<std::string>(), key.name()));
  }
  const bool as_written = text == text_of(json);
  json.erase("signature");
  if (!as_written || !key.verifies(text_of(json), signature["value"])) {
    refuse(file,
           "was changed after it was signed; fix: judge the learner's file again");
  }
  return json;
}

}  // namespace lockstep::lessons
