// Shared by all laws: the trace with its lookup structures, and the results.
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

/// Checks one law: counts the cases checked and collects the violations.
class Law {
 public:
  /// What a law can be judged on: the events of any rank, or only those of all ranks
  /// together, in the same steps.
  enum class Needs : uint8_t { any_rank, all_ranks };

  Law(std::string name, std::string meaning, Needs needs)
      : name_(std::move(name)), meaning_(std::move(meaning)), needs_(needs) {}

  const std::string& name() const { return name_; }
  Needs needs() const { return needs_; }

  /// `explain()` returns the message; it is called only if the law is violated.
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
  static constexpr size_t kMaxShown = 5;  ///< further violations add no information

  std::string name_, meaning_;
  Needs needs_;
  size_t checked_ = 0, broken_ = 0;
  std::vector<Finding> violations_;
};

/// Lookup structures of a trace, shared by all laws.
struct Lookups {
  explicit Lookups(const Trace& trace)
      : index(trace), lanes(trace), steps(find_steps(trace, lanes)) {}
  const Index index;
  const Lanes lanes;
  const std::vector<Step> steps;
};

/// The trace, with the laws that one thread checks.
struct TraceUnderTest {
  TraceUnderTest(const Trace& of, const Lookups& lookups)
      : trace(of), index(lookups.index), lanes(lookups.lanes), steps(lookups.steps) {}

  /// Opens a law; it appears in the report even if it applies to no event.
  Law& law(const char* name, const char* meaning) {
    return laws.emplace_back(name, meaning, Law::Needs::any_rank);
  }

  /// Opens a law of what ranks do together; see Law::Needs.
  Law& law_of_ranks(const char* name, const char* meaning) {
    return laws.emplace_back(name, meaning, Law::Needs::all_ranks);
  }

  const Trace& trace;
  const Index& index;
  const Lanes& lanes;
  const std::vector<Step>& steps;
  std::deque<Law> laws;  ///< a deque, so that references to laws stay valid
};

/// Returns, for example, "kernel aten::conv2d #12", for use in messages.
std::string name_of(const Event& event);

// The laws, defined in files with the same names.
void judge_structure(TraceUnderTest& test);
void judge_order(TraceUnderTest& test);
void judge_bytes(TraceUnderTest& test);
void judge_ranks(TraceUnderTest& test);
void judge_shared(TraceUnderTest& test);
void judge_ps(TraceUnderTest& test);
void judge_averages(TraceUnderTest& test);
void judge_pipeline(TraceUnderTest& test);
void judge_hybrid(TraceUnderTest& test);

}  // namespace lockstep::tracer
