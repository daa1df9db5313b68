#include "run/rank_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "run/auto_split.h"
#include "run/pipeline.h"
#include "run/recipe.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

using Json = nlohmann::json;

/// Returns, for example, `--lr 0.1`; `no --amp` for a switch that is off.
std::string shown(const std::string& name, const std::string& value) {
  if (value == "no") return "no " + name;
  return value == "yes" ? name : name + " " + value;
}

/// Names of files may be no UTF-8.
std::string as_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The lines of a schedule, each of which is a rank's.
std::string to_one_line(std::string csv) {
  if (csv.ends_with('\n')) csv.pop_back();
  std::replace(csv.begin(), csv.end(), '\n', '|');
  return csv;
}

}  // namespace

Facts shared_options(const RunConfig& c) {
  const auto on = [](bool flag) { return std::string(flag ? "yes" : "no"); };
  const bool on_cpus =
      c.distributed.backend == DistBackend::nccl && c.device.type != DeviceType::cuda;
  Facts facts{
      {"--mode", train::name(mode_of(c))},
      {"--dist-backend",
       std::string(word(on_cpus ? DistBackend::ring : c.distributed.backend))},
      {"--device-type", std::string(word(c.device.type))},
      {"--dtype", std::string(word(c.device.dtype))},
      {"--start-epoch", fmt::to_string(c.recipe.start_epoch)},
      {"--steps", c.steps < 0 ? "of all epochs" : fmt::to_string(c.steps)},
      {"--evaluate", on(c.evaluate)},
      {"checkpoint to resume from", on(!c.checkpoint.resume.empty())},
      {"first sample of the epoch:", fmt::to_string(c.checkpoint.start_samples)},
      {"--checkpoint-steps", fmt::to_string(c.checkpoint.every)},
      {"--checkpoint",
       on(!c.checkpoint.folder.empty())},  // rank 0 writes data of all ranks
      {"--amp", on(c.device.amp)},
      {"--cuda-graph", on(c.device.cuda_graph)},
      {"--on-bad-image", std::string(word(c.data.on_bad_image))},
      {"--ddp-sync", std::string(word(c.ddp.sync))},
      {"--bucket-cap-mb", fmt::to_string(c.ddp.bucket_cap_mb)},
      {"--bucket-rule", std::string(word(c.ddp.bucket_rule))},
      {"--find-unused-parameters", on(c.ddp.find_unused_parameters)},
      {"--no-broadcast-buffers", on(c.ddp.no_broadcast_buffers)},
      {"--sync-bn", on(c.ddp.sync_bn)},
      {"--check-weights", fmt::to_string(c.ddp.check_weights)},
  };
  if (mode_of(c) == train::Mode::model_parallel) {
    facts.emplace_back("--split", is_auto_split(c.pipeline.split)
                                      ? std::string(kAutoSplit)
                                      : c.pipeline.split);
    facts.emplace_back("--pipeline-schedule", name_of_schedule(c));
    facts.emplace_back("the actions:", to_one_line(plan::to_csv(schedule_of(c))));
  }
  if (mode_of(c) == train::Mode::ps) {
    facts.emplace_back("--servers", fmt::to_string(c.ps.servers));
    facts.emplace_back("--consistency", std::string(word(c.ps.consistency)));
    facts.emplace_back("--staleness", fmt::to_string(c.ps.staleness));
    facts.emplace_back("--backup", fmt::to_string(c.ps.backup));
  }
  const Json recipe = Json::parse(recipe_of(c));
  for (const auto& [flag, value] : recipe.items()) {
    if (flag == "--seed" && c.draws_seed) {  // each rank has drawn its own
      facts.emplace_back(flag, "no");
      continue;
    }
    facts.emplace_back(flag, value.is_boolean()  ? on(value.get<bool>())
                             : value.is_null()   ? "no"
                             : value.is_string() ? value.get<std::string>()
                                                 : value.dump());
  }
  return facts;
}

std::string Difference::text_of(size_t count) const {
  std::vector<std::string> of_rank, of_zero;
  for (size_t i = 0; i < count; ++i) {
    of_rank.push_back(shown(theirs[i].first, theirs[i].second));
    of_zero.push_back(shown(zeros[i].first, zeros[i].second));
  }
  return fmt::format("rank {} has {}, but rank 0 has {}", rank,
                     fmt::join(of_rank, ", "), fmt::join(of_zero, ", "));
}

namespace {

std::optional<Difference> difference(int rank, const Facts& theirs,
                                     const Facts& zeros) {
  Difference found{rank, {}, {}, {}};
  for (size_t i = 0; i < std::min(zeros.size(), theirs.size()); ++i) {
    if (theirs[i] == zeros[i]) continue;
    found.facts.push_back(i);
    found.theirs.push_back(theirs[i]);
    found.zeros.push_back(zeros[i]);
  }
  if (found.facts.empty()) return std::nullopt;
  return found;
}

/// What rank 0 finds, for all: otherwise every rank would read what every other one
/// says.
Json verdict_of(distributed::Store& store, const std::vector<std::string>& keys,
                Milliseconds timeout) {
  try {
    store.wait(keys, timeout);
  } catch (const distributed::StoreTimeout& late) {
    return {{"missing", late.keys()}, {"after_ms", timeout.count()}};
  }
  const auto facts_in = [&](const std::string& key) {
    return Json::parse(store.get(key)).get<Facts>();
  };
  const Facts zeros = facts_in(keys[0]);
  for (size_t rank = 1; rank < keys.size(); ++rank) {
    const auto found = difference(static_cast<int>(rank), facts_in(keys[rank]), zeros);
    if (!found) continue;
    return {{"rank", found->rank},
            {"facts", found->facts},
            {"theirs", found->theirs},
            {"zeros", found->zeros}};
  }
  return Json::object();
}

/// Returns the keys that are not there yet; that of rank 0, which compares, if all are.
std::vector<std::string> missing(distributed::Store& store,
                                 const std::vector<std::string>& keys) {
  try {
    store.wait(keys, Milliseconds(0));
  } catch (const distributed::StoreTimeout& late) {
    return late.keys();
  }
  return {keys[0]};
}

}  // namespace

std::optional<Difference> compare(distributed::Store& store, const std::string& about,
                                  const Facts& facts, int rank, int world,
                                  Milliseconds timeout) {
  const std::string key_of_verdict = about + "/compared";
  std::vector<std::string> keys;
  for (int r = 0; r < world; ++r) keys.push_back(about + "/" + std::to_string(r));
  store.set(keys[rank], as_text(facts));
  if (rank == 0) {
    store.set(key_of_verdict, verdict_of(store, keys, timeout).dump());
  }
  Json verdict;
  try {
    verdict = Json::parse(store.get(key_of_verdict, timeout));
  } catch (const distributed::StoreTimeout&) {
    throw distributed::StoreTimeout(missing(store, keys), store.describe(), timeout);
  }
  if (verdict.contains("missing")) {
    throw distributed::StoreTimeout(verdict["missing"], store.describe(),
                                    Milliseconds(verdict["after_ms"].get<int64_t>()));
  }
  if (verdict.empty()) return std::nullopt;
  return Difference{verdict["rank"], verdict["facts"], verdict["theirs"],
                    verdict["zeros"]};
}

void agree(distributed::Store& store, const std::string& about, const Facts& facts,
           int rank, int world, Milliseconds timeout) {
  const auto found = compare(store, about, facts, rank, world, timeout);
  if (!found) return;
  throw std::runtime_error(found->text() +
                           "; fix: start all ranks with the same options");
}

std::string ranks_in(const std::vector<std::string>& keys) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> ranks;
  for (const std::string& key : keys) ranks.push_back(key.substr(key.rfind('/') + 1));
  if (ranks.size() == 1) return "rank " + ranks[0];
  const size_t more = ranks.size() > kNamed ? ranks.size() - kNamed : 0;
  const std::string last =
      more > 0 ? fmt::format("{} others", more) : std::move(ranks.back());
  ranks.resize(more > 0 ? kNamed : ranks.size() - 1);
  return fmt::format("ranks {} and {}", fmt::join(ranks, ", "), last);
}

}  // namespace lockstep::run
