// Lesson 24's misconceptions: why ranks hang, and why they have other results.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lessons/machine/exam.h"
#include "lessons/machine/meeting_point.h"

namespace lockstep::lessons {

constexpr const char* kGradients = "all_reduce gradients";

/// Explains a hang in which some ranks ask, and others do something else. Empty if the
/// others wait for the gradients of a rank that has trained with all its batches.
inline std::string asked_alone(const std::vector<int>& counts, const RanksRun& run) {
  size_t at = 0;  // the first collective that differs
  const auto call = [&](const MeetingPoint::Calls& calls) {
    return at < calls.size() ? calls[at] : "";
  };
  while (std::ranges::all_of(run.calls, [&](const MeetingPoint::Calls& calls) {
    return !call(calls).empty() && call(calls) == call(run.calls[0]);
  })) {
    ++at;
  }
  for (size_t r = 0; r < run.calls.size(); ++r) {
    const std::string what = call(run.calls[r]);
    if (what.empty() || what == kGradients) continue;
    const bool others_train = std::ranges::any_of(
        run.calls,
        [&](const MeetingPoint::Calls& calls) { return call(calls) == kGradients; });
    if (others_train && std::ranges::count(run.calls[r], kGradients) == counts[r])
      continue;
    return fmt::format(
        "rank {} waits in collective {}, `{}`, which not all ranks make. Each must, "
        "also one that has no batch left, and as often as the others",
        r, at, what);
  }
  return "";
}

/// Explains an epoch that hangs.
inline Because why_an_epoch_hangs(const std::vector<int>& counts, const RanksRun& run) {
  for (size_t r = 0; r < counts.size(); ++r) {
    const bool others_ask =
        std::ranges::any_of(run.calls, [](const MeetingPoint::Calls& calls) {
          return !calls.empty() && calls[0] != kGradients;
        });
    if (counts[r] == 0 && run.calls[r].empty() && others_ask) {
      return {fmt::format("rank {} has left before they agreed: a rank with 0 batches "
                          "has to be asked, too",
                          r),
              "One batch more"};
    }
  }
  if (const std::string alone = asked_alone(counts, run); !alone.empty()) {
    return {alone, "One batch more"};
  }
  return {
      "a rank has no batch left, and the others wait for its gradients. Each rank "
      "knows only its own number: they must agree on one",
      "One batch more"};
}

/// Explains accuracies that are not kAccuracy.
inline Because why_not_accurate(const std::vector<double>& got) {
  const auto n = static_cast<double>(got.size());
  if (std::ranges::any_of(got, [](double x) { return std::isnan(x); })) {
    return {
        "NaN is neither larger nor smaller than any number: a sum that contains it is "
        "NaN, and a minimum or maximum is NaN or depends on the order. Ranks without a "
        "value pass 0",
        "Only rank 0"};
  }
  if (std::ranges::count(got, got[0]) != std::ssize(got)) {
    return {
        "all ranks decide with it whether to stop. If one of them gets another number, "
        "it goes on alone, and that is the next hang",
        "Only rank 0"};
  }
  if (std::abs(got[0] - kAccuracy / n) < 1e-6) {
    return {
        "all get the same number, but not the accuracy: only one rank has added "
        "something",
        "Only rank 0"};
  }
  if (got[0] == 0) {
    return {
        "all get 0: an accuracy is no integer, and a minimum is that of the ranks that "
        "have none",
        "Only rank 0"};
  }
  return {
      "all get the same number, but not the accuracy that rank 0 has measured. (A "
      "float is too short for it, and so is a percentage)",
      "Only rank 0"};
}

/// Explains a step that was made although one of the losses is not finite.
inline Because why_made(const std::vector<double>& losses, const RanksRun& run) {
  if (run.calls[0].empty() || run.calls[0][0] == kGradients) {
    return {
        "the gradients of a loss that is not finite get into the mean of all, and "
        "nobody has asked before the step",
        "A step that one rank leaves out"};
  }
  std::vector<double> told_by_finite, told_by_others;
  for (size_t r = 0; r < losses.size(); ++r) {
    const bool finite = std::isfinite(losses[r]);
    (finite ? told_by_finite : told_by_others).push_back(run.told[r]);
    if (finite ? run.told[r] != losses[r] : std::isfinite(run.told[r])) continue;
    return {
        "the ranks exchange their losses, in which NaN gets lost: it is neither larger "
        "nor smaller than anything. Exchange whether the loss is finite",
        "A step that one rank leaves out"};
  }
  if (!told_by_finite.empty() && told_by_finite[0] == told_by_others[0]) {
    return {
        "the rank with this loss has told the others the same as a rank with a finite "
        "one. Each rank looks at its own loss, not only rank 0; and neither NaN nor "
        "infinity is finite: `std::isfinite`",
        "A step that one rank leaves out"};
  }
  return {
      "the ranks have told each other which losses are not finite, and yet they make "
      "the step. One such loss is enough: its gradients get into the mean of all",
      "A step that one rank leaves out"};
}

}  // namespace lockstep::lessons
