// The laws of DistributedDataParallel: what ranks exchange, and when.
// N = number of ranks, P and B = bytes of parameters and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string text(const Event& event, const char* key) {
  return string_arg(event.args, key);
}

/// A collective is one event on each rank; `group` and `seq` name it.
struct CollectiveKey {
  std::string group;
  int64_t seq;
  auto operator<=>(const CollectiveKey&) const = default;
};

struct Whole {
  std::map<int64_t, const Event*> by_rank;
  std::vector<const Event*> messages;
};
using Collectives = std::map<CollectiveKey, Whole>;

CollectiveKey key_of(const Event& event) {
  return {text(event, "group"), int_arg(event.args, "seq", kNone)};
}

Collectives find_collectives(const Case& the) {
  Collectives all;
  for (const Event& event : the.trace.events) {
    if (event.ph != 'X') continue;
    if (event.is("collective")) {
      all[key_of(event)].by_rank.emplace(the.lanes.of(event).rank, &event);
    } else if (event.is("copy") && event.args.contains("group")) {
      all[key_of(event)].messages.push_back(&event);
    }
  }
  return all;
}

void judge_halves(Case& the) {
  Law& law = the.law("halves-matched", "every message was sent and received");
  for (const Event& event : the.trace.events) {
    if (!event.is("send") && !event.is("recv")) continue;
    law.expect(false, event.id, [&] {
      return fmt::format(
          "{} #{} from {} to {} ({} {}, message {}) has no other half: "
          "merge the files of all ranks",
          event.cat, event.id, int_arg(event.args, "src"), int_arg(event.args, "dst"),
          text(event, "why"), int_arg(event.args, "seq"),
          int_arg(event.args, "ring_step"));
    });
  }
}

void judge_agreement(Law& law, const Whole& whole, int64_t ranks) {
  const Event& first = *whole.by_rank.begin()->second;
  const auto present = static_cast<int64_t>(whole.by_rank.size());
  law.expect(present == ranks, first.id, [&] {
    return fmt::format("{} #{} was called by {} of {} ranks", first.name,
                       int_arg(first.args, "seq"), present, ranks);
  });
  for (const auto& [rank, call] : whole.by_rank) {
    const bool same = call->name == first.name &&
                      int_arg(call->args, "bytes") == int_arg(first.args, "bytes");
    law.expect(same, call->id, [&] {
      return fmt::format(
          "rank {} called {} of {} B as number {}, another rank {} of "
          "{} B",
          rank, call->name, int_arg(call->args, "bytes"), int_arg(call->args, "seq"),
          first.name, int_arg(first.args, "bytes"));
    });
  }
}

/// How often the tensor's bytes travel, over all ranks; 0: no law. Gloo's messages are
/// modelled, by a ring too, or by a tree. (Its reduce ends with chunks that go to the
/// root from everywhere: no whole number of times.)
int64_t times_around(const Event& collective, int64_t ranks) {
  const std::string algorithm = text(collective, "algorithm");
  if (algorithm != "ring" && algorithm != "gloo") return 0;
  if (collective.name == "all_reduce") return 2 * (ranks - 1);
  if (collective.name == "broadcast") return ranks - 1;
  return collective.name == "reduce" && algorithm == "ring" ? ranks - 1 : 0;
}

void judge_messages(Law& total, Law& share, Law& count, const Whole& whole,
                    int64_t ranks) {
  const Event& first = *whole.by_rank.begin()->second;
  const int64_t bytes = int_arg(first.args, "bytes");
  const int64_t around = times_around(first, ranks);
  if (around == 0) return;
  int64_t sum = 0;
  std::map<int64_t, std::pair<int64_t, int64_t>> sent;  // device → bytes, messages
  for (const Event* message : whole.messages) {
    const int64_t moved = int_arg(message->args, "bytes");
    sum = add_within_range(sum, moved);
    auto& [of_rank, messages] = sent[port_arg(message->args, "src")];
    of_rank = add_within_range(of_rank, moved);
    ++messages;
  }
  const int64_t seq = int_arg(first.args, "seq");
  total.expect(sum == around * bytes, first.id, [&] {
    return fmt::format("{} #{} of {} B moved {} B, must be {} times its bytes: {}",
                       first.name, seq, bytes, sum, around, around * bytes);
  });
  if (first.name != "all_reduce") return;
  for (const auto& [device, moved] : sent) {
    const double due = static_cast<double>(bytes) * static_cast<double>(around) /
                       static_cast<double>(ranks);
    share.expect(std::abs(static_cast<double>(moved.first) - due) <= 8, first.id, [&] {
      return fmt::format("in {} #{} device {} sent {} B, must be {:.1f} B to within 8",
                         first.name, seq, device, moved.first, due);
    });
    count.expect(moved.second == around, first.id, [&] {
      return fmt::format("in {} #{} device {} sent {} messages, must be {}", first.name,
                         seq, device, moved.second, around);
    });
  }
}

/// For one rank's step: the marks `grad_ready` and the collectives of its buckets.
struct RankStep {
  std::map<std::string, int64_t> ready_by;  ///< parameter → kernel
  std::vector<const Event*> buckets;        ///< in order of time
  int64_t broadcast = 0;                    ///< bytes of the buffers
};

std::map<std::pair<int64_t, int64_t>, RankStep> find_rank_steps(const Case& the) {
  std::map<std::pair<int64_t, int64_t>, RankStep> steps;  // number, rank
  for (const Event& event : the.trace.events) {
    if (event.step == kNone || event.ph == 'M') continue;
    RankStep& step = steps[{event.step, the.lanes.of(event).rank}];
    if (event.ph == 'i' && event.name == "grad_ready") {
      step.ready_by[text(event, "param")] = int_arg(event.args, "by", kNone);
    } else if (event.is("collective") && text(event, "why") == "all_reduce") {
      step.buckets.push_back(&event);
    } else if (event.is("collective") && text(event, "why") == "broadcast") {
      step.broadcast = add_within_range(step.broadcast, int_arg(event.args, "bytes"));
    }
  }
  return steps;
}

/// It does if it awaits that kernel, or a later task of the same stream: a stream runs
/// its tasks one after the other.
bool waits_for(const Case& the, const Event& waiting, int64_t kernel) {
  const Event* awaited = the.index.find(kernel);
  if (awaited == nullptr) return false;
  for (const int64_t id : waiting.deps) {
    const Event* dep = the.index.find(id);
    if (dep == awaited) return true;
    if (dep != nullptr && is_task(*dep) && lane_of(*dep) == lane_of(*awaited) &&
        dep->ts >= awaited->end()) {
      return true;
    }
  }
  return false;
}

void judge_dependencies(const Case& the, Law& law, const RankStep& step,
                        const Event& bucket) {
  const auto params = bucket.args.find("params");
  if (params == bucket.args.end() || !params->is_array()) return;
  for (const Json& param : *params) {
    if (!param.is_string()) continue;
    const auto ready = step.ready_by.find(param.get<std::string>());
    if (ready == step.ready_by.end() || ready->second == kNone) continue;
    law.expect(waits_for(the, bucket, ready->second), bucket.id, [&] {
      return fmt::format(
          "{} #{} of {} does not wait for kernel #{}, which finishes the "
          "gradient of {}",
          bucket.name, int_arg(bucket.args, "seq"), text(bucket, "tensor"),
          ready->second, ready->first);
    });
  }
}

/// Under `no_sync`: gradients stay with their ranks, for a later step to reduce.
bool accumulates(const Step& step) {
  const Json& args = step.event->args;
  return args.contains("synced") && !bool_arg(args, "synced") &&
         !step.has_phase("optimizer");
}

void judge_steps_of_ranks(Case& the, int64_t parameter_bytes, int64_t buffer_bytes) {
  Law& whole =
      the.law("gradients-reduced", "each synced step reduces all gradients: P");
  Law& order = the.law("bucket-order", "buckets are reduced in their order");
  Law& deps = the.law("bucket-deps", "a bucket waits for all its gradients' kernels");
  Law& buffers = the.law("buffers-broadcast", "a synced forward sends the buffers: B");
  const auto rank_steps = find_rank_steps(the);
  for (const Step& step : the.steps) {
    if (step.interrupted || !step.train) continue;
    const auto found = rank_steps.find({step.number, step.rank});
    if (found == rank_steps.end()) continue;
    int64_t reduced = 0, last = -1;
    for (const Event* bucket : found->second.buckets) {
      reduced = add_within_range(reduced, int_arg(bucket->args, "bytes"));
      judge_dependencies(the, deps, found->second, *bucket);
      const int64_t number = int_arg(bucket->args, "bucket", kNone);
      if (number == kNone) continue;
      order.expect(number == last + 1, bucket->id, [&] {
        return fmt::format("rank {} reduces bucket {} after bucket {}", step.rank,
                           number, last);
      });
      last = number;
    }
    const int64_t wanted = accumulates(step) ? 0 : parameter_bytes;
    whole.expect(reduced == wanted || !step.has_phase("backward"), step.event->id, [&] {
      return fmt::format(
          "step {}, rank {}: {} B of gradients reduced, "
          "must be {}",
          step.number, step.rank, reduced, wanted);
    });
    const int64_t due = int_arg(step.event->args, "broadcast_bytes", buffer_bytes);
    buffers.expect(found->second.broadcast == due && (due == 0 || due == buffer_bytes),
                   step.event->id, [&] {
                     return fmt::format(
                         "step {}, rank {}: {} B of buffers broadcast, "
                         "must be {}",
                         step.number, step.rank, found->second.broadcast,
                         due == 0 ? 0 : buffer_bytes);
                   });
  }
}

/// Every rank moves its own share of the batch to its own device.
void judge_inputs(Case& the) {
  Law& law = the.law("images-h2d-of-ranks", "each rank's images and labels go to it");
  for (const Step& step : the.steps) {
    if (step.interrupted) continue;
    int64_t moved = 0;
    for (const Event* task : step.tasks) {
      if (!task->is("copy") || text(*task, "why") != "h2d") continue;
      moved = add_within_range(moved, int_arg(task->args, "bytes"));
    }
    const int64_t due = add_within_range(step.input_bytes, step.label_bytes);
    law.expect(moved == due, step.event->id, [&] {
      return fmt::format("step {}, rank {}: {} B went to the device, must be {}",
                         step.number, step.rank, moved, due);
    });
  }
}

}  // namespace

void judge_ranks(Case& the) {
  if (string_arg(the.trace.lockstep, "mode") != "ddp") return;
  judge_halves(the);
  Law& agreement = the.law("ranks-agree", "all ranks make the same collectives");
  Law& total = the.law("ring-bytes", "an all-reduce moves 2(N−1) times its bytes");
  Law& share = the.law("ring-share", "each rank sends 2(N−1)/N of an all-reduce");
  Law& count = the.law("ring-messages", "each rank sends 2(N−1) messages");
  const Json& info = object_arg(the.trace.other, "distributedInfo");
  const int64_t ranks = std::max<int64_t>(1, int_arg(info, "world_size", 1));
  if (!info.contains("rank")) {  // a file of all ranks
    for (const auto& [key, whole] : find_collectives(the)) {
      if (whole.by_rank.empty()) continue;
      judge_agreement(agreement, whole, ranks);
      judge_messages(total, share, count, whole, ranks);
    }
  }
  const Json& model = object_arg(the.trace.lockstep, "model");
  judge_steps_of_ranks(the, int_arg(model, "parameter_bytes"),
                       int_arg(model, "buffer_bytes"));
  judge_inputs(the);
}

}  // namespace lockstep::tracer
