// The API that lesson tests are written with.
//
// A test makes claims about values, bytes, order and dependencies. A claim that does
// not hold ends the test and reports the expected and the actual value, the likely
// misconception, and what to read.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.h"
#include "tracer/format/trace.h"

namespace lockstep::lessons {

/// Explains, in the lesson's words, why a learner's answer is wrong.
struct Because {
  std::string likely;             ///< the misconception
  std::string read;               ///< heading of the chapter's paragraph
  int64_t event = tracer::kNone;  ///< in the most recent trace
};

/// Thrown for a claim that does not hold.
struct Wrong {
  std::string what, expected, got;
  Because because;
};

class Exam {
 public:
  Exam(std::string library, std::string trace_folder, std::string answers)
      : library_(std::move(library)),
        trace_folder_(std::move(trace_folder)),
        answers_(std::move(answers)) {}

  /// Throws Wrong unless `holds`.
  void that(bool holds, const std::string& what, const std::string& expected,
            const std::string& got, const Because& because) const {
    if (!holds) throw Wrong{what, expected, got, because};
  }

  template <typename T>
  void equal(const std::string& what, const T& expected, const T& got,
             const Because& because) const {
    that(expected == got, what, fmt::format("{}", expected), fmt::format("{}", got),
         because);
  }

  template <typename T>
  void at_most(const std::string& what, const T& limit, const T& got,
               const Because& because) const {
    that(got <= limit, what, fmt::format("at most {}", limit), fmt::format("{}", got),
         because);
  }

  /// Throws Wrong naming the worst element unless every element is within `tolerance`
  /// of the expected one.
  void close(const std::string& what, const std::vector<double>& expected,
             const std::vector<double>& got, double tolerance,
             const Because& because) const;

  /// Runs `lockstep train` with these arguments (`--trace` is added) and the learner's
  /// functions plugged in, and reads its trace. If the run fails, throws Wrong with its
  /// last line and `if_it_fails` (unless a sanitizer reports the cause), and prints
  /// more lines to standard error. Further tests with the same arguments get the same
  /// trace.
  const tracer::Trace& train(const std::string& arguments, const Because& if_it_fails);
  /// Like train(), but without the learner's functions, for comparison.
  tracer::Trace reference(const std::string& arguments);

  /// Returns the trace that the lesson was published with, whatever became of the
  /// learner's copy.
  tracer::Trace published_trace() const;

  /// Returns the seed of this check's random numbers, for tests whose cases cannot be
  /// known beforehand; a verdict must name it. LOCKSTEP_LESSON_SEED sets it.
  uint64_t seed() const;

  /// Sets the test that the following traces are named after.
  void set_test(const std::string& test) {
    test_ = test;
    trace_file_.clear();
  }
  void set_lesson(int number) { lesson_ = number; }
  const std::string& trace_file() const { return trace_file_; }

  /// Returns a quiz's answer to question `number`: the learner's first `most` lines
  /// below `# <number>.` that are not comments, with newlines between; "" if there is
  /// none.
  std::string answer(int number, int most = 1) const;

  const std::string& library() const { return library_; }
  /// Returns a function of the learner's library by name; the library must be loaded.
  /// Throws NotWritten if the function is missing.
  template <typename Function>
  Function* function(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const std::string& name) const;
  std::string run(const std::string& arguments, const std::string& library,
                  const std::string& trace, const Because& if_it_fails);

  std::string library_, trace_folder_, answers_, test_, trace_file_;
  int lesson_ = 0;
  struct Recorded {
    std::string file;
    tracer::Trace trace;
  };
  std::map<std::string, Recorded> runs_;  ///< by arguments
};

/// Returns the elements of a tensor on any device, in row-major order.
std::vector<double> values(const Tensor& tensor);

/// Returns the trace of `work`, which runs in this process on reference devices
/// 0 … `devices` − 1. Must not be called while other threads record.
tracer::Trace recorded(int devices, const std::function<void()>& work);

/// Returns a host tensor with the values first, first + 1, …
Tensor counting(const Shape& sizes, double first = 0, DType dtype = DType::f64);

struct Test {
  int lesson;
  const char* name;   ///< `nine_over_four`
  const char* title;  ///< `9 samples over 4 devices make 3 chunks`
  void (*run)(Exam&);
};

/// Returns a lesson's tests in source order.
std::vector<Test> tests_of(int lesson);

/// Loads a library of tests that replaces the lesson's built-in ones. Throws
/// std::runtime_error.
void load_tests(const std::string& library, int lesson);

struct RegisterTest {
  RegisterTest(int lesson, const char* name, const char* title, void (*run)(Exam&));
};

}  // namespace lockstep::lessons

/// LESSON_TEST(5, nine_over_four, "9 samples over 4 devices make 3 chunks") { … }
/// In the body, `exam` is the Exam.
#define LESSON_TEST(lesson, name, title)                                          \
  static void name(::lockstep::lessons::Exam& exam);                              \
  static const ::lockstep::lessons::RegisterTest registered_##name(lesson, #name, \
                                                                   title, name);  \
  static void name([[maybe_unused]] ::lockstep::lessons::Exam& exam)
