// The summary's tables of collectives and ranks.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "tracer/analysis/summary_parts.h"

namespace lockstep::tracer {
namespace {

/// The columns of collectives: exposed time is moving or waiting, or, where the trace
/// cannot tell, neither is shown.
std::string communication_head(const char* what, const char* second) {
  return fmt::format("\n  {:<16}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}\n",
                     what, second, "took", "transfer", "waiting", "backward", "exposed",
                     "= moving", "+ waiting", "overlap");
}

std::string communication_row(const std::string& name, const std::string& second,
                              const CollectiveTime& time) {
  const auto told = [&](int64_t part) {
    return time.unseen ? std::string("–") : human_time(part);
  };
  return fmt::format("  {:<16.16}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>8}\n",
                     name, second, human_time(time.took), time_or_dash(time.transfer),
                     time_or_dash(time.wait), human_time(time.backward),
                     human_time(time.exposed), told(time.exposed_transfer()),
                     told(time.exposed_wait), percent(time.overlap()));
}

std::string bytes_or_unknown(int64_t bytes) {
  return bytes == kNone ? "unknown" : human_bytes(bytes);
}

/// Returns the name of a collective. DDP rebuilds its buckets once, after the first
/// step: the steps distinguish buckets of one name and two sizes.
std::string row_name(const StepGroup& group, const std::vector<MeanCollective>& means,
                     const MeanCollective& own) {
  const bool rebuilt =
      own.mean.bucket != kNone &&
      std::any_of(means.begin(), means.end(), [&](const MeanCollective& other) {
        return &other != &own && other.mean.what == own.mean.what;
      });
  if (!rebuilt) return own.mean.what;
  const int64_t first = group.warm()[own.first]->step,
                last = group.warm()[own.last]->step;
  return first == last ? fmt::format("{}, step {}", own.mean.what, first)
                       : fmt::format("{}, {} to {}", own.mean.what, first, last);
}

std::string collective_table(const StepGroup& group, bool imported) {
  const std::vector<MeanCollective> means = group.mean_collectives();
  if (means.empty()) return {};
  std::string text = communication_head("collective", "bytes");
  for (size_t i = 0; i < std::min(means.size(), kMaxRows); ++i) {
    const CollectiveTime& mean = means[i].mean;
    text += communication_row(row_name(group, means, means[i]),
                              bytes_or_unknown(mean.bytes), mean);
  }
  if (means.size() > kMaxRows) {
    text += fmt::format("  … and {} more\n", means.size() - kMaxRows);
  }
  text +=
      "  means over steps and ranks; waiting: for other ranks; backward: time in which "
      "the rank's\n  device ran kernels of backward; exposed: time in which the "
      "rank's device computed\n  nothing: messages moved to or from the rank, or it "
      "waited for others; overlap: the\n  share that was hidden behind computation.\n";
  if (std::any_of(means.begin(), means.end(),
                  [](const auto& m) { return m.mean.unseen; })) {
    text += fmt::format(
        "  –: no conclusion: the times of messages were not {}, so what is exposed\n"
        "  may be waiting for other ranks.\n",
        imported ? "recorded" : "measured (those of Gloo are modelled)");
  }
  return text;
}

/// Shows the steps of ranks that never meet in a collective: none waits for another.
/// An import shows only collectives that ran on a GPU; Gloo's are operators of the
/// host.
std::string step_table(const std::vector<MeanRank>& ranks, bool imported) {
  std::string text = fmt::format("\n  {:<20}{:>10}\n", "rank", "its step");
  const MeanRank* slowest = &ranks[0];
  for (const MeanRank& rank : ranks) {
    if (rank.length > slowest->length) slowest = &rank;
  }
  for (size_t i = 0; i < std::min(ranks.size(), kMaxRows); ++i) {
    text += fmt::format("  {:<20}{:>10}\n", ranks[i].rank, human_time(ranks[i].length));
  }
  if (ranks.size() > kMaxRows) {
    text += fmt::format("  … and {} more\n", ranks.size() - kMaxRows);
  }
  return text + fmt::format("  the slowest step is rank {}'s. Means over steps; {}.\n",
                            slowest->rank,
                            imported ? "collectives on devices were not recorded"
                                     : "the ranks run no collectives");
}

/// Shows the total cost of each rank's collectives in a step, and which rank is late:
/// the steps of all ranks take about as long, but the last rank to arrive waits least.
/// (In an import, whose ranks are not compared, neither a long step nor a long
/// collective tells which rank was late: the one that waits takes longest.)
std::string rank_table(const StepGroup& group, bool imported) {
  const std::vector<MeanRank> ranks = group.mean_ranks();
  if (ranks.size() < 2) return {};
  if (group.mean_collectives().empty()) return step_table(ranks, imported);
  std::string text = communication_head("rank", "its step");
  const MeanRank *slowest = &ranks[0], *awaited = &ranks[0];
  for (const MeanRank& rank : ranks) {
    if (rank.length > slowest->length) slowest = &rank;
    if (rank.together.wait < awaited->together.wait) awaited = &rank;
  }
  for (size_t i = 0; i < std::min(ranks.size(), kMaxRows); ++i) {
    const auto& [rank, length, time] = ranks[i];
    text += communication_row(std::to_string(rank), human_time(length), time);
  }
  if (ranks.size() > kMaxRows) {
    text += fmt::format("  … and {} more\n", ranks.size() - kMaxRows);
  }
  if (imported) {
    return text +
           "  which rank is late cannot be told: a rank that waits takes long, too. "
           "Means over steps,\n  a step's collectives summed; --json lists each "
           "collective of each rank.\n";
  }
  const std::string least = awaited->together.unseen
                                ? ""
                                : fmt::format("; rank {} waits least", awaited->rank);
  return text + fmt::format(
                    "  the slowest step is rank {}'s{}. Means over steps, a step's\n  "
                    "collectives summed; --json lists each collective of each rank.\n",
                    slowest->rank, least);
}

}  // namespace

std::string communication_text(const StepGroup& group, bool imported) {
  return collective_table(group, imported) + rank_table(group, imported);
}

}  // namespace lockstep::tracer
