#include "cli/rank_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lockstep::cli {
namespace {

using Json = nlohmann::json;

/// `--lr 0.1`; nothing of a switch that is off.
std::string shown(const std::string& name, const std::string& value) {
  if (value == "no") return "no " + name;
  return value == "yes" ? name : name + " " + value;
}

}  // namespace

Facts shared_options(const RunOptions& o) {
  const auto on = [](bool flag) { return std::string(flag ? "yes" : "no"); };
  const bool on_cpus = o.dist_backend == "nccl" && device_type(o) != DeviceType::cuda;
  return {
      {"--dist-backend", on_cpus ? "ring" : o.dist_backend},
      {"--arch", o.arch},
      {"--batch-size", fmt::to_string(o.batch_size)},
      {"--dtype", o.dtype},
      {"--amp", on(o.amp)},
      {"--seed", fmt::to_string(o.seed)},
      {"--epochs", fmt::to_string(o.epochs)},
      {"--start-epoch", fmt::to_string(o.start_epoch)},
      {"--steps", o.steps < 0 ? "of all epochs" : fmt::to_string(o.steps)},
      {"--lr", fmt::to_string(o.lr)},
      {"--momentum", fmt::to_string(o.momentum)},
      {"--weight-decay", fmt::to_string(o.weight_decay)},
      {"--dropout", fmt::to_string(o.dropout)},
      {"--no-shuffle", on(o.no_shuffle)},
      {"--evaluate", on(o.evaluate)},
      {"--ddp-sync", o.ddp_sync},
      {"--bucket-cap-mb", fmt::to_string(o.bucket_cap_mb)},
      {"--bucket-rule", o.bucket_rule},
      {"--find-unused-parameters", on(o.find_unused_parameters)},
      {"--no-broadcast-buffers", on(o.no_broadcast_buffers)},
      {"--sync-bn", on(o.sync_bn)},
  };
}

void agree(distributed::Store& store, const std::string& about, const Facts& facts,
           int rank, int world, distributed::Milliseconds timeout) {
  std::vector<std::string> keys;
  for (int r = 0; r < world; ++r) keys.push_back(about + "/" + std::to_string(r));
  store.set(keys[rank], Json(facts).dump());
  store.wait(keys, timeout);
  const auto first = Json::parse(store.get(keys[0])).get<Facts>();
  for (int r = 1; r < world; ++r) {
    const auto other = Json::parse(store.get(keys[r])).get<Facts>();
    std::vector<std::string> theirs, zeros;
    for (size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      if (other[i] == first[i]) continue;
      theirs.push_back(shown(other[i].first, other[i].second));
      zeros.push_back(shown(first[i].first, first[i].second));
    }
    if (theirs.empty()) continue;
    throw std::runtime_error(
        fmt::format("rank {} has {}, but rank 0 has {}; start all ranks alike", r,
                    fmt::join(theirs, ", "), fmt::join(zeros, ", ")));
  }
}

}  // namespace lockstep::cli
