#include "tracer/analysis/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/judge.h"

namespace lockstep::tracer {

CheckReport check_trace(const Trace& trace) {
  Case the(trace);
  judge_structure(the);
  judge_order(the);
  judge_bytes(the);
  judge_ranks(the);

  CheckReport report;
  for (const Law& law : the.laws) law.report(report.findings);
  return report;
}

bool CheckReport::ok() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.ok; });
}

std::string check_text(const CheckReport& report) {
  std::string text;
  size_t broken = 0;
  for (const Finding& finding : report.findings) {
    const std::string where =
        finding.event == kNone ? "" : fmt::format(" (event #{})", finding.event);
    text += fmt::format("{} {:<22} {}{}\n", finding.ok ? "ok    " : "BROKEN",
                        finding.law, finding.message, where);
    if (!finding.ok) ++broken;
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
    laws.push_back(std::move(entry));
  }
  return {{"ok", report.ok()}, {"laws", std::move(laws)}};
}

void Law::report(std::vector<Finding>& findings) const {
  findings.insert(findings.end(), violations_.begin(), violations_.end());
  if (broken_ == 0) {
    findings.push_back(
        {name_, true, fmt::format("{} ({} checked)", meaning_, checked_)});
  } else if (broken_ > violations_.size()) {
    const size_t more = broken_ - violations_.size();
    findings.push_back({name_, false, fmt::format("… and {} more of these", more)});
  }
}

std::string name_of(const Event& event) {
  return fmt::format("{} `{}`", event.cat.empty() ? "event" : event.cat, event.name);
}

}  // namespace lockstep::tracer
