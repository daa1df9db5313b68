// What a lesson's tests are written with.
//
// A test states claims about values, bytes, order and dependencies. A claim that does
// not hold ends the test and tells the learner what was expected, what came, which
// misconception usually leads there, and what to read.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.h"
#include "tracer/format/trace.h"

namespace lockstep::lessons {

/// Why a learner's answer is wrong, in the lesson's words.
struct Because {
  std::string likely;             ///< the misconception
  std::string read;               ///< heading of the chapter's paragraph
  int64_t event = tracer::kNone;  ///< in the trace recorded last
};

/// A claim that does not hold.
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

  /// Every element within `tolerance` of the expected one; names the worst one.
  void close(const std::string& what, const std::vector<double>& expected,
             const std::vector<double>& got, double tolerance,
             const Because& because) const;

  /// Runs `lockstep train` with these words (`--trace` is added) and the learner's
  /// functions plugged in, and reads its trace. A run that fails is Wrong with its last
  /// words, because of `if_it_fails` (unless a sanitizer says why); more of them goes
  /// to standard error.
  const tracer::Trace& train(const std::string& arguments, const Because& if_it_fails);
  /// The same without the learner's functions, to compare with.
  tracer::Trace reference(const std::string& arguments);

  /// Where the traces of this test go, from the next one on.
  void set_test(const std::string& test) {
    test_ = test;
    trace_file_.clear();
  }
  void set_lesson(int number) { lesson_ = number; }
  const std::string& trace_file() const { return trace_file_; }

  /// A quiz's answer to question `number`: the learner's first line below
  /// `# <number>.` that is no comment; "" if there is none.
  std::string answer(int number) const;

  const std::string& library() const { return library_; }
  /// A function of the learner's library, by its name; it is loaded already. Throws
  /// NotWritten if it is gone.
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
  tracer::Trace trace_;
};

/// The elements of a tensor on any device, row by row.
std::vector<double> values(const Tensor& tensor);

/// A host tensor with the numbers first, first + 1, …
Tensor counting(const Shape& sizes, double first = 0, DType dtype = DType::f64);

struct Test {
  int lesson;
  const char* name;   ///< `nine_over_four`
  const char* title;  ///< `9 samples over 4 devices make 3 chunks`
  void (*run)(Exam&);
};

/// In the order in which they are written.
std::vector<Test> tests_of(int lesson);

/// Loads a library of tests in place of the program's own of that lesson. Throws
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
