#include "engine/distributed/ddp/weight_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "engine/distributed/collectives/small_collectives.h"
#include "engine/ops/copy.h"
#include "engine/tensor/tensor.h"

namespace lockstep::distributed {
namespace {

constexpr const char* kWhy = "check_weights";

/// FNV-1a, but eight bytes at a time: any change of one word changes the result.
int64_t checksum(const Tensor& parameter) {
  const Tensor host = ops::copy_to(parameter, kHost, {kWhy, "weights"});
  const auto* bytes = static_cast<const char*>(host.view().data);
  const auto size = static_cast<size_t>(host.nbytes());
  uint64_t sum = fnv1a64("");
  for (size_t at = 0; at < size; at += sizeof sum) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, size - at));
    sum = std::rotl((sum ^ word) * 0x100000001b3, 29);
  }
  return static_cast<int64_t>(sum);
}

/// Returns the ranks outside the largest group with equal checksums, and the lowest
/// rank in it.
std::pair<std::vector<int>, int> minority(const std::vector<int64_t>& by_rank) {
  std::map<int64_t, int> votes;
  for (const int64_t sum : by_rank) ++votes[sum];
  size_t most = 0;  // a rank of the largest group
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (votes[by_rank[rank]] > votes[by_rank[most]]) most = rank;
  }
  std::vector<int> others;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] != by_rank[most]) others.push_back(static_cast<int>(rank));
  }
  return {others, static_cast<int>(most)};
}

}  // namespace

std::string disagreement_of(const std::vector<std::string>& names,
                            const std::vector<std::vector<int64_t>>& checksums) {
  std::string first;
  size_t more = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<int64_t> by_rank;
    for (const auto& row : checksums) by_rank.push_back(row.at(i));
    const auto [others, most] = minority(by_rank);
    if (others.empty()) continue;
    if (!first.empty()) {
      ++more;
      continue;
    }
    first = fmt::format("{} of rank{} {} differs from that of rank {}", names[i],
                        others.size() == 1 ? "" : "s", fmt::join(others, ", "), most);
  }
  if (first.empty() || more == 0) return first;
  return fmt::format("{}; {} more parameter{}, too", first, more,
                     more == 1 ? " differs" : "s differ");
}

void check_weights(const std::vector<nn::Named<Tensor>>& parameters,
                   ProcessGroup& group) {
  if (parameters.empty()) return;
  const Device device = parameters[0].value.device();
  if (!computes(device.type)) return;
  std::vector<std::string> names;
  std::vector<int64_t> mine;
  for (const auto& [name, parameter] : parameters) {
    names.push_back(name);
    mine.push_back(checksum(parameter));
  }
  const std::string differs =
      disagreement_of(names, gather_integers(group, device, mine, kWhy));
  if (differs.empty()) return;
  throw std::runtime_error(
      fmt::format("the weights of the ranks differ: {}; fix: resume from a checkpoint "
                  "made before, and look for what only some ranks do (a change of the "
                  "weights, other data or code, a faulty device)",
                  differs));
}

}  // namespace lockstep::distributed
