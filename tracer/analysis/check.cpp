#include "tracer/analysis/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tracer/analysis/judge.h"
#include "tracer/analysis/run_both.h"
#include "tracer/format/partial.h"

namespace lockstep::tracer {

namespace {

/// Laws for which the data of PyTorch's profiler is sufficient. Events of
/// its threads may cross, and it does not record what a stream waited for.
/// Kernels of one of its streams may overlap: with programmatic dependent
/// launch and on ROCm they do, and older files round their times.
constexpr std::string_view kOfImported[] = {"format",          "times",
                                            "sorted",          "ids-unique",
                                            "references",      "lanes-named",
                                            "memory-positive", "parent-contains",
                                            "steps-whole",     "copies-on-receiver"};

bool is_of_imported(const std::string& law) {
  return std::find(std::begin(kOfImported), std::end(kOfImported), law) !=
         std::end(kOfImported);
}

/// Decides which laws a trace has the events for.
class Judged {
 public:
  Judged(const Trace& trace, const std::vector<Step>& steps)
      : imported_(trace.lockstep.contains(top::imported)), has_steps_(!steps.empty()) {
    if (!imported_) partial_ = partial_of(trace);
    lacks_ranks_ = partial_ && (partial_->lacks_ranks() || !share_steps(trace));
  }

  /// Returns why a law is not judged; empty if it is.
  std::string why_not(const Law& law) const {
    if (imported_ && !is_of_imported(law.name())) {
      return "not judged: an imported trace lacks the required data";
    }
    const bool of_server = !has_steps_ && law.name() == "steps-whole";
    if (lacks_ranks_ && (of_server || law.needs() == Law::Needs::all_ranks)) {
      return "not judged: it needs the same steps of all ranks";
    }
    return "";
  }

  std::string partial() const { return partial_ ? partial_->text() : ""; }

 private:
  bool imported_, has_steps_, lacks_ranks_ = false;
  std::optional<Partial> partial_;
};

}  // namespace

CheckReport check_trace(const Trace& trace) {
  const Lookups lookups(trace);
  TraceUnderTest file(trace, lookups), training(trace, lookups);
  run_both([&] { judge_structure(file); },
           [&] {
             judge_order(training);
             judge_bytes(training);
             judge_ranks(training);
             judge_shared(training);
             judge_ps(training);
             judge_averages(training);
             judge_pipeline(training);
             judge_hybrid(training);
           });

  CheckReport report;
  const Judged judged(trace, lookups.steps);
  report.partial = judged.partial();
  for (const auto* laws : {&file.laws, &training.laws}) {
    for (const Law& law : *laws) {
      const std::string why_not = judged.why_not(law);
      if (why_not.empty()) {
        law.report(report.findings);
      } else {
        report.findings.push_back({law.name(), true, false, why_not});
      }
    }
  }
  return report;
}

bool CheckReport::ok() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.ok; });
}

std::string check_text(const CheckReport& report) {
  std::string text = report.partial.empty() ? "" : "partial: " + report.partial + "\n";
  size_t broken = 0, unjudged = 0;
  for (const Finding& finding : report.findings) {
    const std::string where =
        finding.event == kNone ? "" : fmt::format(" (event #{})", finding.event);
    const char* verdict = !finding.judged ? "–     " : finding.ok ? "ok    " : "BROKEN";
    text +=
        fmt::format("{} {:<22} {}{}\n", verdict, finding.law, finding.message, where);
    if (!finding.ok) broken += finding.times;
    if (!finding.judged) ++unjudged;
  }
  if (broken == 0 && unjudged > 0) {
    return text +
           fmt::format("every law that could be judged holds; {} could not be judged\n",
                       unjudged);
  }
  text += broken == 0 ? "every law holds\n"
                      : fmt::format("{} violation{}\n", broken, broken == 1 ? "" : "s");
  return text;
}

Json check_json(const CheckReport& report) {
  Json laws = Json::array();
  for (const Finding& finding : report.findings) {
    Json entry = {
        {"law", finding.law}, {"ok", finding.ok}, {"message", finding.message}};
    if (finding.event != kNone) entry["event"] = finding.event;
    if (!finding.judged) entry["judged"] = false;
    laws.push_back(std::move(entry));
  }
  Json json = {{"ok", report.ok()}, {"laws", std::move(laws)}};
  if (!report.partial.empty()) json["partial"] = report.partial;
  return json;
}

void Law::report(std::vector<Finding>& findings) const {
  findings.insert(findings.end(), violations_.begin(), violations_.end());
  if (broken_ == 0) {
    findings.push_back(
        {name_, true, true, fmt::format("{} ({} checked)", meaning_, checked_)});
  } else if (broken_ > violations_.size()) {
    const size_t more = broken_ - violations_.size();
    findings.push_back(
        {name_, false, true, fmt::format("… and {} more of these", more), kNone, more});
  }
}

std::string name_of(const Event& event) {
  return fmt::format("{} `{}`", event.cat.empty() ? "event" : event.cat, event.name);
}

}  // namespace lockstep::tracer
