#include "tracer/analysis/check.h"

#include <fmt/format.h>

#include <algorithm>

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

/// Laws of what several ranks do together: without the events of some of them, nothing
/// follows from what is missing.
constexpr std::string_view kOfAllRanks[] = {
    "halves-matched",   "ranks-agree",     "ring-bytes",         "ring-share",
    "ring-messages",    "messages-agree",  "ring-steps",         "ring-forwarding",
    "sends-received",   "update-versions", "push-bytes",         "pull-bytes",
    "all-servers",      "servers",         "version-order",      "read-version",
    "own-updates-read", "ssp-bound",       "pull-before-update", "lock-exclusive",
    "lock-staleness",   "schedule-valid",  "pipeline-facts",     "activation-bytes"};

template <size_t N>
bool is_one_of(const std::string_view (&laws)[N], const std::string& law) {
  return std::find(std::begin(laws), std::end(laws), law) != std::end(laws);
}

/// Replaces the findings of each law that `is_judged` rejects by one that says `why`.
template <typename IsJudged>
void leave_unjudged(CheckReport& report, const char* why, IsJudged is_judged) {
  std::vector<Finding> kept;
  for (Finding& finding : report.findings) {
    if (!is_judged(finding.law)) {
      if (!kept.empty() && kept.back().law == finding.law) continue;
      finding = {finding.law, true, false, why};
    }
    kept.push_back(std::move(finding));
  }
  report.findings = std::move(kept);
}

void judge_as_partial(CheckReport& report, const Trace& trace, const Partial& partial) {
  report.partial = partial.text();
  const bool servers = string_arg(trace.lockstep, top::mode) == "ps";
  if (!partial.lacks_ranks() && share_steps(trace)) return;  // all have the same steps
  leave_unjudged(report, "not judged: it needs the same steps of all ranks",
                 [&](const std::string& law) {
                   if (servers && law == "steps-whole") return false;  // they have none
                   return !is_one_of(kOfAllRanks, law);
                 });
}

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
  for (const Law& law : file.laws) law.report(report.findings);
  for (const Law& law : training.laws) law.report(report.findings);
  if (trace.lockstep.contains(top::imported)) {
    leave_unjudged(report, "not judged: an imported trace lacks the required data",
                   [](const std::string& law) { return is_one_of(kOfImported, law); });
  } else if (const auto partial = partial_of(trace)) {
    judge_as_partial(report, trace, *partial);
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
