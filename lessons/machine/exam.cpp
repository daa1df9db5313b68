#include "lessons/machine/exam.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/process.h"
#include "base/program.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "lessons/machine/contain.h"
#include "lessons/machine/own_code.h"
#include "lessons/machine/workspace.h"
#include "lessons/plugin.h"
#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::lessons {
namespace {

std::vector<Test>& registry() {
  static std::vector<Test> tests;
  return tests;
}

constexpr size_t kTail = 12, kReport = 28;  // lines

/// The relevant part of what a failed run wrote to standard error.
struct Complaint {
  std::string
      line;  ///< the most informative: a report's first line, otherwise the last
  std::string text;        ///< the report, otherwise the last lines
  bool sanitizer = false;  ///< whether the report is a sanitizer's
};

Complaint complaint_of(const std::string& errors) {
  std::vector<std::string> lines;
  std::istringstream stream(errors);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  Complaint complaint;
  const auto report = std::find_if(lines.begin(), lines.end(), [](const auto& line) {
    return line.find("Sanitizer: ") != std::string::npos ||
           line.find("runtime error: ") != std::string::npos;
  });
  complaint.sanitizer = report != lines.end();
  auto first = report, last = lines.end();
  if (complaint.sanitizer) {
    complaint.line = report->substr(0, report->find(" (pid="));
    complaint.line.erase(0, complaint.line.find_first_not_of("=0123456789 "));
    last = first + std::min<ptrdiff_t>(last - first, kReport);
  } else {
    if (!lines.empty()) complaint.line = lines.back();
    first = last - std::min<ptrdiff_t>(lines.size(), kTail);
  }
  for (; first != last; ++first) complaint.text += *first + "\n";
  return complaint;
}

}  // namespace

RegisterTest::RegisterTest(int lesson, const char* name, const char* title,
                           void (*run)(Exam&)) {
  registry().push_back({lesson, name, title, run});
}

std::vector<Test> tests_of(int lesson) {
  std::vector<Test> tests;
  for (const Test& test : registry()) {
    if (test.lesson == lesson) tests.push_back(test);
  }
  return tests;
}

void load_tests(const std::string& library, int lesson) {
  std::erase_if(registry(), [&](const Test& test) { return test.lesson == lesson; });
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw std::runtime_error(library + " cannot be loaded: " + dlerror());
  }
}

void Exam::close(const std::string& what, const std::vector<double>& expected,
                 const std::vector<double>& got, double tolerance,
                 const Because& because) const {
  equal(what + ": number of elements", expected.size(), got.size(), because);
  size_t worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= std::abs(got[worst] - expected[worst]))) {
      worst = i;
    }
  }
  if (got.empty() || std::abs(got[worst] - expected[worst]) <= tolerance) return;
  that(false,
       got.size() == 1 ? what
                       : fmt::format("{}, element {} of {}", what, worst, got.size()),
       fmt::format("{:.9g}", expected[worst]), fmt::format("{:.9g}", got[worst]),
       because);
}

const tracer::Trace& Exam::train(const std::string& arguments,
                                 const Because& if_it_fails) {
  if (const auto found = runs_.find(arguments); found != runs_.end()) {
    trace_file_ = found->second.file;
    return found->second.trace;
  }
  std::filesystem::create_directories(trace_folder_);
  trace_file_ = trace_folder_ + "/" + test_ + ".json.gz";
  run(arguments, library_, trace_file_, if_it_fails);
  tracer::Trace trace = tracer::read_trace(trace_file_);
  expect_called(find_lesson(std::to_string(lesson_)), trace, arguments);
  return runs_.emplace(arguments, Recorded{trace_file_, std::move(trace)})
      .first->second.trace;
}

tracer::Trace Exam::published_trace() const {
  const Lesson& lesson = find_lesson(std::to_string(lesson_));
  std::filesystem::create_directories(trace_folder_);
  const std::string file = trace_folder_ + "/published.json.gz";
  std::ofstream(file, std::ios::binary)
      << lesson_file(lesson.slug, "trace.json.gz").value();
  tracer::Trace trace = tracer::read_trace(file);
  std::filesystem::remove(file);
  return trace;
}

uint64_t Exam::seed() const {
  static const uint64_t seed = [] {
    const char* given = std::getenv("LOCKSTEP_LESSON_SEED");
    return given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return seed;
}

tracer::Trace Exam::reference(const std::string& arguments) {
  std::filesystem::create_directories(trace_folder_);
  const std::string file = trace_folder_ + "/" + test_ + "-reference.json.gz";
  run(arguments, "", file, {});
  return tracer::read_trace(file);
}

std::string Exam::run(const std::string& arguments, const std::string& library,
                      const std::string& trace, const Because& if_it_fails) {
  std::vector<std::string> words{program_path(), "train"};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  words.insert(words.end(), {"--trace", trace});
  std::filesystem::remove(trace);  // a trace of an earlier check would mislead
  setenv("LOCKSTEP_SLOTS", library.c_str(), 1);
  const ProcessResult result = run_process(words);
  unsetenv("LOCKSTEP_SLOTS");
  const bool wrote_nothing = !std::filesystem::exists(trace);
  if (result.exit_code == 0 && !wrote_nothing) return result.output;
  const Complaint complaint = complaint_of(result.errors);
  std::fputs(complaint.text.c_str(), stderr);  // shown below the verdict
  std::string got = complaint.line;
  if (!complaint.sanitizer && result.exit_code > 128) {
    got = fmt::format("it was killed by signal {} ({})", result.exit_code - 128,
                      strsignal(result.exit_code - 128));
  }
  if (result.exit_code == 0) {
    got = "your code ended the program with exit code 0 before its trace was written";
  }
  if (got.empty()) got = fmt::format("it exited with code {}", result.exit_code);
  Because because = if_it_fails;
  if (complaint.sanitizer) {
    because.likely =
        "the sanitizer's report is printed below; look for the first line that names "
        "your own file";
  }
  const std::string run = fmt::format("run --mine {} -- {}", lesson_, arguments);
  throw Wrong{"a training run, `" + lesson_command(run) + "`", "it succeeds", got,
              because};
}

std::string Exam::answer(int number, int most) const {
  std::string lines_below;
  std::istringstream lines(answers_);
  const std::string heading = fmt::format("# {}.", number);
  bool below = false;
  for (std::string line; std::getline(lines, line);) {
    const size_t digits = line.find_first_not_of("0123456789", 2);
    if (line.starts_with("# ") && digits > 2 && digits < line.size() &&
        line[digits] == '.') {
      below = line.starts_with(heading);
    }
    const size_t first = line.find_first_not_of(" \t");
    if (!below || first == std::string::npos || line[first] == '#') continue;
    if (!lines_below.empty()) lines_below += '\n';
    lines_below += line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    if (--most == 0) break;
  }
  return lines_below;
}

void* Exam::symbol(const std::string& name) const {
  void* library = dlopen(library_.c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* found = library ? dlsym(library, name.c_str()) : nullptr;
  if (!found)
    throw NotWritten(name + " is missing: keep its signature from the skeleton");
  return found;
}

std::vector<double> values(const Tensor& tensor) {
  const Tensor plain = ops::contiguous(tensor.detach());
  const Tensor host = ops::copy_to(plain, Device{}, {"d2h", "values"});
  std::vector<double> numbers(host.numel());
  for (size_t i = 0; i < numbers.size(); ++i) {
    switch (host.dtype()) {
      case DType::f32:
        numbers[i] = host.data<float>()[i];
        break;
      case DType::f64:
        numbers[i] = host.data<double>()[i];
        break;
      case DType::i64:
        numbers[i] = static_cast<double>(host.data<int64_t>()[i]);
        break;
      case DType::u8:
        numbers[i] = static_cast<double>(host.data<uint8_t>()[i]);
        break;
    }
  }
  return numbers;
}

tracer::Trace recorded(int devices, const std::function<void()>& work) {
  const auto wait = [&] {
    for (int i = 0; i < devices; ++i) {
      runtime::context({DeviceType::reference, i}).synchronize();
    }
  };
  wait();
  tracer::start_recording();
  try {
    work();
    wait();
  } catch (...) {
    tracer::stop_recording();
    throw;
  }
  tracer::stop_recording();
  return tracer::finish_trace(tracer::collect(), {});
}

Tensor counting(const Shape& sizes, double first, DType dtype) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < sizes.numel(); ++i) {
    numbers.push_back(first + static_cast<double>(i));
  }
  return Tensor::from(numbers, sizes, dtype);
}

}  // namespace lockstep::lessons
