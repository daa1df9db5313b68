#include "lessons/machine/suspicions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "lessons/machine/suspicion_rules.h"

namespace lockstep::lessons {
namespace {

struct Rule {
  Suspicion suspicion;
  const char* name;
  Finding (*investigate)(const tracer::Trace&);
};

constexpr std::array<Rule, 10> kRules{
    {{Suspicion::straggler, "straggler", rules::straggler},
     {Suspicion::loader, "loader", rules::loader},
     {Suspicion::hook, "hook", rules::hook},
     {Suspicion::bucket, "bucket", rules::bucket},
     {Suspicion::evaluation, "evaluation", rules::evaluation},
     {Suspicion::division, "division", rules::division},
     {Suspicion::set_epoch, "set_epoch", rules::set_epoch},
     {Suspicion::seeds, "seeds", rules::seeds},
     {Suspicion::port, "port", rules::port},
     {Suspicion::scale, "scale", rules::scale}}};

}  // namespace

const std::vector<Suspicion>& all_suspicions() {
  static const std::vector<Suspicion> all = [] {
    std::vector<Suspicion> list;
    for (const Rule& rule : kRules) list.push_back(rule.suspicion);
    return list;
  }();
  return all;
}

const char* name(Suspicion suspicion) {
  return kRules[static_cast<size_t>(suspicion)].name;
}

std::optional<Suspicion> suspicion_in(const std::string& text) {
  std::optional<Suspicion> found;
  for (const Rule& rule : kRules) {
    if (text.find(rule.name) == std::string::npos) continue;
    if (found) return std::nullopt;
    found = rule.suspicion;
  }
  return found;
}

Finding investigate(const tracer::Trace& trace, Suspicion suspicion) {
  return kRules[static_cast<size_t>(suspicion)].investigate(trace);
}

std::string why_not(const tracer::Event& event, const Finding& finding) {
  if (event.is("collective") || text(event, "why") == "all_reduce") {
    return "a collective lasts until its last rank has come: it shows that something "
           "was late, not why";
  }
  if (event.is("sync")) {
    return "this is a wait, a symptom: EVENT names what it waited for, and the cause "
           "is there or before it";
  }
  std::set<int64_t> ranks, steps;
  std::set<std::string> categories;
  for (const tracer::Event* guilty : finding.guilty) {
    ranks.insert(rules::rank_of(*guilty));
    steps.insert(guilty->step);
    categories.insert(guilty->cat.str());
  }
  if (!ranks.contains(rules::rank_of(event))) {
    return fmt::format("rank {} does nothing unusual: compare it with the others",
                       rules::rank_of(event));
  }
  if (!steps.contains(event.step)) {
    return fmt::format("in step {} all is as it should be: compare the steps",
                       event.step);
  }
  if (categories.contains(event.cat.str())) {
    return fmt::format("this `{}` is as it should be: others like it are not",
                       event.cat.str());
  }
  return fmt::format("the events that prove it are of another kind: `{}`",
                     fmt::join(categories, "`, `"));
}

}  // namespace lockstep::lessons
