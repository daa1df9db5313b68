// What the laws have in common: the trace made easy to ask, and a record of verdicts.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One law's verdicts so far.
class Law {
 public:
  Law(std::string name, std::string meaning)
      : name_(std::move(name)), meaning_(std::move(meaning)) {}

  /// `explain()` gives the message; it is called only when the law is broken.
  template <typename Explain>
  void expect(bool holds, int64_t event, Explain explain) {
    ++checked_;
    if (holds) return;
    ++broken_;
    if (violations_.size() < kMaxShown) {
      violations_.push_back({name_, false, true, explain(), event});
    }
  }

  void report(std::vector<Finding>& findings) const;

 private:
  static constexpr size_t kMaxShown = 5;  ///< the sixth violation teaches nothing new

  std::string name_, meaning_;
  size_t checked_ = 0, broken_ = 0;
  std::vector<Finding> violations_;
};

/// The trace on which the laws are judged.
struct TraceUnderTest {
  explicit TraceUnderTest(const Trace& of)
      : trace(of), index(of), lanes(of), steps(find_steps(of, lanes)) {}

  /// Opens a law; it shows up in the report even if nothing falls under it.
  Law& law(const char* name, const char* meaning) {
    return laws.emplace_back(name, meaning);
  }

  const Trace& trace;
  const Index index;
  const Lanes lanes;
  const std::vector<Step> steps;
  std::deque<Law> laws;  ///< a deque: references to laws stay valid
};

/// "kernel aten::conv2d #12", for messages.
std::string name_of(const Event& event);

// The laws, in files of the same names.
void judge_structure(TraceUnderTest& test);
void judge_order(TraceUnderTest& test);
void judge_bytes(TraceUnderTest& test);
void judge_ranks(TraceUnderTest& test);

}  // namespace lockstep::tracer
