#include "gui/model/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "gui/model/details.h"
#include "tracer/analysis/check.h"

namespace lockstep::gui {

namespace {

Verdict not_checked(std::string why) {
  Verdict verdict;
  verdict.why = std::move(why);
  return verdict;
}

Verdict verdict_of(const Model& model, const tracer::CheckReport& report) {
  Verdict verdict;
  std::set<std::string> laws, unjudged;
  for (const tracer::Finding& finding : report.findings) {
    laws.insert(finding.law);
    if (!finding.judged) unjudged.insert(finding.law);
    if (finding.ok) continue;
    verdict.violations.push_back(
        {finding.law, finding.message, model.event_of_id(finding.event)});
  }
  verdict.laws = laws.size();
  verdict.unjudged = unjudged.size();
  verdict.state = report.ok() ? Verdict::State::holds : Verdict::State::broken;
  return verdict;
}

}  // namespace

Verdict judge(const Model& model, size_t most) {
  if (!meta_of(model).contains(top::format)) {
    return not_checked("the laws are those of lockstep's own traces");
  }
  if (model.text.size() > most) {
    return not_checked(
        fmt::format("the trace is large; `lockstep trace check` checks it: {} MB of "
                    "text, more than "
                    "{}",
                    model.text.size() >> 20, most >> 20));
  }
  try {
    const tracer::Trace trace =
        tracer::parse_trace(std::string(model.text), model.name);
    return verdict_of(model, tracer::check_trace(trace));
  } catch (const std::runtime_error& error) {
    Verdict verdict;
    verdict.state = Verdict::State::broken;
    verdict.violations.push_back({"format", error.what(), kNoEvent});
    return verdict;
  }
}

std::string verdict_words(const Verdict& verdict) {
  switch (verdict.state) {
    case Verdict::State::not_checked:
      return "not checked";
    case Verdict::State::holds:
      return "";
    case Verdict::State::broken:
      break;
  }
  return "broken: " + verdict.violations.front().law;
}

std::string verdict_tip(const Verdict& verdict) {
  switch (verdict.state) {
    case Verdict::State::not_checked:
      return "trace check: not checked; " + verdict.why;
    case Verdict::State::holds:
      if (verdict.unjudged == 0) {
        return fmt::format("trace check: all {} laws hold", verdict.laws);
      }
      return fmt::format("trace check: {} laws hold; {} could not be judged",
                         verdict.laws - verdict.unjudged, verdict.unjudged);
    case Verdict::State::broken:
      break;
  }
  std::string tip = "trace check:";
  const size_t shown = std::min<size_t>(verdict.violations.size(), 3);
  for (size_t i = 0; i < shown; ++i) {
    const Verdict::Violation& violation = verdict.violations[i];
    tip += fmt::format("\n{}: {}", violation.law, violation.message);
  }
  if (verdict.violations.size() > shown) {
    tip += fmt::format("\nand {} more", verdict.violations.size() - shown);
  }
  return tip + "\nclick: go to the event  (g)";
}

}  // namespace lockstep::gui
